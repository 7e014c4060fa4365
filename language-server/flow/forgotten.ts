/**
 * Fields that an object forgets when it is disposed: a method that frees some of its arrays leaves others.
 *
 * Depends on: collector, arrays, state, values.
 */
import type { LoweredClass, LoweredFunction } from '../lower/ir.ts';
import { leaves, named } from './arrays.ts';
import type { Collector } from './collector.ts';
import type { State } from './state.ts';
import type { Life, ObjectId, Value } from './values.ts';

/** Methods by which objects go. */
const names = /^(dispose|destroy|close|free|release|cleanup|teardown|unload|shutdown|@@dispose|@@asyncDispose)$/i;

const isFreeing = (fn: LoweredFunction): boolean =>
  names.test(fn.name.slice(fn.name.lastIndexOf('.') + 1)) && fn.parameters.every((p) => p.optional);

/** What the fields of the object at hand held `before` a freeing method and still hold `after` it, when another was freed. */
export function noteForgotten(collector: Collector, cls: LoweredClass, fn: LoweredFunction, before: State, after: State): void {
  if (collector.muted > 0) return;
  for (const [field, value] of after.node(after.frame.locals.get(-7))?.fields ?? [])
    leaves(after, value, (_, __, life) => void (life.escaped && collector.freedFields.add(`${cls.id} ${field}`)), 3);
  const left = owned(after);
  const had = owned(before);
  const holding = new Set([...left.values()].map(({ field }) => field));
  for (const { field } of had.values()) if (!holding.has(field)) collector.freedFields.add(`${cls.id} ${field}`);
  const freed = [...had].some(([id, { field }]) => !left.has(id) && !holding.has(field));
  if (!freed || !isFreeing(fn)) return;
  for (const { field, life } of left.values()) {
    const key = `${cls.id} ${field}`;
    const earlier = collector.forgotten.get(key)?.span.start ?? Infinity;
    // The first in the text is the field's initialisation.
    if (life.made === undefined || life.made.start >= earlier) continue;
    collector.forgotten.set(key, {
      kind: 'lost',
      span: life.made,
      function: life.function,
      array: { ...named(life), name: `this.${field}` },
      how: 'field',
      what: 'array',
    });
  }
}

/** The living arrays that the fields of the object hold, made by it and known to nobody else. */
function owned(state: State): ReadonlyMap<ObjectId, { readonly field: string; readonly life: Life }> {
  const found = new Map<ObjectId, { readonly field: string; readonly life: Life }>();
  const add = (field: string, value: Value): void => {
    const node = state.node(value);
    if (node === undefined || (node.shape !== 'array' && node.shape !== 'object')) return;
    leaves(state, value, (id, inner, life) => {
      const own = life.origin === 'here' && !life.escaped && !life.traced && !life.raced && !life.owner && life.scope === 0;
      if (own && !life.dead && life.part === undefined && !inner.many) found.set(id, { field, life });
    });
  };
  for (const [field, value] of state.node(state.frame.locals.get(-7))?.fields ?? []) if (!field.startsWith('@')) add(field, value);
  return found;
}
