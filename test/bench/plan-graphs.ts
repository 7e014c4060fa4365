/**
 * Graphs to measure orders on, of the kinds that programs have: steps of training a transformer, cells wired at random,
 * wide branches, and nets with long skips.
 *
 * All sizes are in KiB or plain units; the generators are seeded, so a figure can be had again. Depends on: order/graph.
 */
import type { Graph, Input, Node } from '../../runtime/compile/order/graph.ts';

interface Draft {
  readonly bytes: number[];
  readonly inputs: Input[];
  readonly nodes: Node[];
  readonly outputs: number[];
}

const draft = (): Draft => ({ bytes: [], inputs: [], nodes: [], outputs: [] });

function input(graph: Draft, bytes: number, donated: boolean): number {
  const value = graph.bytes.push(bytes) - 1;
  graph.inputs.push({ value, donated });
  return value;
}

function node(graph: Draft, reads: readonly number[], bytes: number, overwrites: readonly number[] = []): number {
  const result = graph.bytes.push(bytes) - 1;
  graph.nodes.push({ reads, makes: [result], overwrites: overwrites.map((operand) => ({ result, operand })) });
  return result;
}

export function random(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 0x100000000) * below);
  };
}

/** Forward, backward, and an update of every weight after all gradients, as a traced step has them. */
export function transformerStep(layers: number, { tokens, width }: { readonly tokens: number; readonly width: number }): Graph {
  const graph = draft();
  const activation = (tokens * width * 4) / 1024;
  const scores = (tokens * tokens * 4) / 1024;
  const square = (width * width * 4) / 1024;
  const kinds = ['q', 'k', 'v', 'o', 'up', 'down'] as const;
  const bytesOf = { q: square, k: square, v: square, o: square, up: 4 * square, down: 4 * square };
  const weights = Array.from({ length: layers }, () => kinds.map((kind) => input(graph, bytesOf[kind], true)));
  const rate = input(graph, 1, false);
  let x = input(graph, activation, false);
  const saved: number[][] = [];
  for (const w of weights) {
    const n = node(graph, [x], activation);
    const q = node(graph, [n, w[0]!], activation);
    const k = node(graph, [n, w[1]!], activation);
    const v = node(graph, [n, w[2]!], activation);
    const s = node(graph, [q, k], scores);
    const p = node(graph, [s], scores, [s]);
    const a = node(graph, [p, v], activation);
    const o = node(graph, [a, w[3]!], activation);
    const r = node(graph, [o, x], activation, [o]);
    const m = node(graph, [r], activation);
    const u = node(graph, [m, w[4]!], 4 * activation);
    const g = node(graph, [u], 4 * activation);
    const d = node(graph, [g, w[5]!], activation);
    saved.push([x, n, q, k, v, p, a, r, m, u, g]);
    x = node(graph, [d, r], activation, [d]);
  }
  const loss = node(graph, [x], 1);
  let back = node(graph, [x, loss], activation, [x]);
  const gradients: number[][] = weights.map(() => []);
  for (let layer = layers - 1; layer >= 0; layer--) {
    const w = weights[layer]!;
    const [x0, n, q, k, v, p, a, r, m, u, g] = saved[layer]! as [
      number,
      number,
      number,
      number,
      number,
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    const dDown = node(graph, [g, back], bytesOf.down);
    const dg = node(graph, [back, w[5]!], 4 * activation);
    const du = node(graph, [dg, u], 4 * activation, [dg]);
    const dUp = node(graph, [m, du], bytesOf.up);
    const dm = node(graph, [du, w[4]!], activation);
    const dr = node(graph, [dm, r, back], activation, [dm, back]);
    const dO = node(graph, [a, dr], square);
    const da = node(graph, [dr, w[3]!], activation);
    const dp = node(graph, [da, v], scores);
    const dv = node(graph, [p, da], activation);
    const ds = node(graph, [dp, p], scores, [dp]);
    const dq = node(graph, [ds, k], activation);
    const dk = node(graph, [ds, q], activation);
    const dQ = node(graph, [n, dq], square);
    const dK = node(graph, [n, dk], square);
    const dV = node(graph, [n, dv], square);
    const dn1 = node(graph, [dq, w[0]!], activation);
    const dn2 = node(graph, [dk, w[1]!, dn1], activation, [dn1]);
    const dn = node(graph, [dv, w[2]!, dn2], activation, [dn2]);
    back = node(graph, [dn, x0, dr], activation, [dn, dr]);
    gradients[layer] = [dQ, dK, dV, dO, dUp, dDown];
  }
  weights.forEach((w, layer) =>
    w.forEach((weight, i) => {
      const gradient = gradients[layer]![i]!;
      const scaled = node(graph, [gradient, rate], graph.bytes[gradient]!, [gradient]);
      graph.outputs.push(node(graph, [weight, scaled], graph.bytes[weight]!, [weight, scaled]));
    }),
  );
  graph.outputs.push(loss);
  return graph;
}

/** Every node reads two or three of the last few results. */
export function wired(count: number, seed: number): Graph {
  const below = random(seed);
  const graph = draft();
  const values = [input(graph, 4, true)];
  for (let i = 0; i < count; i++) {
    const reach = Math.min(values.length, 16);
    const reads = new Set(Array.from({ length: 1 + below(3) }, () => values[values.length - 1 - below(reach)]!));
    values.push(node(graph, [...reads], 1 + below(8)));
  }
  const read = new Set(graph.nodes.flatMap(({ reads }) => reads));
  const loose = values.filter((value) => !read.has(value));
  graph.outputs.push(node(graph, loose, 1));
  return graph;
}

/** A tree of branches that widen, shrink and join. */
export function wideBranches(depth: number, fan: number, seed: number): Graph {
  const below = random(seed);
  const graph = draft();
  const x = input(graph, 8, false);
  const grow = (level: number): number => {
    const parts = level === 0 ? [x] : Array.from({ length: fan }, () => grow(level - 1));
    const wide = node(graph, parts, 4 + below(28));
    const middle = node(graph, [wide], 1 + below(16));
    return node(graph, [middle], 1 + below(6));
  };
  graph.outputs.push(grow(depth));
  return graph;
}

/** Down and up again, each level on the way up reading its twin on the way down. */
export function skips(levels: number): Graph {
  const graph = draft();
  let x = input(graph, 64, true);
  const twins: number[] = [];
  for (let level = 0; level < levels; level++) {
    const a = node(graph, [x], 64 >> Math.min(level, 5));
    const b = node(graph, [a], 64 >> Math.min(level, 5), [a]);
    twins.push(b);
    x = node(graph, [b], 64 >> Math.min(level + 1, 6));
  }
  for (let level = levels - 1; level >= 0; level--) {
    const up = node(graph, [x], 64 >> Math.min(level, 5));
    const joined = node(graph, [up, twins[level]!], 128 >> Math.min(level, 5));
    x = node(graph, [joined], 64 >> Math.min(level, 5));
  }
  graph.outputs.push(x);
  return graph;
}
