/**
 * What the walk knew of what a text frees: were it not freed, would anybody miss it? Where the answer is no, recall ends.
 *
 * Depends on: arrays, engine, state, values.
 */
import type { Span } from '../lower/ir.ts';
import { leaves } from './arrays.ts';
import type { Engine } from './engine.ts';
import type { State } from './state.ts';
import type { Life, Node, Value } from './values.ts';

/** Notes, for a place that frees `value`, why its loss would go unnoticed there; before it is freed. */
export function noteFreed(engine: Engine, state: State, value: Value, span: Span): void {
  const doubts: string[] = [];
  let sure = false;
  leaves(state, value, (_, node, life) => {
    const doubt = doubtOf(node, life);
    if (doubt === undefined) sure = true;
    else doubts.push(doubt);
  });
  engine.collector.frees(span, sure ? undefined : (doubts[0] ?? 'what it is is not known'));
}

/** Why the walk would say nothing if this were lost. */
function doubtOf(node: Node, life: Life): string | undefined {
  if (life.dead) return 'it is gone already';
  if (life.escaped) return `others may hold it: ${life.shared ?? 'handed on'}`;
  if (life.traced) return 'it stands for a value of a trace';
  if (life.scope > 0) return 'a scope frees it';
  if (life.origin === 'caller') return 'it came from outside';
  if (life.origin === 'field') return 'it was made before the walk began';
  if (life.part !== undefined) return 'it is a part of a tree';
  if (node.many) return 'it is one of many';
  return life.empty === true ? 'it owns nothing yet' : undefined;
}
