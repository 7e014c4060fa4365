/**
 * What generators hand out: alive while the consumer is at it, and gone as the generator has it when the next one comes.
 *
 * The walk runs a generator to its end before its consumer; what it yielded alive and freed afterwards is lent to the rounds
 * of a loop over it. Depends on: arrays, state, values.
 */
import type { Span } from '../lower/ir.ts';
import { leaves, read, setLife, type Walk } from './arrays.ts';
import type { State } from './state.ts';
import type { Value } from './values.ts';

/** `yield value`: what is dead by then is handed out dead. */
export function offer(walk: Walk, state: State, value: Value, span: Span): void {
  leaves(state, value, (id, _, life) => {
    if (!life.dead) setLife(state, id, { lent: { death: 'using' } });
  });
  const node = state.node(value);
  if (node?.shape === 'array' && node.life?.dead === true && node.life.origin === 'here') read(walk, state, value, { span, use: 'return' });
}

/** The generator is at its end: what it freed after it was yielded is lent to whoever takes it, each in its turn. */
export function offered(state: State, yields: readonly Value[]): void {
  for (const value of yields)
    leaves(state, value, (id, node, { lent, ...life }) => {
      if (lent === undefined) return;
      const { death, diedAt } = life;
      const how = !life.dead || death === undefined ? undefined : { death, ...(diedAt === undefined ? {} : { diedAt }) };
      state.put(id, { ...node, life: how === undefined ? life : { ...life, lent: how } });
    });
}

/** A loop takes `value`. */
export function lend(state: State, value: Value): void {
  leaves(state, value, (id, _, life) => {
    if (life.lent !== undefined) setLife(state, id, { dead: false });
  });
}

/** The loop asks for the next one. */
export function giveBack(state: State, value: Value): void {
  leaves(state, value, (id, _, life) => {
    if (life.lent !== undefined && !life.dead) setLife(state, id, { dead: true, refs: 0, ...life.lent });
  });
}
