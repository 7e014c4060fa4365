/**
 * The form in which a program hands its events out: what is written is what is read, to the microsecond, and a line that was cut off is none.
 *
 * Depends on: instrument, events.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Event } from '../../runtime/events/event.ts';
import { createDecoder, createEncoder } from '../../runtime/instrument/wire.ts';

const time = fc.integer({ min: 0, max: 10_000_000_000 }).map((us) => us / 1000);
const number = fc.oneof(fc.nat(9), fc.integer({ min: 2 ** 30, max: 2 ** 42 }));
const word = fc.constantFrom('webgpu', 'tfjs', 'a b', '-', '{', 'float32', '');
const shape = fc.array(fc.nat(100), { maxLength: 4 });
const how = fc.constantFrom('dispose', 'destroy', 'collected' as const);

const events: fc.Arbitrary<Event> = fc.oneof(
  fc.record({ kind: fc.constant('reserve' as const), at: time, id: number, bytes: number, layer: word, place: number }),
  fc.record({ kind: fc.constant('reserve' as const), at: time, id: number, bytes: number, layer: word }),
  fc.record(
    {
      kind: fc.constant('allocate' as const),
      at: time,
      id: number,
      bytes: number,
      place: number,
      layer: word,
      what: fc.constantFrom('array', 'buffer' as const),
      shape,
      dtype: word,
      label: fc.string(),
      slab: number,
      offset: fc.nat(1000),
    },
    { requiredKeys: ['kind', 'at', 'id', 'bytes', 'place', 'layer', 'what'] },
  ),
  fc.record({ kind: fc.constant('free' as const), at: time, id: number, how }),
  fc.record({ kind: fc.constant('unreserve' as const), at: time, id: number }),
  fc.record({ kind: fc.constant('enter' as const), at: time, name: word, place: fc.nat(3) }),
  fc.record({ kind: fc.constant('run' as const), at: time, program: number, place: number }),
  fc.record({ kind: fc.constant('run' as const), at: time, program: number, place: number, ms: time }),
  fc.record({ kind: fc.constant('mark' as const), at: time, name: fc.constant('round' as const), text: fc.string() }),
  fc.constant<Event>({ kind: 'place', id: 3, frames: [{ file: 'a.ts', line: 1, column: 2 }] }),
);

/** A buffer's birth and death as the instrument writes them: these are the lines that are shortened most. */
const pair = ({ id, bytes, at, place }: { id: number; bytes: number; at: number; place: number }): readonly Event[] => [
  { kind: 'reserve', at, id, bytes, layer: 'webgpu', place },
  { kind: 'allocate', at, id, bytes, place, layer: 'webgpu', what: 'buffer' },
  { kind: 'free', at, id, how: 'destroy' },
  { kind: 'unreserve', at, id },
];

describe('events on the wire', () => {
  it('what is written is what is read', () => {
    const streams = fc.array(
      fc.oneof(
        events.map((event) => [event]),
        fc.record({ id: number, bytes: number, at: time, place: number }).map(pair),
      ),
    );
    fc.assert(
      fc.property(streams, (parts) => {
        const stream = parts.flat().map((event): Event => ({ ...event }));
        const encoder = createEncoder();
        const decoder = createDecoder();
        const read = stream.map((event) => decoder.event(encoder.line(event).slice(0, -1)));
        assert.deepEqual(read, stream);
      }),
      { numRuns: 500 },
    );
  });

  it('a buffer that is made and destroyed takes less than a third of the bytes that JSON takes', () => {
    const encoder = createEncoder();
    const stream = pair({ id: 2 ** 30 + 7, bytes: 1024, at: 12.345, place: 2 ** 30 });
    const lines = stream.map((event) => encoder.line(event)).join('');
    assert.equal(lines, 'r 12345 1073741831 1024 webgpu 1073741824\nb buffer\nf 0 1073741831 destroy\nv\n');
    assert.ok(lines.length * 3 < stream.map((event) => JSON.stringify(event)).join('\n').length);
  });

  it('a line that was cut off, or is not ours, is no event', () => {
    for (const line of ['', 'r 12 5', '{"kind":"free","at":1', 'f 1 2', 'hello there', 'x 1 2 3'])
      assert.equal(createDecoder().event(line), undefined, line);
  });
});
