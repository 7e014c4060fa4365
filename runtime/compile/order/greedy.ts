/**
 * Orders at once: the program's own, and four that choose without looking back.
 *
 * None is good everywhere (a list rule fails on wide trees, a depth-first one on irregular graphs), all are cheap; so all
 * are made and the lowest kept. The first three rules are the ones compilers use. Depends on: walk.
 */
import type { Walk, Wiring } from './walk.ts';
import { change, during, run, startWalk } from './walk.ts';

/** The numbers of the nodes. */
export const programOrder = ({ stops }: Wiring): number[] => stops.map((_, node) => node);

/** Of the ready nodes, the one that frees most; then the one with most readers. */
export function listOrder(wiring: Wiring): number[] {
  const { stops, readers, after } = wiring;
  const walk = startWalk(wiring);
  // What a ready node frees changes only when it becomes the last reader of something.
  const frees = new Float64Array(stops.length);
  const ready: number[] = [];
  const enter = (node: number): void => {
    frees[node] = -change(walk, node);
    ready.push(node);
  };
  stops.forEach((_, node) => {
    if (walk.waits[node] === 0) enter(node);
  });
  const ran = new Uint8Array(stops.length);
  const order: number[] = [];
  while (ready.length > 0) {
    let chosen = 0;
    for (let i = 1; i < ready.length; i++) {
      const [a, b] = [ready[i]!, ready[chosen]!];
      const more = frees[a]! - frees[b]! || after[a]!.length - after[b]!.length || b - a;
      if (more > 0) chosen = i;
    }
    const node = ready[chosen]!;
    ready[chosen] = ready.at(-1)!;
    ready.pop();
    ran[node] = 1;
    run(walk, node, enter);
    for (const value of stops[node]!.reads) {
      if (walk.left[value] !== 1) continue;
      for (const last of readers[value]!) if (ran[last] === 0 && walk.waits[last] === 0) frees[last] = -change(walk, last);
    }
    order.push(node);
  }
  return order;
}

/** Each node right after its operands, operands in the order in which they are read. */
export const postOrder = (wiring: Wiring): number[] => depthFirst(wiring, (node) => wiring.before[node]!);

/** The same, visiting first the operands above which more is shared, then those above which more bytes are made. */
export function sharedFirstOrder(wiring: Wiring): number[] {
  const shared = new Float64Array(wiring.stops.length);
  const made = new Float64Array(wiring.stops.length);
  wiring.stops.forEach((stop, node) => {
    const makers = wiring.before[node]!;
    shared[node] = Math.max(0, wiring.after[node]!.length - 1) + makers.reduce((sum, maker) => sum + shared[maker]!, 0);
    made[node] = stop.made + makers.reduce((sum, maker) => sum + made[maker]!, 0);
    // Shared parts are counted once per path, which grows without end on deep graphs.
    shared[node] = Math.min(shared[node], 1e9);
    made[node] = Math.min(made[node], 1e15);
  });
  return depthFirst(wiring, (node) => wiring.before[node]!.toSorted((a, b) => shared[b]! - shared[a]! || made[b]! - made[a]! || a - b));
}

function depthFirst(wiring: Wiring, operands: (node: number) => readonly number[]): number[] {
  const seen = new Uint8Array(wiring.stops.length);
  const order: number[] = [];
  const open: { readonly node: number; readonly first: readonly number[]; next: number }[] = [];
  const enter = (node: number): void => {
    if (seen[node] === 1) return;
    seen[node] = 1;
    open.push({ node, first: operands(node), next: 0 });
  };
  for (let root = 0; root < wiring.stops.length; root++) {
    if (wiring.after[root]!.length > 0) continue;
    enter(root);
    while (open.length > 0) {
      const top = open.at(-1)!;
      if (top.next < top.first.length) enter(top.first[top.next++]!);
      else order.push(open.pop()!.node);
    }
  }
  return order;
}

interface Beam {
  readonly walk: Walk;
  readonly ready: readonly number[];
  readonly peak: number;
  readonly path: Path | undefined;
  readonly key: number;
}

interface Path {
  readonly node: number;
  readonly earlier: Path | undefined;
}

/** Keeps the `width` best sets of nodes at each length, by peak so far, then by what is alive. Yields every few nodes. */
export function* beamOrder(wiring: Wiring, width: number): Generator<void, number[]> {
  const first = startWalk(wiring);
  const keys = wiring.stops.map((_, node) => Number((BigInt(node + 1) * 0x9e3779b97f4a7c15n) & 0x1fffffffffffffn));
  let beams: Beam[] = [
    { walk: first, ready: wiring.stops.map((_, node) => node).filter((node) => first.waits[node] === 0), peak: 0, path: undefined, key: 0 },
  ];
  for (let step = 0; step < wiring.stops.length; step++) {
    if ((step & 15) === 15) yield;
    const moves = beams.flatMap((beam) =>
      beam.ready.map((node) => ({
        beam,
        node,
        peak: Math.max(beam.peak, during(beam.walk, node)),
        alive: beam.walk.alive + change(beam.walk, node),
        key: (beam.key + keys[node]!) % Number.MAX_SAFE_INTEGER,
      })),
    );
    moves.sort((a, b) => a.peak - b.peak || a.alive - b.alive || a.node - b.node);
    const taken = new Set<number>();
    const kept: typeof moves = [];
    for (const move of moves) {
      if (taken.has(move.key)) continue;
      taken.add(move.key);
      if (kept.push(move) === width) break;
    }
    beams = kept.map(({ beam, node, peak, key }) => {
      const walk = { ...beam.walk, left: beam.walk.left.slice(), waits: beam.walk.waits.slice() };
      const ready = beam.ready.filter((other) => other !== node);
      run(walk, node, (next) => ready.push(next));
      return { walk, ready, peak, path: { node, earlier: beam.path }, key };
    });
  }
  const order: number[] = [];
  for (let at = beams[0]?.path; at !== undefined; at = at.earlier) order.push(at.node);
  return order.reverse();
}
