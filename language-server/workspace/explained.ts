/**
 * The compiled functions of a file, explained from their text: nothing is run for it.
 *
 * A function that is called with several shapes is explained for those with the highest planned peak.
 * Depends on: compiled, memory/analysis, lower/ir, core, events, protocol.
 */
import { relative, sep } from 'node:path';
import type { Place } from '../../runtime/core/source.ts';
import { countReuse } from '../../runtime/events/reuse.ts';
import { explain, figuresOf, type ExplainContext, type Figures } from '../compiled/explain.ts';
import type { ShapedCall } from '../compiled/jitted.ts';
import { planOf } from '../compiled/plan.ts';
import type { FunctionId, Local, LoweredFunction, Project, Unit } from '../lower/ir.ts';
import type { Analysis } from '../memory/analysis.ts';
import type { Explanation, FunctionFact } from '../protocol.ts';

export interface Assigned {
  readonly fn: LoweredFunction;
  readonly local: Local;
  readonly name: string;
}

interface Assignment extends Assigned {
  readonly start: number;
  readonly end: number;
}

const assignments = new WeakMap<Unit, readonly Assignment[]>();

/** Declarations and assignments of variables that hold arrays, the innermost first. */
function assignmentsOf(unit: Unit): readonly Assignment[] {
  const known = assignments.get(unit);
  if (known !== undefined) return known;
  const found: Assignment[] = [];
  for (const fn of unit.functions.values()) {
    for (const { events } of fn.blocks) {
      for (const event of events) {
        if (event.kind !== 'copy') continue;
        const fact = fn.locals[event.to];
        if (fact?.name === undefined || fact.type.callable === true || !holdsArrays(fact.type.holds)) continue;
        found.push({ fn, local: event.to, name: fact.name, start: event.span.start, end: event.span.end });
      }
    }
  }
  found.sort((a, b) => a.end - a.start - (b.end - b.start));
  assignments.set(unit, found);
  return found;
}

export const holdsArrays = (what: string): boolean => what === 'array' || what === 'tree' || what === 'owner';

/** The variable that gets what is made at a place: of the innermost declaration or assignment around it. */
export function assignedAt(project: Project, place: Place): Assigned | undefined {
  const unit = project.units.get(place.file);
  if (unit === undefined) return undefined;
  const offset = (unit.lines[place.line - 1] ?? 0) + place.column - 1;
  return assignmentsOf(unit).find(({ start, end }) => start <= offset && offset < end);
}

export const variableAt = (project: Project, place: Place): string | undefined => assignedAt(project, place)?.name;

/** The calls of a compiled function that walks saw, whatever it is bound to. */
function callsOf({ exploration }: Analysis, target: FunctionId): readonly ShapedCall[] {
  return exploration.runs.flatMap(({ calls }) => calls.filter((call) => call.function.target === target));
}

export interface PlannedCall {
  readonly call: ShapedCall;
  readonly figures: Figures;
}

/** Of several programs the one with the highest planned peak: its figures, and the call. */
function highest(calls: readonly ShapedCall[]): PlannedCall | undefined {
  let best: PlannedCall | undefined;
  const seen = new Set<string>();
  for (const call of calls) {
    if (call.traced === undefined || call.assumed || seen.has(call.signature)) continue;
    seen.add(call.signature);
    const analysis = planOf(call.traced.program, call.leaves)?.analysis(call.leaves.map(({ donated }) => donated !== undefined));
    if (analysis !== undefined && (best === undefined || analysis.peakBytes > best.figures.peakBytes))
      best = { call, figures: figuresOf(analysis) };
  }
  return best;
}

/** One program for each compiled function that walks saw; of very many the first. */
export function plannedCalls(analysis: Analysis, most: number): readonly PlannedCall[] {
  const targets = new Set(analysis.exploration.runs.flatMap(({ calls }) => calls.map((call) => call.function.target)));
  return [...targets].slice(0, most).flatMap((target) => (target === undefined ? [] : (highest(callsOf(analysis, target)) ?? [])));
}

export function compiledFact(analysis: Analysis, target: FunctionId): Pick<FunctionFact, 'compiled'> {
  const figures = highest(callsOf(analysis, target))?.figures;
  if (figures === undefined) return {};
  const { values, copies, argumentBytes, outputBytes, aliasBytes, tempBytes } = figures;
  const copyBytes = copies.reduce((sum, { bytes }) => sum + bytes, 0);
  const bytes = { copyBytes, argumentBytes, outputBytes, aliasBytes, tempBytes };
  return { compiled: { values: values.length, ...countReuse(values), copies: copies.length, ...bytes } };
}

export function explainFunction(
  project: Project,
  unit: Unit,
  analysis: Analysis,
  wanted: { readonly name: string; readonly line: number },
): Explanation | undefined {
  const fn = functionAt(unit, wanted);
  if (fn === undefined) return undefined;
  const calls = callsOf(analysis, fn.id);
  const name = fn.name === '' ? wanted.name : fn.name;
  const found = highest(calls);
  const context: ExplainContext = {
    name,
    file: (file) => relative(folderOf(unit.file), file).split(sep).join('/') || file,
    variable: (place) => variableAt(project, place),
  };
  const stages = found === undefined ? undefined : explain(found.call.traced!.program, found.call.leaves, context);
  if (stages !== undefined) return { name, stages, why: null };
  const nothing = { plan: null, schedule: null, ir: null, trace: null };
  return { name, stages: nothing, why: whyNot(calls) };
}

function functionAt(unit: Unit, { name, line }: { readonly name: string; readonly line: number }): LoweredFunction | undefined {
  const lineOf = ({ span }: LoweredFunction): number => unit.lines.findLastIndex((start) => start <= span.start) + 1;
  const named = [...unit.functions.values()].filter((fn) => fn.kind !== 'module' && fn.kind !== 'fields' && fn.name === name);
  return (
    named.find((fn) => lineOf(fn) === line) ??
    named[0] ??
    [...unit.functions.values()].find((fn) => fn.kind !== 'module' && lineOf(fn) === line)
  );
}

function whyNot(calls: readonly ShapedCall[]): string {
  if (calls.length === 0) return 'no call of it as a compiled function was found';
  const reason = calls.find(({ unknown }) => unknown !== undefined)?.unknown;
  return reason ?? "its program is one that can't be planned from the text";
}

const folderOf = (file: string): string => file.slice(0, Math.max(file.lastIndexOf('/'), file.lastIndexOf('\\')));
