/**
 * What a gradient keeps from its forward pass, by the calls that made it, and what computing it again would save.
 *
 * A value is kept when an equation of the backward pass reads it and one of the forward pass made it. Calls of one
 * function that are made several times and keep much are candidates; each is tried by planning the program with that
 * function wrapped in `checkpoint`. Depends on: core, compiled, lower/ir.
 */
import { knownBytes } from '../../runtime/core/aval.ts';
import { isLiteral, type Variable } from '../../runtime/core/program.ts';
import { chainOf } from '../compiled/places.ts';
import { explore } from '../compiled/explore.ts';
import type { ShapedCall } from '../compiled/jitted.ts';
import type { CallSite } from '../compiled/walk.ts';
import { models } from '../libraries/index.ts';
import type { FunctionId, Project, Span } from '../lower/ir.ts';
import { spanKey, type Analysis } from './analysis.ts';
import { planFor } from './candidates.ts';

export interface Rematerialisation {
  /** The call whose residuals are kept. */
  readonly span: Span;
  readonly function: FunctionId;
  readonly name: string;
  readonly calls: number;
  readonly keptBytes: number;
  readonly savesBytes: number;
  /** Share of the program's arithmetic that is done again. */
  readonly moreWork: number;
}

interface Kept {
  readonly site: CallSite;
  readonly calls: Set<CallSite>;
  bytes: number;
}

const mostTried = 3;
/** A saving of less isn't worth computing anything twice. */
const leastShare = 0.1;

export function rematerialisations(project: Project, analysis: Analysis, minBytes: number): readonly Rematerialisation[] {
  const candidates = new Map<string, { kept: Kept; call: ShapedCall; function: FunctionId }>();
  for (const run of analysis.exploration.runs) {
    for (const call of run.calls) {
      for (const kept of keptBy(analysis, call)) {
        const target = calleeOf(project, kept.site);
        const at = `${spanKey(kept.site.event.span)} ${target ?? ''}`;
        if (target === undefined || kept.calls.size < 2 || kept.bytes < minBytes || (candidates.get(at)?.kept.bytes ?? 0) >= kept.bytes)
          continue;
        candidates.set(at, { kept, call, function: target });
      }
    }
  }
  const tried = [...candidates.values()].toSorted((a, b) => b.kept.bytes - a.kept.bytes).slice(0, mostTried);
  return tried.flatMap((candidate) => tryOut(project, candidate, minBytes) ?? []);
}

/** Bytes that the backward pass reads of what calls of the project's functions made going forward. */
function keptBy(analysis: Analysis, call: ShapedCall): readonly Kept[] {
  const program = call.traced?.program;
  if (program === undefined || !program.equations.some(({ role }) => role === 'gradient')) return [];
  const made = new Map<Variable, readonly CallSite[]>();
  const counted = new Set<Variable>();
  const bySite = new Map<string, Kept>();
  for (const { inputs, outputs, role, place } of program.equations) {
    if (role === undefined) for (const output of outputs) made.set(output, chainOf(place));
    if (role !== 'gradient') continue;
    for (const input of inputs) {
      const chain = isLiteral(input) ? undefined : made.get(input);
      if (chain === undefined || isLiteral(input) || counted.has(input)) continue;
      counted.add(input);
      // The last one on the chain is the library's call itself.
      for (const site of chain.slice(0, -1)) {
        const at = spanKey(site.event.span);
        const kept = bySite.get(at) ?? { site, calls: new Set<CallSite>(), bytes: 0 };
        kept.calls.add(site);
        kept.bytes += knownBytes(input.aval);
        bySite.set(at, kept);
      }
    }
  }
  return [...bySite.values()];
}

function calleeOf(project: Project, { event, function: within }: CallSite): FunctionId | undefined {
  if (event.callee.kind === 'user') return project.function(event.callee.function)?.generator === false ? event.callee.function : undefined;
  if (event.callee.kind !== 'value' || event.function === undefined) return undefined;
  const { name } = event.callee;
  const found = [...(project.units.get(within.file)?.functions.values() ?? [])].filter((fn) => fn.name === name);
  return found.length === 1 ? found[0]!.id : undefined;
}

/** Plans the same call with the function checkpointed. */
function tryOut(
  project: Project,
  { kept, call, function: target }: { kept: Kept; call: ShapedCall; function: FunctionId },
  minBytes: number,
): Rematerialisation | undefined {
  const plan = planFor(call);
  if (plan === undefined || call.traced === undefined) return undefined;
  const donated = call.leaves.map((leaf) => leaf.donated !== undefined);
  const units = [...project.units.values()].filter(({ file }) => file === call.span.file || file === call.function.jit.file);
  const again = explore({ project, models, units, checkpointed: target })
    .runs.flatMap((run) => run.calls)
    .find((other) => spanKey(other.span) === spanKey(call.span) && other.signature === call.signature);
  const other = again === undefined ? undefined : planFor(again);
  if (again?.traced === undefined || other === undefined) return undefined;
  const before = plan.peakWith(donated);
  const savesBytes = before - other.peakWith(donated);
  if (savesBytes < minBytes || savesBytes < before * leastShare) return undefined;
  return {
    span: kept.site.event.span,
    function: target,
    name: project.function(target)?.name ?? '',
    calls: kept.calls.size,
    keptBytes: kept.bytes,
    savesBytes,
    moreWork: work(again) / Math.max(1, work(call)) - 1,
  };
}

/** Floating-point operations of a program. */
function work(call: ShapedCall): number {
  let sum = 0;
  for (const { op, inputs, outputs, parameters } of call.traced?.program.equations ?? []) {
    const [output] = outputs;
    if (output === undefined) continue;
    sum +=
      op.flops(
        inputs.map(({ aval }) => aval),
        parameters,
      ) * output.aval.shape.reduce((product, dim) => product * dim, 1);
  }
  return sum;
}
