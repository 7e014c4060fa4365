/**
 * A layout whose arena lies in several pieces, for when memory is free but no hole takes it whole.
 *
 * What lies in donated buffers stays there. The rest is planned anew over the holes, and the pieces that are used stand one
 * after the other in the arena's offsets: no value crosses from one into the next, and each is found a place of its own.
 *
 *     holes    |   a   | b |              arena    | in a    | in b |
 *
 * Depends on: plan, layout.
 */
import { roundUp } from '../plan/problem.ts';
import { splitArena } from '../plan/split.ts';
import type { Placement } from '../plan/regions.ts';
import type { Choice, Layout } from './layout.ts';
import { alignment } from './storage.ts';

export interface Pieces {
  readonly choice: Choice;
  /** Bytes of each piece, in the order of their offsets. */
  readonly bytes: readonly number[];
}

/** Where everything lies if the arena has these holes; undefined when something finds no place. */
export function inPieces({ placed, choice }: Layout, holes: readonly number[]): Pieces | undefined {
  const loose = placed.filter(({ at }) => at.region === 0).map(({ bytes, born, dies }) => ({ bytes, born, dies }));
  const found = splitArena(
    loose,
    holes.map((bytes, id) => ({ id, bytes })),
    { alignment },
  );
  if (found === undefined) return undefined;
  const starts = new Map<Placement['region'], number>();
  let end = 0;
  for (const { id, bytes } of found.pieces) {
    starts.set(id, end);
    end += roundUp(bytes, alignment);
  }
  let next = 0;
  const list = choice.places.list.map((placement): Placement => {
    if (placement.region !== 0) return placement;
    const { region, offset } = found.placements.get(loose[next++]!)!;
    return { region: 0, offset: (starts.get(region) ?? 0) + offset };
  });
  return { choice: { ...choice, places: { ...choice.places, list } }, bytes: found.pieces.map(({ bytes }) => roundUp(bytes, alignment)) };
}
