/**
 * The peak of an order, straight from the rules in graph.ts.
 *
 * Works with times of life, not with a running state as the search does, and shares nothing with it but the types. An
 * order that is none (a node missing, twice, or before its operands) throws. Depends on: graph (types).
 */
import type { Graph } from './graph.ts';

/** Bytes present while each node of the order runs. */
export function bytesWhile(graph: Graph, order: readonly number[]): number[] {
  const made = new Map<number, number>(graph.inputs.map(({ value }) => [value, -1]));
  const lastRead = new Map<number, number>();
  if (order.length !== graph.nodes.length || new Set(order).size !== order.length)
    throw new Error('internal: runtime/compile/order: not every node is in the order exactly once');
  order.forEach((node, step) => {
    for (const value of graph.nodes[node]!.reads) {
      if (!made.has(value)) throw new Error(`internal: runtime/compile/order: node ${node} runs before what it reads is made`);
      lastRead.set(value, step);
    }
    for (const value of graph.nodes[node]!.makes) made.set(value, step);
  });
  const kept = new Set([...graph.outputs, ...graph.inputs.filter(({ donated }) => !donated).map(({ value }) => value)]);
  const change = new Array<number>(order.length + 1).fill(0);
  for (const [value, step] of made) {
    const from = Math.max(step, 0);
    const to = kept.has(value) ? order.length : (lastRead.get(value) ?? step) + 1;
    if (to <= from) continue;
    change[from]! += graph.bytes[value]!;
    change[to]! -= graph.bytes[value]!;
  }
  let alive = 0;
  return order.map((node, step) => {
    alive += change[step]!;
    return alive + (graph.nodes[node]!.scratch ?? 0) - takenOver(graph, node, (value) => !kept.has(value) && lastRead.get(value) === step);
  });
}

export function peakOf(graph: Graph, order: readonly number[]): number {
  const atStart = graph.inputs.reduce((sum, { value }) => sum + graph.bytes[value]!, 0);
  return order.length === 0 ? atStart : bytesWhile(graph, order).reduce((most, bytes) => Math.max(most, bytes), 0);
}

/** Bytes counted twice otherwise: an operand whose last use this is, and the result in its place. */
function takenOver({ bytes, nodes }: Graph, node: number, dies: (value: number) => boolean): number {
  const { reads, overwrites = [] } = nodes[node]!;
  const served = new Set<number>();
  const taken = new Set<number>();
  let saved = 0;
  for (const { result, operand } of overwrites) {
    if (served.has(result) || taken.has(operand) || bytes[result] !== bytes[operand]) continue;
    if (!dies(operand) || reads.filter((value) => value === operand).length !== 1) continue;
    served.add(result);
    taken.add(operand);
    saved += bytes[operand]!;
  }
  return saved;
}
