/**
 * A member that the text names by its place (`list[0]`, `const [first, ...rest] = list`) in a list of unknown length.
 *
 * It gets an object of its own, so that what happens to it alone is known: freed, it is gone, whatever the others are. Of
 * the others nothing is said from then on, nor of it once something goes through the list as a whole.
 * Depends on: arrays, collections, engine, state, values.
 */
import { leaves } from './arrays.ts';
import { apartMark, blur } from './collections.ts';
import type { Engine } from './engine.ts';
import type { State } from './state.ts';
import { objectValue, type Node, type ObjectId, type Value } from './values.ts';

/** The member at `key`, told apart from those in the pool; nothing where which one it is can't matter. */
export function memberAt(engine: Engine, state: State, list: ObjectId, node: Node, key: string): Value | undefined {
  if (node.shape !== 'list' || node.open || node.many || node.home !== undefined || node.escaped === true) return undefined;
  if (node.pool.length === 0 || [...node.fields.keys()].filter((name) => /^\d+$/.test(name)).length !== Number(key)) return undefined;
  const member = node.pool.find((value) => value.kind === 'object' && isPlain(state, value));
  if (member === undefined || !node.pool.every((value) => isPlain(state, value))) return undefined;
  const own = copied(engine, state, member, `${list}${apartMark}${key}`);
  if (own === undefined) return undefined;
  for (const value of node.pool) blur(state, value);
  state.setField(list, key, own);
  return own;
}

/** Living arrays that were made here and that nobody else knows, and at least one. */
function isPlain(state: State, value: Value): boolean {
  let found = false;
  let plain = true;
  leaves(state, value, (_, __, life) => {
    found = true;
    plain &&= !life.dead && !life.escaped && !life.owner && !life.traced && life.part === undefined && life.origin === 'here';
  });
  return found && plain;
}

/** The same again, as objects of their own; nothing where there is more to it than arrays in plain trees. */
function copied(engine: Engine, state: State, value: Value, site: string, depth = 4): Value | undefined {
  if (value.kind !== 'object') return value;
  const node = state.get(value.id);
  if (node === undefined || depth === 0 || node.pool.length > 0) return undefined;
  if (node.shape !== 'array' && node.shape !== 'object' && node.shape !== 'list') return undefined;
  const fields = new Map<string, Value>();
  for (const [name, member] of node.fields) {
    const own = copied(engine, state, member, `${site}.${name}`, depth - 1);
    if (own === undefined) return undefined;
    fields.set(name, own);
  }
  state.allocate(site, { ...node, many: false, fields }, engine.dropped(state));
  return objectValue(site);
}
