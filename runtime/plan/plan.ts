/**
 * A plan at once: several orders, each placed by two ways of fitting, until one reaches the bound.
 *
 * Greedy placing is only as good as its order, and no order is best everywhere; so all are tried and the lowest plan
 * kept. Large buffers first comes first, because on traces of real models it is nearly always enough.
 * Depends on: problem, bound, shelf.
 */
import { leastBytes } from './bound.ts';
import type { Buffer, Deadline, Plan } from './problem.ts';
import { pieces, roundUp, topOf } from './problem.ts';
import type { Shelf, Wanted } from './shelf.ts';
import { emptyShelf, lay, lowestFit, snuggestFit } from './shelf.ts';

export type Fit = 'lowest' | 'snuggest';

type Key = (buffer: Buffer) => number;

const bytes: Key = (b) => -b.bytes;
const born: Key = (b) => b.born;
const life: Key = (b) => b.born - b.dies;
const area: Key = (b) => b.bytes * (b.born - b.dies);
/** Between size and area: what a search places first too. */
const weight: Key = (b) => -b.bytes * Math.sqrt(Math.max(0, b.dies - b.born));

/** Both tie rules are kept for sizes: on one trace of 18,692 buffers they are 1.033 and 1.0076 times the bound. */
export const orderings: readonly (readonly [Key, Key])[] = [
  [bytes, born],
  [bytes, life],
  [area, born],
  [life, bytes],
  [born, bytes],
  [weight, born],
];

/** Positions of `buffers` by the first key, ties by the second, then by position. */
export function ordered(buffers: readonly Buffer[], [first, second]: readonly [Key, Key]): number[] {
  const firsts = Float64Array.from(buffers, first);
  const seconds = Float64Array.from(buffers, second);
  return buffers.map((_, i) => i).sort((i, j) => firsts[i]! - firsts[j]! || seconds[i]! - seconds[j]! || i - j);
}

/**
 * The best of the orders. With a deadline it stops trying when the moment has come; one plan is always made.
 */
export function quickPlan(buffers: readonly Buffer[], options: { readonly deadline?: Deadline; readonly goal?: number } = {}): Plan {
  const goal = options.goal ?? leastBytes(buffers);
  const taken = buffers.map(parts);
  let best: Plan | undefined;
  for (const ordering of orderings) {
    const order = ordered(buffers, ordering);
    for (const fit of ['lowest', 'snuggest'] as const) {
      best = placeBelow(buffers, order, fit, taken, best?.bytes ?? Infinity) ?? best!;
      if (best.bytes <= goal) return best;
      if (options.deadline !== undefined && options.deadline.now() >= options.deadline.until) return best;
    }
  }
  return best!;
}

/** Places the buffers one by one; those with a fixed offset lie there before the first. */
export const placeInOrder = (buffers: readonly Buffer[], order: readonly number[], fit: Fit): Plan =>
  placeBelow(buffers, order, fit, buffers.map(parts), Infinity)!;

/** Gives up as soon as a buffer ends at `limit` or above it. */
function placeBelow(
  buffers: readonly Buffer[],
  order: readonly number[],
  fit: Fit,
  taken: readonly (readonly Part[])[],
  limit: number,
): Plan | undefined {
  const shelf = emptyShelf(taken.reduce((room, { length }) => room + length, 0));
  const offsets = new Array<number>(buffers.length).fill(0);
  const settle = (i: number, offset: number): void => {
    offsets[i] = offset;
    for (const piece of taken[i]!) lay(shelf, piece, offset + piece.from);
  };
  buffers.forEach(({ fixed }, i) => {
    if (fixed !== undefined) settle(i, fixed);
  });
  const find = fit === 'lowest' ? lowestFit : snuggestFit;
  for (const i of order) {
    const buffer = buffers[i]!;
    if (buffer.fixed !== undefined || !takesRoom(buffer)) continue;
    const whole = taken[i]!;
    const offset = buffer.gaps === undefined ? find(shelf, whole[0]!)! : lowestForAll(shelf, whole, buffer.alignment ?? 1);
    if (offset + buffer.bytes >= limit) return undefined;
    settle(i, offset);
  }
  return { offsets, bytes: topOf(buffers, offsets) };
}

type Part = Wanted & { readonly from: number };

const parts = (buffer: Buffer): readonly Part[] =>
  buffer.gaps === undefined
    ? takesRoom(buffer)
      ? [{ bytes: buffer.bytes, born: buffer.born, dies: buffer.dies, from: 0, alignment: buffer.alignment ?? 1 }]
      : []
    : pieces(buffer).map(({ born: start, dies, from, to }) => ({ bytes: to - from, born: start, dies, from, alignment: 1 }));

/** The lowest offset at which every part is free: each part that is not moves the whole up. */
function lowestForAll(shelf: Shelf, all: readonly Part[], alignment: number): number {
  let offset = 0;
  for (let moved = true; moved;) {
    moved = false;
    for (const part of all) {
      const free = lowestFit(shelf, part, offset + part.from)! - part.from;
      if (free === offset) continue;
      offset = roundUp(free, alignment);
      moved = true;
    }
  }
  return offset;
}

/** A buffer without bytes or without a life lies at 0 and is in nobody's way. */
export const takesRoom = ({ bytes: size, born: from, dies: to }: Pick<Buffer, 'bytes' | 'born' | 'dies'>): boolean => size > 0 && from < to;
