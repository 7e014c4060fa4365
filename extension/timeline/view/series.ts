/**
 * Columns of a chart from a million steps, in bounded time: what each line held at the highest step of every column.
 *
 *   level 2  |        max        |   one snapshot per 4096 steps
 *   level 1  | max | max | max … |   one per 512
 *   level 0  |m|m|m|m|m|m|m|m|m …|   one per 64, and the exact steps between two of them
 *
 * A snapshot is taken where the total is highest, so a peak is never smoothed away. Lines beyond the largest `bands` are
 * summed up in the last band. Depends on: timeline/messages.
 */
import type { Recording } from '../messages.ts';

export const maxBands = 31;
const finest = 64;
const factor = 8;

interface Level {
  readonly stepsEach: number;
  /** Bytes per band at the highest step of each bucket. */
  readonly bands: Float32Array;
  readonly total: Float64Array;
  readonly step: Uint32Array;
}

export interface Series {
  readonly steps: number;
  readonly bands: number;
  /** Site of each band, the largest first; the last is -1 when it sums up the rest. */
  readonly sites: readonly number[];
  readonly bandOfStep: Uint8Array;
  readonly delta: Float64Array;
  readonly at: Float64Array;
  readonly levels: readonly Level[];
  /** State before the first step of every bucket of 64. */
  readonly checkpoints: Float32Array;
  readonly peak: { readonly bytes: number; readonly step: number };
}

export function series({ sites, site, delta, at }: Recording): Series {
  const steps = delta.length;
  const order = largestSites(sites.length, site, delta);
  const named = order.slice(0, order.length > maxBands ? maxBands - 1 : maxBands);
  const bands = Math.max(1, Math.min(order.length, maxBands));
  const bandOfSite = new Uint8Array(sites.length).fill(bands - 1);
  named.forEach((index, band) => (bandOfSite[index] = band));
  const bandOfStep = new Uint8Array(steps);
  for (let step = 0; step < steps; step += 1) bandOfStep[step] = bandOfSite[site[step]!]!;

  const buckets = Math.ceil(steps / finest);
  const checkpoints = new Float32Array(buckets * bands);
  const base: Level = emptyLevel(finest, buckets, bands);
  const now = new Float64Array(bands);
  let total = 0;
  let peak = { bytes: 0, step: 0 };
  for (let bucket = 0; bucket < buckets; bucket += 1) {
    checkpoints.set(now, bucket * bands);
    let best = -1;
    for (let step = bucket * finest, end = Math.min(steps, step + finest); step < end; step += 1) {
      const band = bandOfStep[step]!;
      now[band] = now[band]! + delta[step]!;
      total += delta[step]!;
      if (total > best) {
        best = total;
        base.step[bucket] = step;
        base.bands.set(now, bucket * bands);
      }
    }
    base.total[bucket] = best;
    if (best > peak.bytes) peak = { bytes: best, step: base.step[bucket]! };
  }
  const levels = [base];
  while (levels.at(-1)!.total.length > 2 * factor) levels.push(coarser(levels.at(-1)!, bands));
  const rest = order.length > named.length ? [-1] : [];
  return { steps, bands, sites: [...named, ...rest], bandOfStep, delta, at, levels, checkpoints, peak };
}

function largestSites(count: number, site: Uint32Array, delta: Float64Array): readonly number[] {
  const now = new Float64Array(count);
  const most = new Float64Array(count);
  for (let step = 0; step < delta.length; step += 1) {
    const index = site[step]!;
    const bytes = (now[index] = now[index]! + delta[step]!);
    if (bytes > most[index]!) most[index] = bytes;
  }
  return [...most.keys()].filter((index) => most[index]! > 0).sort((a, b) => most[b]! - most[a]!);
}

const emptyLevel = (stepsEach: number, buckets: number, bands: number): Level => ({
  stepsEach,
  bands: new Float32Array(buckets * bands),
  total: new Float64Array(buckets),
  step: new Uint32Array(buckets),
});

function coarser(fine: Level, bands: number): Level {
  const buckets = Math.ceil(fine.total.length / factor);
  const level = emptyLevel(fine.stepsEach * factor, buckets, bands);
  for (let bucket = 0; bucket < buckets; bucket += 1) {
    let best = bucket * factor;
    for (let one = best; one < Math.min(fine.total.length, (bucket + 1) * factor); one += 1)
      if (fine.total[one]! > fine.total[best]!) best = one;
    level.total[bucket] = fine.total[best]!;
    level.step[bucket] = fine.step[best]!;
    level.bands.set(fine.bands.subarray(best * bands, (best + 1) * bands), bucket * bands);
  }
  return level;
}

export interface Columns {
  readonly width: number;
  /** `width * bands` bytes. */
  readonly bands: Float32Array;
  readonly total: Float64Array;
  readonly step: Uint32Array;
}

/** Room for columns: panning fills the same room again, since making it for every frame costs as much as filling it. */
export const roomFor = (width: number, bands: number): Columns => ({
  width,
  bands: new Float32Array(width * bands),
  total: new Float64Array(width),
  step: new Uint32Array(width),
});

/**
 * `edges[x]` is the first step of column x; `edges[width]` the end. An empty column shows the state before it. Writes over
 * `result` and returns it.
 */
export function columns(all: Series, edges: Float64Array, result: Columns = roomFor(edges.length - 1, all.bands)): Columns {
  const { width } = result;
  const span = edges[width]! - edges[0]!;
  const level = all.levels.findLast(({ stepsEach }) => stepsEach * width * 2 <= span);
  if (level === undefined) exactColumns(all, edges, result);
  else levelColumns(all, level, edges, result);
  return result;
}

function levelColumns({ bands }: Series, level: Level, edges: Float64Array, { bands: out, total, step }: Columns): void {
  const last = level.total.length - 1;
  for (let x = 0; x < total.length; x += 1) {
    const first = Math.min(last, Math.floor(edges[x]! / level.stepsEach));
    const end = Math.min(last, Math.max(first, Math.ceil(edges[x + 1]! / level.stepsEach) - 1));
    let best = first;
    for (let bucket = first; bucket <= end; bucket += 1) if (level.total[bucket]! > level.total[best]!) best = bucket;
    total[x] = level.total[best]!;
    step[x] = level.step[best]!;
    for (let band = 0; band < bands; band += 1) out[x * bands + band] = level.bands[best * bands + band]!;
  }
}

function exactColumns(
  { bands, checkpoints, bandOfStep, delta, steps }: Series,
  edges: Float64Array,
  { bands: out, total, step }: Columns,
): void {
  if (steps === 0) return;
  // The last step before the first column: none where the columns begin with the run.
  const from = Math.min(steps - 1, Math.floor(edges[0]!) - 1);
  const bucket = Math.max(0, Math.floor(from / finest));
  let sum = 0;
  for (let band = 0; band < bands; band += 1) sum += held[band] = checkpoints[bucket * bands + band]!;
  let at = bucket * finest;
  for (; at <= from; at += 1) {
    held[bandOfStep[at]!] = held[bandOfStep[at]!]! + delta[at]!;
    sum += delta[at]!;
  }
  for (let x = 0; x < total.length; x += 1) {
    const end = Math.min(steps, Math.ceil(edges[x + 1]!));
    // Before the first step nothing is in use; an empty column repeats what was so before it.
    total[x] = sum;
    step[x] = Math.max(0, at - 1);
    for (let band = 0; band < bands; band += 1) out[x * bands + band] = held[band]!;
    let best = at >= end ? Infinity : -1;
    for (; at < end; at += 1) {
      held[bandOfStep[at]!] = held[bandOfStep[at]!]! + delta[at]!;
      sum += delta[at]!;
      if (sum <= best) continue;
      best = sum;
      total[x] = sum;
      step[x] = at;
      for (let band = 0; band < bands; band += 1) out[x * bands + band] = held[band]!;
    }
  }
}

/** What each band holds while `exactColumns` goes along: made once. */
const held = new Float64Array(maxBands);

/** First step at or after a time. */
export function stepAt({ at }: Pick<Series, 'at'>, time: number): number {
  let low = 0;
  let high = at.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at[middle]! < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The step at which one line held most; undefined when it never held any. */
export function highestOf({ site, delta }: Recording, wanted: ReadonlySet<number>): number | undefined {
  let now = 0;
  let best = 0;
  let at: number | undefined;
  for (let step = 0; step < delta.length; step += 1) {
    if (!wanted.has(site[step]!)) continue;
    now += delta[step]!;
    if (now <= best) continue;
    best = now;
    at = step;
  }
  return at;
}

export interface AliveRow {
  readonly site: number;
  readonly label: number;
  readonly bytes: number;
  readonly count: number;
}

/** The arrays alive after a step, equal ones of one line together, largest first. */
export function aliveAt({ born, died, bytes, blockSite, label }: Recording, step: number): readonly AliveRow[] {
  const rows = new Map<string, { site: number; label: number; bytes: number; count: number }>();
  for (let block = 0; block < born.length; block += 1) {
    if (born[block]! > step || died[block]! <= step) continue;
    const key = `${blockSite[block]}:${label[block]}`;
    const row = rows.get(key);
    if (row === undefined) rows.set(key, { site: blockSite[block]!, label: label[block]!, bytes: bytes[block]!, count: 1 });
    else {
      row.bytes += bytes[block]!;
      row.count += 1;
    }
  }
  return [...rows.values()].sort((a, b) => b.bytes - a.bytes);
}
