/**
 * Collections: what goes in, what is taken out, what a loop over them sees.
 *
 * A list knows its elements by index while it is small and its index is known; else they are a pool. A member taken from
 * a pool of several can't be told: nothing is said of any of them from then on. Depends on: engine, arrays, state, values.
 */
import type { Span, TypeFact } from '../lower/ir.ts';
import { escape, leaves, named, wordsOf } from './arrays.ts';
import { openMember } from './making.ts';
import type { Engine } from './engine.ts';
import type { State } from './state.ts';
import {
  anonymous,
  emptyFields,
  hostValue,
  literalValue,
  objectValue,
  undefinedValue,
  type Node,
  type ObjectId,
  type Value,
} from './values.ts';

const isIndex = (name: string): boolean => /^\d+$/.test(name);

/** The members of a list, record or map in order, as far as known. */
export function members(node: Node): readonly Value[] {
  return [...node.fields]
    .filter(([name]) => name !== 'length')
    .map(([, value]) => value)
    .concat(node.pool);
}

export const exact = (node: Node): boolean => !node.open && !node.many && node.pool.length === 0;

/** What a loop over the collection sees: every member, or one that stands for those nobody knows. */
export function iterated(engine: Engine, state: State, value: Value, type: TypeFact | undefined): readonly Value[] {
  const node = state.node(value);
  if (node === undefined || value.kind !== 'object')
    return [
      value.kind === 'host' && value.type?.element !== undefined
        ? engine.unknown(state, value.type.element, `${value.symbol}each`, 'caller', undefined)
        : hostValue(`${value.key}each;`, type),
    ];
  if (node.shape === 'generator' || node.shape === 'iterator') return node.pool.length > 0 ? node.pool : [anonymous];
  const known = members(node);
  if (node.pool.length > 0) togetherAgain(state, known);
  if (!node.open) return known;
  const element = node.type.element ?? type;
  const one = openMember(engine, state, value.id, node, '[each]', element, engine.dropped(state));
  return known.length === 0 ? [one] : [...known.filter((member) => member.key !== one.key), one];
}

/** The keys of an object that is known to its last property: each leads to its member. */
export function keysOf(state: State, value: Value): readonly Value[] | undefined {
  const node = state.node(value);
  if (node === undefined || value.kind !== 'object' || node.shape !== 'object' || node.open || node.home !== undefined) return undefined;
  const keyOf = (index: number): Value => hostValue(`${value.id}key${index};`);
  if (node.pool.length > 0)
    state.change(value.id, {
      pool: [],
      fields: new Map([...node.fields, ...node.pool.map((member, i) => [`[${keyOf(i).key}]`, member] as const)]),
    });
  return [
    ...[...node.fields.keys()]
      .filter((name) => !name.startsWith('@'))
      .map((name) => (name.startsWith('[?') ? hostValue(name.slice(2, -1)) : literalValue(name))),
    ...node.pool.map((_, i) => keyOf(i)),
  ];
}

export function add(engine: Engine, state: State, target: Value, value: Value, span: Span, repeated: boolean, key?: string): void {
  const node = state.node(target);
  if (node === undefined || target.kind !== 'object') {
    escape(engine, state, value, span);
    return;
  }
  noteStored(engine, state, target.id, node, value, span, repeated, key !== undefined);
  collect(state, target, value, repeated, key);
}

/** Puts a value into a collection that nobody filled on purpose: what `map` yields. */
export function collect(state: State, target: Value, value: Value, repeated: boolean, key?: string): void {
  const node = state.node(target);
  if (node === undefined || target.kind !== 'object') return;
  if (node.escaped || node.life?.origin === 'caller') blur(state, value);
  if (key !== undefined && node.shape !== 'list') return state.setField(target.id, key, value);
  const next = [...node.fields.keys()].filter(isIndex).length;
  if (node.shape === 'list' && exact(node) && node.home === undefined && !repeated && next < 8)
    return state.setField(target.id, String(next), value);
  // Of host data one member stands for all.
  if (value.kind === 'host' || value.kind === 'literal') {
    if (!node.pool.some((member) => member.kind === 'host')) state.change(target.id, { pool: [...node.pool, anonymous] });
    return;
  }
  if (!node.pool.some((member) => member.key === value.key)) state.change(target.id, { pool: [...node.pool, value] });
}

/** Storing an array into something that was there before a trace, or into a collection that only ever grows. */
export function noteStored(
  engine: Engine,
  state: State,
  target: ObjectId,
  node: Node,
  value: Value,
  span: Span,
  repeated: boolean,
  keyed = true,
): void {
  let stored: string | undefined;
  leaves(state, value, (id, inner, life) => {
    if (life.traced && !node.traced && state.tracing > 0)
      engine.collector.see(
        {
          kind: 'tracerStored',
          span,
          function: state.frame.fn.id,
          array: named(life),
          target: node.home?.slice(node.home.lastIndexOf('.') + 1) ?? 'a collection',
        },
        state.frame.context,
      );
    if (life.dead || life.traced) return;
    stored = life.library;
    if (repeated && inner.life !== undefined) state.put(id, { ...inner, life: { ...inner.life, added: span } });
  });
  const grows = node.shape === 'list' || node.shape === 'map';
  if (stored === undefined || node.home === undefined || !grows || onceInALife(state)) return;
  const home = node.home;
  const key = `${home} ${span.file}:${span.start}`;
  if (engine.collector.muted === 0 && !engine.collector.added.has(key)) {
    engine.collector.added.set(key, {
      root: engine.collector.root,
      keyed,
      observation: {
        kind: 'retained',
        span,
        function: state.frame.fn.id,
        array: { library: stored, words: wordsOf(stored) },
        collection: home.slice(Math.max(home.lastIndexOf('.'), home.lastIndexOf(':')) + 1),
        where: home.includes('.fields.') ? 'class' : 'module',
        scalar: false,
      },
    });
  }
  void target;
}

/** The top level, or (through callbacks too) a constructor: what is stored there is stored once. */
function onceInALife(state: State): boolean {
  if (state.frame.fn.kind === 'module') return true;
  for (let frame: State['frame'] | undefined = state.frame; frame !== undefined; frame = frame.parent)
    if (frame.fn.kind === 'constructor' || frame.fn.kind === 'fields') return true;
  return false;
}

/** Takes a member out: which one is known only when there is one. */
export function take(engine: Engine, state: State, target: Value, span: Span, type: TypeFact): Value {
  const node = state.node(target);
  if (node === undefined || target.kind !== 'object') return engine.unknown(state, type, `${span.start};take`, 'caller', span);
  if (node.home !== undefined) engine.collector.emptied.add(node.home);
  const known = members(node);
  if (known.length === 0) {
    if (!node.open) return undefinedValue;
    const taken = openMember(engine, state, target.id, node, '[taken]', type, engine.dropped(state));
    // The next one is another.
    const fields = new Map(state.get(target.id)?.fields);
    fields.delete('[taken]');
    state.change(target.id, { fields });
    return taken;
  }
  if (known.length === 1 && !node.open) {
    state.change(target.id, { fields: emptyFields, pool: [] });
    return known[0]!;
  }
  return oneOf(engine, state, known, span);
}

/** One of several members, nobody knows which. */
export function oneOf(engine: Engine, state: State, known: readonly Value[], span: Span): Value {
  if (known.length === 1) return known[0]!;
  const dead = known.filter((member) => {
    let gone = false;
    leaves(state, member, (_, __, life) => {
      gone ||= life.dead;
    });
    return gone;
  });
  if (dead.length === known.length && known.length > 0) return known[0]!;
  for (const member of known) blur(state, member);
  void engine;
  void span;
  return known[0] ?? anonymous;
}

/** In the name of a member that was told apart by its place. */
export const apartMark = '#at';

/** Something goes through the list, or changes its order: it may be any member that was told apart. */
export function togetherAgain(state: State, all: readonly Value[]): void {
  for (const value of all) if (value.kind === 'object' && value.id.includes(apartMark)) blur(state, value);
}

/** From here on nothing is said of these arrays. */
export function blur(state: State, value: Value): void {
  leaves(state, value, (id, node, life) => {
    state.put(id, { ...node, life: { ...life, escaped: true, sure: false, shared: 'one of several in a collection' } });
  });
}

export function copyOf(engine: Engine, state: State, value: Value, site: string, type: TypeFact): Value {
  const node = state.node(value);
  if (node === undefined || value.kind !== 'object') {
    if (value.kind === 'host' && (type.holds === 'tree' || type.holds === 'array'))
      return engine.unknown(state, type, site, 'caller', undefined);
    return hostValue(`${site};`, type);
  }
  const { life: _, home: __, ...rest } = node;
  const fields =
    node.open && node.life !== undefined
      ? new Map([
          ...node.fields,
          ['[each]', openMember(engine, state, value.id, node, '[each]', node.type.element, engine.dropped(state))] as const,
        ])
      : node.fields;
  return state.allocate(
    site,
    {
      ...rest,
      fields,
      shape: node.shape === 'map' ? 'list' : node.shape === 'tree' ? 'list' : node.shape,
      open: node.open && node.life === undefined,
      type,
      ...(state.tracing > 0 ? { traced: true } : {}),
    },
    engine.dropped(state),
  );
}

export function listOf(engine: Engine, state: State, values: readonly Value[], site: string, type: TypeFact, pooled: boolean): Value {
  const fields = pooled ? emptyFields : new Map(values.map((value, i) => [String(i), value] as const));
  return state.allocate(
    site,
    {
      shape: 'list',
      fields,
      pool: pooled ? unique(values) : [],
      open: false,
      many: false,
      type,
      ...(state.tracing > 0 ? { traced: true } : {}),
    },
    engine.dropped(state),
  );
}

export const unique = (values: readonly Value[]): readonly Value[] =>
  values.filter((value, i) => values.findIndex((other) => other.key === value.key) === i);
export { objectValue };
