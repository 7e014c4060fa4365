/**
 * A call whose text has nothing to do with arrays may take half of the steps that its caller has left: one that is too
 * long to follow leaves the rest of the path to go on without it, as after a call of unknown code.
 *
 * Any other call may take all, and ends the path when that isn't enough.
 * Depends on: arrays, engine, state, values.
 */
import type { LoweredFunction } from '../lower/ir.ts';
import { escape } from './arrays.ts';
import { returned, type CallSite, type Exit } from './engine.ts';
import { changedBeside } from './frames.ts';
import type { State } from './state.ts';
import type { Value } from './values.ts';
import type { Walker } from './walk.ts';

const least = 400;

export function withinBudget(
  walker: Walker,
  state: State,
  fn: LoweredFunction,
  given: readonly Value[],
  site: CallSite,
  run: () => readonly Exit[],
): readonly Exit[] {
  const known = walker.beside(fn);
  const spare = known?.large === true && fn.kind !== 'constructor' && fn.kind !== 'fields' ? state.fork() : undefined;
  const above = state.frame.parent === undefined ? walker.limits.stepsPerRun : walker.cap;
  const before = walker.cap;
  walker.cap = spare === undefined ? above : Math.min(above, walker.steps + Math.max(least, (above - walker.steps) / 2));
  const exits = run();
  const cut = walker.steps > walker.cap;
  walker.cap = before;
  if (!cut || spare === undefined || known === undefined || exits.some(({ kind }) => kind === 'return')) return exits;
  for (const value of given) escape(walker, spare, value, site.span, 'passed to a call too long to follow');
  const value = changedBeside(walker, spare, known, given, site);
  return value === undefined ? exits : [...exits, ...returned(spare, value)];
}
