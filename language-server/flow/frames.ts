/**
 * The frame of a call: its parameters bound, its result handed out, and calls that need no frame at all.
 *
 * Depends on: losses, relevance, replaced, arrays, engine, state, values.
 */
import type { LoweredFunction, Span } from '../lower/ir.ts';
import { consumes, leaves, read } from './arrays.ts';
import { returned, type CallSite, type Exit } from './engine.ts';
import { offered } from './generators.ts';
import { environmentOf } from './properties.ts';
import { reportLost } from './losses.ts';
import { setInFrames } from './outer-variables.ts';
import type { Beside } from './relevance.ts';
import { inField } from './replaced.ts';
import { leaveScopes } from './scopes.ts';
import type { Frame, State } from './state.ts';
import { anonymous, emptyFields, hostValue, objectValue, undefinedValue, type Node, type ObjectId, type Value } from './values.ts';
import type { Walker } from './walk.ts';

/** Makes the frame of a call and binds its parameters. */
export function enter(
  walker: Walker,
  state: State,
  fn: LoweredFunction,
  environment: ObjectId | undefined,
  self: Value | undefined,
  args: readonly Value[],
  context: string,
  site: CallSite,
): void {
  const parentEnvironment = environment ?? enclosing(walker, state, fn);
  const fields = new Map<string, Value>();
  if (parentEnvironment !== undefined) fields.set('@parent', objectValue(parentEnvironment));
  const traced = state.tracing > 0;
  const held: Value[] = [...args, ...(self === undefined ? [] : [self])];
  state.frame.locals.set(
    -1,
    state.allocate(
      `args@${context}`,
      { shape: 'list', fields: emptyFields, pool: held, open: false, many: false, type: { holds: 'nothing' } },
      () => undefined,
    ),
  );
  const value = state.allocate(
    `env@${context}`,
    {
      shape: 'environment',
      fields,
      pool: [],
      open: environment === undefined && fn.parent !== undefined && !fn.parent.endsWith('#') && parentEnvironment === undefined,
      many: false,
      type: { holds: 'nothing' },
      function: fn.id,
      ...(traced ? { traced: true } : {}),
    },
    walker.dropped(state),
  );
  const arguments_ = (state.node(state.frame.locals.get(-1))?.pool ?? held).slice(0, args.length);
  const self_ = self === undefined ? undefined : (state.node(state.frame.locals.get(-1))?.pool ?? held)[args.length];
  state.frame.locals.delete(-1);
  const id = value.kind === 'object' ? value.id : '';
  state.enterFrame({
    fn,
    locals: new Map(),
    environment: id,
    context,
    parent: state.frame,
    repeated: site.repeated,
    callSpan: site.span,
    self: self_,
    readLater: [],
    awaited: site.deferred === true,
    passedDead: passedDead(walker, state, arguments_, site),
    yields: [],
  });
  if (fn.self !== undefined) state.set(fn.self, self_ ?? anonymous);
  fn.parameters.forEach((p, i) => {
    if (p.rest) {
      const rest = arguments_.slice(i);
      state.set(
        p.local,
        state.allocate(
          `rest@${context}`,
          {
            shape: 'list',
            fields: new Map(rest.map((v, k) => [String(k), v] as const)),
            pool: [],
            open: false,
            many: false,
            type: fn.locals[p.local]?.type ?? { holds: 'nothing' },
          },
          walker.dropped(state),
        ),
      );
      return;
    }
    const given = arguments_[i] ?? undefinedValue;
    leaves(state, given, (leaf, node, life) => {
      if (consumes(walker, life.library) && life.passed?.function !== fn.id)
        state.put(leaf, { ...node, life: { ...life, passed: { function: fn.id, position: i, signature: fn.signature } } });
    });
    state.set(p.local, given);
  });
}

/** The dead arrays among the arguments that the text passes; a place that passes living ones is passed without a fault. */
function passedDead(walker: Walker, state: State, args: readonly Value[], site: CallSite): ReadonlyMap<ObjectId, Span> {
  const found = new Map<ObjectId, Span>();
  const direct = site.event !== undefined && (site.tag === undefined || site.tag === ' new');
  if (!direct || site.event.arguments.some(({ spread }) => spread)) return found;
  args.forEach((value, i) => {
    const span = site.event?.arguments[i]?.span;
    let [alive, dead] = [false, false];
    leaves(state, value, (id, _, life) => {
      if (life.dead && span !== undefined) found.set(id, span);
      if (life.dead) dead = true;
      else alive = true;
    });
    if (alive && !dead && span !== undefined) walker.collector.pass(span, state.frame.context);
  });
  return found;
}

/** The object that a method without a class (`X.prototype.m = function …`) is called on. */
export function thisOf(walker: Walker, state: State, fn: LoweredFunction): Value | undefined {
  const type = fn.self === undefined || fn.kind !== 'function' ? undefined : fn.locals[fn.self]?.type;
  if (type === undefined) return undefined;
  if (type.holds !== 'nothing') return walker.unknown(state, type, `this ${fn.id}`, 'caller', undefined);
  if (!/\.prototype\.[\w$]+$/.test(fn.name)) return undefined;
  const node: Node = { shape: 'object', fields: emptyFields, pool: [], open: true, many: false, type };
  return state.allocate(`this ${fn.id}`, node, walker.dropped(state));
}

/** The environment a function was declared in, when only the function is known. */
export function enclosing(walker: Walker, state: State, fn: LoweredFunction): ObjectId | undefined {
  if (fn.parent === undefined) return undefined;
  if (fn.parent.endsWith('#')) return walker.moduleEnvironment(state, fn.parent);
  for (let frame: Frame | undefined = state.frame; frame !== undefined; frame = frame.parent) {
    if (frame.fn.id === fn.parent) return frame.environment;
    for (let id: ObjectId | undefined = frame.environment; id !== undefined;) {
      const node: Node | undefined = state.get(id);
      if (node?.function === fn.parent) return id;
      const up: Value | undefined = node?.fields.get('@parent');
      id = up?.kind === 'object' ? up.id : undefined;
    }
  }
  return undefined;
}

export function leave(walker: Walker, exit: Exit, fn: LoweredFunction, site: CallSite, scopes: number): Exit {
  const { state } = exit;
  leaveScopes(state, scopes);
  const readLater = state.frame.readLater;
  const yields = state.frame.yields;
  state.leaveFrame();
  let value = exit.value;
  if (exit.kind === 'return') {
    if (fn.generator) {
      offered(state, yields);
      value = state.allocate(
        `${state.frame.context}:${site.span.start}gen${site.tag ?? ''}`,
        { shape: 'generator', fields: emptyFields, pool: yields, open: false, many: false, type: site.type },
        walker.dropped(state),
      );
    }
    state.collect(walker.dropped(state), [value]);
    reportLost(walker, state);
    freedTooEarly(walker, state, value, fn);
    // What a function hands out was made, for its caller, by the call; unless an object keeps it, under a name of its own.
    leaves(state, value, (id, node, life) => {
      if (
        life.origin === 'here' &&
        life.made !== undefined &&
        life.made.file === fn.file &&
        life.made.start >= fn.span.start &&
        life.made.end <= fn.span.end &&
        !inField(state, id)
      ) {
        const { name: _, declaration: __, added: ___, ...rest } = life;
        state.put(id, { ...node, life: { ...rest, made: site.span, function: state.frame.fn.id } });
      }
    });
    // What the function freed itself, it freed when it had read it.
    const pending = readLater.filter(({ id }) => state.get(id)?.life?.dead === false).slice(0, 12);
    const promised = state.node(value);
    const asynchronous = fn.async || site.deferred === true;
    if (asynchronous && promised?.shape === 'promise' && value.kind === 'object')
      state.change(value.id, { pending: [...(promised.pending ?? []), ...pending] });
    else if (asynchronous && !fn.generator) {
      value = state.allocate(
        `${state.frame.context}:${site.span.start}async${site.tag ?? ''}`,
        { shape: 'promise', fields: new Map([['value', value]]), pool: [], open: false, many: false, type: site.type, pending },
        walker.dropped(state),
      );
    }
  } else state.lost.clear();
  return { state, kind: exit.kind, value };
}

/** The promise that a function returns still reads what the function has freed. */
function freedTooEarly(walker: Walker, state: State, value: Value, fn: LoweredFunction): void {
  const node = state.node(value);
  if (node?.shape !== 'promise' || value.kind !== 'object' || node.pending === undefined) return;
  const gone = node.pending.filter(({ id }) => {
    const life = state.get(id)?.life;
    const at = life?.dead === true && (life.death === 'using' || life.death === 'disposed') ? life.diedAt : undefined;
    return at !== undefined && at.file === fn.file && at.start >= fn.span.start && at.end <= fn.span.end;
  });
  for (const { id, span } of gone) read(walker, state, objectValue(id), { span, use: 'read' });
  if (gone.length > 0) state.change(value.id, { pending: node.pending.filter((one) => !gone.includes(one)) });
}

/** A large function that has nothing to do with arrays is not walked: what it may change of host data is forgotten. */
export function besideThePoint(
  walker: Walker,
  state: State,
  fn: LoweredFunction,
  self: Value | undefined,
  args: readonly Value[],
  site: CallSite,
): readonly Exit[] | undefined {
  const known = walker.beside(fn);
  if (known === undefined || !known.large || fn.kind === 'constructor' || fn.kind === 'fields') return undefined;
  const given = self === undefined ? args : [...args, self];
  if (given.some((value) => !harmless(walker, state, value, known.unknowns))) return undefined;
  const result = changedBeside(walker, state, known, given, site);
  if (result === undefined) return undefined;
  const thrown: readonly Exit[] = known.throws ? [{ state: state.fork(), kind: 'throw', value: anonymous }] : [];
  return [...thrown, ...returned(state, result)];
}

/** Forgets what a function without arrays may change of host data; what it yields, or undefined when nobody knows what it sets. */
export function changedBeside(walker: Walker, state: State, known: Beside, given: readonly Value[], site: CallSite): Value | undefined {
  const mark = `${state.frame.context}:${site.span.start}${site.tag ?? ''} beside`;
  if (known.changes) for (const value of given) forget(walker, state, value, mark);
  for (const variable of known.sets) {
    const holder = environmentOf(walker, state, variable.function);
    if (holder === undefined && !variable.function.endsWith('#')) return undefined;
    if (holder === undefined) continue;
    state.renew(`${mark} ${variable.name}`);
    state.setField(holder, variable.name, hostValue(`${mark} ${variable.name};`));
    setInFrames(state, holder, variable.name, hostValue(`${mark} ${variable.name};`));
  }
  return walker.unknown(state, { ...site.type, nullable: false }, mark, 'caller', undefined);
}

/** Nothing behind this value can reach an array. */
export function harmless(walker: Walker, state: State, value: Value, unknowns: boolean): boolean {
  switch (value.kind) {
    case 'literal':
    case 'host':
      return true;
    case 'closure': {
      const fn = walker.project.function(value.function);
      return fn !== undefined && walker.beside(fn) !== undefined;
    }
    case 'external':
      return value.library === undefined || value.library === 'standard';
    case 'class':
    case 'compiled':
    case 'marked':
      return false;
    case 'object': {
      if (!unknowns && state.get(value.id)?.class !== undefined) return true;
      const seen = new Set<ObjectId>();
      const go = (inner: Value): boolean => {
        if (inner.kind !== 'object') return inner.kind === 'class' || harmless(walker, state, inner, unknowns);
        if (seen.has(inner.id)) return true;
        seen.add(inner.id);
        const node = state.get(inner.id);
        return node === undefined || (node.life === undefined && [...node.fields.values(), ...node.pool].every(go));
      };
      return go(value);
    }
  }
}

/** Host data in an object may be anything now. */
export function forget(walker: Walker, state: State, value: Value, mark: string, seen = new Set<ObjectId>()): void {
  if (value.kind !== 'object' || seen.has(value.id)) return;
  seen.add(value.id);
  const node = state.get(value.id);
  if (node === undefined || node.shape === 'array') return;
  const fields = new Map<string, Value>();
  for (const [name, member] of node.fields) {
    forget(walker, state, member, `${mark} ${name}`, seen);
    fields.set(name, member.kind === 'literal' || member.kind === 'host' ? hostValue(`${mark} ${value.id} ${name};`) : member);
  }
  state.renew(`${mark} ${value.id}`);
  state.change(value.id, {
    fields,
    pool: node.pool.map((member) => (member.kind === 'literal' || member.kind === 'host' ? hostValue(`${mark} ${value.id} [];`) : member)),
    open: true,
  });
}
