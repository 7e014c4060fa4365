/**
 * One step of the walk: what each kind of event does to a state.
 *
 * A step yields the ways on: usually one, more where a value may be absent or a call has several outcomes.
 * Depends on: engine, calls, collections, arrays, state, values.
 */
import type { Event, Key, LoweredFunction, Span, TypeFact } from '../lower/ir.ts';
import { kill, leaves, name, named, openMember, read, modelOf, consumes, escape } from './arrays.ts';
import { callEvent } from './calls.ts';
import { blur, exact, iterated, members, noteStored, oneOf, unique } from './collections.ts';
import { returned, then, type Engine, type Exit } from './engine.ts';
import type { State } from './state.ts';
import {
  anonymous,
  closureValue,
  emptyFields,
  externalValue,
  hostValue,
  literalValue,
  undefinedValue,
  type Node,
  type Value,
} from './values.ts';

export interface Place {
  readonly fn: LoweredFunction;
  readonly inLoop: boolean;
}

const noType: TypeFact = { holds: 'nothing' };

export const siteOf = (state: State, event: { readonly span: Span }, suffix = ''): string =>
  `${state.frame.context}:${event.span.start}-${event.span.end}${suffix}`;

export function step(engine: Engine, state: State, event: Event, place: Place): readonly Exit[] {
  const to = 'to' in event ? event.to : undefined;
  const done = (value: Value): readonly Exit[] => {
    if (to !== undefined) state.set(to, value);
    return returned(state, value);
  };
  const type = to === undefined ? noType : (place.fn.locals[to]?.type ?? noType);
  switch (event.kind) {
    case 'literal':
      return done(literalValue(event.value));
    case 'copy': {
      const value = state.local(event.from);
      const fact = place.fn.locals[event.to]!;
      refine(state, value, fact.type);
      if (value.kind === 'marked' ? false : fact.name !== undefined) name(state, value, fact);
      if (place.fn.kind === 'module' && fact.name !== undefined) homed(state, value, `${place.fn.id}:${fact.name}`);
      return done(value);
    }
    case 'outer':
      return outer(engine, state, event, type, done);
    case 'setOuter':
      return setOuter(engine, state, event);
    case 'external':
      return done(externalValue(event.library, event.name));
    case 'property':
      return then(property(engine, state, event, type, place), (next, value) => {
        next.set(event.to, value);
        return returned(next, value);
      });
    case 'setProperty':
      return setProperty(engine, state, event, place);
    case 'delete': {
      const object = state.local(event.object);
      const node = state.node(object);
      if (node !== undefined && object.kind === 'object') {
        const key = keyName(state, event.key);
        const old = node.fields.get(key);
        const fields = new Map(node.fields);
        fields.delete(key);
        const pooled = old === undefined && key.startsWith('[') ? node.pool : [];
        if (old === undefined && pooled.length === 0 && node.open) {
          const taken = openMember(engine, state, object.id, node, key, node.type.element, engine.dropped(state));
          const after = new Map(state.get(object.id)!.fields);
          after.delete(key);
          state.change(object.id, { fields: after });
          lostBy(engine, state, [taken], event.span, 'deleted');
        } else {
          state.change(object.id, { fields, ...(pooled.length > 0 ? { pool: [] } : {}) });
          lostBy(engine, state, old === undefined ? pooled : [old], event.span, 'deleted');
        }
        if (node.home !== undefined) engine.collector.emptied.add(node.home);
      }
      return done(literalValue(true));
    }
    case 'rest':
      return done(rest(engine, state, event, type));
    case 'call':
      return callEvent(engine, state, event, type, place);
    case 'closure':
      engine.collector.created.add(event.function);
      return done(closureValue(event.function, state.frame.environment));
    case 'class':
      return done({
        kind: 'class',
        class: event.class,
        environment: state.frame.environment,
        key: `class ${event.class} ${state.frame.environment}`,
      });
    case 'object':
      return done(object(engine, state, event, type));
    case 'array':
      return done(array(engine, state, event, type));
    case 'template': {
      for (const value of event.values) coerced(engine, state, state.local(value), event.span);
      return done(host(state, event, noType));
    }
    case 'unary':
      return done(unary(state, event.operator, state.local(event.value), host(state, event, noType)));
    case 'binary':
      return done(binary(state, event.operator, state.local(event.left), state.local(event.right), () => host(state, event, noType)));
    case 'await':
      return awaited(engine, state, event, type, done);
    case 'yield': {
      const value = event.value === undefined ? undefinedValue : state.local(event.value);
      state.frame.yields.push(value);
      return done(host(state, event, type));
    }
    case 'iterate': {
      const source = state.local(event.from);
      const node = state.node(source);
      const values =
        event.over === 'in'
          ? [host(state, event, noType)]
          : iterated(engine, state, source, node?.type.element ?? elementType(place.fn.locals[event.from]?.type));
      const twice = event.over !== 'in' && (node === undefined || node.open) && values.length > 0;
      const second = !twice
        ? []
        : node !== undefined && source.kind === 'object'
          ? [openMember(engine, state, source.id, state.get(source.id)!, '[next]', node.type.element, engine.dropped(state))]
          : [hostValue(`${siteOf(state, event)}second;`, noType)];
      const value = state.allocate(
        siteOf(state, event, 'iterator'),
        {
          shape: 'iterator',
          fields: new Map([['source', source]]),
          pool: unique([...values, ...second]),
          open: false,
          many: false,
          type: noType,
          count: 0,
        },
        engine.dropped(state),
      );
      state.set(event.to, value);
      return returned(state, value);
    }
    case 'dispose':
      return free(engine, state, state.local(event.value), event.span);
    case 'caught':
      return done(hostValue(`${siteOf(state, event)};`, { holds: 'unknown' }));
    case 'enter':
      return returned(state, undefinedValue);
    case 'exit':
      for (const local of event.locals) {
        state.frame.locals.delete(local);
        if (place.fn.locals[local]?.captured) void 0;
      }
      return returned(state, undefinedValue);
    case 'opaque':
      for (const operand of event.operands) escape(engine, state, state.local(operand), event.span);
      return done(host(state, event, type));
  }
}

const elementType = (type: TypeFact | undefined): TypeFact | undefined => type?.element;

function host(state: State, event: { readonly span: Span }, type: TypeFact): Value {
  const symbol = `${siteOf(state, event)};`;
  state.renew(symbol.slice(0, -1));
  return hostValue(symbol, type);
}

/** A cast or annotation that is narrower than what is known of a tree. */
function refine(state: State, value: Value, type: TypeFact): void {
  if (value.kind !== 'object') return;
  const node = state.get(value.id);
  if (node?.life === undefined || !node.open || node.fields.size > 0) return;
  if (type.holds === 'array') state.change(value.id, { open: false, shape: 'array', type });
  else if (type.holds === 'tree' && node.type.element === undefined && type.element !== undefined && type.element.holds !== 'unknown')
    state.change(value.id, {
      type: { ...node.type, ...type },
      shape: type.name !== undefined && /Array$/.test(type.name) ? 'list' : node.shape,
    });
}

function outer(
  engine: Engine,
  state: State,
  event: Extract<Event, { kind: 'outer' }>,
  type: TypeFact,
  done: (value: Value) => readonly Exit[],
): readonly Exit[] {
  const { function: owner, name: variable } = event.variable;
  const environment = environmentOf(engine, state, owner);
  const node = environment === undefined ? undefined : state.get(environment);
  const value = node?.fields.get(variable);
  if (value !== undefined && !(value.kind === 'host' && value.symbol === '')) {
    captured(engine, state, value, node!, event.span, variable);
    return done(value);
  }
  if (environment === undefined || node === undefined)
    return nullable(engine, state, type, `outer ${owner}.${variable}`, done, event.span, variable);
  if (node.open) {
    const made = engine.unknown(state, { ...type, nullable: false }, `${environment}.${variable}`, 'caller', undefined, variable);
    state.setField(environment, variable, made);
    captured(engine, state, made, node, event.span, variable);
    return done(made);
  }
  return done(value ?? anonymous);
}

/** A compiled function reads an array that is not its argument. */
function captured(engine: Engine, state: State, value: Value, holder: Node, span: Span, variable: string): void {
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

/** An unknown value of a type that may be absent: both. */
function nullable(
  engine: Engine,
  state: State,
  type: TypeFact,
  site: string,
  done: (value: Value) => readonly Exit[],
  span: Span,
  variable: string,
): readonly Exit[] {
  void span;
  return done(engine.unknown(state, { ...type, nullable: false }, site, 'caller', undefined, variable));
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

function setOuter(engine: Engine, state: State, event: Extract<Event, { kind: 'setOuter' }>): readonly Exit[] {
  const { function: owner, name: variable } = event.variable;
  const environment = environmentOf(engine, state, owner);
  const value = state.local(event.from);
  const isModule = owner.endsWith('#');
  if (environment === undefined) {
    escape(engine, state, value, event.span);
    return returned(state, undefinedValue);
  }
  const node = state.get(environment);
  const old = node?.fields.get(variable);
  leaves(state, value, (_, __, life) => {
    if (life.traced && node !== undefined && !node.traced && state.tracing > 0)
      engine.collector.see(
        { kind: 'tracerStored', span: event.span, function: state.frame.fn.id, array: named(life), target: variable },
        state.frame.context,
      );
  });
  const fact = engine.project.function(owner)?.locals.find((local) => local.unique === variable);
  if (fact !== undefined) name(state, value, fact);
  homed(state, value, isModule ? `${owner}:${variable}` : undefined);
  if (isModule && state.frame.fn.kind !== 'module') engine.collector.emptied.add(`${owner}:${variable}`);
  state.setField(environment, variable, value);
  // The declaring function may be on the stack: its own copy of the variable follows.
  for (let frame: typeof state.frame | undefined = state.frame; frame !== undefined; frame = frame.parent) {
    if (frame.environment !== environment) continue;
    const local = frame.fn.locals.findIndex((candidate) => candidate.unique === variable);
    if (local >= 0) frame.locals.set(local, value);
  }
  if (old !== undefined && isModule) lostBy(engine, state, [old], event.span, 'overwritten');
  return returned(state, value);
}

/** A collection gets the name of the variable or field it lives in. */
export function homed(state: State, value: Value, home: string | undefined): void {
  if (home === undefined || value.kind !== 'object') return;
  const node = state.get(value.id);
  if (node !== undefined && node.home === undefined && (node.shape === 'list' || node.shape === 'map')) state.change(value.id, { home });
}

/** `old` was overwritten or deleted: what nobody else holds is lost here. */
export function lostBy(engine: Engine, state: State, old: readonly Value[], span: Span, how: 'overwritten' | 'deleted'): void {
  const candidates: { readonly id: string; readonly node: Node }[] = [];
  for (const value of old)
    leaves(state, value, (id, node, life) => {
      if (
        !life.dead &&
        !life.escaped &&
        !life.traced &&
        life.scope === 0 &&
        life.origin !== 'caller' &&
        life.part === undefined &&
        !node.many
      )
        candidates.push({ id, node });
    });
  if (candidates.length === 0) return;
  const held = state.reachable();
  for (const { id, node } of candidates) {
    if (held.has(id)) continue;
    const life = node.life!;
    engine.collector.see(
      {
        kind: 'lost',
        span: life.lastRef !== undefined && consumes(engine, life.library) ? life.lastRef : span,
        function: state.frame.fn.id,
        array: named(life),
        how: life.lastRef !== undefined && consumes(engine, life.library) ? 'extraRef' : how,
        what: life.owner ? 'owner' : 'array',
      },
      state.frame.context,
    );
    state.heap.delete(id);
  }
}

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
    if (object.kind === 'host' && type.holds === 'nothing') return returned(state, hostValue(`${object.symbol}.${key};`, type));
    if (object.kind === 'compiled' || object.kind === 'closure' || object.kind === 'external')
      return returned(state, hostValue(`${site};`, type));
    if (object.kind === 'class') {
      const method = engine.project.class(object.class)?.staticMethods[key];
      return returned(
        state,
        method === undefined ? engine.unknown(state, type, site, 'caller', undefined) : closureValue(method, object.environment, object),
      );
    }
    return returned(
      state,
      type.holds === 'nothing' || object.kind === 'literal'
        ? hostValue(`${site};`, type)
        : engine.unknown(state, { ...type, nullable: false }, site, 'caller', undefined),
    );
  }
  if (node.shape === 'array' && node.life !== undefined)
    return arrayProperty(engine, state, object, node, key, event.span, type, place, event);
  if (key === 'length' || key === 'size')
    return returned(
      state,
      !node.open && node.pool.length === 0 && !node.many && node.shape === 'list' && node.home === undefined
        ? literalValue(node.fields.size)
        : hostValue(`${object.id}.len${node.fields.size}.${node.pool.length};`, type),
    );
  const known = node.fields.get(key);
  if (known !== undefined) {
    if (state.tracing > 0) captured(engine, state, known, node, event.span, key);
    return returned(state, known);
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
  if (isUnknownKey || (/^\d+$/.test(key) && node.pool.length > 0)) {
    if (all.length === 0) return returned(state, undefinedValue);
    const absent = numeric && exact(node) ? undefined : state.fork();
    const candidates = unique(isUnknownKey ? all : node.pool);
    const value = oneOf(engine, state, candidates, event.span);
    if (isUnknownKey && node.shape !== 'list') {
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

export function memberOf(engine: Engine, classId: string, table: 'methods' | 'getters' | 'setters', key: string): string | undefined {
  for (
    let cls = engine.project.class(classId);
    cls !== undefined;
    cls = cls.base === undefined ? undefined : engine.project.class(cls.base)
  ) {
    const id = cls[table][key];
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

function arrayProperty(
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
    state.put(object.id, { ...node, life: { ...life, refs: life.refs + 1, lastRef: span } });
    return returned(state, object);
  }
  // What a model hands out of itself may be shared by another: nobody knows who has to free it.
  if (life.owner && type.callable !== true && !model.metadata.includes(key))
    state.put(object.id, { ...node, life: { ...life, escaped: true } });
  if (life.owner && model.shares?.includes(key)) escape(engine, state, object, span);
  if (life.owner)
    return returned(
      state,
      type.holds === 'array' || type.holds === 'tree'
        ? engine.unknown(state, { ...type, nullable: false }, siteOf(state, { span }), 'caller', span)
        : hostValue(`${object.id}.${key};`, type),
    );
  return returned(
    state,
    type.holds === 'array'
      ? engine.unknown(state, { ...type, nullable: false }, siteOf(state, { span }), 'caller', span)
      : hostValue(`${object.id}.${key};`, type),
  );
}

/** Is this local written by a `.ref` and read nowhere but here? */
function refTemporary(fn: LoweredFunction, local: number, key: string): boolean {
  if (fn.locals[local]?.name !== undefined) return false;
  return fn.blocks.some((block) =>
    block.events.some((event) => event.kind === 'property' && event.to === local && event.key.kind === 'name' && event.key.name === key),
  );
}

function setProperty(engine: Engine, state: State, event: Extract<Event, { kind: 'setProperty' }>, place: Place): readonly Exit[] {
  const object = state.local(event.object);
  const value = state.local(event.from);
  const node = state.node(object);
  const key = keyName(state, event.key);
  if (node === undefined || object.kind !== 'object') {
    escape(engine, state, value, event.span);
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
  if (key.startsWith('[')) noteStored(engine, state, object.id, node, value, event.span, place.inLoop);
  const old = node.fields.get(key);
  state.setField(object.id, key, value);
  if (old !== undefined) lostBy(engine, state, [old], event.span, 'overwritten');
  else if (key.startsWith('[') && node.pool.length > 0) state.change(object.id, { pool: node.pool });
  return returned(state, value);
}

function nameField(state: State, value: Extract<Value, { kind: 'object' }>, key: string): void {
  const node = state.get(value.id);
  if (node?.life !== undefined && node.life.name === undefined)
    state.put(value.id, { ...node, life: { ...node.life, name: `this.${key}` } });
}

function rest(engine: Engine, state: State, event: Extract<Event, { kind: 'rest' }>, type: TypeFact): Value {
  const source = state.local(event.object);
  const node = state.node(source);
  const site = siteOf(state, event);
  if (node === undefined || source.kind !== 'object')
    return type.holds === 'nothing' ? hostValue(`${site};`, type) : engine.unknown(state, type, site, 'caller', undefined);
  if (node.open) return source;
  const fields = new Map<string, Value>();
  for (const [name, value] of node.fields) {
    if (event.start !== undefined) {
      if (Number(name) >= event.start) fields.set(String(Number(name) - event.start), value);
    } else if (!(event.taken ?? []).includes(name)) fields.set(name, value);
  }
  return state.allocate(
    site,
    { shape: event.start === undefined ? 'object' : 'list', fields, pool: node.pool, open: false, many: false, type },
    engine.dropped(state),
  );
}

function object(engine: Engine, state: State, event: Extract<Event, { kind: 'object' }>, type: TypeFact): Value {
  const fields = new Map<string, Value>();
  const pool: Value[] = [];
  let open = false;
  for (const entry of event.entries) {
    if (entry.kind === 'property') {
      fields.set(keyName(state, entry.key), state.local(entry.value));
      continue;
    }
    const from = state.local(entry.from);
    const node = state.node(from);
    if (node === undefined) continue;
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
      open,
      many: false,
      type,
      ...(open ? { escaped: true } : {}),
      ...(state.tracing > 0 ? { traced: true } : {}),
    },
    engine.dropped(state),
  );
}

function array(engine: Engine, state: State, event: Extract<Event, { kind: 'array' }>, type: TypeFact): Value {
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

function unary(state: State, operator: string, value: Value, fresh: Value): Value {
  if (operator === '!') {
    const truth = truthOf(state, value);
    if (truth !== undefined) return literalValue(!truth);
    return value.kind === 'host' && value.symbol !== '' ? hostValue(`!(${value.symbol})`) : fresh;
  }
  if (operator === 'nullish') {
    if (value.kind === 'literal') return literalValue(value.value === undefined || value.value === null);
    if (value.kind !== 'host') return literalValue(false);
    if (value.symbol === '') return fresh;
    if (state.facts.get(value.symbol) === true) return literalValue(false);
    return value.type !== undefined &&
      value.type.nullable !== true &&
      value.type.holds !== 'unknown' &&
      value.type.callable !== true &&
      value.type.name !== undefined
      ? literalValue(false)
      : hostValue(`nullish(${value.symbol})`);
  }
  if (operator === 'void') return undefinedValue;
  return fresh;
}

/** Is a value true as a condition, as far as known on this path? */
export function truthOf(state: State, value: Value): boolean | undefined {
  if (value.kind === 'literal') return Boolean(value.value);
  if (value.kind !== 'host') return true;
  if (value.symbol.startsWith('!(')) {
    const inner = truthOf(state, hostValue(value.symbol.slice(2, -1)));
    return inner === undefined ? undefined : !inner;
  }
  return state.facts.get(value.symbol);
}

export function assume(state: State, value: Value, truth: boolean): void {
  if (value.kind !== 'host' || value.symbol === '') return;
  if (value.symbol.startsWith('!(')) return assume(state, hostValue(value.symbol.slice(2, -1)), !truth);
  state.facts.set(value.symbol, truth);
  if (truth && !value.symbol.startsWith('nullish(')) state.facts.set(`nullish(${value.symbol})`, false);
}

function binary(state: State, operator: string, left: Value, right: Value, fresh: () => Value): Value {
  const equality = operator === '===' || operator === '==' ? true : operator === '!==' || operator === '!=' ? false : undefined;
  const negate = (value: Value): Value =>
    value.kind === 'literal' ? literalValue(!value.value) : value.kind === 'host' ? hostValue(`!(${value.symbol})`) : value;
  if (equality !== undefined) {
    const same = equal(state, left, right, operator.length === 2);
    return same === undefined ? fresh() : equality ? same : negate(same);
  }
  if (left.kind === 'literal' && right.kind === 'literal' && typeof left.value === 'number' && typeof right.value === 'number') {
    switch (operator) {
      case '<':
        return literalValue(left.value < right.value);
      case '>':
        return literalValue(left.value > right.value);
      case '<=':
        return literalValue(left.value <= right.value);
      case '>=':
        return literalValue(left.value >= right.value);
    }
  }
  if (operator === '<' || operator === '>' || operator === '<=' || operator === '>=') {
    const flipped = operator === '>' || operator === '<=';
    const [a, b] = flipped ? [right, left] : [left, right];
    if ((a.kind === 'host' && a.symbol === '') || (b.kind === 'host' && b.symbol === '') || a.key.length + b.key.length > 240)
      return fresh();
    const less = hostValue(`(${a.key}<${b.key})`);
    return operator === '<' || operator === '>' ? less : negate(less);
  }
  return fresh();
}

function equal(state: State, left: Value, right: Value, loose: boolean): Value | undefined {
  if (left.kind === 'marked') return equal(state, left.of, right, loose);
  const absent = (value: Value): boolean => value.kind === 'literal' && (value.value === undefined || value.value === null);
  if (left.kind === 'literal' && right.kind === 'literal')
    return literalValue(left.value === right.value || (loose && absent(left) && absent(right)));
  for (const [a, b] of [
    [left, right],
    [right, left],
  ] as const) {
    if (!absent(a)) continue;
    if (b.kind === 'host')
      return b.symbol === '' ? undefined : state.facts.get(b.symbol) === true ? literalValue(false) : hostValue(`nullish(${b.symbol})`);
    return literalValue(false);
  }
  if (left.kind === 'object' && right.kind === 'object') {
    const [a, b] = [state.get(left.id), state.get(right.id)];
    if (a === undefined || b === undefined) return undefined;
    if (left.id === right.id) return a.many ? undefined : literalValue(true);
    return (a.life?.origin === 'here' && b.life?.origin === 'here') || (a.life === undefined && b.life === undefined && !a.open && !b.open)
      ? literalValue(false)
      : undefined;
  }
  if (
    left.kind === 'host' &&
    left.symbol !== '' &&
    right.kind !== 'object' &&
    right.key.length + left.key.length < 240 &&
    !(right.kind === 'host' && right.symbol === '')
  )
    return hostValue(`(${left.key}===${right.key})`);
  if (right.kind === 'host' && right.symbol !== '' && left.kind === 'literal') return hostValue(`(${right.key}===${left.key})`);
  return undefined;
}

function awaited(
  engine: Engine,
  state: State,
  event: Extract<Event, { kind: 'await' }>,
  type: TypeFact,
  done: (value: Value) => readonly Exit[],
): readonly Exit[] {
  const promise = state.local(event.value);
  const node = state.node(promise);
  state.frame.awaited = true;
  const settle = (next: State): readonly Exit[] => {
    const at = next.node(promise);
    if (at?.shape === 'promise') {
      for (const { id, span } of at.pending ?? [])
        if (next.get(id) !== undefined) read(engine, next, { kind: 'object', id, key: `@${id}` }, { span, use: 'read' });
      if (at.fields.get('rejected') !== undefined) return [{ state: next, kind: 'throw', value: anonymous }];
      const value = at.fields.get('value') ?? anonymous;
      next.set(event.to, value);
      return returned(next, value);
    }
    if (at === undefined && promise.kind === 'host') {
      const value =
        type.holds === 'nothing' || type.holds === 'unknown'
          ? host(next, event, type)
          : engine.unknown(next, { ...type, nullable: false }, siteOf(next, event), 'here', event.span);
      next.set(event.to, value);
      return returned(next, value);
    }
    next.set(event.to, promise);
    return returned(next, promise);
  };
  void done;
  void node;
  return state.later.length > 0 && state.scopes.length === 0 ? engine.runLater(state).flatMap((next) => settle(next)) : settle(state);
}

/** The end of a `using` declaration's life. */
function free(engine: Engine, state: State, value: Value, span: Span): readonly Exit[] {
  const node = state.node(value);
  if (node === undefined) return returned(state, undefinedValue);
  if (node.class !== undefined) {
    const method = memberOf(engine, node.class, 'methods', '@@dispose') ?? memberOf(engine, node.class, 'methods', '@@asyncDispose');
    const fn = method === undefined ? undefined : engine.project.function(method);
    if (fn !== undefined)
      return then(
        engine.callFunction(state, fn, environmentOfClass(engine, state, node), value, [], {
          span,
          nameSpan: span,
          repeated: false,
          type: noType,
        }),
        (next) => returned(next, undefinedValue),
      );
  }
  kill(engine, state, value, 'using', { span, use: 'dispose' });
  return returned(state, undefinedValue);
}

/** Turning an array into a string or number reads it, where the library says so. */
function coerced(engine: Engine, state: State, value: Value, span: Span): void {
  const node = state.node(value);
  if (node?.shape === 'array' && node.life !== undefined && consumes(engine, node.life.library))
    kill(engine, state, value, 'consumed', { span, use: 'consume' });
}
