/**
 * Object and array literals, and what a pattern leaves over.
 *
 * Depends on: properties, collections, arrays, state, values.
 */
import type { Event, TypeFact } from '../lower/ir.ts';
import { openMember } from './making.ts';
import { exact, iterated, members, unique } from './collections.ts';
import type { Engine } from './engine.ts';
import { siteOf } from './events.ts';
import { keyName } from './properties.ts';
import type { State } from './state.ts';
import { hostValue, type Value } from './values.ts';

export function rest(engine: Engine, state: State, event: Extract<Event, { kind: 'rest' }>, type: TypeFact): Value {
  const source = state.local(event.object);
  const node = state.node(source);
  const site = siteOf(state, event);
  if (node === undefined || source.kind !== 'object')
    return type.holds === 'nothing' ? hostValue(`${site};`, type) : engine.unknown(state, type, site, 'caller', undefined);
  if (node.open && node.life === undefined) return source;
  const fields = new Map<string, Value>();
  for (const [name, value] of node.fields) {
    if (event.start !== undefined) {
      if (Number(name) >= event.start) fields.set(String(Number(name) - event.start), value);
    } else if (!(event.taken ?? []).includes(name)) fields.set(name, value);
  }
  // What is left of a tree of unknown form is a part of it: what was taken out is none of it.
  if (node.life !== undefined)
    return state.allocate(site, { ...node, fields, type: node.type, life: { ...node.life, part: source.id } }, engine.dropped(state));
  return state.allocate(
    site,
    { shape: event.start === undefined ? 'object' : 'list', fields, pool: node.pool, open: false, many: false, type },
    engine.dropped(state),
  );
}

export function object(engine: Engine, state: State, event: Extract<Event, { kind: 'object' }>, type: TypeFact): Value {
  const fields = new Map<string, Value>();
  const pool: Value[] = [];
  let open = false;
  let unknowns = false;
  for (const entry of event.entries) {
    if (entry.kind === 'property') {
      fields.set(keyName(state, entry.key), state.local(entry.value));
      continue;
    }
    const from = state.local(entry.from);
    const node = state.node(from);
    if (node === undefined) {
      if (from.kind === 'host' && from.type?.holds === 'unknown') unknowns = true;
      continue;
    }
    for (const [name, value] of node.fields) if (!name.startsWith('@')) fields.set(name, value);
    pool.push(...node.pool);
    if (node.open && from.kind === 'object' && (node.life !== undefined || node.type.holds !== 'nothing')) {
      open = true;
      for (const [name, member] of Object.entries(node.type.fields ?? {}))
        if (!fields.has(name))
          fields.set(name, openMember(engine, state, from.id, state.get(from.id)!, name, member, engine.dropped(state)));
    }
  }
  const written = new Map<string, Value>();
  for (const entry of event.entries) if (entry.kind === 'property') written.set(keyName(state, entry.key), state.local(entry.value));
  for (const [name, value] of written) fields.set(name, value);
  return state.allocate(
    siteOf(state, event),
    {
      shape: 'object',
      fields,
      pool,
      open: open || unknowns,
      many: false,
      type,
      ...(open ? { escaped: true } : {}),
      ...(state.tracing > 0 ? { traced: true } : {}),
    },
    engine.dropped(state),
  );
}

export function array(engine: Engine, state: State, event: Extract<Event, { kind: 'array' }>, type: TypeFact): Value {
  const fields = new Map<string, Value>();
  const pool: Value[] = [];
  let index = 0;
  let counted = true;
  for (const element of event.elements) {
    if (element === undefined) {
      index++;
      continue;
    }
    const value = state.local(element.local);
    if (!element.spread) {
      if (counted) fields.set(String(index++), value);
      else pool.push(value);
      continue;
    }
    const node = state.node(value);
    if (node === undefined) {
      counted = false;
      continue;
    }
    if (exact(node) && node.shape !== 'map') for (const member of members(node)) fields.set(String(index++), member);
    else {
      counted = false;
      // The spread tree goes in as one member: what happens to the list happens to all of it.
      if (node.life !== undefined && node.open) pool.push(value);
      else pool.push(...iterated(engine, state, value, node.type.element));
    }
  }
  return state.allocate(
    siteOf(state, event),
    { shape: 'list', fields, pool: unique(pool), open: false, many: false, type, ...(state.tracing > 0 ? { traced: true } : {}) },
    engine.dropped(state),
  );
}
