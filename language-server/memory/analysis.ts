/**
 * What walks over the project say of memory: made once per check, asked by the rules.
 *
 * Depends on: compiled, libraries, lower/ir, flow/facts.
 */
import { explore, type Exploration, type Walked } from '../compiled/explore.ts';
import type { ShapedCall } from '../compiled/jitted.ts';
import type { CapturedUse } from '../compiled/run.ts';
import { models } from '../libraries/index.ts';
import { fileOf, type FunctionId, type Project, type Span, type Unit } from '../lower/ir.ts';

/** What an analysis is made from, and where it is kept: rules hand over their context. */
export interface Asked {
  readonly project: Project;
  readonly unit: Unit;
  shared<T>(key: symbol, make: () => T): T;
  /** What is known of walks by their roots, here of one check. */
  lasting<T extends Pick<Walked, 'reached'>>(key: symbol): Map<FunctionId, T>;
  /** Asked in long work; throws when nobody wants the answer any more. */
  readonly look?: () => void;
}

export interface Analysis {
  readonly exploration: Exploration;
  /** All that walks saw of one call, each signature once. */
  callsAt(span: Span): readonly ShapedCall[];
  /** All calls of what was compiled at `jit`. */
  callsOf(jit: Span): readonly ShapedCall[];
  readonly captured: readonly CapturedUse[];
  /** What walks saw of the arrays of an argument after the call: freed without another use, used again, or neither. */
  afterCall(span: Span, position: number): 'dead' | 'used' | 'unknown';
}

const callersKey = Symbol('callers');
const walksKey = Symbol('walks');
const keys = new Map<string, symbol>();

/** The analysis of one file: walked from its own functions and from the files that call into it. */
export function analysisOf({ project, unit, shared, lasting, look }: Asked): Analysis {
  const key = keys.get(unit.file) ?? Symbol(unit.file);
  keys.set(unit.file, key);
  return shared(key, () =>
    analyse(
      project,
      rootsFor(
        project,
        unit,
        shared(callersKey, () => callers(project)),
      ),
      lasting<Walked>(walksKey),
      look,
    ),
  );
}

/** Files that are walked for one file; of very many callers the nearest are enough to know shapes. */
const mostFiles = 12;

function rootsFor(project: Project, unit: Unit, callersOf: ReadonlyMap<string, ReadonlySet<string>>): readonly Unit[] {
  const found = new Set([unit.file]);
  for (const file of found) for (const caller of callersOf.get(file) ?? []) if (found.size < mostFiles) found.add(caller);
  return [...found].flatMap((file) => project.units.get(file) ?? []);
}

/** By file, the other files that name one of its functions, classes or variables. */
function callers(project: Project): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  for (const unit of project.units.values()) {
    for (const file of named(unit)) {
      if (!project.units.has(file)) continue;
      const list = found.get(file) ?? new Set<string>();
      found.set(file, list.add(unit.file));
    }
  }
  return found;
}

const namedIn = new WeakMap<Unit, ReadonlySet<string>>();

/** The other files whose functions, classes or variables a file names. */
function named(unit: Unit): ReadonlySet<string> {
  const known = namedIn.get(unit);
  if (known !== undefined) return known;
  const found = new Set<string>();
  const note = (id: string): void => {
    // Nearly all are of the file itself.
    if (!id.startsWith(unit.module)) found.add(fileOf(id));
  };
  for (const { blocks } of unit.functions.values()) {
    for (const { events } of blocks) {
      for (const event of events) {
        if (event.kind === 'outer') note(event.variable.function);
        else if (event.kind === 'call' && event.callee.kind === 'user') note(event.callee.function);
        else if (event.kind === 'call' && event.callee.kind === 'class') note(event.callee.class);
      }
    }
  }
  namedIn.set(unit, found);
  return found;
}

export const spanKey = ({ file, start, end }: Span): string => `${file}:${start}:${end}`;

export function analyse(
  project: Project,
  from: readonly Unit[] = [...project.units.values()],
  known?: Map<FunctionId, Walked>,
  look?: () => void,
): Analysis {
  const exploration = explore({ project, models, units: from.filter(worthWalking), look, ...(known === undefined ? {} : { known }) });
  const byCall = new Map<string, Map<string, ShapedCall>>();
  const byJit = new Map<string, ShapedCall[]>();
  const captured = new Map<string, CapturedUse>();
  for (const run of exploration.runs) {
    for (const call of run.calls) {
      const at = spanKey(call.span);
      const signatures = byCall.get(at) ?? new Map<string, ShapedCall>();
      byCall.set(at, signatures);
      // Two functions made by one factory may differ in what they capture: keep both.
      const signature = `${call.function.jit.start} ${call.signature} ${call.leaves.map(({ donated }) => donated ?? '-').join('')} ${call.unknown ?? ''}`;
      if (signatures.has(signature)) continue;
      signatures.set(signature, call);
      const jit = spanKey(call.function.jit);
      byJit.set(jit, [...(byJit.get(jit) ?? []), call]);
    }
    for (const use of run.captured) {
      const at = `${spanKey(use.span)} ${spanKey(use.jit)} ${use.name ?? ''}`;
      if (!captured.has(at)) captured.set(at, use);
    }
  }
  return {
    exploration,
    callsAt: (span) => [...(byCall.get(spanKey(span))?.values() ?? [])],
    callsOf: (jit) => byJit.get(spanKey(jit)) ?? [],
    captured: [...captured.values()],
    afterCall: (span, position) => afterCall(exploration, spanKey(span), position),
  };
}

function afterCall({ runs }: Exploration, at: string, position: number): 'dead' | 'used' | 'unknown' {
  let answer: 'dead' | 'unknown' | undefined;
  for (const { calls, ledger } of runs) {
    for (const call of calls) {
      if (spanKey(call.span) !== at) continue;
      for (const { argument, array } of call.leaves) {
        const life = argument !== position || array === undefined ? undefined : ledger.lifeOf(array);
        if (life === undefined) continue;
        if (life.readLate || life.lastUse > call.time) return 'used';
        const freed = life.freed !== undefined && life.freed.how !== 'donated';
        answer = freed && answer !== 'unknown' ? 'dead' : 'unknown';
      }
    }
  }
  return answer ?? 'unknown';
}

/** Files that use a library which compiles functions, or whose shapes are known. */
function worthWalking(unit: Unit): boolean {
  const compiles = models.some(
    (model) =>
      unit.libraries.has(model.id) &&
      (model.shapes !== undefined || Object.values(model.calls).some((call) => call.role?.kind === 'compiles')),
  );
  return compiles;
}
