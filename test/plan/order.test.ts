/** The scheduler against every order of small graphs, under a judge that shares nothing with it. Depends on: runtime/compile. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { ancestry, leastPeak, pieces } from '../../runtime/compile/order/bound.ts';
import type { Graph } from '../../runtime/compile/order/graph.ts';
import { beamOrder, listOrder, postOrder, programOrder, sharedFirstOrder } from '../../runtime/compile/order/greedy.ts';
import { peakOf } from '../../runtime/compile/order/judge.ts';
import { treeOrder } from '../../runtime/compile/order/tree.ts';
import { peakAlong, wire } from '../../runtime/compile/order/walk.ts';
import { order } from '../../runtime/compile/schedule.ts';
import { transformerStep, wideBranches, wired } from '../bench/plan-graphs.ts';
import { countingClock, knownGraphs, someGraph } from './support.ts';

/** What a search without a clock comes to. */
function finished<T>(search: Iterator<unknown, T>): T {
  let step = search.next();
  while (step.done !== true) step = search.next();
  return step.value;
}

const patient = { now: countingClock(), until: Infinity };

describe('order', () => {
  for (const { name, graph, optimalPeak, oneOptimalOrder, byRule } of knownGraphs()) {
    it(`finds and proves the optimum of ${name}`, () => {
      const found = order(graph, patient);
      assert.equal(found.peakBytes, optimalPeak);
      assert.equal(peakOf(graph, found.order), optimalPeak);
      assert.equal(found.orderLowerBoundBytes, optimalPeak);
      assert.ok(found.optimal);
    });
    it(`judges ${name} as others do`, () => {
      assert.equal(peakOf(graph, oneOptimalOrder), optimalPeak);
      assert.equal(peakOf(graph, programOrder(wire(graph))), byRule['programOrder']);
    });
  }

  it('is the best of all orders, and its bound is true', () => {
    fc.assert(
      fc.property(someGraph, (graph) => {
        const best = bestOfAll(graph);
        const found = order(graph, patient);
        assert.equal(peakOf(graph, found.order), found.peakBytes);
        assert.equal(found.peakBytes, best);
        assert.equal(found.orderLowerBoundBytes, best);
        assert.ok(leastPeak(wire(graph), ancestry(wire(graph))) <= best);
      }),
      { numRuns: 400 },
    );
  });

  it('is the best at once when the graph is a tree', () => {
    fc.assert(
      fc.property(someGraph, (graph) => {
        const found = treeOrder(wire(graph));
        fc.pre(found !== undefined);
        assert.equal(peakOf(graph, found!), bestOfAll(graph));
      }),
      { numRuns: 200 },
    );
  });

  it('counts as its judge does, along any of its rules', () => {
    for (const graph of [transformerStep(2, { tokens: 16, width: 64 }), wired(120, 3), wideBranches(3, 3, 1)]) {
      const wiring = wire(graph);
      for (const rule of [programOrder, listOrder, sharedFirstOrder, postOrder, (w: typeof wiring) => finished(beamOrder(w, 4))]) {
        const made = rule(wiring)!;
        assert.equal(peakAlong(wiring, made), peakOf(graph, made));
      }
    }
  });

  it('is never above any of the simple rules, even without time to search', () => {
    const now = countingClock();
    for (const graph of [transformerStep(3, { tokens: 16, width: 64 }), wired(300, 5), wideBranches(4, 3, 2)]) {
      const wiring = wire(graph);
      const found = order(graph, { now, until: 200 });
      const simple = [programOrder, sharedFirstOrder, postOrder].map((rule) => peakAlong(wiring, rule(wiring)));
      assert.ok(found.peakBytes <= Math.min(...simple));
      assert.ok(found.orderLowerBoundBytes <= found.peakBytes);
    }
  });

  it('lowers the peak of a step whose updates wait for all gradients', () => {
    const graph = transformerStep(4, { tokens: 16, width: 128 });
    const wiring = wire(graph);
    const found = order(graph, { now: countingClock(), until: 2000 });
    assert.ok(found.peakBytes < 0.8 * peakAlong(wiring, programOrder(wiring)));
  });

  it('cuts where everything passes, and loses no node', () => {
    const graph = wideBranches(2, 3, 4);
    const wiring = wire(graph);
    const parts = pieces(wiring, ancestry(wiring));
    assert.deepEqual(
      parts.flat().toSorted((a, b) => a - b),
      programOrder(wiring),
    );
    assert.ok(parts.length > 1);
  });

  it('has an order for an empty program', () => {
    const found = order({ bytes: [3], inputs: [{ value: 0, donated: false }], nodes: [], outputs: [0] }, patient);
    assert.deepEqual([found.order, found.peakBytes, found.optimal], [[], 3, true]);
  });
});

describe('the judge of orders', () => {
  it('refuses what is no order', () => {
    const graph: Graph = {
      bytes: [1, 1],
      inputs: [],
      nodes: [
        { reads: [], makes: [0] },
        { reads: [0], makes: [1] },
      ],
      outputs: [1],
    };
    assert.throws(() => peakOf(graph, [1, 0]), /before what it reads/);
    assert.throws(() => peakOf(graph, [0]), /exactly once/);
    assert.throws(() => peakOf(graph, [0, 0]), /exactly once/);
  });
});

function bestOfAll(graph: Graph): number {
  let best = Infinity;
  const there = new Set(graph.inputs.map(({ value }) => value));
  const path: number[] = [];
  const go = (): void => {
    if (path.length === graph.nodes.length) best = Math.min(best, peakOf(graph, path));
    graph.nodes.forEach(({ reads, makes }, node) => {
      if (path.includes(node) || !reads.every((value) => there.has(value))) return;
      path.push(node);
      makes.forEach((value) => there.add(value));
      go();
      makes.forEach((value) => there.delete(value));
      path.pop();
    });
  };
  go();
  return best;
}
