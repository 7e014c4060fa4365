/**
 * `tidy` and `scope`: what the callback made and doesn't return is freed when it ends.
 *
 * Depends on: engine, arrays, state, values.
 */
import type { LibraryModel } from '../libraries/model.ts';
import type { Span } from '../lower/ir.ts';
import { leaves } from './arrays.ts';
import { unknownCall } from './calls.ts';
import { wrapPromise } from './callbacks.ts';
import { returned, type CallSite, type Engine, type Exit } from './engine.ts';
import { siteOf, type Place } from './events.ts';
import type { State } from './state.ts';
import { hostValue, undefinedValue, type ObjectId, type Value } from './values.ts';

export function scopeCall(
  engine: Engine,
  state: State,
  target: Value | undefined,
  model: LibraryModel,
  async_: boolean,
  site: CallSite,
  place: Place,
): readonly Exit[] {
  const run = target?.kind === 'literal' ? undefined : target;
  const callee = run ?? undefined;
  if (callee === undefined || (callee.kind !== 'closure' && callee.kind !== 'external' && callee.kind !== 'compiled'))
    return unknownCall(engine, state, undefined, target === undefined ? [] : [target], site);
  if (state.tracing > 0) return engine.callValue(state, callee, undefined, [], site);
  const fn = callee.kind === 'closure' ? engine.project.function(callee.function) : undefined;
  state.scopes.push({ span: site.span, library: model.id });
  const depth = state.scopes.length;
  const exits = engine.callValue(state, callee, undefined, [], { ...site, tag: ' scope' });
  return exits.map((exit): Exit => {
    const next = exit.state;
    const scope = next.scopes[depth - 1];
    next.scopes.length = depth - 1;
    if (exit.kind === 'throw') {
      end(engine, next, depth, undefinedValue, site.span, model, scope?.frees === true);
      return exit;
    }
    const promise = next.node(exit.value)?.shape === 'promise' || (exit.value.kind === 'host' && exit.value.type?.promise === true);
    const how = async_
      ? undefined
      : fn?.async
        ? ('async' as const)
        : promise
          ? ('returns' as const)
          : scope?.started !== undefined
            ? ('starts' as const)
            : undefined;
    if (how !== undefined) {
      engine.collector.see(
        { kind: 'asyncScope', span: site.span, function: next.frame.fn.id, library: model.id, how, scope: model.scopeName ?? 'scope' },
        next.frame.context,
      );
      release(next, depth);
      return {
        state: next,
        kind: 'return',
        value: wrapPromise(engine, next, hostValue(`${siteOf(next, site)}settled;`, { holds: 'unknown' }), site),
      };
    }
    if (async_ && promise && unused(place, site))
      engine.collector.see(
        {
          kind: 'asyncScope',
          span: site.span,
          function: next.frame.fn.id,
          library: model.id,
          how: 'notAwaited',
          scope: model.scopeName ?? 'scope',
        },
        next.frame.context,
      );
    engine.collector.pass(site.span, next.frame.context);
    end(engine, next, depth, exit.value, site.span, model, scope?.frees === true);
    return exit;
  });
}

/** `engine().startScope()`: a scope that a later call ends, perhaps in another function. */
export function openScope(state: State, library: string, site: CallSite): void {
  if (state.tracing === 0) state.scopes.push({ span: site.span, library, opened: true });
}

/** `engine().endScope(result)`: frees what was made since, but the result. One that began out of sight may have freed anything. */
export function closeScope(engine: Engine, state: State, result: Value | undefined, model: LibraryModel, site: CallSite): void {
  if (state.tracing > 0) return;
  const depth = state.scopes.length;
  const scope = state.scopes[depth - 1];
  if (scope?.opened !== true) return release(state, 0);
  state.scopes.length = depth - 1;
  end(engine, state, depth, result ?? undefinedValue, site.span, model, scope.frees === true);
}

/** Functions that end leave the scopes that they began with calls of their own; those of `tidy` end with it. */
export function leaveScopes(state: State, depth: number): void {
  while (state.scopes.length > depth && state.scopes.at(-1)?.opened !== true) state.scopes.pop();
}

/** A scope of a value that the text has no type for (`this.tf.tidy(…)`): it may well free what its callback makes. */
export function looseScope(engine: Engine, state: State, target: Value, site: CallSite): readonly Exit[] {
  state.scopes.push({ span: site.span, library: '' });
  engine.collector.frees(site.span, 'what it is is not known');
  const depth = state.scopes.length;
  return engine.callValue(state, target, undefined, [], { ...site, tag: ' scope' }).map((exit) => {
    exit.state.scopes.length = depth - 1;
    release(exit.state, depth);
    return exit;
  });
}

/** Does a model call a scope what the text calls this (`tidy` in `this.tf.tidy`)? */
export function isScopeName(engine: Engine, text: string): boolean {
  const name = text.slice(text.lastIndexOf('.') + 1);
  return text !== name && [...engine.models.values()].some((model) => model.calls[name]?.role?.kind === 'scope');
}

/** The end of a scope that the library keeps around a function it calls. */
export function leaveUnseen(state: State, depth: number): void {
  state.scopes.length = depth - 1;
  release(state, depth);
}

/** Nothing more is said of what was made in a scope. */
function release(state: State, depth: number): void {
  for (const [id, { life, ...node }] of state.heap)
    if (life !== undefined && life.scope >= depth)
      state.put(id, { ...node, life: { ...life, escaped: true, scope: Math.max(0, depth - 1) } });
}

function unused(place: Place, site: CallSite): boolean {
  const to = site.event?.to;
  if (to === undefined) return false;
  const fn = place.fn;
  return !fn.blocks.some(
    (block) =>
      block.events.some((event) => readsLocal(event, to)) ||
      (block.end.kind === 'return' && block.end.value === to) ||
      (block.end.kind === 'branch' && block.end.condition === to),
  );
}

function readsLocal(event: import('../lower/ir.ts').Event, local: number): boolean {
  if (event.kind === 'call')
    return event.receiver === local || event.function === local || event.arguments.some((argument) => argument.local === local);
  if (event.kind === 'await') return event.value === local;
  if (event.kind === 'copy') return event.from === local;
  if (event.kind === 'setProperty' || event.kind === 'setOuter') return event.from === local;
  if (event.kind === 'array') return event.elements.some((element) => element?.local === local);
  if (event.kind === 'object') return event.entries.some((entry) => (entry.kind === 'spread' ? entry.from : entry.value) === local);
  if (event.kind === 'property') return event.object === local;
  return event.kind === 'unary' && event.operator !== 'void' && event.value === local;
}

/** Frees what was made in the scope and isn't in its result; the result moves to the scope outside. */
function end(engine: Engine, state: State, depth: number, result: Value, span: Span, model: LibraryModel, frees: boolean): void {
  const kept = new Set<ObjectId>();
  const visit = (value: Value, levels: number): void => {
    const node = state.node(value);
    if (node === undefined || value.kind !== 'object' || kept.has(value.id) || levels === 0) return;
    if (node.shape === 'map' && model.id !== 'tidemark') return;
    kept.add(value.id);
    if (node.life?.part !== undefined) kept.add(node.life.part);
    if (node.shape === 'environment') return;
    node.fields.forEach((member) => visit(member, levels - 1));
    node.pool.forEach((member) => visit(member, levels - 1));
  };
  visit(result, 8);
  let freed = frees;
  for (const [id, node] of state.heap) {
    const life = node.life;
    if (life === undefined || life.scope < depth) continue;
    if (kept.has(id)) {
      const { name: _, declaration: __, ...rest } = life;
      state.put(id, { ...node, life: depth === 1 ? { ...rest, scope: 0, made: span } : { ...life, scope: depth - 1 } });
    } else if (!life.dead) {
      freed ||= !life.escaped;
      state.put(id, { ...node, life: { ...life, dead: true, death: 'scope', diedAt: span } });
    }
  }
  engine.collector.frees(span, !freed ? 'nothing that is known is left in it' : depth > 1 ? 'a scope frees it' : undefined);
}

/** A promise that needs arrays of the scope is started in it. */
export function startsPromise(engine: Engine, state: State, args: readonly Value[], site: CallSite): void {
  for (const value of args)
    leaves(state, value, (_, __, life) => {
      if (life.scope > 0 && !life.owner) {
        const scope = state.scopes[life.scope - 1];
        if (scope !== undefined) state.scopes[life.scope - 1] = { ...scope, started: site.span };
      }
    });
  void engine;
}

export { returned };
