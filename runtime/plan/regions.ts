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
 * Depends on: problem, plan, shelf, bound.
 */
import type { Deadline } from './problem.ts';

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
  /** Every offset is a multiple of this, and every value's bytes are rounded up to it: 256 by default. */
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
