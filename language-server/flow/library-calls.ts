/**
 * A call of a library: its model's line says what happens to arguments and what comes back.
 *
 * Depends on: engine, arrays, collections, callbacks, compiled-calls, scopes, state, values.
 */
import { callOf, type ArgumentVerb, type Call, type LibraryModel } from '../libraries/model.ts';
import type { Span, TypeFact } from '../lower/ir.ts';
import { deadAmong, escape, kill, leaves, modelOf, read } from './arrays.ts';
import { libraryOf, make } from './making.ts';
import { callback } from './callbacks.ts';
import { collectionCall } from './collection-calls.ts';
import { compiledValue, optionsOf, bottom } from './compiled-calls.ts';
import { returned, type CallSite, type Engine, type Exit } from './engine.ts';
import { siteOf, type Place } from './events.ts';
import { noteFreed } from './freed.ts';
import { testOf } from './host-values.ts';
import { fill, ownsWhat } from './owners.ts';
import { closeScope, openScope, scopeCall, startsPromise } from './scopes.ts';
import { standardCall } from './standard-calls.ts';
import type { State } from './state.ts';
import { emptyFields, hostValue, objectValue, type Node, type Value } from './values.ts';

export function libraryCall(
  engine: Engine,
  state: State,
  library: string,
  name: string,
  receiver: Value | undefined,
  args: readonly Value[],
  spans: readonly Span[],
  site: CallSite,
  place: Place,
): readonly Exit[] {
  const model = modelOf(engine, library);
  const call = callOf(model, name);
  const role = call?.role;
  if (role !== undefined) {
    switch (role.kind) {
      case 'scope':
        // `tidy('name', () => …)`: a name may come first.
        return scopeCall(engine, state, args[0]?.kind === 'literal' ? (args[1] ?? args[0]) : args[0], model, role.async, site, place);
      case 'opens':
        openScope(state, library, site);
        return returned(state, hostValue(`${siteOf(state, site)};`));
      case 'closes':
        closeScope(engine, state, args[0], model, site);
        return returned(state, hostValue(`${siteOf(state, site)};`));
      case 'compiles': {
        const target = args[role.function] ?? hostValue('unknown;');
        const { donates, statics } = optionsOf(engine, state, args[role.options], target);
        jitPlace(engine, state, library, name, site, place);
        return returned(
          state,
          compiledValue(target, name === 'pmap' ? 'pmap' : 'jit', library, site.span, donates, statics, state.frame.context),
        );
      }
      case 'transforms':
        return returned(
          state,
          compiledValue(args[role.function] ?? hostValue('unknown;'), role.how, library, site.span, [], [], state.frame.context),
        );
      case 'donateMark': {
        const value = args[0];
        if (value === undefined) return returned(state, hostValue(`${siteOf(state, site)};`));
        return returned(state, state.tracing > 0 ? value : { kind: 'marked', of: value, key: `donate ${value.key}` });
      }
      case 'plansOnly':
        return returned(state, hostValue(`${siteOf(state, site)};`, site.type));
      case 'collection':
        return collectionCall(engine, state, role.does, name, call!, receiver, args, site, place);
      case 'calls':
      case 'traces':
        return callback(engine, state, call!, library, receiver, args, spans, site, place);
      case 'treeLeaves':
        break;
    }
  }
  const test = library === 'standard' ? testOf(name, args) : undefined;
  if (test !== undefined) return returned(state, test);
  if (call === undefined && library === 'standard') return standardCall(engine, state, name, receiver, args, site);
  const verb = name.slice(name.lastIndexOf('.') + 1);
  const known: Call | undefined =
    call ?? (receiver !== undefined && model.free.includes(verb) ? { arguments: { receiver: 'disposes' }, result: 'host' } : undefined);
  effects(engine, state, library, name, known, receiver, args, spans, site);
  return returned(state, result(engine, state, library, name, known, receiver, args, site));
}

/** What happens to receiver and arguments. */
export function effects(
  engine: Engine,
  state: State,
  library: string,
  name: string,
  call: Call | undefined,
  receiver: Value | undefined,
  args: readonly Value[],
  spans: readonly Span[],
  site: CallSite,
): void {
  const model = modelOf(engine, library);
  const fallback: ArgumentVerb = library === 'standard' ? 'inspects' : model.convention === 'consumes' ? 'consumes' : 'reads';
  const before = deadAmong(state, receiver === undefined ? args : [receiver, ...args]);
  const one = (value: Value, verb: ArgumentVerb | 'records', span: Span): void => {
    const use = { span, call: site.span, before };
    switch (verb) {
      case 'inspects':
        return;
      case 'reads':
        // Functions among the options (`fit(x, y, { callbacks: { onEpochEnd } })`) are called while it runs.
        if (call?.readsUntilSettled) engine.later(state, value, span, 'often');
        return reads(engine, state, value, span, site.span);
      case 'consumes':
        return kill(engine, state, value, 'consumed', { ...use, use: 'consume' });
      case 'donates':
        return kill(engine, state, value, 'donated', { ...use, use: 'donate' });
      case 'disposes':
        return disposeTree(engine, state, value, span, site.span);
      case 'stores':
        escape(engine, state, value, span, 'stored by a library');
        engine.later(state, value, span, call?.note === 'scopes' ? 'scoped' : 'once');
        return;
      case 'keeps':
        leaves(state, value, (id, node, life) => state.put(id, { ...node, life: { ...life, scope: 0 } }));
        return;
      case 'records':
        return record(engine, state, receiver, value, span);
    }
  };
  const given = call?.arguments ?? {};
  if (receiver !== undefined) {
    const verb = given.receiver ?? fallback;
    if (receiver.kind === 'marked') kill(engine, state, receiver, 'donated', { span: site.span, call: site.span, use: 'donate' });
    else one(receiver, verb === 'records' ? 'inspects' : verb, site.span);
  }
  args.forEach((value, i) => {
    const verb = given[i] ?? given.rest ?? fallback;
    if (value.kind === 'marked' && verb !== 'inspects')
      kill(engine, state, value, 'donated', { span: spans[i] ?? site.span, call: site.span, use: 'donate' });
    else one(value, verb, spans[i] ?? site.span);
  });
  if (call?.readsUntilSettled && state.scopes.length > 0) startsPromise(engine, state, args, site);
  if (call?.note === 'fills' && receiver?.kind === 'object') fill(state, receiver.id, args);
  void name;
}

/** Reads arrays, and what a recorder holds. */
function reads(engine: Engine, state: State, value: Value, span: Span, call: Span): void {
  read(engine, state, value, { span, call, use: 'read' });
  const visit = (v: Value, depth: number): void => {
    const node = state.node(v);
    if (node === undefined || depth === 0) return;
    if (node.shape === 'recorder') for (const member of node.pool) read(engine, state, member, { span, call, use: 'read' });
    if (node.shape === 'recorder' || node.shape === 'list' || node.shape === 'object')
      [...node.fields.values(), ...node.pool].forEach((member) => visit(member, depth - 1));
  };
  visit(value, 5);
}

export function disposeTree(engine: Engine, state: State, value: Value, span: Span, call: Span): void {
  // Everything in the tree goes, whoever it stands for.
  const added: string[] = [];
  leaves(state, value, (id, node) => {
    if (node.many && !state.iterating.has(id)) {
      state.iterating.add(id);
      added.push(id);
    }
  });
  const node = state.node(value);
  if (node?.home !== undefined) engine.collector.emptied.add(node.home);
  noteFreed(engine, state, value, call);
  kill(engine, state, value, 'disposed', { span, call, use: 'dispose' });
  for (const id of added) state.iterating.delete(id);
}

/** Ties arrays to the encoder, pass or bind group that will use them when it is submitted. */
function record(engine: Engine, state: State, receiver: Value | undefined, value: Value, span: Span): void {
  const arrays: Value[] = [];
  const visit = (v: Value, depth: number): void => {
    const node = state.node(v);
    if (node === undefined || v.kind !== 'object' || depth === 0) return;
    if (node.shape === 'array') arrays.push(v);
    else if (node.shape === 'recorder') arrays.push(...node.pool);
    else if (node.shape !== 'environment') [...node.fields.values(), ...node.pool].forEach((member) => visit(member, depth - 1));
  };
  visit(value, 6);
  const target = state.node(receiver);
  if (target?.shape === 'recorder' && receiver?.kind === 'object')
    state.change(receiver.id, { pool: [...target.pool, ...arrays.filter((a) => !target.pool.some((b) => b.key === a.key))] });
  void engine;
  void span;
}

function holdsArrays(state: State, value: Value | undefined): boolean {
  let found = false;
  if (value !== undefined) leaves(state, value, (_, __, life) => void (found ||= !life.owner));
  return found;
}

/** What comes back. */
export function result(
  engine: Engine,
  state: State,
  library: string,
  name: string,
  call: Call | undefined,
  receiver: Value | undefined,
  args: readonly Value[],
  site: CallSite,
): Value {
  const id = siteOf(state, site, site.tag ?? '');
  const settled = (spec: Call['result'], type: TypeFact): Value => {
    if (spec === 'host') return call?.note === 'recorder' ? recorder(engine, state, id, receiver, args) : hostValue(`${id};`, type);
    if (typeof spec === 'object' && 'settles' in spec) {
      const value = settled(spec.settles, { ...type, promise: false });
      const pending: { id: string; span: Span }[] = [];
      if (call?.readsUntilSettled)
        for (const argument of [receiver, ...args])
          if (argument !== undefined)
            leaves(state, argument, (leaf, _, life) => {
              if (!life.owner) pending.push({ id: leaf, span: site.span });
            });
      return state.allocate(
        `${id}promise`,
        { shape: 'promise', fields: new Map([['value', value]]), pool: [], open: false, many: false, type, pending },
        engine.dropped(state),
      );
    }
    if (typeof spec === 'object' && 'aliases' in spec)
      return (spec.aliases === -1 ? receiver : args[spec.aliases]) ?? hostValue(`${id};`, type);
    if (typeof spec === 'object' && 'retains' in spec) {
      const value = args[spec.retains] ?? hostValue(`${id};`, type);
      leaves(state, value, (leaf, node, life) => {
        if (life.dead) read(engine, state, objectValue(leaf), { span: site.span, use: 'read' });
        else if (!life.part) state.put(leaf, { ...node, life: { ...life, refs: life.refs + 1, lastRef: site.span } });
        else state.put(leaf, { ...node, life: { ...life, refs: life.refs + 1 } });
      });
      return value;
    }
    if (spec === 'unknown') return hostValue(`${id};`, type);
    // Created: by the declared type, plain data where that holds none.
    if (call?.onlyIfTrue !== undefined) {
      const condition = args[call.onlyIfTrue];
      if (condition === undefined || (condition.kind === 'literal' && condition.value !== true))
        return hostValue(`${id};`, { holds: 'nothing', nullable: true });
    }
    if (call?.onlyOf !== undefined && !holdsArrays(state, args[call.onlyOf])) return hostValue(`${id};`, { holds: 'nothing' });
    const declared = general(modelOf(engine, library), call, name, type);
    // A copy of a type took more time than all else here.
    const plain: TypeFact = declared.promise || declared.nullable ? { ...declared, promise: false, nullable: false } : declared;
    // Where the text has no type, the model's word that arrays come back is all there is.
    const untyped = plain.holds === 'unknown' && spec === 'creates';
    if (plain.holds === 'nothing' || (plain.holds === 'unknown' && !untyped)) return hostValue(`${id};`, type);
    const count = call?.countOf === undefined ? undefined : lengthOf(state, args[call.countOf]);
    return make(
      {
        walk: engine,
        state,
        site: id,
        span: site.span,
        origin: 'here',
        function: state.frame.fn.id,
        dropped: engine.dropped(state),
        ...(count === undefined ? {} : { count }),
      },
      untyped ? { holds: 'tree', library, element: { holds: 'array', library } } : plain,
    );
  };
  const value = settled(
    call?.result,
    site.type.promise && !(typeof call?.result === 'object' && 'settles' in call.result) ? site.type : site.type,
  );
  if (call?.note === 'throws')
    return state.allocate(
      `${id}promise`,
      { shape: 'promise', fields: new Map([['rejected', hostValue('rejected;')]]), pool: [], open: false, many: false, type: site.type },
      engine.dropped(state),
    );
  ownsWhat(state, modelOf(engine, library), call, value, args);
  if (call?.note === 'kept') leaves(state, value, (leaf, node, life) => state.put(leaf, { ...node, life: { ...life, scope: 0 } }));
  void name;
  void libraryOf;
  return value;
}

/**
 * An operation of no line yields an array of the general kind, though its declaration says it gives back the type it got,
 * and though the text has no type for it; an operation whose line names a type yields that where the text has none.
 */
function general(model: LibraryModel, call: Call | undefined, name: string, type: TypeFact): TypeFact {
  const [kind] = model.arrays;
  if (call?.makes !== undefined && type.holds === 'unknown')
    return { holds: model.owners.includes(call.makes) ? 'owner' : 'array', library: model.id, name: call.makes };
  if (call !== undefined || kind === undefined) return type;
  if (type.holds === 'unknown' && model.chained?.some((method) => name === `${kind}.${method}`) === true)
    return { holds: 'array', library: model.id, name: kind };
  return type.holds === 'array' && type.name !== undefined && model.unscoped?.includes(type.name) === true ? { ...type, name: kind } : type;
}

function recorder(engine: Engine, state: State, id: string, receiver: Value | undefined, args: readonly Value[]): Value {
  const node: Node = { shape: 'recorder', fields: emptyFields, pool: [], open: false, many: false, type: { holds: 'nothing' } };
  const value = state.allocate(id, node, engine.dropped(state));
  for (const source of [receiver, ...args]) if (source !== undefined) record(engine, state, value, source, { file: '', start: 0, end: 0 });
  return value;
}

function lengthOf(state: State, value: Value | undefined): number | undefined {
  if (value?.kind === 'literal') return typeof value.value === 'number' ? value.value : undefined;
  const node = state.node(value);
  return node?.shape === 'list' && !node.open && node.pool.length === 0 ? node.fields.size : undefined;
}

/** `jit(…)` in a loop, or in a function that runs in one, whose result isn't kept. */
function jitPlace(engine: Engine, state: State, library: string, name: string, site: CallSite, place: Place): void {
  if (site.event === undefined || state.tracing > 0) return;
  const loop = place.inLoop;
  let repeated = false;
  for (let frame: typeof state.frame | undefined = state.frame; frame !== undefined; frame = frame.parent) repeated ||= frame.repeated;
  if (!loop && !repeated) return;
  if (isKept(place, site.event.to, loop)) return;
  engine.collector.see(
    { kind: 'jitAnew', span: site.span, function: state.frame.fn.id, library, where: loop ? 'loop' : 'call', name },
    state.frame.context,
  );
}

/** Does the function store, return or hand on this local, so that it may be used again later? */
function isKept(place: Place, local: number, loop: boolean): boolean {
  const aliases = new Set([local]);
  for (let grown = true; grown;) {
    grown = false;
    for (const block of place.fn.blocks) {
      for (const event of block.events) {
        if (event.kind === 'copy' && aliases.has(event.from) && !aliases.has(event.to)) {
          aliases.add(event.to);
          grown = true;
        }
      }
    }
  }
  for (const alias of aliases) if (place.fn.locals[alias]?.captured && !loop) return true;
  for (const block of place.fn.blocks) {
    for (const event of block.events) {
      if ((event.kind === 'setProperty' || event.kind === 'setOuter') && aliases.has(event.from)) return true;
      if (event.kind === 'call' && event.arguments.some((argument) => aliases.has(argument.local))) return true;
      if (event.kind === 'object' && event.entries.some((entry) => aliases.has(entry.kind === 'spread' ? entry.from : entry.value)))
        return true;
      if (event.kind === 'array' && event.elements.some((element) => element !== undefined && aliases.has(element.local))) return true;
    }
    if (block.end.kind === 'return' && block.end.value !== undefined && aliases.has(block.end.value)) return true;
  }
  return false;
}

export { bottom };
