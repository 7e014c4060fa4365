/**
 * The least arena that any plan of these values in these regions can have.
 *
 * At every step, what fits into no donated region is in the arena, and so is what the free donated bytes cannot hold. A
 * large value cannot use small regions, so the second part is asked once for each size of region, counting only what is
 * larger than the regions left out. Depends on: problem, shelf, regions (types).
 */
import { roundUp } from './problem.ts';
import type { Region, Value } from './regions.ts';
import type { Shelf } from './shelf.ts';
import { emptyShelf, lay, lowestFit } from './shelf.ts';

/** More distinct sizes than this are thinned out: the bound stays valid with any subset of them. */
const mostThresholds = 16;

export function leastArenaBytes(values: readonly Value[], regions: readonly Region[], alignment: number): number {
  const kinds = new Map(regions.map(({ id, kind }) => [id, kind]));
  const pinned = values.filter(({ fixed }) => fixed !== undefined && kinds.get(fixed.region) === 'donated');
  const donated = regions.filter(({ kind }) => kind === 'donated');
  const shelves = donated.map((region) => ({ region, shelf: pinnedShelf(region, pinned) }));
  const spread = values.filter(
    ({ fixed, born, dies, bytes }) => bytes > 0 && born < dies && (fixed === undefined || kinds.get(fixed.region) === 'arena'),
  );
  const homes = spread.map((value) =>
    value.fixed === undefined ? shelves.filter(({ region, shelf }) => mayLie(value, region, shelf)) : [],
  );
  const must = spread.filter((_, i) => homes[i]!.length === 0);
  const free = spread.filter((_, i) => homes[i]!.length > 0);
  const useful = donated.filter((region) => homes.some((list) => list.some((home) => home.region === region)));
  const steps = [...new Set(spread.map(({ born }) => born))].sort((a, b) => a - b);
  const inArena = series(
    steps,
    must.map((value) => ({ ...value, bytes: roundUp(value.bytes, alignment) })),
  );

  let least = 0;
  for (const threshold of thresholds(useful)) {
    const wanting = series(
      steps,
      free.filter(({ bytes }) => bytes > threshold),
    );
    const large = useful.filter(({ bytes }) => bytes > threshold);
    const room = large.reduce((sum, { bytes }) => sum + bytes, 0);
    const ids = new Set(large.map(({ id }) => id));
    const taken = series(
      steps,
      pinned.filter(({ fixed }) => ids.has(fixed!.region)),
    );
    steps.forEach((_, i) => {
      least = Math.max(least, inArena[i]! + Math.max(0, wanting[i]! - Math.max(0, room - taken[i]!)));
    });
  }
  const reach = must.reduce((top, { fixed, bytes }) => Math.max(top, fixed === undefined ? 0 : fixed.offset + bytes), 0);
  return roundUp(Math.max(least, reach), alignment);
}

/** 0, and every size of region but the largest: with each of them the smaller regions are out of the question. */
function thresholds(regions: readonly Region[]): number[] {
  const sizes = [...new Set(regions.map(({ bytes }) => bytes))].sort((a, b) => b - a);
  const stride = Math.ceil(sizes.length / mostThresholds);
  return [0, ...sizes.filter((_, i) => i % Math.max(1, stride) === 0)];
}

function pinnedShelf(region: Region, pinned: readonly Value[]): Shelf {
  const shelf = emptyShelf(pinned.length, region.bytes);
  for (const { bytes, born, dies, fixed } of pinned)
    if (fixed!.region === region.id && bytes > 0 && born < dies) lay(shelf, { bytes, born, dies, alignment: 1 }, fixed!.offset);
  return shelf;
}

const mayLie = ({ bytes, born, dies, regions }: Value, { id, bytes: room }: Region, shelf: Shelf): boolean =>
  bytes <= room && (regions === undefined || regions.includes(id)) && lowestFit(shelf, { bytes, born, dies, alignment: 1 }) !== undefined;

/** Bytes alive at each of the steps. */
function series(steps: readonly number[], values: readonly Value[]): Float64Array {
  const births = values.toSorted((a, b) => a.born - b.born);
  const deaths = values.toSorted((a, b) => a.dies - b.dies);
  const alive = new Float64Array(steps.length);
  let bytes = 0;
  let came = 0;
  let went = 0;
  steps.forEach((step, i) => {
    for (; came < births.length && births[came]!.born <= step; came++) bytes += births[came]!.bytes;
    for (; went < deaths.length && deaths[went]!.dies <= step; went++) bytes -= deaths[went]!.bytes;
    alive[i] = bytes;
  });
  return alive;
}
