/**
 * The best order of a tree, or of several side by side: every value that is not pinned is read once.
 *
 * The best order may leave a subtree half-way, in a valley, to do another first. So a subtree becomes a list of segments,
 * each with its hill (the most it needs above its start) and what it leaves; two lists are merged by one rule: first what
 * leaves less than it found, lower hills before higher; then what leaves more, the largest fall from hill to rest first.
 * A node comes after its operands' segments, and segments that now stand in the wrong order are fused to one. That is
 * Liu's generalised pebbling (1987), with the rule for costs of both signs of Abdel-Wahab and Kameda (1978).
 *
 *     hill     /\                 /\      and the other's list in between, where both are low:
 *             /  \    /\         /  \ /\
 *     start _/    \__/  \__   __/    v  \__
 *
 * Depends on: walk.
 */
import type { Wiring } from './walk.ts';
import { change, during, startWalk } from './walk.ts';

interface Segment {
  readonly hill: number;
  readonly rest: number;
  readonly nodes: Rope;
}

/** Nodes in order, joined without copying. */
type Rope = number | { readonly first: Rope; readonly second: Rope };

/** Undefined when the graph is no tree. */
export function treeOrder(wiring: Wiring): number[] | undefined {
  if (!isForest(wiring)) return undefined;
  const lists = new Map<number, Segment[]>();
  const roots: Segment[][] = [];
  // Every operand has one reader, so what a node frees and overwrites does not depend on the order.
  const costs = withAllReadersBut(wiring);
  for (let node = 0; node < wiring.stops.length; node++) {
    const children = wiring.before[node]!.map((child) => lists.get(child)!);
    wiring.before[node]!.forEach((child) => lists.delete(child));
    const list = append(merge(children), { ...costs(node), nodes: node });
    if (wiring.after[node]!.length === 0) roots.push(list);
    else lists.set(node, list);
  }
  return merge(roots).flatMap(({ nodes }) => flatten(nodes));
}

function isForest({ needs, readers, maker, after, stops }: Wiring): boolean {
  return (
    readers.every((list, value) => {
      // What stays to the end is free to be read by many, but only an input: a result would tie its readers together.
      if (maker[value] === undefined) return list.length <= 1 || needs[value]! > list.length;
      return list.length <= 1;
    }) && stops.every((_, node) => after[node]!.length <= 1)
  );
}

function withAllReadersBut(wiring: Wiring): (node: number) => { hill: number; rest: number } {
  const walk = { ...startWalk(wiring), alive: 0 };
  return (node) => ({ hill: during(walk, node), rest: change(walk, node) });
}

function before(a: Segment, b: Segment): number {
  const sinks = Number(a.rest > 0) - Number(b.rest > 0);
  if (sinks !== 0) return sinks;
  return a.rest <= 0 ? a.hill - b.hill : b.hill - b.rest - (a.hill - a.rest);
}

/** Lists that are in order each become one that is. */
function merge(lists: readonly Segment[][]): Segment[] {
  if (lists.length === 1) return lists[0]!;
  return lists.flat().sort(before);
}

/** Adds a segment at the end of a list that is taken over, fusing what is out of order. */
function append(list: Segment[], last: Segment): Segment[] {
  let segment = last;
  while (list.length > 0 && before(list.at(-1)!, segment) > 0) {
    const first = list.pop()!;
    segment = {
      hill: Math.max(first.hill, first.rest + segment.hill),
      rest: first.rest + segment.rest,
      nodes: { first: first.nodes, second: segment.nodes },
    };
  }
  list.push(segment);
  return list;
}

function flatten(rope: Rope): number[] {
  const nodes: number[] = [];
  const open: Rope[] = [rope];
  while (open.length > 0) {
    const top = open.pop()!;
    if (typeof top === 'number') nodes.push(top);
    else open.push(top.second, top.first);
  }
  return nodes;
}
