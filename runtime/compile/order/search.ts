/**
 * Is there an order within a budget of bytes? Depth first, with two rules that lose nothing.
 *
 * A ready node that fits and does not raise what is alive runs at once: whenever it ran later, it would do no more good.
 * And a set of nodes that failed for a budget never succeeds: sets are remembered by hash, so what is left of the
 * factorial is the number of different sets. An end without success is a proof, and the least need that was turned down
 * is the next budget worth asking for. Depends on: walk.
 */
import type { Walk, Wiring } from './walk.ts';
import { change, during, run, runBack, startWalk } from './walk.ts';

export type Verdict =
  | { readonly kind: 'found'; readonly order: readonly number[] }
  /** No order fits; none that needs less than `next` does. */
  | { readonly kind: 'impossible'; readonly next: number }
  | { readonly kind: 'unknown' };

/** What failed within one budget, kept when the search for it is taken up again. */
export interface Failures {
  readonly budget: number;
  readonly sets: Map<number, number>;
  next: number;
}

export const noFailures = (budget: number): Failures => ({ budget, sets: new Map(), next: Infinity });

/** Memory for at most this many failed sets; beyond it, later ones are forgotten. */
const mostSets = 4_000_000;

interface Branch {
  /** Nodes run to get here from the branch below, to be taken back. */
  readonly depth: number;
  readonly choices: readonly number[];
  tried: number;
  readonly key: number;
  readonly check: number;
}

/** Searches the pieces one after the other; a piece's failure is the whole's. `steps` bounds the work; yields every few hundred. */
export function* within(
  wiring: Wiring,
  pieces: readonly (readonly number[])[],
  failures: Failures,
  steps: number,
): Generator<void, Verdict> {
  const walk = startWalk(wiring);
  const order: number[] = [];
  const limit = { left: steps };
  for (const piece of pieces) {
    const verdict = yield* searchPiece(walk, new Set(piece), order, failures, limit);
    if (verdict !== 'found') return verdict === 'impossible' ? { kind: 'impossible', next: failures.next } : { kind: 'unknown' };
  }
  return { kind: 'found', order };
}

function* searchPiece(
  walk: Walk,
  piece: ReadonlySet<number>,
  order: number[],
  failures: Failures,
  limit: { left: number },
): Generator<void, 'found' | 'impossible' | 'unknown'> {
  const { budget, sets } = failures;
  const start = order.length;
  const end = start + piece.size;
  const ready: number[] = [...piece].filter((node) => walk.waits[node] === 0);
  const branches: Branch[] = [];
  let key = 0;
  let check = 0;
  for (const node of order) [key, check] = [toggled(key, node), check ^ mixed(node, 0x5bd1e995)];

  const forward = (node: number): void => {
    ready.splice(ready.indexOf(node), 1);
    run(walk, node, (next) => {
      if (piece.has(next)) ready.push(next);
    });
    order.push(node);
    key = toggled(key, node);
    check ^= mixed(node, 0x5bd1e995);
  };
  const back = (): void => {
    const node = order.pop()!;
    runBack(walk, node, (next) => {
      if (piece.has(next)) ready.splice(ready.indexOf(next), 1);
    });
    ready.push(node);
    key = toggled(key, node);
    check ^= mixed(node, 0x5bd1e995);
  };
  const fits = (node: number): boolean => {
    const need = during(walk, node);
    if (need <= budget) return true;
    if (need < failures.next) failures.next = need;
    return false;
  };

  for (;;) {
    for (let free = harmless(walk, ready, fits); free !== undefined; free = harmless(walk, ready, fits)) forward(free);
    if (order.length === end) return 'found';
    limit.left--;
    if (limit.left <= 0) return 'unknown';
    if ((limit.left & 255) === 0) yield;
    const choices = sets.get(key) === check ? [] : ready.filter(fits);
    choices.sort((a, b) => change(walk, a) - change(walk, b) || during(walk, a) - during(walk, b) || a - b);
    branches.push({ depth: order.length, choices, tried: 0, key, check });
    for (let top = branches.at(-1); ; top = branches.at(-1)) {
      if (top === undefined) return 'impossible';
      while (order.length > top.depth) back();
      const choice = top.choices[top.tried++];
      if (choice !== undefined) {
        forward(choice);
        break;
      }
      if (sets.size < mostSets) sets.set(top.key, top.check);
      branches.pop();
    }
  }
}

/** A ready node that fits and leaves no more alive than there was. */
const harmless = (walk: Walk, ready: readonly number[], fits: (node: number) => boolean): number | undefined =>
  ready.find((node) => change(walk, node) <= 0 && fits(node));

/** 53 bits that tell sets apart, and 32 more as a check: a false match is a matter of 2^-80. */
const toggled = (key: number, node: number): number => {
  const high = Math.floor(key / 0x100000000) ^ (mixed(node, 0x27d4eb2f) & 0x1fffff);
  const low = ((key % 0x100000000) ^ mixed(node, 0x165667b1)) >>> 0;
  return high * 0x100000000 + low;
};

function mixed(node: number, salt: number): number {
  let x = Math.imul(node + 1, salt) ^ salt;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return x ^ (x >>> 16);
}
