/**
 * What an owner of arrays (a model, an optimizer) really owns: nothing yet, something new, or parts of another.
 *
 * Depends on: arrays, collections, state, values, libraries.
 */
import type { Call, LibraryModel } from '../libraries/model.ts';
import { setLife } from './arrays.ts';
import { members } from './collections.ts';
import type { State } from './state.ts';
import type { ObjectId, Value } from './values.ts';

/** An owner that a call made: one of another's parts is nobody's to free here, one made of nothing is empty. */
export function ownsWhat(state: State, model: LibraryModel, call: Call | undefined, made: Value, args: readonly Value[]): void {
  if (made.kind !== 'object' || state.get(made.id)?.life?.owner !== true) return;
  if (args.some((value) => isPart(state, model, value))) setLife(state, made.id, { escaped: true });
  const without = call?.emptyWithout;
  if (without !== undefined && args.every((value) => isWithout(state, value, without))) setLife(state, made.id, { empty: true });
}

/** What is put into an owner is its own, unless it is an owner itself: that stays with whoever holds it. */
export function fill(state: State, receiver: ObjectId, args: readonly Value[]): void {
  const life = state.get(receiver)?.life;
  if (life?.empty === true && !args.every((value) => state.node(value)?.life?.owner === true)) setLife(state, receiver, { empty: false });
}

/** Something that an owner handed out of itself (`model.inputs`), alone or in a tree. */
function isPart(state: State, model: LibraryModel, value: Value, depth = 3): boolean {
  if (value.kind === 'host') return model.shares?.some((key) => value.symbol.endsWith(`.${key};`)) === true;
  const node = depth === 0 ? undefined : state.node(value);
  return node !== undefined && node.life === undefined && members(node).some((member) => isPart(state, model, member, depth - 1));
}

/** An object known to its last property, and that one isn't among them. */
function isWithout(state: State, value: Value, name: string): boolean {
  const node = state.node(value);
  return node !== undefined && node.life === undefined && !node.open && !node.fields.has(name);
}
