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
import { improved } from './improve.ts';
import { orderings, ordered, takesRoom } from './plan.ts';
import type { Buffer, Deadline } from './problem.ts';
import { roundUp } from './problem.ts';
import { leastArenaBytes } from './region-bound.ts';
import type { Shelf, Wanted } from './shelf.ts';
import { emptyShelf, lay, lowestFit, snuggestFit } from './shelf.ts';

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
  /** Absent: the quick answer. Present: better ones are looked for until then, or until the bound is reached. */
  readonly deadline?: Deadline;
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

export function planRegions<V extends Value>(
  values: readonly V[],
  regions: readonly Region[],
  options: RegionOptions = {},
): RegionPlan<V> {
  const { alignment = defaultAlignment, deadline } = options;
  const lowerBoundBytes = leastArenaBytes(values, regions, alignment);
  let best: Greedy<V> | undefined;
  let promising: { readonly plan: Greedy<V>; readonly least: number } | undefined;
  for (const plan of greedyPlans(values, regions, alignment)) {
    if (best === undefined || plan.arenaBytes < best.arenaBytes) best = plan;
    if (best.arenaBytes <= lowerBoundBytes) break;
    if (deadline === undefined) continue;
    const least = leastBytes(inArena(values, regions, plan).map((value) => whole(value, alignment)));
    if (promising === undefined || least < promising.least) promising = { plan, least };
    if (deadline.now() >= deadline.until) break;
  }
  if (best === undefined) throw new Error('internal: runtime/plan: a value fits into no region that it may lie in');
  if (best.arenaBytes > lowerBoundBytes && deadline !== undefined && promising !== undefined) {
    const packed = packArena(values, regions, promising.plan, alignment, deadline);
    if (packed.arenaBytes < best.arenaBytes) best = packed;
  }
  return { ...best, lowerBoundBytes };
}

/** Leaves what lies in donated regions where it is, and searches for a better plan of the arena. */
function packArena<V extends Value>(values: readonly V[], regions: readonly Region[], plan: Greedy<V>, alignment: number, deadline: Deadline): Greedy<V> {
  const loose = inArena(values, regions, plan);
  const buffers = loose.map((value) => whole(value, alignment));
  const start = { offsets: loose.map((value) => plan.placements.get(value)!.offset), bytes: plan.arenaBytes };
  const { offsets, bytes } = improved(buffers, start, deadline).plan;
  const placements = new Map(plan.placements);
  loose.forEach((value, i) => placements.set(value, { region: plan.placements.get(value)!.region, offset: offsets[i]! }));
  return { placements, arenaBytes: bytes };
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

/** A plan for each order, leaning and fit with which every value finds a place. */
export function* greedyPlans<V extends Value>(values: readonly V[], regions: readonly Region[], alignment: number): Iterable<Greedy<V>> {
  for (const ordering of orderings) {
    const order = ordered(values.map(unpinned), ordering);
    for (const leaning of ['donated first', 'arena while it does not grow'] as const) {
      for (const find of [lowestFit, snuggestFit]) {
        const plan = greedily(values, order, regions, { alignment, leaning, find });
        if (plan !== undefined) yield plan;
      }
    }
  }
}

function greedily<V extends Value>(values: readonly V[], order: readonly number[], regions: readonly Region[], way: Way): Greedy<V> | undefined {
  const { alignment, leaning, find } = way;
  const shelves = new Map(
    regions.map((region) => [region.id, { region, shelf: emptyShelf(values.length, region.kind === 'arena' ? Infinity : region.bytes) }]),
  );
  const placements = new Map<V, Placement>();
  let arenaBytes = 0;
  const settle = (value: V, want: Wanted, { region, offset }: Placement): void => {
    placements.set(value, { region, offset });
    const { shelf, region: { kind } } = shelves.get(region)!;
    if (!takesRoom(value)) return;
    lay(shelf, want, offset);
    if (kind === 'arena') arenaBytes = Math.max(arenaBytes, roundUp(offset + want.bytes, alignment));
  };
  for (const value of values) if (value.fixed !== undefined) settle(value, wanted(value, alignment), value.fixed);
  for (const i of order) {
    const value = values[i]!;
    if (value.fixed !== undefined) continue;
    const want = wanted(value, alignment);
    const allowed = regions.filter(({ id }) => value.regions === undefined || value.regions.includes(id));
    const arena = allowed
      .filter(({ kind }) => kind === 'arena')
      .map(({ id }) => ({ region: id, offset: find(shelves.get(id)!.shelf, want)! }))[0];
    const spares = leaning === 'donated first' || arena === undefined || arena.offset + want.bytes > arenaBytes;
    const chosen = (spares ? inDonated(allowed, shelves, want, find) : undefined) ?? arena;
    if (chosen === undefined) return undefined;
    settle(value, want, chosen);
  }
  return { placements, arenaBytes };
}

/** The smallest donated region with a place for it: large ones are kept for what fits nowhere else. */
function inDonated(
  allowed: readonly Region[],
  shelves: ReadonlyMap<Region['id'], { readonly shelf: Shelf }>,
  want: Wanted,
  find: Way['find'],
): Placement | undefined {
  let best: (Placement & { readonly bytes: number }) | undefined;
  for (const { id, kind, bytes } of allowed) {
    if (kind !== 'donated' || bytes < want.bytes || (best !== undefined && best.bytes <= bytes)) continue;
    const offset = find(shelves.get(id)!.shelf, want);
    if (offset !== undefined) best = { region: id, offset, bytes };
  }
  return best === undefined ? undefined : { region: best.region, offset: best.offset };
}

const unpinned = ({ bytes, born, dies }: Value) => ({ bytes, born, dies });

const wanted = ({ bytes, born, dies }: Value, alignment: number): Wanted => ({ bytes, born, dies, alignment });
