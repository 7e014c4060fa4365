/**
 * Memory as regions: one arena that grows, and the buffers of donated arguments, which have the bytes they have.
 *
 * A donated buffer is occupied from offset 0 while its own value lives, and is ordinary room after that; so what would
 * raise the arena's top can lie in what an argument left behind. An output that takes over a donated buffer is pinned
 * there (`fixed`). Only the arena's bytes are minimised: donated bytes are paid for in any case.
 *
 *     donated   |xxxxxxxx|  tmp  |  out (pinned)   |
 *     arena     |   a  |     b       |   c   |
 *
 * Depends on: problem, bound, plan, shelf, region-bound, improve.
 */
import { leastBytes } from './bound.ts';
import { improve } from './improve.ts';
import { orderings, ordered, takesRoom } from './plan.ts';
import type { Buffer } from './problem.ts';
import { roundUp } from './problem.ts';
import { leastArenaBytes } from './region-bound.ts';
import type { Shelf, Wanted } from './shelf.ts';
import { emptyShelf, grown, lay, lowestFit, snuggestFit } from './shelf.ts';

export interface Region {
  readonly id: string | number;
  /** `arena`: grows as far as needed, its `bytes` are ignored. `donated`: exactly `bytes`, never more. */
  readonly kind: 'arena' | 'donated';
  readonly bytes: number;
}

export interface Placement {
  readonly region: Region['id'];
  readonly offset: number;
}

/** A value with its window of time, born <= t < dies. */
export interface Value {
  readonly name?: string;
  readonly bytes: number;
  readonly born: number;
  readonly dies: number;
  /** Where it lies, when that is not ours to choose: a donated argument in its own region, an output pinned to it. */
  readonly fixed?: Placement;
  /** Regions it may lie in; absent: any. Never empty. */
  readonly regions?: readonly Region['id'][];
}

export interface RegionOptions {
  /** Every offset and the arena's bytes are multiples of this: 256 by default. */
  readonly alignment?: number;
}

export interface RegionPlan<V extends Value = Value> {
  readonly placements: ReadonlyMap<V, Placement>;
  readonly arenaBytes: number;
  /** No plan of these values in these regions has a smaller arena. */
  readonly lowerBoundBytes: number;
}

export const defaultAlignment = 256;

/** What a greedy pass does with a value that could go to either: spare the arena always, or only when it would grow. */
type Leaning = 'donated first' | 'arena while it does not grow';

/** The best plan of the quick orders. */
export function planRegions<V extends Value>(values: readonly V[], regions: readonly Region[], options: RegionOptions = {}): RegionPlan<V> {
  const { alignment = defaultAlignment } = options;
  const lowerBoundBytes = leastArenaBytes(values, regions, alignment);
  let best: Greedy<V> | undefined;
  for (const plan of greedyPlans(values, regions, alignment)) {
    if (best === undefined || plan.arenaBytes < best.arenaBytes) best = plan;
    if (best.arenaBytes <= lowerBoundBytes) break;
  }
  if (best === undefined) throw new Error('internal: runtime/plan: a value fits into no region that it may lie in');
  return { ...best, lowerBoundBytes };
}

/**
 * Better plans the longer it is asked: leaves what the most promising quick plan has in donated regions where it is, and
 * searches for a better plan of the arena. Ends when that is as low as it can be.
 */
export function* betterRegions<V extends Value>(
  values: readonly V[],
  regions: readonly Region[],
  start: RegionPlan<V>,
  options: RegionOptions = {},
): Generator<RegionPlan<V>, void> {
  const { alignment = defaultAlignment } = options;
  const { lowerBoundBytes } = start;
  let best = start;
  if (best.arenaBytes <= lowerBoundBytes) return;
  let promising: { readonly plan: Greedy<V>; readonly least: number } | undefined;
  for (const plan of greedyPlans(values, regions, alignment)) {
    const least = leastBytes(inArena(values, regions, plan).map((value) => whole(value, alignment)));
    if (promising === undefined || least < promising.least) promising = { plan, least };
    yield best;
  }
  for (const packed of packArena(values, regions, promising!.plan, alignment)) {
    if (packed.arenaBytes < best.arenaBytes) best = { ...packed, lowerBoundBytes };
    yield best;
    if (best.arenaBytes <= lowerBoundBytes) return;
  }
}

function* packArena<V extends Value>(
  values: readonly V[],
  regions: readonly Region[],
  plan: Greedy<V>,
  alignment: number,
): Generator<Greedy<V>, void> {
  const loose = inArena(values, regions, plan);
  const buffers = loose.map((value) => whole(value, alignment));
  const start = { offsets: loose.map((value) => plan.placements.get(value)!.offset), bytes: plan.arenaBytes };
  let [last, packed] = [start.offsets as readonly number[], plan];
  for (const {
    plan: { offsets, bytes },
  } of improve(buffers, start)) {
    if (offsets !== last) {
      const placements = new Map(plan.placements);
      loose.forEach((value, i) => placements.set(value, { region: plan.placements.get(value)!.region, offset: offsets[i]! }));
      [last, packed] = [offsets, { placements, arenaBytes: bytes }];
    }
    yield packed;
  }
}

function inArena<V extends Value>(values: readonly V[], regions: readonly Region[], { placements }: Greedy<V>): V[] {
  const arenas = new Set(regions.filter(({ kind }) => kind === 'arena').map(({ id }) => id));
  return values.filter((value) => arenas.has(placements.get(value)!.region));
}

const whole = ({ bytes, born, dies, fixed }: Value, alignment: number): Buffer => ({
  bytes: roundUp(bytes, alignment),
  born,
  dies,
  alignment,
  ...(fixed !== undefined && { fixed: fixed.offset }),
});

export interface Greedy<V> {
  readonly placements: ReadonlyMap<V, Placement>;
  readonly arenaBytes: number;
}

interface Way {
  readonly alignment: number;
  readonly leaning: Leaning;
  readonly find: (shelf: Shelf, wanted: Wanted) => number | undefined;
}

/** Beyond this many values only the orders that are best on real programs are tried. */
const manyValues = 1500;

/** A plan for each order, leaning and fit with which every value finds a place. */
export function* greedyPlans<V extends Value>(values: readonly V[], regions: readonly Region[], alignment: number): Iterable<Greedy<V>> {
  const loose = values.map(unpinned);
  // Smallest first: large ones are kept for what fits nowhere else.
  const donated = regions.filter(({ kind }) => kind === 'donated').sort((a, b) => a.bytes - b.bytes);
  const arena = regions.find(({ kind }) => kind === 'arena');
  const leanings: readonly Leaning[] = donated.length === 0 ? ['donated first'] : ['donated first', 'arena while it does not grow'];
  for (const ordering of values.length > manyValues ? orderings.slice(0, 2) : orderings) {
    const order = ordered(loose, ordering);
    for (const leaning of leanings) {
      for (const find of [lowestFit, snuggestFit]) {
        const plan = greedily(values, order, { arena, donated }, { alignment, leaning, find });
        if (plan !== undefined) yield plan;
      }
    }
  }
}

interface Memory {
  readonly arena: Region | undefined;
  readonly donated: readonly Region[];
}

/** One pass; undefined when a value finds no place. */
function greedily<V extends Value>(
  values: readonly V[],
  order: readonly number[],
  { arena, donated }: Memory,
  way: Way,
): Greedy<V> | undefined {
  const { alignment, leaning, find } = way;
  const placements = new Map<V, Placement>();
  const shelves = new Map(donated.map(({ id, bytes }) => [id, emptyShelf(shelfRoom, bytes)]));
  const arenaShelf = emptyShelf(values.length);
  let arenaBytes = 0;
  const settle = (value: V, want: Wanted, placement: Placement): void => {
    placements.set(value, placement);
    if (!takesRoom(value)) return;
    const { region, offset } = placement;
    if (region !== arena?.id) return void shelves.set(region, laid(shelves.get(region)!, want, offset));
    lay(arenaShelf, want, offset);
    arenaBytes = Math.max(arenaBytes, roundUp(offset + want.bytes, alignment));
  };
  for (const value of values) if (value.fixed !== undefined) settle(value, wanted(value, alignment), value.fixed);
  for (const i of order) {
    const value = values[i]!;
    if (value.fixed !== undefined) continue;
    const want = wanted(value, alignment);
    const offset = arena !== undefined && mayUse(value, arena) ? find(arenaShelf, want) : undefined;
    const spares = leaning === 'donated first' || offset === undefined || offset + want.bytes > arenaBytes;
    const left = spares ? inDonated(value, donated, shelves, want, find) : undefined;
    if (left === undefined && offset === undefined) return undefined;
    settle(value, want, left ?? { region: arena!.id, offset: offset! });
  }
  return { placements, arenaBytes };
}

/** The first region, and so the smallest, with a place for it. */
function inDonated(
  value: Value,
  donated: readonly Region[],
  shelves: ReadonlyMap<Region['id'], Shelf>,
  want: Wanted,
  find: Way['find'],
): Placement | undefined {
  if (donated.length === 0 || donated.at(-1)!.bytes < want.bytes) return undefined;
  for (const region of donated) {
    if (region.bytes < want.bytes || !mayUse(value, region)) continue;
    const offset = find(shelves.get(region.id)!, want);
    if (offset !== undefined) return { region: region.id, offset };
  }
  return undefined;
}

const mayUse = ({ regions }: Value, { id }: Region): boolean => regions === undefined || regions.includes(id);

/** Few values come to lie in one donated region, so shelves start small there and grow. */
const shelfRoom = 8;

function laid(shelf: Shelf, want: Wanted, offset: number): Shelf {
  const wider = shelf.count < shelf.start.length ? shelf : grown(shelf);
  lay(wider, want, offset);
  return wider;
}

const unpinned = ({ bytes, born, dies }: Value) => ({ bytes, born, dies });

const wanted = ({ bytes, born, dies }: Value, alignment: number): Wanted => ({ bytes, born, dies, alignment });
