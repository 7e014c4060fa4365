/**
 * The series that a chart draws: bytes in use over time, and a band per line of code, in a bounded number of points.
 *
 * Points are kept at full detail until there are twice as many as wanted; then neighbours are merged in pairs, the
 * higher of the two kept, so a peak is never smoothed away and memory is bounded for any stream. Depends on: ledger, by-site.
 */
import { siteOf } from './by-site.ts';
import type { Frame } from './event.ts';
import type { Change, Fold } from './ledger.ts';

export interface Timeline {
  readonly points: readonly { readonly at: number; readonly inUse: number; readonly reserved: number }[];
  /** Bytes of each line at each point; lines with the most first, the rest summed up under the last, `line` 0. */
  readonly bands: readonly { readonly file: string; readonly line: number; readonly bytes: readonly number[] }[];
}

interface Point {
  readonly at: number;
  readonly inUse: number;
  readonly reserved: number;
  readonly held: ReadonlyMap<string, number>;
}

export function timeline(
  places: ReadonlyMap<number, readonly Frame[]>,
  { points: wanted, bands }: { points: number; bands: number },
): Fold<Timeline> {
  const held = new Map<string, number>();
  const keys = new Map<number, string>();
  let points: Point[] = [];
  let every = 1;
  let pending: Point | undefined;
  let seen = 0;

  function hold(place: number, bytes: number): void {
    let key = keys.get(place);
    if (key === undefined) {
      const { file, line } = siteOf(places, place);
      key = `${line}:${file}`;
      keys.set(place, key);
    }
    const now = (held.get(key) ?? 0) + bytes;
    if (now === 0) held.delete(key);
    else held.set(key, now);
  }

  function add(at: number, inUse: number, reserved: number): void {
    seen += 1;
    if (pending === undefined || inUse >= pending.inUse) pending = { at, inUse, reserved, held: new Map(held) };
    if (seen % every !== 0) return;
    points.push(pending);
    pending = undefined;
    if (points.length < 2 * wanted) return;
    points = points.flatMap((point, i) => (i % 2 === 1 ? [] : [(points[i + 1]?.inUse ?? -1) > point.inUse ? points[i + 1]! : point]));
    every *= 2;
  }

  return {
    take(change: Change) {
      switch (change.kind) {
        case 'born':
          hold(change.allocation.place, change.allocation.bytes);
          return add(change.at, change.inUse, change.reserved);
        case 'died':
          hold(change.allocation.place, -change.allocation.bytes);
          return add(change.at, change.inUse, change.reserved);
        case 'moved':
          hold(change.from.place, -change.from.bytes);
          return hold(change.to.place, change.to.bytes);
        case 'ran':
          add(change.at, change.inUse + change.duringBytes, change.reserved);
          return add(change.at + (change.ms ?? 0), change.inUse, change.reserved);
        case 'reserved':
        case 'noted':
          return;
      }
    },
    result: () => {
      const all = pending === undefined ? points : [...points, pending];
      return { points: all.map(({ at, inUse, reserved }) => ({ at, inUse, reserved })), bands: bandsOf(all, bands) };
    },
  };
}

function bandsOf(points: readonly Point[], wanted: number): Timeline['bands'] {
  const most = new Map<string, number>();
  for (const point of points) for (const [key, bytes] of point.held) most.set(key, Math.max(most.get(key) ?? 0, bytes));
  const shown = [...most]
    .toSorted((a, b) => b[1] - a[1])
    .slice(0, wanted)
    .map(([key]) => key);
  const named = shown.map((key) => {
    const colon = key.indexOf(':');
    return { file: key.slice(colon + 1), line: Number(key.slice(0, colon)), bytes: points.map((point) => point.held.get(key) ?? 0) };
  });
  const rest = points.map((point, i) => Math.max(0, point.inUse - named.reduce((total, band) => total + band.bytes[i]!, 0)));
  return rest.some((bytes) => bytes > 0) ? [...named, { file: '', line: 0, bytes: rest }] : named;
}
