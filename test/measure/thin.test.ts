/**
 * What is left of a long run: the same highest moment, held by the same arrays, and the same at the end, whatever the stream.
 *
 * Depends on: measure, events.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { createThinner } from '../../language-server/measure/thin.ts';
import type { Event, ProgramProfile } from '../../runtime/events/event.ts';
import { createLedger } from '../../runtime/events/ledger.ts';
import { peak } from '../../runtime/events/peak.ts';
import type { Peak } from '../../runtime/events/peak.ts';

const profile: ProgramProfile = {
  argumentBytes: 1,
  outputBytes: 0,
  aliasBytes: 0,
  tempBytes: 6,
  peakBytes: 7,
  lowerBoundBytes: 7,
  orderLowerBoundBytes: null,
  gap: { packing: 0, outputs: 0, copies: 0 },
  copies: [],
  donated: [],
  whatIf: [],
  values: [],
  steps: 1,
  argumentPaths: [],
};

/** Births, deaths, hand-overs, reservations and compiled calls; `pick` chooses among what is alive. */
const streams = fc
  .array(
    fc.record({
      what: fc.constantFrom('birth', 'death', 'move', 'reserve', 'unreserve', 'run', 'enter' as const),
      bytes: fc.integer({ min: 1, max: 9 }),
      pick: fc.nat(),
    }),
    {
      maxLength: 120,
    },
  )
  .map((steps) => {
    const events: Event[] = [
      { kind: 'place', id: 1, frames: [{ file: 'a.ts', line: 1, column: 1 }] },
      { kind: 'program', at: 0, program: 9, name: 'f', place: 1, profile },
    ];
    const alive: number[] = [];
    const reserved: number[] = [];
    const taken = (from: number[], pick: number): number | undefined =>
      from.length === 0 ? undefined : from.splice(pick % from.length, 1)[0];
    steps.forEach(({ what, bytes, pick }, i) => {
      const at = i + 1;
      const id = 100 + i;
      if (what === 'birth') {
        alive.push(id);
        events.push({ kind: 'allocate', at, id, bytes, place: 1, layer: 'x', what: 'array' });
      } else if (what === 'reserve') {
        reserved.push(id);
        events.push({ kind: 'reserve', at, id, bytes, layer: 'x' });
      } else if (what === 'run') events.push({ kind: 'run', at, program: 9, place: 1 });
      else if (what === 'enter') events.push({ kind: 'enter', at, name: 'f', place: 1 });
      else {
        const from = taken(what === 'unreserve' ? reserved : alive, pick);
        if (from === undefined) return;
        if (what === 'move') {
          alive.push(id);
          events.push({ kind: 'reuse', at, from, to: id, place: 1 });
        } else events.push(what === 'death' ? { kind: 'free', at, id: from, how: 'dispose' } : { kind: 'unreserve', at, id: from });
      }
    });
    return events;
  });

function highest(events: readonly Event[]): Omit<Peak, 'alive' | 'atEnd'> & { readonly alive: unknown } {
  const ledger = createLedger();
  const fold = peak();
  for (const event of events) {
    const change = ledger.take(event);
    if (change !== undefined) fold.take(change);
  }
  const { alive, atEnd, ...rest } = fold.result();
  return {
    ...rest,
    alive: [alive, atEnd].map((list) => list.map((one) => ('kind' in one && one.kind === 'allocation' ? one.allocation.id : 0))),
  };
}

const thinned = (events: readonly Event[], window: number): readonly Event[] => {
  const thinner = createThinner(window);
  return [...events.flatMap((event) => thinner.take(event)), ...thinner.end()];
};

describe('a stream that is thinned out', () => {
  it('has the same peaks, holders and end, also when it is thinned twice', () => {
    fc.assert(
      fc.property(streams, fc.integer({ min: 1, max: 40 }), (events, window) => {
        const once = thinned(events, window);
        assert.deepEqual(highest(once), highest(events));
        assert.deepEqual(highest(thinned(once, 2 * window)), highest(events));
      }),
      { numRuns: 1000 },
    );
  });

  it('does not grow with the steps of a program that is the same in every step', () => {
    const kept = (steps: number): number => {
      const events: Event[] = [];
      for (let i = 0; i < steps; i += 1) {
        const at = i;
        for (const id of [3 * i, 3 * i + 1, 3 * i + 2])
          events.push({ kind: 'allocate', at, id, bytes: 8, place: 1, layer: 'x', what: 'array' });
        for (const id of [3 * i, 3 * i + 1, 3 * i + 2]) events.push({ kind: 'free', at, id, how: 'dispose' });
      }
      return thinned(events, events.length).length;
    };
    assert.equal(kept(10_000), kept(100));
    assert.ok(kept(100) <= 6);
  });
});
