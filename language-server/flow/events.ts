/**
 * One step of the walk: what each kind of event does to a state.
 *
 * A step yields the ways on: usually one, more where a value may be absent or a call has several outcomes.
 * Depends on: engine, calls, collections, arrays, state, values.
 */
import type { Event, LoweredFunction, Span, TypeFact } from '../lower/ir.ts';
import { kill, leaves, modelOf, named, read, consumes, escape, setLife } from './arrays.ts';
import { name, openMember } from './making.ts';
import { callEvent } from './calls.ts';
import { iterated, keysOf, members, unique } from './collections.ts';
import { returned, then, type Engine, type Exit } from './engine.ts';
import { binary, unary } from './host-values.ts';
import { array, object, rest } from './literals.ts';
import { captured, environmentOf, environmentOfClass, homed, keyName, memberOf, property, setProperty } from './properties.ts';
import { offer } from './generators.ts';
import { heldAgain, lostBy } from './replaced.ts';
import { setInFrames } from './outer-variables.ts';
import type { State } from './state.ts';
import { anonymous, closureValue, externalValue, hostValue, literalValue, undefinedValue, type Value } from './values.ts';

export interface Place {
  readonly fn: LoweredFunction;
  readonly inLoop: boolean;
  /** In a loop that nothing ends. */
  readonly endless?: boolean;
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
        // Under a key that nobody knows lies the one member there is, if one does.
        const all = members(node).filter((member) => member.kind === 'object');
        const [only] = old === undefined && key.startsWith('[') && node.pool.length === 0 && all.length === 1 ? all : [];
        if (only !== undefined) for (const [name, value] of fields) if (value.key === only.key) fields.delete(name);
        const pooled = only !== undefined ? [only] : old === undefined && key.startsWith('[') ? node.pool : [];
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
    case 'unary': {
      const value = unary(state, event.operator, state.local(event.value), host(state, event, noType));
      // `x?.dispose()` where there is no `x` is passed without a fault.
      const skips = event.operator === 'nullish' && !(value.kind === 'literal' && value.value === false);
      if (skips) engine.collector.pass(event.span, state.frame.context);
      return done(value);
    }
    case 'binary':
      if (event.operator === 'instanceof' && isArrayOf(engine, state, state.local(event.left), state.local(event.right)))
        return done(literalValue(true));
      if (event.operator === 'instanceof') sorted(state, state.local(event.left));
      return done(binary(state, event.operator, state.local(event.left), state.local(event.right), () => host(state, event, noType)));
    case 'await':
      return awaited(engine, state, event, type, done);
    case 'yield': {
      const value = event.value === undefined ? undefinedValue : state.local(event.value);
      offer(engine, state, value, event.span);
      state.frame.yields.push(value);
      return done(host(state, event, type));
    }
    case 'iterate': {
      const source = state.local(event.from);
      const node = state.node(source);
      const values =
        event.over === 'in'
          ? (keysOf(state, source) ?? [host(state, event, noType)])
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
      for (const operand of event.operands) {
        escape(engine, state, state.local(operand), event.span);
        engine.later(state, state.local(operand), event.span);
      }
      return done(host(state, event, type));
  }
}

const elementType = (type: TypeFact | undefined): TypeFact | undefined => type?.element;

/** Whether a tree of unknown form is one array or several is told apart here: which way is taken says what there is to free. */
function sorted(state: State, value: Value): void {
  const node = state.node(value);
  if (value.kind === 'object' && node?.life !== undefined && node.shape !== 'array')
    setLife(state, value.id, { escaped: true, shared: 'a test tells one array from several' });
}

/** `x instanceof Tensor`, where the walk holds such an array in `x`. */
function isArrayOf(engine: Engine, state: State, value: Value, type: Value): boolean {
  const node = state.node(value);
  if (node?.shape !== 'array' || node.life === undefined || node.life.owner || type.kind !== 'external') return false;
  const { arrays } = modelOf(engine, node.life.library);
  // The first of a model's array types is the general one.
  return type.library === node.life.library && (type.name === arrays[0] || type.name === node.life.typeName);
}

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
  heldAgain(state, value);
  homed(state, value, isModule ? `${owner}:${variable}` : undefined);
  if (isModule && state.frame.fn.kind !== 'module') engine.collector.emptied.add(`${owner}:${variable}`);
  state.setField(environment, variable, value);
  const running = setInFrames(state, environment, variable, value);
  // The variable of a function that has returned is a field of the closures it left.
  if (old !== undefined && (isModule || !running)) lostBy(engine, state, [old], event.span, 'overwritten', !isModule);
  return returned(state, value);
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
  changedMeanwhile(state);
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
    // What is known to hold no array and to be no promise is the value itself.
    const plain = promise.kind === 'host' && promise.type?.holds === 'nothing' && promise.type.promise !== true;
    if (at === undefined && promise.kind === 'host' && !plain) {
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
  if (state.later.length === 0 || state.scopes.length > 0) return settle(state);
  const before = new Set(state.heap.keys());
  return engine.runLater(state).flatMap((next) => {
    for (const [id, { life }] of next.heap) if (life !== undefined && !before.has(id)) setLife(next, id, { raced: true });
    return settle(next);
  });
}

/** Properties that exist to be changed by others while a function waits: a signal is aborted. */
function changedMeanwhile(state: State): void {
  for (const fact of [...state.facts.keys()]) if (fact.includes('.aborted;')) state.facts.delete(fact);
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
