/**
 * Tells of the calls of compiled programs: once what a program is and needs, then every call by its number.
 *
 * Depends on: core, compile, memory-events.
 */
import type { Place } from '../core/source.ts';
import type { Executable } from '../compile/executable.ts';
import { nextId, type EventWriter } from './memory-events.ts';

/**
 * Names a program and its figures once. Where its values have no lines of their own (an op called eagerly), they belong
 * to the line of the call, and a call without temporaries has nothing to tell. A better plan of a program is no new trace.
 */
export function makeRunWriter(events: EventWriter): (executable: Executable, place: Place | undefined) => void {
  const known = new WeakMap<Executable, Map<Place | undefined, number>>();
  const idsOf = (executable: Executable): Map<Place | undefined, number> => {
    const ids = known.get(executable) ?? new Map<Place | undefined, number>();
    known.set(executable, ids);
    return ids;
  };
  return (executable, place) => {
    if (!events.listening()) return;
    const { places, donated, whatIf, recomputed: _recomputed, ...figures } = executable.analysis;
    const eager = places.length === 1;
    if (eager && figures.tempBytes === 0) return;
    const ids = idsOf(executable);
    const from = eager ? place : undefined;
    let id = ids.get(from);
    if (id === undefined) {
      id = nextId();
      ids.set(from, id);
      const former = executable.improves === undefined ? undefined : idsOf(executable.improves).get(from);
      // The first plan that is told of stands for the one that it improves: a call may never have run by that.
      if (executable.improves !== undefined && former === undefined) idsOf(executable.improves).set(from, id);
      const numberOf = (at: number): number => events.placeId(eager ? place : places[at]);
      events.write({
        kind: 'program',
        program: id,
        name: executable.name,
        place,
        ...(former === undefined ? {} : { improves: former }),
        profile: {
          ...figures,
          whatIf: [...whatIf],
          donated: donated.map(({ path, bytes, outcome, reason }) => ({ path, bytes, outcome, reason })),
          copies: figures.copies.map((copy) => ({ ...copy, place: numberOf(copy.place) })),
          values: figures.values.map((value) => ({ ...value, place: numberOf(value.place) })),
        },
      });
    }
    events.write({ kind: 'run', program: id, place });
  };
}
