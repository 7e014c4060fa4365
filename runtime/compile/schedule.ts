/**
 * Orders the nodes of a graph for a low peak, and says how far from the best that can be.
 *
 * Greedy orders first, the program's own among them, so the answer is never worse than any of those; then Liu's for a tree;
 * then a search within budgets between what is proven necessary and the best found, by bisection. What it could prove when
 * the time is over is the bound. Depends on: order/.
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
  /** The beam and the search end at this moment; the other orders are made in any case. */
  readonly until: number;
}

type Rule = (wiring: Wiring, stop: () => boolean) => readonly number[] | undefined;

const greedy: readonly (readonly [Schedule['by'], Rule])[] = [
  ['program', programOrder],
  ['list', listOrder],
  ['shared first', sharedFirstOrder],
  ['post-order', postOrder],
  ['tree', treeOrder],
  ['beam', (wiring, stop) => beamOrder(wiring, 8, stop)],
];

type Found = Pick<Schedule, 'order' | 'peakBytes' | 'by'>;

export function order(graph: Graph, options: ScheduleOptions): Schedule {
  const wiring = wire(graph);
  const sets = ancestry(wiring);
  let least = leastPeak(wiring, sets);
  let best: Found | undefined;
  for (const [by, make] of greedy) {
    const made = make(wiring, () => options.now() >= options.until);
    if (made === undefined) continue;
    const peakBytes = peakAlong(wiring, made);
    if (best === undefined || peakBytes < best.peakBytes) best = { order: made, peakBytes, by };
    if (by === 'tree') least = Math.max(least, peakBytes);
    if (best.peakBytes <= least) break;
  }
  return bisect(wiring, pieces(wiring, sets), best!, least, options);
}

/** Steps that the first round may spend on one budget; each further round twice as many. */
const firstSteps = 500;

function bisect(
  wiring: Wiring,
  parts: readonly (readonly number[])[],
  start: Found,
  bound: number,
  { now, until }: ScheduleOptions,
): Schedule {
  let best = start;
  let least = bound;
  const stop = (): boolean => now() >= until;
  const tried = new Map<number, Failures>();
  for (let steps = firstSteps; best.peakBytes > least && !stop(); steps *= 2) {
    for (let budget = least; budget < best.peakBytes && !stop();) {
      const failures = tried.get(budget) ?? noFailures(budget);
      tried.set(budget, failures);
      const verdict = within(wiring, parts, failures, steps, stop);
      switch (verdict.kind) {
        case 'found':
          best = { order: verdict.order, peakBytes: peakAlong(wiring, verdict.order), by: 'search' };
          budget = least;
          break;
        case 'impossible':
          least = Math.min(verdict.next, best.peakBytes);
          tried.delete(budget);
          budget = least;
          break;
        case 'unknown':
          budget = Math.max(budget + 1, Math.floor((budget + best.peakBytes) / 2));
          break;
      }
    }
  }
  return { ...best, orderLowerBoundBytes: least, optimal: best.peakBytes <= least };
}
