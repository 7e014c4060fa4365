/**
 * What lies in one stretch of memory, sorted by offset, and where a further buffer fits into it.
 *
 * Plain columns of numbers, scanned from the bottom: for a few thousand buffers that beats an interval tree, because
 * most scans end early and the rest run at memory speed. Depends on: problem.
 */
import { roundUp } from './problem.ts';

export interface Shelf {
  count: number;
  /** The end of the stretch; nothing may reach beyond it. */
  readonly capacity: number;
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly born: Float64Array;
  readonly dies: Float64Array;
}

export interface Wanted {
  readonly bytes: number;
  readonly born: number;
  readonly dies: number;
  readonly alignment: number;
}

export const emptyShelf = (room: number, capacity = Infinity): Shelf => ({
  count: 0,
  capacity,
  start: new Float64Array(room),
  end: new Float64Array(room),
  born: new Float64Array(room),
  dies: new Float64Array(room),
});

/** The same shelf with twice the room. */
export function grown(shelf: Shelf): Shelf {
  const wider = emptyShelf(shelf.start.length * 2, shelf.capacity);
  for (const column of ['start', 'end', 'born', 'dies'] as const) wider[column].set(shelf[column]);
  wider.count = shelf.count;
  return wider;
}

/** The lowest offset, not below `least`, that is free through the whole life, if any is below the shelf's end. */
export function lowestFit(shelf: Shelf, { bytes, born, dies, alignment }: Wanted, least = 0): number | undefined {
  const { count, start, end, born: births, dies: deaths } = shelf;
  let offset = least;
  for (let i = 0; i < count; i++) {
    if (births[i]! >= dies || born >= deaths[i]!) continue;
    if (offset + bytes <= start[i]!) break;
    if (end[i]! > offset) offset = alignment > 1 ? roundUp(end[i]!, alignment) : end[i]!;
  }
  return offset + bytes <= shelf.capacity ? offset : undefined;
}

/** The offset in the gap that it fills best; the open end counts as a gap only when no other fits. */
export function snuggestFit(shelf: Shelf, { bytes, born, dies, alignment }: Wanted): number | undefined {
  const { count, start, end, born: births, dies: deaths } = shelf;
  let offset = 0;
  let best: number | undefined;
  let leftOver = Infinity;
  for (let i = 0; i < count; i++) {
    if (births[i]! >= dies || born >= deaths[i]!) continue;
    const spare = start[i]! - offset - bytes;
    if (spare >= 0 && spare < leftOver) {
      best = offset;
      leftOver = spare;
      if (spare === 0) break;
    }
    if (end[i]! > offset) offset = alignment > 1 ? roundUp(end[i]!, alignment) : end[i]!;
  }
  if (best === undefined || shelf.capacity - offset - bytes < leftOver) {
    if (offset + bytes <= shelf.capacity) return offset;
  }
  return best;
}

/** Lays a buffer down; the caller has asked for the offset. */
export function lay(shelf: Shelf, { bytes, born, dies }: Wanted, offset: number): void {
  const { start, end, born: births, dies: deaths } = shelf;
  let low = 0;
  for (let high = shelf.count; low < high;) {
    const middle = (low + high) >> 1;
    if (start[middle]! <= offset) low = middle + 1;
    else high = middle;
  }
  shift(start, low, shelf.count);
  shift(end, low, shelf.count);
  shift(births, low, shelf.count);
  shift(deaths, low, shelf.count);
  start[low] = offset;
  end[low] = offset + bytes;
  births[low] = born;
  deaths[low] = dies;
  shelf.count++;
}

/** Makes room for one entry; a short run is moved faster by hand than by a call. */
function shift(column: Float64Array, from: number, to: number): void {
  if (to - from > 64) column.copyWithin(from + 1, from, to);
  else for (let i = to; i > from; i--) column[i] = column[i - 1]!;
}
