/**
 * Lists that a loop without an end adds to: what they hold is never lost, and never freed either.
 *
 * Depends on: emptying, arrays, engine, state, values, lower/ir.
 */
import type { Local, LoweredFunction, Span } from '../lower/ir.ts';
import { leaves, named } from './arrays.ts';
import { leaving } from './emptying.ts';
import type { Engine } from './engine.ts';
import type { State } from './state.ts';
import type { Value } from './values.ts';

/** A list that the function makes once, adds to, reads, and hands to nobody. */
export function onlyGrows(fn: LoweredFunction, receiver: Local): boolean {
  const events = fn.blocks.flatMap((block) => block.events);
  const origin = events.find((event) => event.kind === 'copy' && event.to === receiver);
  const list = origin?.kind === 'copy' ? origin.from : receiver;
  if (fn.locals[list]?.name === undefined || fn.locals[list].captured) return false;
  if (events.filter((event) => event.kind === 'copy' && event.to === list).length !== 1) return false;
  const holders = new Set([list, ...events.flatMap((event) => (event.kind === 'copy' && event.from === list ? [event.to] : []))]);
  return events.every((event) => {
    switch (event.kind) {
      case 'call':
        return (
          !event.arguments.some((argument) => holders.has(argument.local)) &&
          !(event.receiver !== undefined && holders.has(event.receiver) && event.key?.kind === 'name' && leaving.has(event.key.name))
        );
      case 'setProperty':
        return !holders.has(event.object) && !holders.has(event.from);
      case 'iterate':
      case 'setOuter':
        return !holders.has(event.from);
      default:
        return true;
    }
  });
}

export function growsForEver(engine: Engine, state: State, target: Value, value: Value, span: Span): void {
  const node = state.node(target);
  if (node === undefined || node.escaped === true) return;
  leaves(state, value, (_, __, life) => {
    if (life.dead || life.traced || life.escaped || life.scope > 0) return;
    engine.collector.see(
      { kind: 'retained', span, function: state.frame.fn.id, array: named(life), collection: 'the list', where: 'loop', scalar: false },
      state.frame.context,
    );
  });
}
