/**
 * Calls on collections: `push`, `pop`, `Map.get`, `slice`, `Promise.all` and their kin.
 *
 * Depends on: engine, collections, arrays, state, values.
 */
import type { Call, Callback, Role } from '../libraries/model.ts';
import { reads, type Span, type TypeFact } from '../lower/ir.ts';
import { escape, leaves } from './arrays.ts';
import { openMember } from './making.ts';
import { each, isCallable, wrapPromise } from './callbacks.ts';
import { add, blur, collect, copyOf, iterated, keysOf, listOf, members, oneOf, take, togetherAgain, unique } from './collections.ts';
import { returned, type CallSite, type Engine, type Exit } from './engine.ts';
import { siteOf, type Place } from './events.ts';
import { endsWith } from './known-calls.ts';
import { growsForEver, onlyGrows } from './growing.ts';
import { fromPairs } from './records.ts';
import { heldAgain, lostBy, mayReplace, unheld, without } from './replaced.ts';
import type { State } from './state.ts';
import { emptyFields, hostValue, literalValue, undefinedValue, type Node, type Value } from './values.ts';

/** `Array.from(source, f)`. */
const filling: Callback = {
  argument: 1,
  when: 'now',
  times: 'many',
  given: [{ kind: 'element', of: 0 }, { kind: 'index' }],
  result: 'collected',
};

type Does = Extract<Role, { kind: 'collection' }>['does'];

export function collectionCall(
  engine: Engine,
  state: State,
  does: Does,
  name: string,
  call: Call,
  receiver: Value | undefined,
  args: readonly Value[],
  site: CallSite,
  place: Place,
): readonly Exit[] {
  const onArgument = receiver === undefined || /Constructor\.|^tree\./.test(name);
  const target = onArgument ? args[0] : receiver;
  const id = siteOf(state, site);
  const host = (): Value => hostValue(`${id};`, site.type);
  if (target === undefined) return returned(state, host());
  const node = state.node(target);
  const settles = typeof call.result === 'object' && 'settles' in call.result;
  switch (does) {
    case 'add':
      if (place.endless === true && site.event?.receiver !== undefined && onlyGrows(place.fn, site.event.receiver))
        for (const value of args) growsForEver(engine, state, target, value, site.span);
      if (name.endsWith('.unshift') && node !== undefined) togetherAgain(state, members(node));
      for (const value of args) {
        heldAgain(state, value);
        add(engine, state, target, value, site.span, repeatedIn(state, place));
      }
      return returned(state, name.startsWith('Set') ? target : host());
    case 'addPair': {
      const value = args[1] ?? args[0] ?? undefinedValue;
      const old = node?.fields.get(keyOf(args[0]));
      heldAgain(state, value);
      if (old === undefined && target.kind === 'object') mayReplace(engine, state, target.id, keyOf(args[0]), site.span);
      // A weak map keeps nothing alive: what it holds goes with its keys.
      if (name.startsWith('WeakMap')) collect(state, target, value, repeatedIn(state, place), keyOf(args[0]));
      else add(engine, state, target, value, site.span, repeatedIn(state, place), keyOf(args[0]));
      if (old !== undefined) lostBy(engine, state, [old], site.span, 'overwritten');
      return returned(state, target);
    }
    case 'take':
      return returned(state, take(engine, state, target, site.span, { ...site.type, nullable: false }));
    case 'look': {
      if (node === undefined || target.kind !== 'object')
        return returned(
          state,
          site.type.holds === 'nothing' || site.type.holds === 'unknown'
            ? host()
            : engine.unknown(state, { ...site.type, nullable: false }, id, 'caller', site.span),
        );
      if (/sort|reverse/i.test(name)) {
        togetherAgain(state, members(node));
        return returned(state, target);
      }
      const known = node.fields.get(keyOf(args[0]));
      if (known !== undefined) return returned(state, known);
      looked(engine, state, node);
      const all = unique(members(node).filter((member) => member.kind !== 'literal'));
      const absent = state.fork();
      const key = keyOf(args[0]);
      if (node.shape === 'map') absent.setField(target.id, key, undefinedValue);
      if (all.length > 0) {
        const value = oneOf(engine, state, all, site.span);
        // On this path the key is that of the member.
        if (all.length === 1 && node.pool.length === 1 && node.shape === 'map')
          state.change(target.id, { pool: [], fields: new Map([...node.fields, [key, value]]) });
        return [
          { state, kind: 'return', value },
          { state: absent, kind: 'return', value: undefinedValue },
        ];
      }
      if (!node.open) return returned(state, undefinedValue);
      return [
        {
          state,
          kind: 'return',
          value: openMember(engine, state, target.id, node, keyOf(args[0]), { ...site.type, nullable: false }, engine.dropped(state)),
        },
        { state: absent, kind: 'return', value: undefinedValue },
      ];
    }
    case 'copy': {
      const from = args[1];
      if (name === 'ArrayConstructor.from' && from !== undefined && isCallable(from))
        return each(engine, state, filling, from, receiver, args, site, place);
      if (name === 'ObjectConstructor.fromEntries') return returned(state, fromPairs(engine, state, target, id, site.type));
      // `list = list.slice(0, n)`: what the copy leaves out, nobody has any more.
      if (name.endsWith('.slice') && args.length > 0 && target.kind === 'object' && replacesItself(place, site))
        without(state, target.id, (all) => unheld(engine, state, all, assignmentOf(place, site), 'overwritten'));
      if (/toSorted|toReversed/.test(name) && node !== undefined) togetherAgain(state, members(node));
      const value = copyOf(engine, state, target, id, settles ? { ...site.type, promise: false } : site.type);
      if (name.endsWith('.slice') && args.length > 0) cut(state, value, args);
      if (!settles) return returned(state, value);
      // `Promise.all`: the members are promises; what comes out are their values.
      const inner = state.node(value);
      if (inner !== undefined && value.kind === 'object') {
        const settle = (member: Value): Value => {
          const promise = state.node(member);
          return promise?.shape === 'promise' ? (promise.fields.get('value') ?? hostValue(`${id}settled;`)) : member;
        };
        if (name.endsWith('allSettled')) {
          const all = members(inner).map(settle);
          state.change(value.id, { fields: emptyFields, pool: all.flatMap((member, i) => outcomes(engine, state, member, `${id}${i}`)) });
        } else
          state.change(value.id, {
            fields: new Map([...inner.fields].map(([key, member]) => [key, settle(member)] as const)),
            pool: inner.pool.map(settle),
          });
      }
      return returned(state, wrapPromise(engine, state, value, site));
    }
    case 'concat': {
      const all = [...(onArgument ? [] : [target]), ...args].flatMap((value) => {
        const inner = state.node(value);
        return inner?.shape === 'list' ? [...iterated(engine, state, value, undefined)] : [value];
      });
      return returned(state, listOf(engine, state, all, id, site.type, node?.open === true || all.length > 8));
    }
    case 'clear': {
      if (node === undefined || target.kind !== 'object') return returned(state, host());
      if (node.home !== undefined) engine.collector.emptied.add(node.home);
      const all = members(node);
      state.change(target.id, { fields: emptyFields, pool: [] });
      lostBy(engine, state, all, site.span, 'deleted');
      return returned(state, host());
    }
    case 'remove': {
      if (node === undefined || target.kind !== 'object') return returned(state, host());
      if (node.home !== undefined) engine.collector.emptied.add(node.home);
      const key = keyOf(args[0]);
      const known = node.fields.get(key);
      if (name.endsWith('splice')) {
        const all = members(node);
        state.change(target.id, { fields: emptyFields, pool: [] });
        if (takesOut(args) && ignored(place, site)) unheld(engine, state, all, site.span, 'deleted');
        state.change(target.id, { fields: emptyFields, pool: unique([...all]) });
        return returned(
          state,
          state.allocate(
            id,
            { shape: 'list', fields: emptyFields, pool: unique(all), open: node.open, many: false, type: site.type, escaped: true },
            engine.dropped(state),
          ),
        );
      }
      if (known !== undefined) {
        const fields = new Map(node.fields);
        fields.delete(key);
        state.change(target.id, { fields });
        lostBy(engine, state, [known], site.span, 'deleted');
      } else if (node.pool.some((member) => member.key === args[0]?.key))
        state.change(target.id, { pool: node.pool.filter((member) => member.key !== args[0]?.key) });
      else if (name.startsWith('Map') && node.pool.length > 0) {
        const pool = node.pool;
        state.change(target.id, { pool: [] });
        lostBy(engine, state, pool, site.span, 'deleted');
      } else if (name.startsWith('Map') && key.startsWith('[')) {
        // Under a key that nobody knows lies the one member there is, if one does.
        const all = [...node.fields].filter(([named, member]) => named.startsWith('[') && member.kind === 'object');
        const [only] = all;
        if (only !== undefined && all.length === 1) {
          const fields = new Map(node.fields);
          fields.delete(only[0]);
          state.change(target.id, { fields });
          lostBy(engine, state, [only[1]], site.span, 'deleted');
        }
      }
      return returned(state, host());
    }
    case 'values': {
      if (node === undefined || target.kind !== 'object') return returned(state, hostOr(engine, state, id, site, host));
      if (node.open) return returned(state, target);
      const all = name.startsWith('tree') ? flattened(state, target, 5) : members(node);
      return returned(state, listOf(engine, state, all, id, site.type, node.pool.length > 0));
    }
    case 'entries': {
      if (node === undefined || target.kind !== 'object') return returned(state, hostOr(engine, state, id, site, host));
      const all = iterated(engine, state, target, undefined);
      const pairs = all.map((value, i) =>
        state.allocate(
          `${id}pair${i}`,
          {
            shape: 'list',
            fields: new Map([
              ['0', hostValue(`${id}key${i};`)],
              ['1', value],
            ]),
            pool: [],
            open: false,
            many: false,
            type: { holds: 'tree' },
          },
          engine.dropped(state),
        ),
      );
      return returned(state, listOf(engine, state, pairs, id, site.type, node.open));
    }
    case 'keys': {
      const keys = name.startsWith('Object') ? keysOf(state, target) : undefined;
      if (keys !== undefined) return returned(state, listOf(engine, state, keys, id, site.type, false));
      if (node !== undefined) looked(engine, state, node);
      return returned(state, host());
    }
    case 'replace':
      if (node !== undefined) looked(engine, state, node);
      return returned(state, host());
  }
}

/** What `allSettled` says of a promise: it has kept its word, or not. */
function outcomes(engine: Engine, state: State, value: Value, site: string): readonly Value[] {
  const outcome = (how: string, fields: readonly (readonly [string, Value])[]): Value =>
    state.allocate(
      `${site}${how}`,
      {
        shape: 'object',
        fields: new Map([['status', literalValue(how)] as const, ...fields]),
        pool: [],
        open: false,
        many: false,
        type: { holds: 'tree' },
      },
      engine.dropped(state),
    );
  return [outcome('fulfilled', [['value', value]]), outcome('rejected', [['reason', hostValue(`${site}reason;`)]])];
}

/** Is what a call makes of a variable's value assigned to that variable? */
function replacesItself(place: Place, site: CallSite): boolean {
  const event = site.event;
  if (event?.receiver === undefined) return false;
  const events = place.fn.blocks.flatMap((block) => block.events);
  const sources = new Set([
    event.receiver,
    ...events.flatMap((one) => (one.kind === 'copy' && one.to === event.receiver ? [one.from] : [])),
  ]);
  return events.some((one) => one.kind === 'copy' && one.from === event.to && sources.has(one.to));
}

/** The assignment of what a call yields. */
function assignmentOf(place: Place, site: CallSite): Span {
  const to = site.event?.to;
  const assignment = place.fn.blocks.flatMap((block) => block.events).find((one) => one.kind === 'copy' && one.from === to);
  return assignment?.span ?? site.span;
}

/** `slice(start, end)` of a copy: exact where all is known; else nobody knows which members it has. */
function cut(state: State, copy: Value, args: readonly Value[]): void {
  const node = state.node(copy);
  if (node === undefined || copy.kind !== 'object') return;
  const [start, end] = [numberOf(args[0]), args[1] === undefined ? Infinity : numberOf(args[1])];
  if (start === 0 && end === Infinity) return;
  const isNamed = (key: string): boolean => /^\d+$/.test(key);
  const numbered = [...node.fields].filter(([key]) => isNamed(key));
  const others = [...node.fields].filter(([key]) => key === '[each]');
  const counted = others.length === 0 && node.pool.length === 0 && !node.open;
  if (start !== undefined && end !== undefined && (counted || (start >= 0 && start <= numbered.length && end === Infinity))) {
    const left = counted ? numbered.slice(start, end) : numbered.filter(([key]) => Number(key) >= start);
    const first = start < 0 ? numbered.length + start : start;
    return state.change(copy.id, {
      fields: new Map([...left.map(([key, value]) => [String(Number(key) - first), value] as const), ...others]),
    });
  }
  const unsure = [...(counted ? numbered.map(([, value]) => value) : []), ...node.pool];
  for (const value of unsure) if (!isDead(state, value)) blur(state, value);
  state.change(copy.id, { fields: new Map(others), pool: unique(unsure) });
}

const numberOf = (value: Value | undefined): number | undefined =>
  value?.kind === 'literal' && typeof value.value === 'number' ? value.value : undefined;

function isDead(state: State, value: Value): boolean {
  let dead = false;
  leaves(state, value, (_, __, life) => void (dead ||= life.dead));
  return dead;
}

const takesOut = (args: readonly Value[]): boolean => args.length === 1 || (args.length === 2 && (numberOf(args[1]) ?? 0) > 0);

/** Does nothing read what the call yields? */
function ignored(place: Place, site: CallSite): boolean {
  const to = site.event?.to;
  return (
    to !== undefined && !endsWith(place.fn, to) && !place.fn.blocks.some(({ events }) => events.some((event) => reads(event).includes(to)))
  );
}

/** A function that looks for a key before it adds one keeps a cache: as large as there are keys. */
export function looked(engine: Engine, state: State, node: Node): void {
  if (node.home !== undefined) engine.collector.looked.add(`${node.home} ${state.frame.fn.id}`);
}

function repeatedIn(state: State, place: Place): boolean {
  if (place.inLoop) return true;
  for (let frame: typeof state.frame | undefined = state.frame; frame !== undefined; frame = frame.parent) if (frame.repeated) return true;
  return false;
}

function hostOr(engine: Engine, state: State, id: string, site: CallSite, host: () => Value): Value {
  const type: TypeFact = { ...site.type, nullable: false };
  return type.holds === 'tree' || type.holds === 'array' ? engine.unknown(state, type, id, 'caller', site.span) : host();
}

const keyOf = (value: Value | undefined): string =>
  value === undefined ? '' : value.kind === 'literal' ? String(value.value) : `[${value.key}]`;

/** The leaves of a tree, in order. */
function flattened(state: State, value: Value, depth: number): readonly Value[] {
  const node = state.node(value);
  if (node === undefined || node.shape === 'array' || depth === 0) return [value];
  return members(node).flatMap((member) => flattened(state, member, depth - 1));
}

export { escape };
