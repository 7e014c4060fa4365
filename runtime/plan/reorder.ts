/**
 * Better orders for what cannot be searched: thousands of buffers, fixed offsets, gaps.
 *
 * Whoever touches the top came too late: it is placed a little earlier, and the new order is kept unless it is worse than
 * what stood a few steps ago (late acceptance), which leaves hollows that a strict rule would stay in.
 * Depends on: problem, plan.
 */
import { ordered, orderings, placeInOrder } from './plan.ts';
import type { Buffer, Plan } from './problem.ts';

/** How many steps back an order is compared with. */
const memory = 16;

/** Yields the best plan so far after every order tried; never ends by itself. */
export function* reorder(buffers: readonly Buffer[], start: Plan, chance: () => number): Generator<Plan, never> {
  let best = start;
  const candidates = orderings.slice(0, 3).map((ordering) => {
    const order = ordered(buffers, ordering);
    return { order, plan: placeInOrder(buffers, order, 'lowest') };
  });
  let current = candidates.reduce((a, b) => (b.plan.bytes < a.plan.bytes ? b : a));
  const late = new Array<number>(memory).fill(current.plan.bytes);
  for (let step = 0; ; step++) {
    const order = earlier(current.order, buffers, current.plan, chance);
    const plan = placeInOrder(buffers, order, 'lowest');
    if (plan.bytes <= Math.max(late[step % memory]!, current.plan.bytes)) current = { order, plan };
    late[step % memory] = current.plan.bytes;
    if (plan.bytes < best.bytes) best = plan;
    yield best;
  }
}

/** Moves one of the buffers near the top to an earlier place. */
function earlier(order: readonly number[], buffers: readonly Buffer[], plan: Plan, chance: () => number): number[] {
  const near = plan.bytes * (1 - 0.1 * chance() ** 2);
  const high = order.flatMap((i, at) => (buffers[i]!.fixed === undefined && plan.offsets[i]! + buffers[i]!.bytes >= near ? [at] : []));
  const next = [...order];
  const from = high[Math.floor(chance() * high.length)] ?? order.length - 1;
  const to = Math.floor(from * (1 - chance() ** 2));
  next.splice(to, 0, ...next.splice(from, 1));
  return next;
}
