/**
 * Values that calls may rename while they are still needed.
 *
 * A place that runs again gives its earlier objects new names (generations), also those that a part of the walk has in its
 * hands. Hidden locals of the frame follow the names, in every path that goes on from here.
 * Depends on: engine, state, values.
 */
import type { CallSite } from './engine.ts';
import type { State } from './state.ts';
import { undefinedValue, type Value } from './values.ts';

export interface Pinned {
  /** What has become of the value on a path. */
  at(state: State, index: number): Value;
  release(state: State): void;
}

const most = 64;

/** `depth` keeps those of one call apart. */
export function pinned(state: State, site: CallSite, depth: number, values: readonly Value[]): Pinned {
  const base = -10_000_000 - (site.span.start * 16 + depth) * most;
  const slotOf = (index: number): number => base - (index % most);
  values.forEach((value, i) => state.frame.locals.set(slotOf(i), value));
  return {
    at: (on, index) => on.frame.locals.get(slotOf(index)) ?? values[index] ?? undefinedValue,
    release: (on) => values.forEach((_, i) => on.frame.locals.delete(slotOf(i))),
  };
}
