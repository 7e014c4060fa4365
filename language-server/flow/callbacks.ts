/**
 * Calls that call back: `map`, `forEach`, `reduce`, `then`, `tree.map`, and functions that trace what they are given.
 *
 * What a callback yields is kept in a list that a hidden local of the frame holds, so that nothing in it counts as lost.
 * Depends on: engine, arrays, collections, library-calls, state, values.
 */
import type { Call, Callback } from '../libraries/model.ts';
import type { Span, TypeFact } from '../lower/ir.ts';
import { consumes, escape } from './arrays.ts';
import { libraryOf, make, openMember } from './making.ts';
import { collect, copyOf, iterated, members, oneOf, unique } from './collections.ts';
import { returned, then, type CallSite, type Engine, type Exit } from './engine.ts';
import { howCalled } from './calls.ts';
import { siteOf, type Place } from './events.ts';
import { effects, result } from './library-calls.ts';
import { pinned } from './pinned.ts';
import type { State } from './state.ts';
import { treeMap } from './tree-map.ts';
import { emptyFields, hostValue, undefinedValue, type Value } from './values.ts';

export const isCallable = (value: Value | undefined): value is Value =>
  value !== undefined && (value.kind === 'closure' || value.kind === 'compiled' || value.kind === 'external');

export function callback(
  engine: Engine,
  state: State,
  call: Call,
  library: string,
  receiver: Value | undefined,
  args: readonly Value[],
  spans: readonly Span[],
  site: CallSite,
  place: Place,
): readonly Exit[] {
  const role = call.role;
  if (role?.kind === 'traces') {
    const target = args[role.function];
    if (isCallable(target)) {
      const dry = state.fork();
      dry.tracing++;
      const fn = target.kind === 'closure' ? engine.project.function(target.function) : undefined;
      const given = (fn?.parameters ?? []).map((p, i) => {
        const type = fn!.locals[p.local]?.type ?? { holds: 'unknown' as const };
        return type.holds === 'nothing' || type.holds === 'unknown'
          ? hostValue(`${siteOf(dry, site)}arg${i};`, type)
          : make(
              {
                walk: engine,
                state: dry,
                site: `${siteOf(dry, site)}arg${i}`,
                span: undefined,
                origin: 'caller',
                function: state.frame.fn.id,
                traced: true,
                dropped: () => undefined,
              },
              { ...type, nullable: false },
            );
      });
      engine.callValue(dry, target, undefined, given, { ...site, tag: ' traced' });
    }
    const others = args.map((value, i) => (i === role.function ? hostValue('function;') : value));
    effects(engine, state, library, '', call, receiver, others, spans, site);
    return returned(state, result(engine, state, library, '', call, receiver, others, site));
  }
  if (role?.kind !== 'calls') return returned(state, undefinedValue);
  const first = role.callbacks[0]!;
  const target = args[first.argument];
  if (!isCallable(target)) {
    for (const [i, value] of args.entries())
      if (i !== first.argument)
        effects(
          engine,
          state,
          library,
          '',
          { arguments: { rest: consumes(engine, library) ? 'consumes' : 'reads' } },
          undefined,
          [value],
          [spans[i] ?? site.span],
          site,
        );
    if (target !== undefined) engine.later(state, target, site.span);
    const type = site.type;
    return returned(
      state,
      type.holds === 'nothing' || type.holds === 'unknown'
        ? hostValue(`${siteOf(state, site)};`, type)
        : engine.unknown(state, { ...type, nullable: false }, siteOf(state, site), 'here', site.span),
    );
  }
  if (first.when === 'later') return settle(engine, state, role.callbacks, receiver, args, site);
  if (first.result === 'collected' && first.given[0]?.kind === 'element' && first.given[0].of > 0)
    return treeMap(engine, state, target, args.slice(1), site, library);
  return each(engine, state, first, target, receiver, args, site, place);
}

/** `p.then(f)`: at once when the value is known and no scope is open, else later. */
function settle(
  engine: Engine,
  state: State,
  callbacks: readonly Callback[],
  receiver: Value | undefined,
  args: readonly Value[],
  site: CallSite,
): readonly Exit[] {
  const type: TypeFact = { ...site.type, promise: false };
  const promise = state.node(receiver);
  const target = args[callbacks[0]!.argument]!;
  const givesValue = callbacks[0]!.given[0]?.kind === 'settled';
  for (const callback_ of callbacks.slice(1)) {
    const other = args[callback_.argument];
    if (isCallable(other)) engine.later(state, other, site.span);
  }
  if (callbacks[0]!.result === 'settles' && givesValue && state.scopes.length === 0 && promise?.shape === 'promise') {
    const value = promise.fields.get('value') ?? hostValue(`${siteOf(state, site)}settled;`);
    // What the work behind the promise calls, it calls before.
    const settled = (promise.pending ?? []).length > 0 ? engine.runLater(state) : [state];
    return settled.flatMap((at) =>
      then(engine.callValue(at, target, undefined, [value], { ...site, type, deferred: true }), (next, inner) =>
        returned(next, wrapPromise(engine, next, inner, site)),
      ),
    );
  }
  engine.later(state, target, site.span, howCalled(state, site.event, args));
  if (receiver !== undefined && !givesValue && promise?.shape === 'promise') return returned(state, receiver);
  return returned(
    state,
    type.holds === 'nothing' || type.holds === 'unknown'
      ? hostValue(`${siteOf(state, site)};`, site.type)
      : engine.unknown(state, { ...site.type, nullable: false }, siteOf(state, site), 'here', site.span),
  );
}

export function wrapPromise(engine: Engine, state: State, value: Value, site: CallSite): Value {
  const node = state.node(value);
  if (node?.shape === 'promise') return value;
  return state.allocate(
    siteOf(state, site, 'promise'),
    { shape: 'promise', fields: new Map([['value', value]]), pool: [], open: false, many: false, type: site.type },
    engine.dropped(state),
  );
}

/** Calls `target` for the members of a collection, one after the other. */
export function each(
  engine: Engine,
  state: State,
  spec: Callback,
  target: Value,
  receiver: Value | undefined,
  args: readonly Value[],
  site: CallSite,
  place: Place,
): readonly Exit[] {
  const slot = -2 - site.span.start;
  // What is called may make arrays where those that it is given were made: hidden locals follow them to their new names.
  const inputs = pinned(state, site, 0, [...args, receiver ?? undefinedValue]);
  const of = (index: number, at = state): Value | undefined =>
    index === -1
      ? receiver === undefined
        ? undefined
        : inputs.at(at, args.length)
      : args[index] === undefined
        ? undefined
        : inputs.at(at, index);
  const source = spec.given.find((given) => given.kind === 'element');
  const list = state.allocate(
    siteOf(state, site, 'collected'),
    {
      shape: 'list',
      fields: emptyFields,
      pool: [],
      open: false,
      many: false,
      type: site.type,
      ...(state.tracing > 0 ? { traced: true } : {}),
    },
    engine.dropped(state),
  );
  state.frame.locals.set(slot, list);
  const subject = source?.kind === 'element' ? of(source.of) : undefined;
  // `{ length: n }` has as many members as it says, and none of them is known.
  const counted = state.node(subject)?.fields.has('length') === true;
  const collection = counted ? undefined : subject;
  const node = state.node(collection);
  const known =
    spec.times === 'once'
      ? [undefinedValue]
      : collection === undefined
        ? [hostValue('each;')]
        : iterated(engine, state, collection, undefined);
  const twice = spec.times === 'many' && (node === undefined || node.open);
  const rounds = twice && known.length === 1 ? [known[0]!, another(engine, state, collection, known[0]!)] : known;
  const elements = pinned(state, site, 1, rounds);
  if (spec.result === 'accumulated') state.frame.locals.set(slot - 1, of(1) ?? rounds[0] ?? undefinedValue);
  let states: State[] = [state];
  const thrown: Exit[] = [];
  const exactly = node !== undefined && !node.open && node.pool.length === 0 && !node.many;
  for (const [i, round] of rounds.entries()) {
    if (twice && i > 0 && round === rounds[0]) continue;
    if (spec.result === 'accumulated' && args[1] === undefined && i === 0) continue;
    const next: State[] = [];
    for (const at of states) {
      const element = elements.at(at, i);
      const many = element.kind === 'object' && at.get(element.id)?.many === true && !at.iterating.has(element.id);
      if (many && element.kind === 'object') at.iterating.add(element.id);
      const given = spec.given.map((g): Value => {
        switch (g.kind) {
          case 'element':
            return element;
          case 'index':
            return hostValue(`${siteOf(at, site)}index${i};`);
          case 'whole':
            return of(g.of, at) ?? undefinedValue;
          case 'accumulator':
            return at.frame.locals.get(slot - 1) ?? undefinedValue;
          case 'argument':
            return of(g.at, at) ?? undefinedValue;
          case 'settled':
          case 'unknown':
            return hostValue(`${siteOf(at, site)}given${i};`, { holds: 'unknown' });
        }
      });
      for (const exit of engine.callValue(at, target, undefined, given, {
        ...site,
        repeated: place.inLoop || spec.times === 'many',
        type: elementTypeOf(site.type, spec),
        tag: ` ${i}`,
      })) {
        if (exit.kind === 'throw') {
          thrown.push(exit);
          continue;
        }
        const now = elements.at(exit.state, i);
        if (many && now.kind === 'object') exit.state.iterating.delete(now.id);
        const holder = exit.state.frame.locals.get(slot);
        if (spec.result === 'collected' || spec.result === 'returned')
          collect(exit.state, holder!, exit.value, !exactly && spec.result !== 'returned');
        if (spec.result === 'flattened') for (const member of membersOf(exit.state, exit.value)) collect(exit.state, holder!, member, true);
        if (spec.result === 'accumulated') exit.state.frame.locals.set(slot - 1, exit.value);
        if (next.length < 8) next.push(exit.state);
      }
    }
    states = next;
  }
  return [
    ...thrown,
    ...states.flatMap((at) => {
      const holder = at.frame.locals.get(slot)!;
      const accumulated = at.frame.locals.get(slot - 1);
      at.frame.locals.delete(slot);
      at.frame.locals.delete(slot - 1);
      const source_ = counted || source?.kind !== 'element' ? undefined : of(source.of, at);
      inputs.release(at);
      elements.release(at);
      switch (spec.result) {
        case 'collected':
        case 'flattened':
          return returned(at, holder);
        case 'returned':
          return returned(at, membersOf(at, holder)[0] ?? undefinedValue);
        case 'accumulated':
          return returned(at, accumulated ?? undefinedValue);
        case 'filter':
          return returned(at, source_ === undefined ? hostValue('filtered;') : copyOf(engine, at, source_, siteOf(at, site), site.type));
        case 'find':
          return returned(at, found(engine, at, source_, site));
        case 'dropped':
        case 'settles':
          return returned(at, hostValue(`${siteOf(at, site)};`, site.type.holds === 'nothing' ? site.type : { holds: 'nothing' }));
      }
    }),
  ];
}

/** The second of a collection of which one member is known to stand for all. */
function another(engine: Engine, state: State, collection: Value | undefined, one: Value): Value {
  if (one.kind === 'host') return hostValue(`${one.symbol}2;`);
  const node = state.node(collection);
  return node === undefined || collection?.kind !== 'object'
    ? one
    : openMember(engine, state, collection.id, node, '[next]', node.type.element, engine.dropped(state));
}

function found(engine: Engine, state: State, collection: Value | undefined, site: CallSite): Value {
  const node = state.node(collection);
  const all = node === undefined ? [] : unique(members(node));
  return all.length === 0 ? hostValue(`${siteOf(state, site)};`, site.type) : oneOf(engine, state, all, site.span);
}

const membersOf = (state: State, value: Value): readonly Value[] => {
  const node = state.node(value);
  return node === undefined ? [] : members(node);
};

function elementTypeOf(type: TypeFact, spec: Callback): TypeFact {
  if (spec.result === 'collected') return type.element ?? { holds: 'nothing' };
  if (spec.result === 'returned' || spec.result === 'accumulated') return type;
  return { holds: 'nothing' };
}

export { escape, libraryOf };
