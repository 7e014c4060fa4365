/**
 * Where the lines of an older text are in a newer one: how measured numbers follow edits.
 *
 * Lines are compared without trailing space. Equal beginnings and ends are paired first; between them the lines that
 * occur once on both sides are paired in their longest common order, and the gaps between those are filled from both
 * ends. A number therefore moves with its line, and comes back when the text is restored, whoever edited it.
 * Depends on: nothing.
 */

/** `map[old]` is the new index of a line, or -1 when the line is gone or changed; indices count from 0. */
export type LineMap = readonly number[];

export function lineMap(older: string, newer: string): LineMap {
  const a = lines(older);
  const b = lines(newer);
  const map = new Array<number>(a.length).fill(-1);
  pair(a, b, { fromA: 0, toA: a.length, fromB: 0, toB: b.length }, map);
  return map;
}

const lines = (text: string): readonly string[] => text.split(/\r\n|\r|\n/).map((line) => line.trimEnd());

interface Window {
  readonly fromA: number;
  readonly toA: number;
  readonly fromB: number;
  readonly toB: number;
}

function pair(a: readonly string[], b: readonly string[], window: Window, map: number[]): void {
  let { fromA, toA, fromB, toB } = window;
  while (fromA < toA && fromB < toB && a[fromA] === b[fromB]) map[fromA++] = fromB++;
  while (fromA < toA && fromB < toB && a[toA - 1] === b[toB - 1]) map[--toA] = --toB;
  if (fromA === toA || fromB === toB) return;
  // What has no anchors stays unpaired; gaps between anchors are windows of their own, each smaller than this one.
  const anchors = increasing(onceOnBothSides(a, b, { fromA, toA, fromB, toB }));
  let atA = fromA;
  let atB = fromB;
  for (const [inA, inB] of anchors) {
    pair(a, b, { fromA: atA, toA: inA, fromB: atB, toB: inB }, map);
    map[inA] = inB;
    atA = inA + 1;
    atB = inB + 1;
  }
  if (anchors.length > 0) pair(a, b, { fromA: atA, toA, fromB: atB, toB }, map);
}

function onceOnBothSides(
  a: readonly string[],
  b: readonly string[],
  { fromA, toA, fromB, toB }: Window,
): readonly (readonly [number, number])[] {
  const inA = once(a, fromA, toA);
  const inB = once(b, fromB, toB);
  const pairs: (readonly [number, number])[] = [];
  for (const [line, at] of inA) {
    const other = inB.get(line);
    if (at >= 0 && other !== undefined && other >= 0) pairs.push([at, other]);
  }
  return pairs.sort((p, q) => p[0] - q[0]);
}

function once(text: readonly string[], from: number, to: number): ReadonlyMap<string, number> {
  const at = new Map<string, number>();
  for (let index = from; index < to; index += 1) at.set(text[index]!, at.has(text[index]!) ? -1 : index);
  return at;
}

/** The longest run of pairs that rises on both sides (patience sorting). */
function increasing(pairs: readonly (readonly [number, number])[]): readonly (readonly [number, number])[] {
  const piles: number[] = [];
  const before = new Array<number>(pairs.length).fill(-1);
  pairs.forEach(([, inB], index) => {
    let low = 0;
    let high = piles.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (pairs[piles[middle]!]![1] < inB) low = middle + 1;
      else high = middle;
    }
    if (low > 0) before[index] = piles[low - 1]!;
    piles[low] = index;
  });
  const chosen: (readonly [number, number])[] = [];
  for (let index = piles.at(-1) ?? -1; index >= 0; index = before[index]!) chosen.push(pairs[index]!);
  return chosen.reverse();
}
