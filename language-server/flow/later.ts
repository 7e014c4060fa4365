/**
 * Callbacks that run when the function that left them has gone on: timers, listeners, what a promise calls.
 *
 * Each runs once with unknown arguments; a listener that changes what outlives it runs again on what it left behind.
 * Depends on: losses, engine, state, values, walk.
 */
import type { LoweredFunction } from '../lower/ir.ts';
import { setLife } from './arrays.ts';
import { reportLost } from './losses.ts';
import { leaveUnseen } from './scopes.ts';
import type { State } from './state.ts';
import type { Later, Node, ObjectId, Value } from './values.ts';
import type { Walker } from './walk.ts';

const rounds = 6;

export function runLater(walker: Walker, state: State): readonly State[] {
  let states: State[] = [state];
  for (let round = 0; round < rounds; round++) {
    const next: State[] = [];
    let any = false;
    for (const at of states) {
      const entry = at.later.shift();
      const fn = entry?.value.kind === 'closure' ? walker.project.function(entry.value.function) : undefined;
      if (entry === undefined || at.laterDone.has(entry.key)) {
        next.push(at);
        continue;
      }
      any = true;
      at.laterDone.add(entry.key);
      if (fn === undefined) {
        next.push(at);
        continue;
      }
      const before = new Map(at.heap);
      const once = run(walker, at, entry, fn, '', before);
      next.push(...once.map(({ state }) => state));
      if (entry.how === 'often')
        for (const { state, cleaned } of once.slice(0, 2))
          if (changesWhatStays(fn) || leftMore(before, state))
            for (const after of cleaned.slice(0, 2)) run(walker, after, entry, fn, ' again', before);
    }
    states = next.slice(0, 6);
    if (!any) break;
  }
  return states;
}

const changesWhatStays = (fn: LoweredFunction): boolean =>
  fn.blocks.some(({ events }) =>
    events.some((event) => event.kind === 'setOuter' || (event.kind === 'setProperty' && event.declares !== true)),
  );

/** Did something that was there before, and is no variable of a function that has ended, change: gain or lose members, be set anew? */
function leftMore(before: ReadonlyMap<ObjectId, Node>, { heap, base }: State): boolean {
  for (const [id, node] of heap) {
    // Variables of a function go with it, those of a module stay.
    if ((node.shape === 'environment' && !base.has(id)) || node.shape === 'array') continue;
    const was = before.get(id) ?? base.get(id);
    if (was !== undefined && was !== node && (was.fields !== node.fields || was.pool !== node.pool)) return true;
  }
  return false;
}

interface Ran {
  readonly state: State;
  /** As it is once the cleanup that it returned, if any, has run: what it frees, it frees before the next round. */
  readonly cleaned: readonly State[];
}

function run(
  walker: Walker,
  state: State,
  entry: Later,
  fn: LoweredFunction,
  again: string,
  before: ReadonlyMap<ObjectId, Node>,
): readonly Ran[] {
  if (entry.value.kind !== 'closure') return [{ state, cleaned: [] }];
  const args = fn.parameters.map((p, i): Value =>
    walker.unknown(
      state,
      { ...(fn.locals[p.local]?.type ?? { holds: 'unknown' }), nullable: false },
      `later ${fn.id} ${i}${again}`,
      'caller',
      undefined,
      p.name,
    ),
  );
  const depth = state.scopes.length + 1;
  if (entry.how === 'scoped') state.scopes.push({ span: fn.span, library: '' });
  const exits = walker.callFunction(state, fn, entry.value.environment, entry.value.self, args, {
    span: fn.span,
    nameSpan: fn.span,
    repeated: true,
    type: { holds: 'nothing' },
    tag: ` later${again}`,
  });
  const returns = exits.filter((exit) => exit.kind === 'return');
  // Of many ways, those that change something are worth going on with.
  const telling = entry.how === 'often' && returns.length > 2 ? returns.filter((exit) => leftMore(before, exit.state)) : [];
  return [...new Set([...telling, ...returns])].slice(0, 3).map((exit): Ran => {
    if (entry.how === 'scoped') leaveUnseen(exit.state, depth);
    const cleaned = cleanup(walker, exit.state, exit.value, again);
    // Whoever called it may keep what it returned: a cleanup, a promise.
    const without = exit.state.reachable();
    for (const id of exit.state.reachable([exit.value])) {
      const held = exit.state.heap.get(id);
      if (held?.life !== undefined && !without.has(id)) exit.state.put(id, { ...held, life: { ...held.life, escaped: true } });
    }
    exit.state.collect(walker.dropped(exit.state));
    reportLost(walker, exit.state);
    return { state: exit.state, cleaned };
  });
}

/** A callback may return the function that undoes it (an effect, a subscription): what that frees, somebody frees some time. */
function cleanup(walker: Walker, state: State, value: Value, again: string): readonly State[] {
  const fn = value.kind === 'closure' ? walker.project.function(value.function) : undefined;
  if (value.kind !== 'closure' || fn === undefined || fn.parameters.length > 0) return [state.fork()];
  const site = { span: fn.span, nameSpan: fn.span, repeated: false, type: { holds: 'nothing' as const }, tag: ` cleanup${again}` };
  const after = walker.callFunction(state.fork(), fn, value.environment, value.self, [], site).filter(({ kind }) => kind === 'return');
  for (const [id, { life }] of state.heap)
    if (life?.dead === false && after.some((exit) => exit.state.get(id)?.life?.dead !== false))
      setLife(state, id, { escaped: true, shared: 'a cleanup frees it' });
  return after.map((exit) => exit.state);
}
