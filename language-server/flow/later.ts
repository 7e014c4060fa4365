/**
 * Callbacks that run when the function that left them has gone on: timers, listeners, what a promise calls.
 *
 * Each runs once with unknown arguments; a listener that changes what outlives it runs again on what it left behind.
 * Depends on: losses, engine, state, values, walk.
 */
import type { LoweredFunction } from '../lower/ir.ts';
import { reportLost } from './losses.ts';
import { leaveUnseen } from './scopes.ts';
import type { State } from './state.ts';
import type { Later, Value } from './values.ts';
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
      const once = run(walker, at, entry, fn, '');
      next.push(...once);
      if (entry.how === 'often' && changesWhatStays(fn))
        for (const after of once.slice(0, 2)) run(walker, after.fork(), entry, fn, ' again');
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

function run(walker: Walker, state: State, entry: Later, fn: LoweredFunction, again: string): readonly State[] {
  if (entry.value.kind !== 'closure') return [state];
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
  return exits
    .filter((exit) => exit.kind === 'return')
    .slice(0, 3)
    .map((exit) => {
      if (entry.how === 'scoped') leaveUnseen(exit.state, depth);
      // Whoever called it may keep what it returned: a cleanup, a promise.
      const without = exit.state.reachable();
      for (const id of exit.state.reachable([exit.value])) {
        const held = exit.state.heap.get(id);
        if (held?.life !== undefined && !without.has(id)) exit.state.put(id, { ...held, life: { ...held.life, escaped: true } });
      }
      exit.state.collect(walker.dropped(exit.state));
      reportLost(walker, exit.state);
      return exit.state;
    });
}
