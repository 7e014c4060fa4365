/**
 * Orders the nodes of a graph for a low peak, and says how far from the best that can be.
 *
 * Greedy orders first, the program's own among them, so the answer is never worse than any of those; then Liu's for a tree;
 * then a search within budgets between what is proven necessary and the best found, by bisection. What it could prove when
 * it is stopped is the bound. Depends on: order/.
 */
import { ancestry, leastPeak, pieces } from './order/bound.ts';
import type { Graph } from './order/graph.ts';
import { beamOrder, listOrder, postOrder, programOrder, sharedFirstOrder } from './order/greedy.ts';
import type { Failures } from './order/search.ts';
import { noFailures, within } from './order/search.ts';
import { treeOrder } from './order/tree.ts';
import type { Wiring } from './order/walk.ts';
import { peakAlong, wire } from './order/walk.ts';

export type { Graph, Input, Node } from './order/graph.ts';

export interface Schedule {
  readonly order: readonly number[];
  readonly peakBytes: number;
  /** No order of this graph has a lower peak than this. */
  readonly orderLowerBoundBytes: number;
  readonly optimal: boolean;
  /** Which rule found it. */
  readonly by: 'program' | 'list' | 'shared first' | 'post-order' | 'beam' | 'tree' | 'search';
}

export interface ScheduleOptions {
  readonly now: () => number;
  /** The search ends at this moment; the orders at once are made in any case. */
  readonly until: number;
}

type Rule = (wiring: Wiring) => readonly number[] | undefined;

const greedy: readonly (readonly [Schedule['by'], Rule])[] = [
  ['program', programOrder],
  ['list', listOrder],
  ['shared first', sharedFirstOrder],
  ['post-order', postOrder],
  ['tree', treeOrder],
];
const beamWidth = 8;

type Found = Pick<Schedule, 'order' | 'peakBytes' | 'by'>;

/** Drives `orders` until the moment that is given. */
export function order(graph: Graph, { now, until }: ScheduleOptions): Schedule {
  const better = orders(graph);
  let best = better.next();
  while (best.done !== true && now() < until) best = better.next();
  return best.value;
}

/**
 * The best order so far after every few hundred steps of work, the orders at once first; ends when it is proven best. No
 * clock is in it: who asks so many times gets the same answer every time.
 */
export function* orders(graph: Graph): Generator<Schedule, Schedule> {
  const wiring = wire(graph);
  const sets = ancestry(wiring);
  let least = leastPeak(wiring, sets);
  let best: Found | undefined;
  const better = (made: readonly number[], by: Schedule['by']): Found => {
    const peakBytes = peakAlong(wiring, made);
    return best === undefined || peakBytes < best.peakBytes ? { order: made, peakBytes, by } : best;
  };
  for (const [by, make] of greedy) {
    const made = make(wiring);
    if (made === undefined) continue;
    best = better(made, by);
    if (by === 'tree') least = Math.max(least, peakAlong(wiring, made));
    if (best.peakBytes <= least) break;
  }
  const state = (): Schedule => ({ ...best!, orderLowerBoundBytes: least, optimal: best!.peakBytes <= least });
  if (best!.peakBytes <= least) return state();
  const beam = beamOrder(wiring, beamWidth);
  // A small graph's is done at the first asking.
  let step = beam.next();
  for (; step.done !== true; step = beam.next()) yield state();
  best = better(step.value, 'beam');
  yield state();
  return yield* bisect(wiring, pieces(wiring, sets), best, least);
}

/** Steps that the first round may spend on one budget; each further round twice as many. */
const firstSteps = 500;

function* bisect(wiring: Wiring, parts: readonly (readonly number[])[], start: Found, bound: number): Generator<Schedule, Schedule> {
  let best = start;
  let least = bound;
  const state = (): Schedule => ({ ...best, orderLowerBoundBytes: least, optimal: best.peakBytes <= least });
  const tried = new Map<number, Failures>();
  for (let steps = firstSteps; best.peakBytes > least; steps *= 2) {
    for (let budget = least; budget < best.peakBytes;) {
      const failures = tried.get(budget) ?? noFailures(budget);
      tried.set(budget, failures);
      const search = within(wiring, parts, failures, steps);
      let verdict = search.next();
      for (; verdict.done !== true; verdict = search.next()) yield state();
      switch (verdict.value.kind) {
        case 'found':
          best = { order: verdict.value.order, peakBytes: peakAlong(wiring, verdict.value.order), by: 'search' };
          budget = least;
          break;
        case 'impossible':
          least = Math.min(verdict.value.next, best.peakBytes);
          tried.delete(budget);
          budget = least;
          break;
        case 'unknown':
          budget = Math.max(budget + 1, Math.floor((budget + best.peakBytes) / 2));
          break;
      }
      yield state();
    }
  }
  return state();
}
