/**
 * The folds over the stream of events: against a model that keeps everything, and by hand where the answer is known.
 *
 * Depends on: events.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { byFunction } from '../../runtime/events/by-function.ts';
import { bySite, bytesOf, linesAtPeak } from '../../runtime/events/by-site.ts';
import type { Event, Frame, ProgramProfile } from '../../runtime/events/event.ts';
import { leaks } from '../../runtime/events/leaks.ts';
import { createLedger } from '../../runtime/events/ledger.ts';
import type { Fold } from '../../runtime/events/ledger.ts';
import { readEvent, writeEvent } from '../../runtime/events/ndjson.ts';
import { peak } from '../../runtime/events/peak.ts';
import { timeline } from '../../runtime/events/timeline.ts';

type Places = ReadonlyMap<number, readonly Frame[]>;

function folded<Result>(events: readonly Event[], make: (places: Places) => Fold<Result>): Result {
  const ledger = createLedger();
  const fold = make(ledger.places);
  for (const event of events) {
    const change = ledger.take(event);
    if (change !== undefined) fold.take(change);
  }
  return fold.result();
}

const place = (id: number, line: number, name?: string, functionLine?: number): Event => ({
  kind: 'place',
  id,
  frames: [
    {
      file: 'a.ts',
      line,
      column: 1,
      ...(name === undefined ? {} : { function: name }),
      ...(functionLine === undefined ? {} : { functionLine }),
    },
  ],
});
const allocate = (id: number, bytes: number, at: number, of = 1): Event => ({
  kind: 'allocate',
  at,
  id,
  bytes,
  place: of,
  layer: 'x',
  what: 'array',
});
const free = (id: number, at: number, how: 'dispose' | 'collected' = 'dispose'): Event => ({ kind: 'free', at, id, how });

/** A stream of births and deaths over three lines; a number names the id that dies. */
const streams = fc
  .array(fc.record({ line: fc.integer({ min: 1, max: 3 }), bytes: fc.integer({ min: 1, max: 9 }), dies: fc.option(fc.nat(30)) }), {
    maxLength: 60,
  })
  .map((steps) => {
    const events: Event[] = [1, 2, 3].map((line) => place(line, line));
    steps.forEach(({ line, bytes, dies }, i) => {
      events.push(allocate(i, bytes, i, line));
      if (dies !== null) events.push(free(dies, i + 0.5));
    });
    return events;
  });

/** All states of the stream, each as the set of what is alive. */
function states(events: readonly Event[]): Map<number, { bytes: number; place: number }>[] {
  let alive = new Map<number, { bytes: number; place: number }>();
  return events.flatMap((event) => {
    if (event.kind !== 'allocate' && event.kind !== 'free') return [];
    alive = new Map(alive);
    if (event.kind === 'allocate') alive.set(event.id, { bytes: event.bytes, place: event.place });
    else alive.delete(event.id);
    return [alive];
  });
}

const total = (alive: ReadonlyMap<number, { bytes: number }>): number => [...alive.values()].reduce((sum, { bytes }) => sum + bytes, 0);

describe('folds over events', () => {
  it('the peak is the highest state, and who was alive there is who was alive there', () => {
    fc.assert(
      fc.property(streams, (events) => {
        const all = states(events);
        const bytes = Math.max(0, ...all.map(total));
        const first = all.find((alive) => total(alive) === bytes);
        const result = folded(events, peak);
        assert.equal(result.bytes, bytes);
        assert.deepEqual(
          result.alive.flatMap((one) => (one.kind === 'allocation' ? one.allocation.id : [])).toSorted((a, b) => a - b),
          [...(first?.keys() ?? [])].toSorted((a, b) => a - b),
        );
        assert.equal(result.atEndBytes, total(all.at(-1) ?? new Map()));
      }),
      { numRuns: 300 },
    );
  });

  it('lines add up: what each allocated, the most of it alive, and its part of the peak', () => {
    fc.assert(
      fc.property(streams, (events) => {
        const all = states(events);
        const highest = folded(events, peak);
        const ledger = createLedger();
        for (const event of events) ledger.take(event);
        const lines = linesAtPeak(folded(events, bySite), highest.alive, ledger.places);
        assert.equal(
          lines.reduce((sum, { liveBytesAtPeak }) => sum + liveBytesAtPeak, 0),
          highest.bytes,
        );
        for (const line of [1, 2, 3]) {
          const own = events.filter((event) => event.kind === 'allocate' && event.place === line) as Extract<Event, { kind: 'allocate' }>[];
          const found = lines.find((one) => one.line === line);
          assert.equal(found?.allocations ?? 0, own.length);
          assert.equal(
            found?.allocatedBytes ?? 0,
            own.reduce((sum, { bytes }) => sum + bytes, 0),
          );
          const most = Math.max(
            0,
            ...all.map((alive) => [...alive.values()].reduce((sum, one) => sum + (one.place === line ? one.bytes : 0), 0)),
          );
          assert.equal(found?.peakLiveBytes ?? 0, most);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('a buffer that changes hands neither rises nor falls', () => {
    const events: Event[] = [
      place(1, 1),
      place(2, 2),
      allocate(1, 100, 0),
      { kind: 'reuse', at: 1, from: 1, to: 2, place: 2 },
      allocate(3, 50, 2),
      free(2, 3),
    ];
    const result = folded(events, peak);
    assert.deepEqual([result.bytes, result.atEndBytes], [150, 50]);
    assert.deepEqual(
      folded(events, bySite).map(({ line, peakLiveBytes }) => [line, peakLiveBytes]),
      [
        [1, 100],
        [2, 100],
      ],
    );
  });

  it('what is free twice, unknown or defined twice changes nothing', () => {
    const ledger = createLedger();
    const events = [
      allocate(1, 10, 0),
      allocate(1, 10, 1),
      free(7, 2),
      free(1, 3),
      free(1, 4),
      { kind: 'unreserve', at: 5, id: 9 } as const,
    ];
    assert.deepEqual(
      events.map((event) => ledger.take(event)?.kind),
      ['born', undefined, undefined, 'died', undefined, undefined],
    );
    assert.equal(ledger.inUse, 0);
  });

  const profile: ProgramProfile = {
    argumentBytes: 100,
    outputBytes: 100,
    aliasBytes: 0,
    tempBytes: 80,
    peakBytes: 250,
    lowerBoundBytes: 250,
    orderLowerBoundBytes: null,
    gap: { packing: 0, outputs: 0, copies: 0 },
    copies: [],
    donated: [],
    whatIf: [],
    argumentPaths: ['x'],
    steps: 3,
    values: [
      { place: 1, bytes: 100, shape: [25], dtype: 'float32', born: 0, dies: 3, what: 'argument' },
      { place: 2, bytes: 50, shape: [], dtype: 'float32', born: 0, dies: 2, what: 'temp' },
      { place: 2, bytes: 30, shape: [], dtype: 'float32', born: 2, dies: 3, what: 'temp' },
      { place: 3, bytes: 100, shape: [25], dtype: 'float32', born: 1, dies: 3, what: 'output' },
    ],
  };
  const compiled: Event[] = [
    place(1, 1),
    place(2, 2, 'step', 2),
    place(3, 3, 'step', 2),
    place(4, 9, 'train', 8),
    allocate(1, 100, 0),
    { kind: 'program', at: 1, program: 5, name: 'step', place: 2, profile },
    { kind: 'run', at: 2, program: 5, place: 4 },
    allocate(2, 100, 3, 4),
    { kind: 'run', at: 4, program: 5, place: 4 },
  ];

  it('a compiled call counts with its own peak on top of what is in use', () => {
    const result = folded(compiled, peak);
    // The second call: two arrays alive, one of them its argument, and 150 bytes inside.
    assert.equal(result.bytes, 350);
    assert.deepEqual(
      result.alive.map((one) => [one.kind, bytesOf(one)]),
      [
        ['allocation', 100],
        ['allocation', 100],
        ['value', 50],
        ['value', 100],
      ],
    );
    assert.deepEqual(
      folded(compiled, bySite)
        .map(({ line, allocations, allocatedBytes, peakLiveBytes }) => [line, allocations, allocatedBytes, peakLiveBytes])
        .toSorted((a, b) => a[0]! - b[0]!),
      [
        [1, 1, 100, 100],
        [2, 4, 160, 50],
        [3, 2, 200, 100],
        [9, 1, 100, 100],
      ],
    );
    const functions = folded(compiled, byFunction);
    assert.deepEqual(
      functions.map(({ name, calls, peakBytes, enteredBytes }) => ({ name, calls, peakBytes, enteredBytes })),
      [
        { name: 'step', calls: 2, peakBytes: 350, enteredBytes: 200 },
        { name: 'train', calls: 0, peakBytes: 350, enteredBytes: 100 },
      ],
    );
  });

  it('an output of a call on its own line is counted once', () => {
    const events: Event[] = [...compiled.slice(0, 6), { kind: 'run', at: 2, program: 5, place: 3 }, allocate(2, 100, 3, 3)];
    const line = folded(events, bySite).find((one) => one.line === 3);
    assert.deepEqual([line?.allocations, line?.allocatedBytes], [1, 100]);
  });

  it('calls are told apart by `enter`: what was in use when the highest one began', () => {
    const enter = (at: number): Event => ({ kind: 'enter', at, name: 'f', place: 1 });
    const events = [
      place(1, 5, 'f', 4),
      enter(0),
      allocate(1, 10, 1),
      free(1, 2),
      allocate(2, 7, 3),
      enter(4),
      allocate(3, 20, 5),
      allocate(4, 5, 6),
    ];
    assert.deepEqual(
      folded(events, byFunction).map(({ calls, peakBytes, enteredBytes }) => ({ calls, peakBytes, enteredBytes })),
      [{ calls: 2, peakBytes: 32, enteredBytes: 7 }],
    );
  });

  it('leaks: freed by the collector, out of reach at exit, growing to the end; nothing else', () => {
    const grows = Array.from({ length: 20 }, (_, i) => [allocate(100 + i, 4, i, 1), allocate(200 + i, 4, i, 2), free(200 + i, i)]).flat();
    const start = Array.from({ length: 20 }, (_, i) => allocate(300 + i, 4, i, 3));
    const events: Event[] = [
      ...[1, 2, 3, 4, 5].map((line) => place(line, line)),
      ...start,
      ...Array.from({ length: 200 }, (_, i) => [allocate(1000 + i, 1, i, 2), free(1000 + i, i)]).flat(),
      allocate(1, 9, 50, 4),
      free(1, 51, 'collected'),
      allocate(2, 8, 52, 5),
      ...grows,
      { kind: 'mark', at: 99, name: 'exit', text: '' },
      free(2, 100, 'collected'),
    ];
    assert.deepEqual(
      folded(events, leaks)
        .map(({ kind, line, bytes, count }) => ({ kind, line, bytes, count }))
        .toSorted((a, b) => a.line - b.line),
      [
        { kind: 'growing', line: 1, bytes: 80, count: 20 },
        { kind: 'collected', line: 4, bytes: 9, count: 1 },
        { kind: 'unreachable', line: 5, bytes: 8, count: 1 },
      ],
    );
  });

  it('a timeline has few points, and the peak is one of them', () => {
    fc.assert(
      fc.property(streams, (events) => {
        const { points, bands } = folded(events, (places) => timeline(places, { points: 8, bands: 2 }));
        assert.ok(points.length <= 17);
        assert.equal(Math.max(0, ...points.map(({ inUse }) => inUse)), folded(events, peak).bytes);
        points.forEach(({ inUse }, i) =>
          assert.equal(
            bands.reduce((sum, band) => sum + band.bytes[i]!, 0),
            inUse,
          ),
        );
      }),
    );
  });

  it('events survive a line, and a line that is cut off is no event', () => {
    for (const event of compiled) assert.deepEqual(readEvent(writeEvent(event)), event);
    assert.equal(readEvent(writeEvent(compiled[0]!).slice(0, 20)), undefined);
    assert.equal(readEvent('{"kind":"somethingElse","at":1}'), undefined);
  });
});
