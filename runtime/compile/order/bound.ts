/**
 * What no order can avoid, and where every order must pass.
 *
 * While a node runs, a value is certainly alive if it was made by something that must come before and is still needed
 * by something that must come after. And a node that is before or after every other splits the search in two: which
 * nodes have run when it runs is the same in every order. Depends on: walk.
 */
import type { Wiring } from './walk.ts';

/** For each node the set of nodes that must come before it, as bits. */
export interface Ancestry {
  readonly words: number;
  readonly before: Uint32Array;
  readonly after: Uint32Array;
}

export function ancestry({ stops, before, after }: Wiring): Ancestry {
  const words = (stops.length + 31) >> 5;
  const earlier = new Uint32Array(stops.length * words);
  const later = new Uint32Array(stops.length * words);
  for (let node = 0; node < stops.length; node++) for (const maker of before[node]!) join(earlier, words, node, maker);
  for (let node = stops.length - 1; node >= 0; node--) for (const reader of after[node]!) join(later, words, node, reader);
  return { words, before: earlier, after: later };
}

function join(sets: Uint32Array, words: number, node: number, other: number): void {
  for (let word = 0; word < words; word++) sets[node * words + word]! |= sets[other * words + word]!;
  sets[node * words + (other >> 5)]! |= 1 << (other & 31);
}

const has = (sets: Uint32Array, words: number, node: number, other: number): boolean =>
  ((sets[node * words + (other >> 5)]! >>> (other & 31)) & 1) === 1;

/** The most bytes that some node needs in every order. */
export function leastPeak(wiring: Wiring, { words, before, after }: Ancestry): number {
  const { stops, bytes, maker, readers, needs, atStart } = wiring;
  const least = Float64Array.from(stops, ({ made, scratch, overwrites }) => {
    const mayTake = new Set(overwrites.map(({ result }) => result));
    return made + scratch - [...mayTake].reduce((sum, value) => sum + bytes[value]!, 0);
  });
  const held = new Uint32Array(words);
  let always = 0;
  for (let value = 0; value < bytes.length; value++) {
    if (bytes[value] === 0 || needs[value] === 0) continue;
    const from = maker[value];
    const stays = needs[value]! > readers[value]!.length;
    if (stays && from === undefined) {
      always += bytes[value]!;
      continue;
    }
    held.fill(stays ? 0xffffffff : 0);
    for (const reader of readers[value]!) {
      for (let word = 0; word < words; word++) held[word]! |= before[reader * words + word]!;
      held[reader >> 5]! |= 1 << (reader & 31);
    }
    for (let word = 0; word < words; word++) {
      let bits = from === undefined ? held[word]! : held[word]! & after[from * words + word]!;
      for (; bits !== 0; bits &= bits - 1) least[word * 32 + 31 - Math.clz32(bits & -bits)]! += bytes[value]!;
    }
  }
  return least.reduce((most, need) => Math.max(most, need + always), atStart);
}

/** Nodes in their only order, at each of which every other node is either before or after. */
export function passes({ stops }: Wiring, { words, before, after }: Ancestry): number[] {
  const count = (sets: Uint32Array, node: number): number => {
    let bits = 0;
    for (let word = node * words; word < (node + 1) * words; word++) bits += bitsIn(sets[word]!);
    return bits;
  };
  return stops
    .map((_, node) => ({ node, earlier: count(before, node), later: count(after, node) }))
    .filter(({ earlier, later }) => earlier + later + 1 === stops.length)
    .sort((a, b) => a.earlier - b.earlier)
    .map(({ node }) => node);
}

/** The nodes between passes, each piece ending with its pass. */
export function pieces(wiring: Wiring, sets: Ancestry): number[][] {
  const { words, after } = sets;
  const order = passes(wiring, sets);
  const isPass = new Uint32Array(words);
  for (const pass of order) isPass[pass >> 5]! |= 1 << (pass & 31);
  const parts: number[][] = Array.from({ length: order.length + 1 }, () => []);
  wiring.stops.forEach((_, node) => {
    // The passes still to come tell which piece it is in; a pass belongs to the piece that it ends.
    let toCome = has(isPass, words, 0, node) ? 1 : 0;
    for (let word = 0; word < words; word++) toCome += bitsIn(after[node * words + word]! & isPass[word]!);
    parts[order.length - toCome]!.push(node);
  });
  return parts.filter((part) => part.length > 0);
}

function bitsIn(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
