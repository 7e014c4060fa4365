/**
 * An arena in several pieces, for when memory is free but no hole is large enough.
 *
 * Holes are regions of fixed bytes, so the values are planned anew over few of the largest holes, more of them until they
 * hold them; what cannot be divided is only a value. Depends on: bound, problem, regions.
 */
import { leastBytes } from './bound.ts';
import { roundUp } from './problem.ts';
import type { Placement, Region, Value } from './regions.ts';
import { defaultAlignment, greedyPlans } from './regions.ts';

export interface Hole {
  readonly id: Region['id'];
  readonly bytes: number;
}

export interface SplitPlan<V extends Value = Value> {
  readonly placements: ReadonlyMap<V, Placement>;
  /** The bytes used of each hole that is needed, from its start. */
  readonly pieces: readonly Hole[];
}

/** The values of an arena, laid over holes; undefined when no way of the quick orders fits them in. */
export function splitArena<V extends Value>(
  values: readonly V[],
  holes: readonly Hole[],
  options: { readonly alignment?: number } = {},
): SplitPlan<V> | undefined {
  const alignment = options.alignment ?? defaultAlignment;
  const largestFirst = holes.toSorted((a, b) => b.bytes - a.bytes);
  const loose = values.map((value) => ({ bytes: value.bytes, born: value.born, dies: value.dies }));
  const largestBytes = loose.reduce((most, { bytes }) => Math.max(most, roundUp(bytes, alignment)), 0);
  if (largestBytes > (largestFirst[0]?.bytes ?? 0)) return undefined;
  const least = leastBytes(loose, alignment);
  let total = 0;
  const enough = largestFirst.findIndex(({ bytes }) => (total += bytes) >= least) + 1;
  for (const count of enough === 0 ? [] : counts(enough, holes.length)) {
    const regions = largestFirst.slice(0, count).map(({ id, bytes }): Region => ({ id, kind: 'donated', bytes }));
    for (const plan of greedyPlans(loose, regions, alignment)) {
      const placements = new Map(values.map((value, i) => [value, plan.placements.get(loose[i]!)!]));
      return { placements, pieces: used(placements, regions) };
    }
  }
  return undefined;
}

/** `least`, then more in growing steps, up to `most`: a long list of holes is not tried one hole at a time. */
function* counts(least: number, most: number): Iterable<number> {
  for (let [count, step] = [least, 1]; count < most; [count, step] = [count + step, 2 * step]) yield count;
  yield most;
}

function used<V extends Value>(placements: ReadonlyMap<V, Placement>, regions: readonly Region[]): Hole[] {
  const tops = new Map<Region['id'], number>();
  for (const [{ bytes }, { region, offset }] of placements) tops.set(region, Math.max(tops.get(region) ?? 0, offset + bytes));
  return regions.flatMap(({ id }) => ((tops.get(id) ?? 0) > 0 ? [{ id, bytes: tops.get(id)! }] : []));
}
