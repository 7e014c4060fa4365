/**
 * One mistake, one report: what follows from another observation is none of its own.
 *
 * Depends on: facts, lower/ir.
 */
import type { Span } from '../lower/ir.ts';
import type { Named, Observation } from './facts.ts';

type Plain<T> = T extends unknown ? Omit<T, 'certain'> : never;
export type Seen = Plain<Observation>;
type Lost = Extract<Seen, { kind: 'lost' }>;

const places = new WeakMap<Span, string>();
/** The name of a place: asked for at every step, so made once. */
export function at(span: Span): string {
  const known = places.get(span) ?? `${span.file}:${span.start}:${span.end}`;
  places.set(span, known);
  return known;
}

/** Where an array was made, and which of those that were made there it is. */
const madeAs = ({ made, id }: Named): string => `${made === undefined ? '' : at(made)} ${id ?? ''}`;
const madeAt = ({ array: { made } }: Lost): string => (made === undefined ? '' : at(made));
const nameOf = ({ array }: Extract<Seen, { kind: 'deadUse' }>): string =>
  `${array.made === undefined ? '' : at(array.made)} ${array.name ?? ''}`;

/** Tells what follows from another of `all`; `growing` are the places where a collection that only grows gains arrays. */
export function consequences(all: readonly Seen[], growing: ReadonlySet<string>): (seen: Seen) => boolean {
  const misused = new Set<string>();
  const usedUp = new Set<string>();
  const forgotten = new Set<string>();
  for (const seen of all) {
    if (seen.kind === 'lost' && (seen.how === 'end' || seen.how === 'dropped')) forgotten.add(madeAt(seen));
    if (seen.kind !== 'deadUse') continue;
    if (seen.array.made !== undefined) misused.add(madeAs(seen.array));
    if (seen.array.name !== undefined) misused.add(`${seen.function} ${seen.array.name}`);
    if (seen.death === 'consumed' && seen.use !== 'dispose') usedUp.add(nameOf(seen));
  }
  return (seen) => {
    // What was consumed once too often is one mistake; that its owner disposes it in the end is none.
    if (seen.kind === 'deadUse') return seen.use === 'dispose' && seen.death === 'consumed' && usedUp.has(nameOf(seen));
    if (seen.kind !== 'lost') return false;
    // A collection that only grows is one mistake; that something may be replaced in it is no second one.
    if (growing.has(at(seen.span))) return true;
    // Lost where it was made, on some path: that another path loses it in a variable is the same mistake.
    if (seen.how === 'overwritten' && seen.variable === true && forgotten.has(madeAt(seen))) return true;
    // What is used after its death is one mistake: that it also isn't freed on some path is no second one.
    return (
      (seen.array.made !== undefined && misused.has(madeAs(seen.array))) ||
      (seen.how === 'argument' && misused.has(`${seen.function} ${seen.array.name ?? ''}`))
    );
  };
}
