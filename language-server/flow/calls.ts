/**
 * What a call does: a function of the project, a line of a library model, a value that is callable, or unknown code.
 *
 * Depends on: engine, library-calls, compiled-calls, arrays, state, values.
 */
import { inTable, type CallEvent, type TypeFact } from '../lower/ir.ts';
import { classOfConstructor } from '../lower/prototypes.ts';
import { escape, leaves, setLife } from './arrays.ts';
import { compiledCall } from './compiled-calls.ts';
import { returned, then, type CallSite, type Engine, type Exit } from './engine.ts';
import { siteOf, type Place } from './events.ts';
import { environmentOfClass, memberOf } from './properties.ts';
import { noteFreed } from './freed.ts';
import { libraryCall } from './library-calls.ts';
import { members } from './collections.ts';
import { cells, effects, listeners, routes } from '../libraries/standard.ts';
import { isScopeName, looseScope } from './scopes.ts';
import type { State } from './state.ts';
import { anonymous, closureValue, hostValue, undefinedValue, type Node, type Value } from './values.ts';

export function callEvent(engine: Engine, state: State, event: CallEvent, type: TypeFact, place: Place): readonly Exit[] {
  const site: CallSite = { span: event.span, nameSpan: event.nameSpan, repeated: place.inLoop, type, event };
  return then(dispatch(engine, state, event, site, place), (next, value) => {
    next.set(event.to, value);
    return returned(next, value);
  });
}

/** Arguments in order; a spread of known length is taken apart. */
export function argumentsOf(state: State, event: CallEvent): readonly Value[] {
  if (!event.arguments.some(({ spread }) => spread)) return event.arguments.map(({ local }) => state.local(local));
  return event.arguments.flatMap((argument) => {
    const value = state.local(argument.local);
    if (!argument.spread) return [value];
    const node = state.node(value);
    return node === undefined || node.open ? [value] : members(node);
  });
}

function dispatch(engine: Engine, state: State, event: CallEvent, site: CallSite, place: Place): readonly Exit[] {
  const { callee } = event;
  const args = argumentsOf(state, event);
  const receiver = event.receiver === undefined ? undefined : state.local(event.receiver);
  switch (callee.kind) {
    case 'class': {
      const cls = engine.project.class(callee.class);
      if (cls === undefined) return unknownCall(engine, state, receiver, args, site);
      if (event.construct) return engine.construct(state, cls, args, site);
      // `super(…)`: the fields of the class itself come next.
      const own = place.fn.class === undefined ? undefined : engine.project.class(place.fn.class);
      return then(engine.construct(state, cls, args, site, receiver), (next, value) => {
        const given = place.fn.parameters.map(({ local }) => next.local(local));
        const self = event.receiver === undefined ? value : next.local(event.receiver);
        return own === undefined
          ? returned(next, value)
          : then(engine.ownFields(next, own, self, given, site), (at) => returned(at, value));
      });
    }
    case 'library': {
      // A value of ours may stand behind a library's type: a compiled function behind `Jitted`.
      if (receiver !== undefined && event.key?.kind === 'name') {
        if (receiver.kind === 'compiled' && event.key.name !== 'lower' && event.key.name !== 'dispose')
          return compiledCall(engine, state, receiver, args, site, place);
        if (receiver.kind === 'compiled' && event.key.name === 'dispose') return returned(state, hostValue(`${siteOf(state, event)};`));
        const changed = calledByHand(engine, state, receiver, event.key.name, args, site);
        if (changed !== undefined) return changed;
        const own = state.node(receiver)?.fields.get(event.key.name);
        if (own !== undefined && (own.kind === 'closure' || own.kind === 'compiled'))
          return engine.callValue(state, own, receiver, args, site);
      }
      if (event.function !== undefined) {
        const value = state.local(event.function);
        if (value.kind === 'closure' || value.kind === 'compiled') return engine.callValue(state, value, undefined, args, site);
      }
      return libraryCall(
        engine,
        state,
        callee.library,
        callee.name,
        receiver,
        args,
        event.arguments.map((a) => a.span),
        site,
        place,
      );
    }
    case 'user': {
      if (isFreeing(engine, event)) noteFreed(engine, state, receiver ?? anonymous, event.span);
      const old = event.construct ? engine.project.class(classOfConstructor(callee.function)) : undefined;
      if (old !== undefined) {
        const value = event.function === undefined ? undefined : state.local(event.function);
        return engine.construct(state, old, args, site, undefined, value?.kind === 'closure' ? value.environment : undefined);
      }
      if (receiver !== undefined && event.key?.kind === 'name' && callee.exact !== true) {
        const own = methodOf(engine, state, receiver, event.key.name);
        if (own !== undefined) return engine.callValue(state, own, receiver, args, site);
      }
      if (event.function !== undefined) {
        const value = state.local(event.function);
        if (value.kind === 'closure' || value.kind === 'compiled') return engine.callValue(state, value, undefined, args, site);
      }
      const fn = engine.project.function(callee.function);
      return fn === undefined
        ? unknownCall(engine, state, receiver, args, site)
        : engine.callFunction(state, fn, undefined, receiver, args, site);
    }
    case 'value': {
      if (event.function !== undefined) {
        const value = state.local(event.function);
        const old = event.construct && value.kind === 'closure' ? engine.project.class(classOfConstructor(value.function)) : undefined;
        return old !== undefined && value.kind === 'closure'
          ? engine.construct(state, old, args, site, undefined, value.environment)
          : engine.callValue(state, value, undefined, args, site);
      }
      if (receiver !== undefined && event.key?.kind === 'name') {
        const own = methodOf(engine, state, receiver, event.key.name);
        if (own !== undefined) return engine.callValue(state, own, receiver, args, site);
        // The text has no type for it, but the walk knows an array when it holds one.
        const known = listedMethod(engine, state, receiver, event.key.name) ?? meantByName(engine, state, receiver, event.key.name, args);
        if (known !== undefined)
          return libraryCall(
            engine,
            state,
            known.library,
            known.name,
            receiver,
            args,
            event.arguments.map((a) => a.span),
            site,
            place,
          );
        // A list that nothing is known of calls back before it returns.
        const [callback] = args;
        const often = engine.models.get('standard')?.calls[`Array.${event.key.name}`]?.role?.kind === 'calls';
        if (receiver.kind === 'host' && callback?.kind === 'closure' && often)
          return libraryCall(engine, state, 'standard', `Array.${event.key.name}`, receiver, args, [], site, place);
        if (receiver.kind === 'compiled' || receiver.kind === 'closure') {
          const changed = calledByHand(engine, state, receiver, event.key.name, args, site);
          if (changed !== undefined) return changed;
          if (event.key.name === 'lower' || event.key.name === 'dispose') return returned(state, hostValue(`${siteOf(state, event)};`));
        }
      }
      return unknownCall(engine, state, receiver, args, site);
    }
  }
}

/** `f.call(self, x)`, `f.apply(self, [x])` and `f.bind(self)` of a function that is known. */
function calledByHand(
  engine: Engine,
  state: State,
  target: Value,
  how: string,
  args: readonly Value[],
  site: CallSite,
): readonly Exit[] | undefined {
  if (target.kind !== 'closure' && target.kind !== 'compiled') return undefined;
  if (how === 'call') return engine.callValue(state, target, args[0], args.slice(1), site);
  if (how === 'apply') {
    const list = args[1] === undefined ? undefined : state.node(args[1]);
    return list !== undefined && !list.open && list.pool.length === 0
      ? engine.callValue(state, target, args[0], members(list), site)
      : undefined;
  }
  if (how !== 'bind') return undefined;
  if (args.length > 1) return undefined;
  return returned(state, target.kind === 'closure' ? closureValue(target.function, target.environment, args[0] ?? target.self) : target);
}

/** The model's line for a method of an array or owner. */
function listedMethod(
  engine: Engine,
  state: State,
  receiver: Value,
  key: string,
): { readonly library: string; readonly name: string } | undefined {
  const node = state.node(receiver);
  if (node?.shape === 'tree' && receiver.kind === 'object') one(engine, state, receiver.id, node, key);
  const life = state.node(receiver)?.shape === 'array' ? node?.life : undefined;
  const model = life === undefined ? undefined : engine.models.get(life.library);
  if (life === undefined || model === undefined) return undefined;
  const name = [life.typeName, ...(life.owner ? model.owners : model.arrays)]
    .map((type) => `${type}.${key}`)
    .find((candidate) => candidate in model.calls);
  if (name !== undefined) return { library: life.library, name };
  // What no line speaks of follows the convention: any method where operations consume, else those that the library lists.
  return !life.owner && (model.convention === 'consumes' || model.chained?.includes(key) === true)
    ? { library: life.library, name: `${life.typeName ?? model.arrays[0]}.${key}` }
    : undefined;
}

/** The model's line that a method of a value without a type must mean: by its name, and by what it is given. */
function meantByName(
  engine: Engine,
  state: State,
  receiver: Value,
  key: string,
  args: readonly Value[],
): { readonly library: string; readonly name: string } | undefined {
  const recording = state.node(receiver)?.shape === 'recorder';
  if (!recording && receiver.kind !== 'host') return undefined;
  const type = receiver.kind === 'host' ? receiver.type : undefined;
  const given = state.node(args[0]);
  for (const { id, byMethod, recorders = [] } of engine.models.values()) {
    const line = inTable(byMethod, key);
    if (line === undefined || recorders.includes(line.of) !== recording) continue;
    if (type !== undefined && type.holds !== 'unknown' && type.name !== line.of) continue;
    const isMeant =
      line.given?.every((name) => given?.fields.has(name) === true) ??
      // Names that others use too are meant when they are given something that is known.
      (recording || args.length === 0 || args.some((value) => holdsKnown(state, value, id)));
    if (isMeant) return { library: id, name: `${line.of}.${key}` };
  }
  return undefined;
}

/** Is this an array of the library, something that was recorded for it, or a list of such? */
function holdsKnown(state: State, value: Value, library: string): boolean {
  const node = state.node(value);
  if (node === undefined) return false;
  if (node.shape === 'list') return members(node).some((member) => holdsKnown(state, member, library));
  return node.shape === 'recorder' || node.life?.library === library;
}

/** What has no type, and is asked for what only an array has, is an array. */
function one(engine: Engine, state: State, id: string, { life, open, fields, type }: Node, key: string): void {
  const model = life === undefined ? undefined : engine.models.get(life.library);
  if (model === undefined || !open || fields.size > 0 || type.name !== undefined) return;
  const isOf = (names: readonly string[]): boolean => names.some((name) => inTable(model.calls, `${name}.${key}`) !== undefined);
  const listed = (model.chained?.includes(key) === true || isOf(model.arrays)) && !isOf(model.owners);
  const ofLists = inTable(engine.models.get('standard')?.calls, `Array.${key}`) !== undefined;
  if (listed && !ofLists) state.change(id, { open: false, shape: 'array', type: { holds: 'array', library: model.id } });
}

/** The function that a property of a value holds: an own property, or a method of its class. */
function methodOf(engine: Engine, state: State, receiver: Value, key: string): Value | undefined {
  const node = state.node(receiver);
  if (node === undefined) return receiver.kind === 'class' ? staticOf(engine, receiver, key) : undefined;
  const own = node.fields.get(key);
  if (own !== undefined && (own.kind === 'closure' || own.kind === 'compiled' || own.kind === 'external')) return own;
  if (node.class === undefined) return undefined;
  const method = memberOf(engine, node.class, 'methods', key);
  return method === undefined ? undefined : closureValue(method, environmentOfClass(engine, state, node), receiver);
}

function staticOf(engine: Engine, receiver: Extract<Value, { kind: 'class' }>, key: string): Value | undefined {
  const method = inTable(engine.project.class(receiver.class)?.staticMethods, key);
  return method === undefined ? undefined : closureValue(method, receiver.environment, receiver);
}

/** A method that is called as those are which free. */
function isFreeing(engine: Engine, { receiver, key }: CallEvent): boolean {
  return receiver !== undefined && key?.kind === 'name' && [...engine.models.values()].some(({ free }) => free.includes(key.name));
}

const nameOfCallee = (event: CallEvent | undefined): string =>
  event?.callee.kind === 'value' || event?.callee.kind === 'library'
    ? event.callee.name.slice(event.callee.name.lastIndexOf('.') + 1)
    : event?.key?.kind === 'name'
      ? event.key.name
      : '';

/** What a call is given is called some time, or again and again where the call registers it. */
export function howCalled(state: State, event: CallEvent | undefined, args: readonly Value[]): 'once' | 'often' {
  const name = nameOfCallee(event);
  const [first, watched] = args;
  const fixed = state.node(watched);
  if (effects.has(name)) return fixed?.shape === 'list' && members(fixed).length === 0 ? 'once' : 'often';
  const isRoute = routes.has(name) && first?.kind === 'literal' && typeof first.value === 'string' && first.value.startsWith('/');
  return listeners.has(name) || isRoute ? 'often' : 'once';
}

/** The field of a cell that a framework keeps for its component, when the call makes one: `useRef(null)`. */
function cellOf(event: CallEvent | undefined, made: Node): string | undefined {
  const field = inTable(cells, nameOfCallee(event));
  return field !== undefined && Object.keys(made.type.fields ?? {}).join() === field ? field : undefined;
}

/** Code that nobody knows: it reads and may keep what it gets, and may call back. */
export function unknownCall(
  engine: Engine,
  state: State,
  receiver: Value | undefined,
  args: readonly Value[],
  site: CallSite,
): readonly Exit[] {
  if (site.event !== undefined && isFreeing(engine, site.event)) noteFreed(engine, state, receiver ?? anonymous, site.span);
  const [callback] = args;
  if (callback?.kind === 'closure' && site.event?.callee.kind === 'value' && isScopeName(engine, site.event.callee.name))
    return looseScope(engine, state, callback, site);
  // A function that an object keeps in a field is called on it, and has nothing to do with it.
  const kept = site.event?.callee.kind === 'value' && state.node(receiver)?.class !== undefined;
  if (receiver !== undefined && !kept && state.node(receiver)?.shape !== 'array') escape(engine, state, receiver, site.span);
  // Down-levelled asynchronous code: its states are pieces of a function, no function.
  const pieces =
    site.event?.callee.kind === 'value' &&
    /^(\(0, )?(\w+\.)?_*(generator|async_?[tT]o_?[gG]enerator|regenerator\w*(\.wrap)?|regeneratorRuntime\.wrap)\)?$/.test(
      site.event.callee.name,
    );
  for (const argument of args) {
    escape(engine, state, argument, site.span);
    if (pieces) engine.collector.skip(engine.project, argument);
    else engine.later(state, argument, site.span, howCalled(state, site.event, args));
  }
  engine.collector.silent('unknown call');
  const value =
    site.type.holds === 'unknown'
      ? hostValue(`${state.frame.context}:${site.span.start};`, site.type)
      : engine.unknown(state, site.type, `${state.frame.context}:${site.span.start}-${site.span.end}${site.tag ?? ''}`, 'here', site.span);
  leaves(state, value, (id) => setLife(state, id, { foreign: true }));
  // Others may hold the object that comes back, and find what is put into it.
  const made = state.node(value);
  if (made !== undefined && made.life === undefined && made.shape === 'object' && value.kind === 'object') {
    const cell = cellOf(site.event, made);
    if (cell === undefined) state.change(value.id, { escaped: true });
    else state.setField(value.id, cell, args[0] ?? undefinedValue);
  }
  return returned(state, value);
}

export { anonymous };
