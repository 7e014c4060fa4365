/**
 * A walk through the orders of a graph: what is alive after the nodes that have run, step by step and back again.
 *
 * What is alive depends only on which nodes have run, not on their order; so a walk is counters, and a step is undone by
 * the same counts the other way. Whatever must stay (outputs, inputs that were not donated) has one reader more, who
 * never comes: no rule needs to ask for it. Depends on: graph.
 */
import type { Graph, Node } from './graph.ts';

/** A node as a walk needs it: operands once each, and only takings-over that can ever happen. */
export interface Stop {
  readonly reads: readonly number[];
  readonly makes: readonly number[];
  /** Bytes of all results, and of those that nobody reads. */
  readonly made: number;
  readonly unread: number;
  readonly scratch: number;
  readonly overwrites: readonly { readonly result: number; readonly operand: number }[];
}

export interface Wiring {
  readonly graph: Graph;
  readonly bytes: Float64Array;
  readonly stops: readonly Stop[];
  /** Nodes that read each value, once each. */
  readonly readers: readonly (readonly number[])[];
  /** The node that makes each value; absent for inputs. */
  readonly maker: readonly (number | undefined)[];
  /** Readers of each value, and the one that never comes for what stays. */
  readonly needs: Int32Array;
  /** Nodes that make an operand of each node, and nodes that read a result of it. */
  readonly before: readonly (readonly number[])[];
  readonly after: readonly (readonly number[])[];
  /** Bytes alive before the first node. */
  readonly atStart: number;
}

export interface Walk {
  readonly wiring: Wiring;
  alive: number;
  /** Readers still to come, by value. */
  readonly left: Int32Array;
  /** Makers still to run, by node. */
  readonly waits: Int32Array;
}

export function wire(graph: Graph): Wiring {
  const { nodes, inputs, outputs } = graph;
  const bytes = Float64Array.from(graph.bytes);
  const readers: number[][] = graph.bytes.map(() => []);
  const maker = new Array<number | undefined>(bytes.length).fill(undefined);
  nodes.forEach(({ reads, makes }, node) => {
    for (const value of new Set(reads)) readers[value]!.push(node);
    for (const value of makes) maker[value] = node;
  });
  const needs = Int32Array.from(readers, (list) => list.length);
  for (const value of new Set([...outputs, ...inputs.filter(({ donated }) => !donated).map(({ value }) => value)])) needs[value]!++;
  const known = (list: readonly (number | undefined)[]): number[] => [...new Set(list)].filter((node) => node !== undefined);
  return {
    graph,
    bytes,
    stops: nodes.map((node) => stop(node, bytes, needs)),
    readers,
    maker,
    needs,
    before: nodes.map(({ reads }) => known(reads.map((value) => maker[value]))),
    after: nodes.map(({ makes }) => known(makes.flatMap((value) => readers[value]!))),
    atStart: inputs.reduce((sum, { value }) => sum + (needs[value]! > 0 ? bytes[value]! : 0), 0),
  };
}

function stop(node: Node, bytes: Float64Array, needs: Int32Array): Stop {
  const { reads, makes, scratch = 0, overwrites = [] } = node;
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + bytes[value]!, 0);
  return {
    reads: [...new Set(reads)],
    makes,
    made: sum(makes),
    unread: sum(makes.filter((value) => needs[value] === 0)),
    scratch,
    overwrites: overwrites.filter(
      ({ result, operand }) =>
        bytes[result] === bytes[operand] && bytes[operand]! > 0 && reads.filter((value) => value === operand).length === 1,
    ),
  };
}

export const startWalk = (wiring: Wiring): Walk => ({
  wiring,
  alive: wiring.atStart,
  left: wiring.needs.slice(),
  waits: Int32Array.from(wiring.before, (list) => list.length),
});

/** Bytes present while the node runs. */
export function during({ wiring, left, alive }: Walk, node: number): number {
  const { made, scratch, overwrites } = wiring.stops[node]!;
  const present = alive + made + scratch;
  if (overwrites.length === 0) return present;
  if (overwrites.length === 1) return left[overwrites[0]!.operand] === 1 ? present - wiring.bytes[overwrites[0]!.operand]! : present;
  return present - taken(wiring, left, overwrites);
}

function taken({ bytes }: Wiring, left: Int32Array, overwrites: Stop['overwrites']): number {
  const pairs: (typeof overwrites)[number][] = [];
  for (const pair of overwrites) {
    if (left[pair.operand] === 1 && !pairs.some(({ result, operand }) => result === pair.result || operand === pair.operand))
      pairs.push(pair);
  }
  return pairs.reduce((sum, { operand }) => sum + bytes[operand]!, 0);
}

/** Bytes that are alive more (or fewer) once the node has run. */
export function change({ wiring, left }: Walk, node: number): number {
  const { made, unread, reads } = wiring.stops[node]!;
  let more = made - unread;
  for (let i = 0; i < reads.length; i++) if (left[reads[i]!] === 1) more -= wiring.bytes[reads[i]!]!;
  return more;
}

/** Runs the node, and calls `ready` with each node that may run now. */
export function run(walk: Walk, node: number, ready: (next: number) => void): void {
  const { wiring, left, waits } = walk;
  walk.alive += change(walk, node);
  const { reads } = wiring.stops[node]!;
  for (let i = 0; i < reads.length; i++) left[reads[i]!]!--;
  const after = wiring.after[node]!;
  for (let i = 0; i < after.length; i++) if (--waits[after[i]!]! === 0) ready(after[i]!);
}

/** Takes the node back, and calls `unready` with each node that may no longer run. */
export function runBack(walk: Walk, node: number, unready: (next: number) => void): void {
  const { wiring, left, waits } = walk;
  const after = wiring.after[node]!;
  for (let i = after.length - 1; i >= 0; i--) if (waits[after[i]!]!++ === 0) unready(after[i]!);
  const { reads } = wiring.stops[node]!;
  for (let i = 0; i < reads.length; i++) left[reads[i]!]!++;
  walk.alive -= change(walk, node);
}

/** The peak of an order that is known to be legal. */
export function peakAlong(wiring: Wiring, order: readonly number[]): number {
  const walk = startWalk(wiring);
  let peak = order.length === 0 ? walk.alive : 0;
  for (const node of order) {
    peak = Math.max(peak, during(walk, node));
    run(walk, node, () => {});
  }
  return peak;
}
