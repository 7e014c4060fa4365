/**
 * Static fields: they live beside the variables of the module or function that declares the class.
 *
 * Depends on: properties, replaced, engine, state, values.
 */
import type { Event } from '../lower/ir.ts';
import { returned, type Engine, type Exit } from './engine.ts';
import { homed, nameField } from './properties.ts';
import { heldAgain, lostBy } from './replaced.ts';
import type { State } from './state.ts';
import type { Value } from './values.ts';

type Class = Extract<Value, { kind: 'class' }>;

const keyOf = (cls: Class, key: string): string => `@static ${cls.class}.${key}`;

export const staticField = (state: State, cls: Class, key: string): Value | undefined =>
  cls.environment === undefined ? undefined : state.get(cls.environment)?.fields.get(keyOf(cls, key));

export function setStatic(
  engine: Engine,
  state: State,
  cls: Class,
  key: string,
  value: Value,
  event: Extract<Event, { kind: 'setProperty' }>,
): readonly Exit[] {
  const home = `${cls.class}.fields.${key}`;
  homed(state, value, home);
  if (value.kind === 'object') nameField(state, value, key);
  heldAgain(state, value);
  const old = staticField(state, cls, key);
  state.setField(cls.environment ?? '', keyOf(cls, key), value);
  if (event.declares === true) return returned(state, value);
  engine.collector.emptied.add(home);
  if (old !== undefined) lostBy(engine, state, [old], event.span, 'overwritten');
  return returned(state, value);
}
