/**
 * Places of the walk's events, and the calls that led to them.
 *
 * Every call on the stack makes a place of its own object, so that an equation's place also says through which calls of
 * the program it was made. Depends on: core (source), lower/ir.
 */
import type { Place } from '../../runtime/core/source.ts';
import type { Project, Span } from '../lower/ir.ts';
import type { CallSite } from './walk.ts';

const chains = new WeakMap<Place, readonly CallSite[]>();

export function placeOf(project: Project, span: Span, stack: readonly CallSite[]): Place {
  const place = lineOf(project, span, stack.at(-1)?.function.name);
  chains.set(place, [...stack]);
  return place;
}

/** The calls through which the equation at this place was made, outermost first. */
export const chainOf = (place: Place | undefined): readonly CallSite[] => (place === undefined ? [] : (chains.get(place) ?? []));

function lineOf(project: Project, span: Span, name: string | undefined): Place {
  const lines = project.units.get(span.file)?.lines ?? [0];
  let low = 0;
  let high = lines.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (lines[middle]! <= span.start) low = middle;
    else high = middle - 1;
  }
  return {
    file: span.file,
    line: low + 1,
    column: span.start - lines[low]! + 1,
    ...(name === undefined || name === '' ? {} : { function: name }),
  };
}
