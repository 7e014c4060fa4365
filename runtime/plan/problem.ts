/**
 * The packing problem: buffers with lifetimes, and a plan that gives each an offset in one arena.
 *
 * Lifetimes are half-open, so a buffer that dies at 5 and one that is born at 5 may share bytes. Everything is by
 * position: `plan.offsets[i]` belongs to `buffers[i]`. Depends on: nothing.
 */
export interface Buffer {
  readonly name?: string;
  readonly bytes: number;
  /** First step at which the buffer holds something. */
  readonly born: number;
  /** First step at which it no longer does. */
  readonly dies: number;
  /** The offset is a multiple of this; 1 when absent. */
  readonly alignment?: number;
  /** The offset, when it is not ours to choose. */
  readonly fixed?: number;
  /** Parts of the life, apart from each other, in which it needs fewer of its bytes, or none. */
  readonly gaps?: readonly Gap[];
}

export interface Gap {
  readonly from: number;
  readonly to: number;
  /** The bytes of the buffer that it still needs then, half-open; absent: none. */
  readonly keeps?: { readonly from: number; readonly to: number };
}

/** A part of a buffer's life in which it needs the same of its bytes. */
export interface Piece {
  readonly born: number;
  readonly dies: number;
  readonly from: number;
  readonly to: number;
}

/** What a buffer takes, as rectangles of time and of its own bytes; empty ones are left out. */
export function pieces({ bytes, born, dies, gaps = [] }: Buffer): Piece[] {
  const found: Piece[] = [];
  const add = (start: number, end: number, from: number, to: number): void => {
    if (start < end && from < to) found.push({ born: start, dies: end, from, to });
  };
  let start = born;
  for (const { from, to, keeps } of gaps.toSorted((a, b) => a.from - b.from)) {
    add(start, from, 0, bytes);
    if (keeps !== undefined) add(from, to, keeps.from, keeps.to);
    start = to;
  }
  add(start, dies, 0, bytes);
  return found;
}

export interface Plan {
  readonly offsets: readonly number[];
  /** The highest end of any buffer: the bytes that the arena needs. */
  readonly bytes: number;
}

/** The clock comes from outside, so that the same work can be done in slices, in the background, or in a test. */
export interface Deadline {
  /** Milliseconds since any fixed moment. */
  readonly now: () => number;
  /** The moment, on that clock, at which the best answer so far is taken. */
  readonly until: number;
}

export const roundUp = (bytes: number, alignment: number): number => (alignment <= 1 ? bytes : Math.ceil(bytes / alignment) * alignment);

/** The bytes that a plan reaches to. */
export const topOf = (buffers: readonly Buffer[], offsets: ArrayLike<number>): number =>
  buffers.reduce((top, { bytes }, i) => Math.max(top, offsets[i]! + bytes), 0);
