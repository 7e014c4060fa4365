/**
 * The static peak of each function: the most bytes in use while it runs, over all walks that reach it.
 *
 * Counted as a run would count it: whole program in use, arguments and other live arrays included; a compiled function
 * runs while its calls do. Where a dimension has no value the peak is a formula; of several that can't be compared the
 * one that is largest for large dimensions is shown. Depends on: core (dim), compiled, lower/ir.
 */
import { atMost, isKnown, namesIn, plus, printDim, valueOf, type Dim } from '../../runtime/core/dim.ts';
import type { FunctionId, LoweredFunction, Span, Unit } from '../lower/ir.ts';
import type { Analysis } from './analysis.ts';

export interface StaticPeak {
  readonly function: LoweredFunction;
  /** Undefined when something of unknown shape is alive. */
  readonly bytes: Dim | undefined;
  /** What reaches the peak. */
  readonly at: Span | undefined;
  /** Where the peak is a formula of one dimension and a budget is set: how large that dimension may be. */
  readonly fits: Fits | undefined;
}

/** The largest value of a dimension with which a function stays within its budget; 0 when no value does. */
export interface Fits {
  readonly dimension: string;
  readonly most: number;
  readonly budgetBytes: number;
}

/** Stands for any dimension when two formulas are compared for display. */
const largeDimension = 1000;

/** @param projectBudget bytes, of functions and files that have no budget of their own */
export function staticPeaks(unit: Unit, { exploration }: Analysis, projectBudget?: number): readonly StaticPeak[] {
  const best = new Map<FunctionId, { bytes: Dim | undefined; at: Span }>();
  const formulas = new Map<FunctionId, Map<string, Dim>>();
  const note = (id: FunctionId, bytes: Dim | undefined, at: Span): void => {
    if (!unit.functions.has(id)) return;
    const known = best.get(id);
    if (bytes !== undefined) formulas.set(id, (formulas.get(id) ?? new Map<string, Dim>()).set(printDim(bytes), bytes));
    // What is not known at one point may be the most.
    if (known === undefined || bytes === undefined || (known.bytes !== undefined && larger(bytes, known.bytes)))
      best.set(id, { bytes, at });
  };
  for (const { ledger, calls, reached } of exploration.runs) {
    // Walks of other files that never came by.
    const here = [...reached, ...calls.map((call) => call.function.target)].some((id) => id !== undefined && unit.functions.has(id));
    if (!here) continue;
    for (const { inUse, exact, duringBytes, activations, at, target } of ledger.moments) {
      const bytes = exact ? plus(inUse, duringBytes) : undefined;
      for (const id of new Set(activations.map((activation) => ledger.activations[activation]!.function))) note(id, bytes, at);
      if (target !== undefined) note(target, bytes, at);
    }
  }
  for (const fn of unit.functions.values()) if (!best.has(fn.id) && makesArrays(fn)) best.set(fn.id, { bytes: undefined, at: fn.span });
  const targets = new Set(exploration.runs.flatMap(({ calls }) => calls.map((call) => call.function.target)));
  return [...best].flatMap(([id, { bytes, at }]) => {
    const fn = unit.functions.get(id);
    if (fn === undefined || !isNamed(unit, fn, targets)) return [];
    const budget = fn.budgetBytes ?? unit.budgetBytes ?? projectBudget;
    const fits = bytes === undefined || budget === undefined ? undefined : largestWithin([...formulas.get(id)!.values()], budget);
    return [{ function: fn, bytes, at, fits }];
  });
}

/** Of one dimension in all the formulas that grows with it. Exact: the formulas are polynomials, evaluated in bytes. */
function largestWithin(formulas: readonly Dim[], budgetBytes: number): Fits | undefined {
  const [dimension, ...others] = new Set(formulas.flatMap(namesIn));
  if (dimension === undefined || others.length > 0) return undefined;
  if (formulas.some((formula) => atMost(0, formula) !== 'yes')) return undefined;
  const within = (size: number): boolean =>
    formulas.every((formula) => (valueOf(formula, new Map([[dimension, size]])) ?? Infinity) <= budgetBytes);
  let [least, most] = [0, 1];
  while (within(most)) [least, most] = [most, most * 2];
  while (most - least > 1) {
    const middle = Math.floor((least + most) / 2);
    if (within(middle)) least = middle;
    else most = middle;
  }
  return { dimension, most: least, budgetBytes };
}

/** Does a call of a library yield an array in it? No walk need have come by. */
const makesArrays = (fn: LoweredFunction): boolean =>
  fn.blocks.some(({ events }) =>
    events.some(
      (event) =>
        event.kind === 'call' &&
        event.callee.kind === 'library' &&
        event.callee.library !== 'standard' &&
        fn.locals[event.to]?.type.holds === 'array',
    ),
  );

/** A function that people know by its name: declared, a member, compiled, or a constant of the file; no callback. */
function isNamed(unit: Unit, fn: LoweredFunction, targets: ReadonlySet<FunctionId | undefined>): boolean {
  if (fn.kind === 'module' || fn.kind === 'fields' || fn.name === '') return false;
  return fn.kind !== 'arrow' || targets.has(fn.id) || fn.parent === unit.module || fn.parent === undefined;
}

function larger(a: Dim | undefined, b: Dim | undefined): boolean {
  if (a === undefined) return false;
  return b === undefined || magnitude(a) > magnitude(b);
}

const magnitude = (dim: Dim): number => valueOf(dim, new Map(namesIn(dim).map((name) => [name, largeDimension]))) ?? 0;

/**
 * What a report says of a peak: its bytes, and the formula of them where it is one.
 *
 * @param formula of a peak whose bytes are known
 * @param assumed sizes of dimensions without a value, by name
 */
export function reported(
  bytes: Dim | undefined,
  formula: string | undefined,
  assumed: Readonly<Record<string, number>>,
): { readonly staticPeakBytes: number | null; readonly staticPeak: string | null } {
  if (bytes === undefined) return { staticPeakBytes: null, staticPeak: null };
  if (isKnown(bytes)) return { staticPeakBytes: bytes, staticPeak: formula ?? null };
  return { staticPeakBytes: valueOf(bytes, new Map(Object.entries(assumed))) ?? null, staticPeak: printDim(bytes) };
}
