/**
 * A packing problem as columns of numbers, prepared once for many searches: sections, who meets whom, who is alike.
 *
 * Depends on: problem (types), sections.
 */
import type { Buffer } from './problem.ts';
import { sections } from './sections.ts';

export interface Layout {
  /** Buffers and sections. */
  readonly n: number;
  readonly m: number;
  readonly first: Int32Array;
  readonly last: Int32Array;
  readonly bytes: Float64Array;
  readonly alignment: Float64Array;
  /** The others alive at the same time as `b` are `meets[meetStart[b]]` up to `meets[meetStart[b + 1]]`. */
  readonly meetStart: Int32Array;
  readonly meets: Int32Array;
  /** The buffers alive in a section, in the same way. */
  readonly memberStart: Int32Array;
  readonly members: Int32Array;
  /** Of buffers that are alike only the first not yet placed is tried: the row of its like, before and after, or -1. */
  readonly earlierTwin: Int32Array;
  readonly laterTwin: Int32Array;
  /** All sizes and alignments are multiples of this, and so is the top of a plan that is pushed down. */
  readonly unit: number;
}

/** Every buffer must take room: some bytes, for a while. */
export function layout(buffers: readonly Buffer[]): Layout {
  const { count: m, first, last } = sections(buffers);
  const { start: meetStart, list: meets } = meetings(first, last);
  const { start: memberStart, list: members } = membership(first, last, m);
  const earlierTwin = earlierTwins(buffers, first, last);
  const laterTwin = new Int32Array(buffers.length).fill(-1);
  earlierTwin.forEach((earlier, b) => {
    if (earlier >= 0) laterTwin[earlier] = b;
  });
  return {
    n: buffers.length,
    m,
    first,
    last,
    bytes: Float64Array.from(buffers, (b) => b.bytes),
    alignment: Float64Array.from(buffers, (b) => b.alignment ?? 1),
    meetStart,
    meets,
    memberStart,
    members,
    earlierTwin,
    laterTwin,
    unit: buffers.reduce((unit, b) => common(common(unit, b.bytes), b.alignment ?? b.bytes), 0),
  };
}

function common(a: number, b: number): number {
  while (b > 0) [a, b] = [b, a % b];
  return a;
}

function meetings(first: Int32Array, last: Int32Array): { start: Int32Array; list: Int32Array } {
  const n = first.length;
  const start = new Int32Array(n + 1);
  const list: number[] = [];
  for (let b = 0; b < n; b++) {
    for (let other = 0; other < n; other++) if (other !== b && first[b]! <= last[other]! && first[other]! <= last[b]!) list.push(other);
    start[b + 1] = list.length;
  }
  return { start, list: Int32Array.from(list) };
}

function membership(first: Int32Array, last: Int32Array, m: number): { start: Int32Array; list: Int32Array } {
  const start = new Int32Array(m + 1);
  for (let b = 0; b < first.length; b++) for (let s = first[b]!; s <= last[b]!; s++) start[s + 1]!++;
  for (let s = 0; s < m; s++) start[s + 1]! += start[s]!;
  const next = start.slice();
  const list = new Int32Array(start[m]!);
  for (let b = 0; b < first.length; b++) for (let s = first[b]!; s <= last[b]!; s++) list[next[s]!++] = b;
  return { start, list };
}

function earlierTwins(buffers: readonly Buffer[], first: Int32Array, last: Int32Array): Int32Array {
  const latest = new Map<string, number>();
  return Int32Array.from(buffers, (b, i) => {
    const key = `${first[i]} ${last[i]} ${b.bytes} ${b.alignment ?? 1}`;
    const before = latest.get(key);
    latest.set(key, i);
    return before ?? -1;
  });
}
