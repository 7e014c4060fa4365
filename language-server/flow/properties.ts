/**
 * Properties read and written: of arrays, of trees, of instances and their accessors, of variables of other functions.
 *
 * Depends on: engine, collections, arrays, state, values.
 */
import { inTable, reads, type Event, type Key, type LoweredFunction, type Span, type TypeFact } from '../lower/ir.ts';
import { memberAt } from './apart.ts';
import { escape, kill, leaves, modelOf, named, read } from './arrays.ts';
import { openMember } from './making.ts';
import { blur, exact, members, noteStored, oneOf, unique } from './collections.ts';
import { returned, type Engine, type Exit } from './engine.ts';
import { siteOf, type Place } from './events.ts';
import { endsWith } from './known-calls.ts';
import { propertyOf, written } from './host-values.ts';
import { heldAgain, lostBy, mayReplace } from './replaced.ts';
import type { State } from './state.ts';
import { setStatic, staticField } from './statics.ts';
import { closureValue, emptyFields, hostValue, literalValue, undefinedValue, type Node, type Value } from './values.ts';

const noType: TypeFact = { holds: 'nothing' };

export function keyName(state: State, key: Key): string {
  if (key.kind === 'name') return key.name;
  const value = state.local(key.local);
  if (value.kind === 'literal') return String(value.value);
  return `[${value.key}]`;
}

export function property(
  engine: Engine,
  state: State,
  event: Extract<Event, { kind: 'property' }>,
  type: TypeFact,
  place: Place,
): readonly Exit[] {
  const object = state.local(event.object);
  const key = keyName(state, event.key);
  const site = siteOf(state, event);
  const node = state.node(object);
  if (node === undefined || object.kind !== 'object') {
    if (event.callee?.kind === 'user') {
      const fn = engine.project.function(event.callee.function);
      if (fn !== undefined)
        return engine.callFunction(state, fn, undefined, object, [], {
          span: event.span,
          nameSpan: event.span,
          repeated: place.inLoop,
          type,
        });
    }
    if (object.kind === 'host' && (type.holds === 'nothing' || type.holds === 'unknown') && type.promise !== true)
      return returned(state, hostValue(propertyOf(state, object.symbol, key, `${site}.${key}`), type));
    if (object.kind === 'compiled' || object.kind === 'closure' || object.kind === 'external')
      return returned(state, hostValue(`${site};`, type));
    if (object.kind === 'class') {
      const field = staticField(state, object, key);
      if (field !== undefined) return returned(state, field);
      const method = inTable(engine.project.class(object.class)?.staticMethods, key);
      return returned(
        state,
        method === undefined ? engine.unknown(state, type, site, 'caller', undefined) : closureValue(method, object.environment, object),
      );
    }
    return returned(
      state,
      type.holds === 'nothing' || object.kind === 'literal'
        ? hostValue(`${site};`, type)
        : engine.unknown(state, { ...type, nullable: false }, `${site}.${key}`, 'caller', undefined),
    );
  }
  if (node.shape === 'array' && node.life !== undefined)
    return arrayProperty(engine, state, object, node, key, event.span, type, place, event);
  if (key === 'length' || (key === 'size' && !node.fields.has(key) && node.class === undefined))
    return returned(state, lengthOf(state, object.id, node, type));
  const known = node.fields.get(key === 'constructor' && node.class !== undefined ? '@class' : key);
  if (known !== undefined) {
    if (state.tracing > 0) captured(engine, state, known, node, event.span, key);
    return returned(state, recalled(state, object.id, key, known));
  }
  if (node.class !== undefined || event.callee?.kind === 'user') {
    const getter = event.callee?.kind === 'user' ? event.callee.function : memberOf(engine, node.class!, 'getters', key);
    const fn = getter === undefined ? undefined : engine.project.function(getter);
    if (fn !== undefined)
      return engine.callFunction(state, fn, environmentOfClass(engine, state, node), object, [], {
        span: event.span,
        nameSpan: event.span,
        repeated: place.inLoop,
        type,
      });
    const method = node.class === undefined ? undefined : memberOf(engine, node.class, 'methods', key);
    if (method !== undefined) return returned(state, closureValue(method, environmentOfClass(engine, state, node), object));
  }
  const isUnknownKey = key.startsWith('[');
  if (node.open) {
    if (!isUnknownKey && type.holds === 'nothing' && type.class === undefined)
      return returned(state, hostValue(`${object.id}.${key};`, type));
    const absent = type.nullable ? state.fork() : undefined;
    const value = openMember(engine, state, object.id, node, key, type, engine.dropped(state));
    if (absent === undefined) return returned(state, value);
    absent.setField(object.id, key, undefinedValue);
    return [
      { state, kind: 'return', value },
      { state: absent, kind: 'return', value: undefinedValue },
    ];
  }
  const all = members(node).filter((member) => !isUnknownKey || member.kind !== 'literal');
  if (isUnknownKey && node.home !== undefined) engine.collector.looked.add(`${node.home} ${state.frame.fn.id}`);
  const numeric = isUnknownKey && node.shape === 'list';
  // A name may be one of the keys that nobody knew when they were set.
  const byName = !isUnknownKey && node.shape === 'object' && node.class === undefined && node.pool.length > 0 && type.holds !== 'nothing';
  if (isUnknownKey || byName || (/^\d+$/.test(key) && node.pool.length > 0)) {
    if (all.length === 0) return returned(state, undefinedValue);
    const absent = numeric && exact(node) ? undefined : state.fork();
    const apart = isUnknownKey || byName || event.key.kind !== 'name' ? undefined : memberAt(engine, state, object.id, node, key);
    if (apart !== undefined) return returned(state, apart);
    const candidates = unique(isUnknownKey ? all : node.pool);
    const value = oneOf(engine, state, candidates, event.span);
    if ((isUnknownKey || byName) && node.shape !== 'list') {
      // On this path the key is that of the member: it stands under the key from here on. On the other there is none.
      if (candidates.length === 1 && node.pool.length === 1)
        state.change(object.id, { pool: [], fields: new Map([...node.fields, [key, value]]) });
      absent?.setField(object.id, key, undefinedValue);
    }
    return absent === undefined || node.shape === 'list'
      ? returned(state, value)
      : [
          { state, kind: 'return', value },
          { state: absent, kind: 'return', value: undefinedValue },
        ];
  }
  if (node.shape === 'generator' || node.shape === 'promise' || node.shape === 'recorder')
    return returned(state, hostValue(`${site};`, type));
  return returned(state, undefinedValue);
}

/** Host data that lost its name since it was stored gets one: read twice, it is the same. */
function recalled(state: State, id: string, key: string, value: Value): Value {
  if (value.kind !== 'host' || value.symbol !== '' || value.type?.callable === true) return value;
  const symbol = `${id}.${key}'`;
  state.renew(symbol);
  const again = hostValue(`${symbol};`, value.type);
  state.setField(id, key, again);
  return again;
}

/** How many members a collection has: where that isn't known, at least one if one was seen to go in. */
function lengthOf(state: State, id: string, node: Node, type: TypeFact): Value {
  const local = node.shape === 'list' && !node.open && !node.many && node.home === undefined;
  if (local && node.pool.length === 0) return literalValue(node.fields.size);
  // A list of a field or variable, as long as it holds just what it was made of.
  const whole = node.shape === 'list' && exact(node) && node.escaped !== true && node.fields.size > 0;
  if (whole && [...node.fields.keys()].every((name) => /^\d+$/.test(name))) return literalValue(node.fields.size);
  // One that outlives the call is not empty while something is in it that nobody took out.
  const filled =
    !local && node.shape === 'list' && !node.many && node.escaped !== true && members(node).some((member) => isThere(state, member));
  const length = hostValue(`${id}.len${node.fields.size}.${node.pool.length}${filled ? '+' : ''};`, type);
  if (local || filled) {
    state.facts.set(length.key.slice(1), true);
    state.facts.set(`(=0<${length.key})`, true);
    state.facts.set(`(${length.key}====0)`, false);
  }
  return length;
}

/** Holds a living array of which all is known. */
function isThere(state: State, value: Value): boolean {
  let there = false;
  leaves(state, value, (_, __, life) => void (there ||= !life.dead && !life.escaped));
  return there;
}

export function memberOf(engine: Engine, classId: string, table: 'methods' | 'getters' | 'setters', key: string): string | undefined {
  for (
    let cls = engine.project.class(classId);
    cls !== undefined;
    cls = cls.base === undefined ? undefined : engine.project.class(cls.base)
  ) {
    const id = inTable(cls[table], key);
    if (id !== undefined) return id;
  }
  return undefined;
}

export function environmentOfClass(engine: Engine, state: State, node: Node): string | undefined {
  const cls = node.fields.get('@class');
  if (cls?.kind === 'class') return cls.environment;
  void engine;
  void state;
  return undefined;
}

export function arrayProperty(
  engine: Engine,
  state: State,
  object: Extract<Value, { kind: 'object' }>,
  node: Node,
  key: string,
  span: Span,
  type: TypeFact,
  place: Place,
  event: Extract<Event, { kind: 'property' }>,
): readonly Exit[] {
  const life = node.life!;
  const model = modelOf(engine, life.library);
  if (model.retain === key) {
    if (life.dead) {
      read(engine, state, object, { span, use: 'read' });
      return returned(state, object);
    }
    // `.ref.ref`: the reference in between can never be given back.
    const doubled = refTemporary(place.fn, event.object, key);
    if (doubled) {
      if (!life.traced && state.tracing === 0)
        engine.collector.see(
          { kind: 'lost', span, function: state.frame.fn.id, array: named(life), how: 'extraRef', what: 'array' },
          state.frame.context,
        );
      return returned(state, object);
    }
    engine.collector.pass(span, state.frame.context);
    engine.collector.readAfter(life.watches, span);
    state.put(object.id, {
      ...node,
      life: { ...life, refs: life.refs + 1, lastRef: span, refOfKept: life.origin === 'here' && isKept(place.fn, event.object) },
    });
    return returned(state, object);
  }
  // What a model hands out of itself may be shared by another: nobody knows who has to free it.
  const measured = life.owner && 'to' in event && onlyMeasured(place.fn, event.to, model.metadata);
  if (life.owner && type.callable !== true && !measured && !model.metadata.includes(key))
    state.put(object.id, { ...node, life: { ...life, escaped: true, shared: 'an owner that handed out a part' } });
  if (life.owner && !measured && model.shares?.includes(key)) escape(engine, state, object, span);
  if (life.owner)
    return returned(
      state,
      type.holds === 'array' || type.holds === 'tree'
        ? engine.unknown(state, { ...type, nullable: false }, siteOf(state, { span }), 'caller', span)
        : hostValue(`${object.id}.${key};`, type),
    );
  // Taking an array apart iterates over it, which consumes it where operations do.
  if (event.pattern && /^\d+$/.test(key) && model.convention === 'consumes') {
    const taken = life.dead && takenApartAt(place.fn, event.object, life.diedAt);
    if (!taken) kill(engine, state, object, 'consumed', { span, use: 'consume' });
    return returned(state, engine.unknown(state, { ...node.type, nullable: false }, siteOf(state, { span }, `.${key}`), 'here', span));
  }
  return returned(
    state,
    type.holds === 'array'
      ? engine.unknown(state, { ...type, nullable: false }, siteOf(state, { span }), 'caller', span)
      : hostValue(`${object.id}.${key};`, type),
  );
}

/** Is nothing read of this local, or of its members, but what `metadata` names: `model.inputs[0].shape`? */
function onlyMeasured(fn: LoweredFunction, local: number, metadata: readonly string[], deep = 4): boolean {
  if (deep === 0 || endsWith(fn, local)) return false;
  return fn.blocks.every(({ events }) =>
    events.every((one) => {
      if (!reads(one).includes(local)) return true;
      if (one.kind === 'copy') return onlyMeasured(fn, one.to, metadata, deep - 1);
      if (one.kind !== 'property' || one.object !== local) return false;
      const isMeasure = one.key.kind === 'name' && (one.key.name === 'length' || metadata.includes(one.key.name));
      return isMeasure || onlyMeasured(fn, one.to, metadata, deep - 1);
    }),
  );
}

/** Did a pattern begin to take this local apart there? */
const takenApartAt = (fn: LoweredFunction, object: number, at: Span | undefined): boolean =>
  fn.blocks.some(({ events }) =>
    events.some((one) => one.kind === 'property' && one.pattern && one.object === object && one.span.start === at?.start),
  );

/** Does a local hold what a field of an object or a variable of another function holds? */
function isKept(fn: LoweredFunction, local: number): boolean {
  let held = holders.get(fn);
  if (held === undefined) {
    const found = fn.blocks.flatMap(({ events }) =>
      events.flatMap((one) => (one.kind === 'outer' || (one.kind === 'property' && one.key.kind === 'name') ? one.to : [])),
    );
    held = new Set(found);
    holders.set(fn, held);
  }
  return held.has(local);
}

const holders = new WeakMap<LoweredFunction, ReadonlySet<number>>();

/** Is this local written by a `.ref` and read nowhere but here? */
export function refTemporary(fn: LoweredFunction, local: number, key: string): boolean {
  if (fn.locals[local]?.name !== undefined) return false;
  return fn.blocks.some((block) =>
    block.events.some((event) => event.kind === 'property' && event.to === local && event.key.kind === 'name' && event.key.name === key),
  );
}

export function setProperty(engine: Engine, state: State, event: Extract<Event, { kind: 'setProperty' }>, place: Place): readonly Exit[] {
  const object = state.local(event.object);
  const value = state.local(event.from);
  const node = state.node(object);
  const key = keyName(state, event.key);
  if (object.kind === 'class' && object.environment !== undefined) return setStatic(engine, state, object, key, value, event);
  if (node === undefined || object.kind !== 'object') {
    escape(engine, state, value, event.span, 'stored in an unknown object');
    written(state, object, key);
    // `worker.onmessage = …`
    // What a module exports (`exports.f = f`) is an entry of its own.
    const handedOut = value.kind === 'closure' && engine.project.function(value.function)?.exported === true;
    if (!handedOut) engine.later(state, value, event.span, /^on[a-z]/.test(key) ? 'often' : 'once');
    return returned(state, value);
  }
  const setter = event.callee?.kind === 'user' ? engine.project.function(event.callee.function) : undefined;
  if (setter !== undefined)
    return engine.callFunction(state, setter, environmentOfClass(engine, state, node), object, [value], {
      span: event.span,
      nameSpan: event.span,
      repeated: place.inLoop,
      type: noType,
    });
  if (key === 'length' && node.shape === 'list') {
    const all = members(node);
    state.change(object.id, { fields: emptyFields, pool: [] });
    if (node.home !== undefined) engine.collector.emptied.add(node.home);
    lostBy(engine, state, all, event.span, 'overwritten');
    return returned(state, value);
  }
  if (node.escaped || node.life?.origin === 'caller') blur(state, value);
  if (node.class !== undefined) {
    const home = `${node.class}.fields.${key}`;
    homed(state, value, home);
    if (event.declares !== true && place.fn.kind !== 'constructor' && node.fields.get(key)?.kind !== 'literal') {
      engine.collector.emptied.add(home);
      if (node.fields.get(key)?.kind === 'object' && value.kind === 'literal') engine.collector.freeing.add(node.class);
    }
    if (value.kind === 'object') nameField(state, value, key);
  }
  leaves(state, value, (_, __, life) => {
    if (life.traced && !node.traced && state.tracing > 0)
      engine.collector.see(
        { kind: 'tracerStored', span: event.span, function: state.frame.fn.id, array: named(life), target: key },
        state.frame.context,
      );
  });
  heldAgain(state, value);
  if (key.startsWith('[')) noteStored(engine, state, object.id, node, value, event.span, place.inLoop);
  const old = node.fields.get(key);
  if (old === undefined) mayReplace(engine, state, object.id, key, event.span);
  state.setField(object.id, key, value);
  if (old !== undefined) lostBy(engine, state, [old], event.span, 'overwritten');
  else if (key.startsWith('[') && node.pool.length > 0) state.change(object.id, { pool: node.pool });
  return returned(state, value);
}

export function nameField(state: State, value: Extract<Value, { kind: 'object' }>, key: string): void {
  const node = state.get(value.id);
  if (node?.life !== undefined && node.life.name === undefined)
    state.put(value.id, { ...node, life: { ...node.life, name: `this.${key}` } });
}

/** A collection gets the name of the variable or field it lives in. */
export function homed(state: State, value: Value, home: string | undefined): void {
  if (home === undefined || value.kind !== 'object') return;
  const node = state.get(value.id);
  if (node !== undefined && node.home === undefined && (node.shape === 'list' || node.shape === 'map')) state.change(value.id, { home });
}

/** A compiled function reads an array that is not its argument. */
export function captured(engine: Engine, state: State, value: Value, holder: Node, span: Span, variable: string): void {
  if (state.tracing === 0 || holder.traced) return;
  const node = state.node(value);
  if (node?.life === undefined || node.life.traced || node.shape !== 'array') return;
  const jit = engine.collector.tracingJit;
  if (jit !== undefined)
    engine.collector.capture({
      span,
      name: variable,
      library: node.life.library,
      jit,
      function: state.frame.fn.id,
      ...(node.life.made === undefined ? {} : { made: node.life.made }),
    });
}

export function environmentOf(engine: Engine, state: State, owner: string): string | undefined {
  if (owner.endsWith('#')) return engine.moduleEnvironment(state, owner);
  for (let id: string | undefined = state.frame.environment; id !== undefined;) {
    const node: Node | undefined = state.get(id);
    if (node === undefined) return undefined;
    if (node.function === owner) return id;
    const parent: Value | undefined = node.fields.get('@parent');
    id = parent?.kind === 'object' ? parent.id : undefined;
  }
  return undefined;
}
