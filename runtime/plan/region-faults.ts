/**
 * What is wrong with a plan in regions, without knowing how it was made.
 *
 * Each region is judged as an arena of its own, of its own bytes; besides that only the rules about regions are left:
 * known, allowed, pinned. Depends on: faults, problem (types), regions (types).
 */
import type { Fault } from './faults.ts';
import { faults } from './faults.ts';
import type { Placement, Region, Value } from './regions.ts';

export type RegionFault<V extends Value = Value> =
  | { readonly kind: 'nowhere'; readonly value: V }
  | { readonly kind: 'forbidden'; readonly value: V; readonly region: Region['id'] }
  | { readonly kind: 'moved'; readonly value: V; readonly found: Placement; readonly fixed: Placement }
  /** A fault inside one region; `buffer` and `other` are positions in `values`. */
  | { readonly kind: 'region'; readonly region: Region['id']; readonly fault: Fault; readonly values: readonly V[] };

export function regionFaults<V extends Value>(
  values: readonly V[],
  regions: readonly Region[],
  plan: { readonly placements: ReadonlyMap<V, Placement>; readonly arenaBytes: number },
  alignment: number,
): RegionFault<V>[] {
  const found: RegionFault<V>[] = [];
  const known = new Set(regions.map(({ id }) => id));
  for (const value of values) {
    const placement = plan.placements.get(value);
    if (placement === undefined || !known.has(placement.region)) {
      found.push({ kind: 'nowhere', value });
      continue;
    }
    const { region, offset } = placement;
    const { fixed } = value;
    if (fixed !== undefined && (fixed.region !== region || fixed.offset !== offset))
      found.push({ kind: 'moved', value, found: placement, fixed });
    if (fixed === undefined && value.regions !== undefined && !value.regions.includes(region))
      found.push({ kind: 'forbidden', value, region });
  }
  for (const { id, kind, bytes } of regions) {
    const inside = values.filter((value) => plan.placements.get(value)?.region === id);
    const buffers = inside.map((value) => ({ bytes: value.bytes, born: value.born, dies: value.dies, alignment }));
    const offsets = inside.map((value) => plan.placements.get(value)!.offset);
    for (const fault of faults(buffers, offsets, kind === 'arena' ? plan.arenaBytes : bytes))
      found.push({ kind: 'region', region: id, fault, values: inside });
  }
  return found;
}
