/**
 * Results over donated inputs: lets the node that may write an output over a donated input run after the input's other readers.
 *
 * An update of a weight and the gradient that still reads the old weight may run in either order, often at the same peak. In
 * one of them the new weight takes the buffer of the old one; in the other it takes part of the arena, which stays alive
 * after the call while the donated buffer lies idle. A move is kept when it is legal and raises no peak. Depends on: walk.
 */
import { peakAlong, type Wiring } from './walk.ts';

export function overDonated(wiring: Wiring, order: readonly number[]): readonly number[] {
  const { graph, readers } = wiring;
  const outputs = new Set(graph.outputs);
  let best = order;
  let peak = peakAlong(wiring, order);
  for (const { value, donated } of graph.inputs) {
    if (!donated || outputs.has(value) || readers[value]!.length < 2) continue;
    const heirs = readers[value]!.filter((node) =>
      wiring.stops[node]!.overwrites.some(({ operand, result }) => operand === value && outputs.has(result)),
    );
    if (heirs.length === 0) continue;
    const at = positions(best);
    const byPosition = readers[value]!.toSorted((a, b) => at[a]! - at[b]!);
    const last = byPosition.at(-1)!;
    if (heirs.includes(last)) continue;
    const heir = heirs.reduce((latest, node) => (at[node]! > at[latest]! ? node : latest));
    for (const moved of [
      later(wiring, best, at, heir, last),
      earlier(
        wiring,
        best,
        at,
        byPosition.filter((node) => at[node]! > at[heir]!),
        heir,
      ),
    ]) {
      if (moved === undefined) continue;
      const found = peakAlong(wiring, moved);
      if (found > peak) continue;
      [best, peak] = [moved, found];
      break;
    }
  }
  return best;
}

function positions(order: readonly number[]): Int32Array {
  const at = new Int32Array(order.length);
  order.forEach((node, i) => (at[node] = i));
  return at;
}

/** `node` right after `last`, unless something in between reads it. */
function later({ after }: Wiring, order: readonly number[], at: Int32Array, node: number, last: number): readonly number[] | undefined {
  if (after[node]!.some((reader) => at[reader]! <= at[last]!)) return undefined;
  return [...order.slice(0, at[node]), ...order.slice(at[node]! + 1, at[last]! + 1), node, ...order.slice(at[last]! + 1)];
}

/** `nodes`, and what they wait for, right before `heir`; unless they wait for that. */
function earlier(
  { before }: Wiring,
  order: readonly number[],
  at: Int32Array,
  nodes: readonly number[],
  heir: number,
): readonly number[] | undefined {
  const moving = new Set(nodes);
  for (const node of moving) for (const maker of before[node]!) if (at[maker]! >= at[heir]!) moving.add(maker);
  if (moving.has(heir)) return undefined;
  return order.flatMap((node) => (moving.has(node) ? [] : node === heir ? [...order.filter((one) => moving.has(one)), heir] : [node]));
}
