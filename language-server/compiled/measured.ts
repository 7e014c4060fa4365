/**
 * The figures of a program that ran, with the lines that its place numbers stand for: what the texts of a plan are made of.
 *
 * Depends on: events, explain.
 */
import type { Frame, ProgramProfile } from '../../runtime/events/event.ts';
import type { Figures } from './explain.ts';

export function measuredFigures(profile: ProgramProfile, places: ReadonlyMap<number, readonly Frame[]>): Figures {
  const numbers = new Map<number, number>();
  const listed: Figures['places'][number][] = [];
  const numberOf = (place: number): number => {
    const known = numbers.get(place);
    if (known !== undefined) return known;
    listed.push(places.get(place)?.find(({ library }) => library === undefined));
    numbers.set(place, listed.length - 1);
    return listed.length - 1;
  };
  return {
    ...profile,
    values: profile.values.map((value) => ({ ...value, place: numberOf(value.place) })),
    copies: profile.copies.map((copy) => ({ ...copy, place: numberOf(copy.place) })),
    places: listed,
  };
}
