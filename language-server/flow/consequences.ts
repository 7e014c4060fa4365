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

const places = new WeakMap<Span, { readonly start: number; readonly end: number; readonly name: string }>();
/** The name of a place: asked for at every step, so made once, and again when an edit has moved the place. */
export function at(span: Span): string {
  const known = places.get(span);
  if (known?.start === span.start && known.end === span.end) return known.name;
  const name = `${span.file}:${span.start}:${span.end}`;
  places.set(span, { start: span.start, end: span.end, name });
  return name;
}

/** Where an array was made, and which of those that were made there it is. */
const madeAs = ({ made, id }: Named): string => `${made === undefined ? '' : at(made)} ${id ?? ''}`;
const madeAt = ({ array: { made } }: Lost): string => (made === undefined ? '' : at(made));
const nameOf = ({ array }: Extract<Seen, { kind: 'deadUse' }>): string =>
  `${array.made === undefined ? '' : at(array.made)} ${array.name ?? ''}`;

/**
 * Tells what follows from another of `all`; `growing` are the places where a collection that only grows gains arrays,
 * `supposed` what was seen only in an order of calls that the project doesn't have.
 */
export function consequences(all: readonly Seen[], growing: ReadonlySet<string>, supposed: ReadonlySet<Seen>): (seen: Seen) => boolean {
  const found = new Set<string>();
  const again = new Set<string>();
  const returned = new Map<string, string>();
  const misused = new Set<string>();
  const usedUp = new Set<string>();
  const forgotten = new Set<string>();
  for (const seen of all) {
    if (seen.kind === 'lost' && (seen.how === 'end' || seen.how === 'dropped')) forgotten.add(madeAt(seen));
    if (seen.kind !== 'deadUse') continue;
    if (seen.array.made !== undefined) misused.add(madeAs(seen.array));
    // A closure uses up what a function was given: the function has lost nothing by itself.
    if (seen.array.id?.startsWith('param ') === true) misused.add(seen.array.id);
    if (seen.array.name !== undefined) misused.add(`${seen.function} ${seen.array.name}`);
    if (seen.use === 'return') returned.set(at(seen.diedAt), seen.function);
    if (seen.death !== 'consumed') continue;
    if (seen.use !== 'dispose') usedUp.add(nameOf(seen));
    if (!supposed.has(seen)) found.add(at(seen.diedAt));
    else if (at(seen.diedAt) === at(seen.span) || seen.inLoop) again.add(at(seen.diedAt));
  }
  return (seen) => {
    // What was consumed once too often is one mistake; that its owner disposes it in the end is none.
    if (seen.kind === 'deadUse') {
      // What a function hands out dead, its callers can't but use so.
      const giver = returned.get(at(seen.diedAt));
      if (giver !== undefined && giver !== seen.function) return true;
      if (seen.death !== 'consumed') return false;
      if (seen.use === 'dispose' && usedUp.has(nameOf(seen))) return true;
      // Used up by one method, a field is missing in all others: said where the project comes by it, else where it is used up once more.
      return supposed.has(seen) && (found.has(at(seen.diedAt)) || (again.has(at(seen.diedAt)) && !seen.inLoop));
    }
    if (seen.kind !== 'lost') return false;
    // A collection that only grows is one mistake; that something may be replaced in it is no second one.
    if (growing.has(at(seen.span))) return true;
    // Lost where it was made, on some path: that another path loses it in a variable is the same mistake.
    if (seen.how === 'overwritten' && seen.variable === true && forgotten.has(madeAt(seen))) return true;
    // What is used after its death is one mistake: that it also isn't freed on some path is no second one.
    return (
      (seen.array.made !== undefined && misused.has(madeAs(seen.array))) ||
      (seen.how === 'argument' && (misused.has(`${seen.function} ${seen.array.name ?? ''}`) || misused.has(seen.array.id ?? '')))
    );
  };
}
