/**
 * What a variable, field or collection let go of: lost there when nobody else holds it.
 *
 * Depends on: arrays, engine, state, values.
 */
import type { Span } from '../lower/ir.ts';
import { consumes, leaves, named, setLife } from './arrays.ts';
import { members } from './collections.ts';
import type { Engine } from './engine.ts';
import type { State } from './state.ts';
import { emptyFields, type Life, type Node, type ObjectId, type Value } from './values.ts';

/** What is stored once more is not lost by what let go of it before. */
export function heldAgain(state: State, value: Value): void {
  leaves(state, value, (id, node, { lostAt, ...life }) => {
    if (lostAt !== undefined) state.put(id, { ...node, life });
  });
}

/** `old` was overwritten or deleted: what nobody else holds is lost here. */
export function lostBy(
  engine: Engine,
  state: State,
  old: readonly Value[],
  span: Span,
  how: 'overwritten' | 'deleted',
  variable = false,
): void {
  const candidates: { readonly id: string; readonly node: Node }[] = [];
  const add = (id: ObjectId, node: Node, life: Life): void => {
    const isOwn = !life.dead && !life.escaped && !life.traced && life.scope === 0 && life.origin !== 'caller' && !life.empty;
    if (!isOwn || candidates.some((known) => known.id === id)) return;
    // With the last of its parts a tree goes that nobody holds by itself.
    const tree = life.part === undefined ? undefined : state.get(life.part);
    if (life.part === undefined) candidates.push({ id, node });
    else if (tree?.life !== undefined && tree.life.opened !== true) add(life.part, tree, tree.life);
  };
  for (const value of old) leaves(state, value, add);
  if (candidates.length === 0) return;
  const held = state.reachable();
  for (const { id, node } of candidates) {
    const life = node.life!;
    if (life.raced && how === 'overwritten') continue;
    if (!held.has(id) && node.open && [...state.heap].some(([part, other]) => other.life?.part === id && held.has(part))) continue;
    if (held.has(id)) {
      if (!inField(state, id)) setLife(state, id, { lostAt: { span, how, variable } });
      continue;
    }
    engine.collector.see(
      {
        kind: 'lost',
        // What let go of it first is where it was lost.
        span: life.lastRef !== undefined && consumes(engine, life.library) ? life.lastRef : (life.lostAt?.span ?? span),
        function: state.frame.fn.id,
        array: named(life, id),
        how: life.lastRef !== undefined && consumes(engine, life.library) ? 'extraRef' : how,
        what: life.owner ? 'owner' : 'array',
        variable,
      },
      state.frame.context,
    );
    state.heap.delete(id);
  }
}

/** Does a field of an object, or a variable of a module, hold it: `[this.front, this.back] = [this.back, this.front]`? */
export function inField(state: State, id: ObjectId): boolean {
  for (const node of state.heap.values())
    if (node.class !== undefined || node.function?.endsWith('#') === true)
      for (const value of node.fields.values()) if (value.kind === 'object' && value.id === id) return true;
  return false;
}

/** A member leaves a list whose members nobody else holds, and all of which are alive: one of them is lost. */
export function unheld(engine: Engine, state: State, all: readonly Value[], span: Span, how: 'overwritten' | 'deleted'): void {
  const held = state.reachable();
  let sure = all.length > 0;
  let lost: { readonly node: Node; readonly life: Life } | undefined;
  for (const value of all)
    leaves(state, value, (id, node, life) => {
      if (life.dead || life.escaped || life.traced || life.origin === 'caller' || life.scope > 0 || life.owner || held.has(id))
        sure = false;
      lost = { node, life };
    });
  if (sure && lost !== undefined)
    engine.collector.see(
      { kind: 'lost', span, function: state.frame.fn.id, array: named(lost.life), how, what: 'array' },
      state.frame.context,
    );
}

/** Runs `look` while a collection holds nothing, nor what a loop over it had in hand. */
export function without(state: State, id: ObjectId, look: (all: readonly Value[]) => void): void {
  const node = state.get(id);
  if (node === undefined) return;
  const ofIt = (other: Node): boolean => {
    const source = other.shape === 'iterator' ? other.fields.get('source') : undefined;
    return source?.kind === 'object' && source.id === id;
  };
  const emptied = [...state.heap].filter(([key, other]) => key === id || ofIt(other));
  for (const [key] of emptied) state.change(key, { fields: emptyFields, pool: [] });
  if (!state.heap.has(id)) state.change(id, { fields: emptyFields, pool: [] });
  look(members(node));
  for (const [key, before] of [[id, node] as const, ...emptied]) state.put(key, before);
}

/** Under a key that a caller gave and nobody looked up there may be an array of an earlier call, which is then lost. */
export function mayReplace(engine: Engine, state: State, id: ObjectId, key: string, span: Span): void {
  const node = state.get(id);
  if (node === undefined || node.open || node.pool.length === 0 || !/^\[[?@]param /.test(key)) return;
  // What is looked up before it is set is a cache.
  if (node.home !== undefined && engine.collector.looked.has(`${node.home} ${state.frame.fn.id}`)) return;
  if (node.shape !== 'object' && node.shape !== 'map') return;
  const { pool } = node;
  without(state, id, () => unheld(engine, state, pool, span, 'overwritten'));
}
