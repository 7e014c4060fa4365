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

export const roundUp = (bytes: number, alignment: number): number =>
  alignment <= 1 ? bytes : Math.ceil(bytes / alignment) * alignment;

/** The bytes that a plan reaches to. */
export const topOf = (buffers: readonly Buffer[], offsets: ArrayLike<number>): number =>
  buffers.reduce((top, { bytes }, i) => Math.max(top, offsets[i]! + bytes), 0);
