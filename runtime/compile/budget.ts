/**
 * Keeps a plan within a budget: first as it is, then by computing values again, else with an error before anything runs.
 *
 * Round by round: what to recompute is chosen on the profile of the present plan, the program is fused and planned anew,
 * and the round counts only when the planned peak, or what lies above the budget, went down. What turns out superfluous
 * at the end is taken back, most arithmetic first. Only values of the program itself are recomputed, not those inside of
 * the bodies of loops. Depends on: core, recompute, analyse, copies, layout, storage.
 */
import { printAval } from '../core/aval.ts';
import { budgetTooSmall, type BudgetBuffer, type OutOfMemoryError } from '../core/errors.ts';
import type { Variable } from '../core/program.ts';
import type { Place } from '../core/source.ts';
import { peakOf } from './analyse.ts';
import { madeBy } from './copies.ts';
import type { Recomputed } from './executable.ts';
import { picksFor, profileOf, rewritten, type Repetition, type Scene } from './recompute.ts';
import { roundedBytes } from './storage.ts';
import type { Flat } from './simplify.ts';

/** A program of this compiler, planned: what `Scene` needs, and whatever else the caller keeps with it. */
export interface Budgeted<F extends Planned> {
  readonly start: F;
  readonly budget: number;
  /** A plan at once. */
  readonly plan: (flat: Flat) => F;
  /** The same program fused with more care. */
  readonly finish: (form: F) => F;
  /** The same form after the exact search of the planner. */
  readonly searched: (form: F) => F;
  readonly name: string;
  readonly paths: readonly string[];
}

export interface Planned extends Scene {
  readonly recomputed: readonly Recomputed[];
}

const mostAttempts = 32;
const mostRemovals = 8;

interface Judged<F> {
  readonly form: F;
  readonly peak: number;
  /** Bytes above the budget, summed over the steps. */
  readonly excess: number;
}

export function withinBudget<F extends Planned>({ start, budget, plan, finish, searched, name, paths }: Budgeted<F>): F {
  const judge = (form: F): Judged<F> => {
    const excess = profileOf(form).reduce((sum, bytes) => sum + Math.max(0, bytes - budget), 0);
    return { form, peak: peakOf(form.layout, form.flat.inputs), excess };
  };
  const fits = ({ peak }: Judged<F>): boolean => peak <= budget;
  const asItIs = judge(start);
  if (fits(asItIs)) return start;
  const packed = searchedIfNear(asItIs, searched, judge, budget);
  if (fits(packed)) return packed.form;
  // Arguments that stay and results are needed whatever is computed again.
  const hopeless = leastOf(start) > budget;
  let best = asItIs;
  const not = new Set<Variable>();
  for (let attempts = 0; !hopeless && attempts < mostAttempts && !fits(best);) {
    const { form } = best;
    const target = budget - (best.peak - Math.max(...profileOf(form)));
    const picks = picksFor(form, target, not);
    if (picks.length === 0) break;
    let better: Judged<F> | undefined;
    for (let take = picks.length; take > 0; take >>= 1) {
      attempts++;
      const some = picks.slice(0, take);
      const made = judge(repeated(form, some, plan));
      if (made.peak > best.peak || (made.peak === best.peak && made.excess >= best.excess)) continue;
      better = fits(made) ? fewest(form, some, made, (fewer) => judge(repeated(form, fewer, plan)), fits) : made;
      break;
    }
    if (better === undefined) not.add(picks[0]!.value);
    else best = better;
  }
  if (!fits(best)) best = searchedIfNear(best, searched, judge, budget);
  if (!fits(best)) throw tooSmall({ name, budget, paths, before: asItIs.peak, peak: best.peak, form: best.form });
  if (best.form.recomputed.length === 0) return best.form;
  const finished = judge(finish(best.form));
  return fits(finished) ? finished.form : best.form;
}

const bytesOf = (variables: readonly Variable[]): number => variables.reduce((sum, { aval }) => sum + roundedBytes(aval), 0);

function leastOf({ flat, donated, outputs }: Planned): number {
  const fresh = outputs.filter((variable) => !flat.inputs.includes(variable));
  const stay = flat.inputs.filter((variable, i) => !donated[i] || outputs.includes(variable));
  return Math.max(bytesOf(flat.inputs), bytesOf(stay) + bytesOf(fresh));
}

/** Where only the packing of the plan, or its order, may stand between the peak and the budget. */
function searchedIfNear<F extends Planned>(
  one: Judged<F>,
  searched: (form: F) => F,
  judge: (form: F) => Judged<F>,
  budget: number,
): Judged<F> {
  const { layout, flat, donated } = one.form;
  const always = bytesOf(flat.inputs.filter((_, i) => !donated[i]));
  if (always + Math.min(layout.aliveBytes, layout.orderLowerBoundBytes ?? Infinity) > budget) return one;
  const made = judge(searched(one.form));
  return made.peak < one.peak ? made : one;
}

function repeated<F extends Planned>(form: F, picks: readonly Repetition[], plan: (flat: Flat) => F): F {
  const { flat } = rewritten(form, picks);
  const made = plan(flat);
  const more = picks.map(({ value, bytes, flops }): Recomputed & { readonly place: Place | undefined } => ({
    bytes,
    flops,
    shape: value.aval.shape,
    dtype: value.aval.dtype,
    place: form.flat.equations.find(({ outputs }) => outputs.includes(value))?.place,
  }));
  return { ...made, recomputed: [...form.recomputed, ...more] };
}

/** Without the picks that the fitting plan can do without. */
function fewest<F>(
  form: Planned,
  picks: readonly Repetition[],
  made: Judged<F>,
  tryWith: (fewer: readonly Repetition[]) => Judged<F>,
  fits: (one: Judged<F>) => boolean,
): Judged<F> {
  let [kept, best] = [picks, made];
  const costliest = picks.toSorted((a, b) => b.flops - a.flops).slice(0, mostRemovals);
  for (const pick of costliest) {
    if (kept.length === 1 || form.flat.equations.length === 0) break;
    const fewer = kept.filter((one) => one !== pick);
    const without = tryWith(fewer);
    if (fits(without)) [kept, best] = [fewer, without];
  }
  return best;
}

interface TooSmall {
  readonly name: string;
  readonly budget: number;
  readonly paths: readonly string[];
  readonly before: number;
  readonly peak: number;
  readonly form: Planned;
}

/** Of all steps that exceed the budget, the one where the fewest buffers do so together. */
function tooSmall({ name, budget, paths, before, peak, form }: TooSmall): OutOfMemoryError {
  const { layout, flat, donated } = form;
  const argument = (i: number): Omit<BudgetBuffer, 'bytes'> => ({
    what: `\`${paths[i] ?? 'a value that the function closes over'}\` ${printAval(flat.inputs[i]!.aval)}`,
    place: undefined,
  });
  const always = flat.inputs.flatMap((variable, i): BudgetBuffer[] =>
    donated[i] ? [] : [{ ...argument(i), bytes: roundedBytes(variable.aval) }],
  );
  const makers = new Map(layout.order.flatMap((node) => node.results.map((variable, result) => [variable, madeBy(node, result)] as const)));
  const steps = Math.max(1, layout.order.length);
  let fewest: readonly BudgetBuffer[] | undefined;
  let at = 0;
  for (let step = 0; step < steps; step++) {
    const alive = layout.placed.filter(({ born, dies }) => born <= step && step < dies);
    const buffers = alive.map(({ storage, node, bytes }): BudgetBuffer => {
      if (storage === undefined)
        return { what: 'working memory of a step', bytes, place: node === undefined ? undefined : madeBy(node, 0).place };
      const value =
        storage.values.findLast((one) => layout.order.findIndex(({ results }) => results.includes(one)) <= step) ?? storage.values[0]!;
      const input = flat.inputs.indexOf(value);
      const made = makers.get(value);
      return input >= 0
        ? { ...argument(input), bytes }
        : {
            what: `${printAval(value.aval)}${made?.role === 'again' ? ' (computed again)' : made?.role === 'gradient' ? ' (a gradient)' : ''}`,
            place: made?.place,
            bytes,
          };
    });
    const set = smallestAbove([...always, ...buffers], budget);
    if (set !== undefined && (fewest === undefined || set.length < fewest.length)) [fewest, at] = [set, step];
  }
  const node = layout.order[at];
  return budgetTooSmall({
    name,
    budget,
    before,
    peak,
    recomputed: form.recomputed.length,
    buffers: fewest ?? [],
    at: node === undefined ? undefined : madeBy(node, 0).place,
  });
}

function smallestAbove(buffers: readonly BudgetBuffer[], budget: number): readonly BudgetBuffer[] | undefined {
  let sum = 0;
  const set: BudgetBuffer[] = [];
  for (const buffer of buffers.toSorted((a, b) => b.bytes - a.bytes)) {
    set.push(buffer);
    sum += buffer.bytes;
    if (sum > budget) return set;
  }
  return undefined;
}
