/**
 * The timeline's numbers: from events to columns, exact at every zoom. Depends on: extension/timeline.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { createRecorder, readProfile } from '../../../extension/timeline/recording.ts';
import { aliveAt, columns, highestOf, roomFor, series, stepAt } from '../../../extension/timeline/view/series.ts';
import { fragmentation, slabsAt } from '../../../extension/timeline/view/slabs.ts';
import type { Event, ProgramProfile } from '../../../runtime/events/event.ts';

const place = (id: number, line: number): Event => ({ kind: 'place', id, frames: [{ file: 'a.ts', line, column: 1 }] });
const allocate = (id: number, bytes: number, at: number, on = 1): Event => ({
  kind: 'allocate',
  at,
  id,
  bytes,
  place: on,
  layer: 'tidemark',
  what: 'array',
  shape: [bytes / 4],
  dtype: 'float32',
});
const free = (id: number, at: number): Event => ({ kind: 'free', at, id, how: 'dispose' });

function record(events: readonly Event[]) {
  const recorder = createRecorder();
  for (const event of events) recorder.take(event);
  return recorder.result();
}

const edges = (from: number, to: number, width: number): Float64Array =>
  Float64Array.from({ length: width + 1 }, (_, x) => from + ((to - from) * x) / width);

describe('timeline', () => {
  it('has a step for every change and a block for every array', () => {
    const { recording } = record([place(1, 3), place(2, 9), allocate(1, 400, 0), allocate(2, 800, 1, 2), free(1, 2)]);
    assert.deepEqual([...recording.delta], [400, 800, -400]);
    assert.deepEqual([...recording.born], [0, 1]);
    assert.deepEqual([...recording.died], [2, 0xffffffff]);
    assert.deepEqual(recording.sites.slice(1), [
      { file: 'a.ts', line: 3 },
      { file: 'a.ts', line: 9 },
    ]);
    assert.deepEqual(
      aliveAt(recording, 1).map(({ bytes, count }) => [bytes, count]),
      [
        [800, 1],
        [400, 1],
      ],
    );
  });

  it('knows where each array lies in its slab, and the holes between them', () => {
    const piece = (id: number, bytes: number, at: number, offset: number): Event =>
      ({ ...allocate(id, bytes, at), slab: 90, offset }) as Event;
    const { recording } = record([
      place(1, 3),
      { kind: 'reserve', at: 0, id: 90, bytes: 4096, layer: 'tidemark' },
      { kind: 'reserve', at: 0, id: 91, bytes: 512, layer: 'webgpu' },
      piece(1, 1000, 1, 0),
      piece(2, 512, 2, 1024),
      piece(3, 256, 3, 3072),
      free(2, 4),
      free(1, 5),
      free(3, 6),
      { kind: 'unreserve', at: 7, id: 90 },
    ]);
    const at = (step: number): readonly (readonly number[])[] =>
      slabsAt(recording, step).flatMap(({ pieces }) => pieces.map(({ offset, bytes }) => [offset, bytes]));
    const all = recording.at.length;
    assert.deepEqual(at(4), [
      [0, 1000],
      [1024, 512],
      [3072, 256],
    ]);
    const [state] = slabsAt(recording, 5);
    assert.deepEqual(state?.holes, [
      { offset: 1024, bytes: 2048 },
      { offset: 3328, bytes: 768 },
    ]);
    assert.equal(fragmentation([state!]), 1 - 2048 / 2816);
    assert.equal(slabsAt(recording, all - 2).length, 1);
    assert.deepEqual(slabsAt(recording, all - 1), []);
  });

  it('finds the moment at which a line held most', () => {
    const { recording } = record([
      place(1, 3),
      place(2, 9),
      allocate(1, 400, 0),
      allocate(2, 100, 1, 2),
      allocate(3, 300, 2, 2),
      free(2, 3),
      free(3, 4),
    ]);
    const siteOf = (line: number): Set<number> => new Set(recording.sites.flatMap((site, i) => (site.line === line ? [i] : [])));
    assert.equal(highestOf(recording, siteOf(9)), 2);
    assert.equal(highestOf(recording, siteOf(3)), 0);
    assert.equal(highestOf(recording, siteOf(77)), undefined);
  });

  it('fills room that was used before as it fills fresh room', () => {
    const all = series(
      record([place(1, 3), ...Array.from({ length: 300 }, (_, i) => (i % 3 === 2 ? free(i - 1, i) : allocate(i, 256 * (1 + (i % 7)), i)))])
        .recording,
    );
    const used = columns(all, edges(0, all.steps, 40), roomFor(40, all.bands));
    assert.deepEqual(columns(all, edges(10, 90, 40), used), columns(all, edges(10, 90, 40)));
  });

  it('draws a compiled call as a spike of what its program holds', () => {
    const profile: ProgramProfile = {
      argumentBytes: 400,
      outputBytes: 400,
      aliasBytes: 0,
      tempBytes: 800,
      peakBytes: 1700,
      lowerBoundBytes: 1600,
      orderLowerBoundBytes: null,
      gap: { packing: 100, outputs: 0, copies: 0 },
      copies: [],
      donated: [],
      whatIf: [],
      values: [
        { place: 2, bytes: 800, shape: [200], dtype: 'float32', born: 0, dies: 2, what: 'temp', region: 0, offset: 0 },
        { place: 1, bytes: 400, shape: [100], dtype: 'float32', born: 1, dies: 3, what: 'output', region: 0, offset: 800 },
      ],
      steps: 3,
      argumentPaths: ['x'],
    };
    const { recording, arenas } = record([
      place(1, 3),
      place(2, 4),
      allocate(1, 400, 0),
      { kind: 'program', at: 1, program: 7, name: 'step', place: 1, profile },
      { kind: 'run', at: 2, program: 7, place: 1, ms: 5 },
    ]);
    const all = series(recording);
    assert.equal(all.peak.bytes, 1700);
    assert.equal(
      aliveAt(recording, all.peak.step).reduce((sum, { bytes }) => sum + bytes, 0),
      1600,
    );
    assert.deepEqual(
      arenas.map(({ name, regions }) => [name, regions]),
      [['step', [1200]]],
    );
    const end = columns(all, edges(0, all.steps, all.steps));
    assert.equal(end.total.at(-1), 400);
  });

  it('counts the first step to the first column', () => {
    const all = series(record([place(1, 1), allocate(1, 4, 10), free(1, 20), allocate(2, 1, 30), allocate(3, 1, 40)]).recording);
    assert.deepEqual([...columns(all, edges(0, 3, 2)).total], [4, 1]);
  });

  it('shows in every column the highest step of it, whatever the zoom', () => {
    const change = fc.record({ bytes: fc.integer({ min: 1, max: 1000 }), line: fc.integer({ min: 1, max: 60 }), free: fc.boolean() });
    fc.assert(
      fc.property(
        fc.array(change, { minLength: 1, maxLength: 3000 }),
        fc.integer({ min: 1, max: 40 }),
        fc.nat(),
        fc.nat(),
        (changes, width, a, b) => {
          const events: Event[] = Array.from({ length: 60 }, (_, line) => place(line + 1, line + 1));
          const live: number[] = [];
          changes.forEach(({ bytes, line, free: frees }, index) => {
            if (frees && live.length > 0) events.push(free(live.shift()!, index));
            else {
              events.push(allocate(index, bytes, index, line));
              live.push(index);
            }
          });
          const { recording } = record(events);
          const all = series(recording);
          const totals = [...recording.delta].map(
            (
              (sum) => (delta: number) =>
                (sum += delta)
            )(0),
          );
          assert.equal(all.peak.bytes, Math.max(...totals));
          const [from, to] = [a % all.steps, b % all.steps].sort((p, q) => p - q) as [number, number];
          const span = edges(from, Math.max(from + 1, to), width);
          const shown = columns(all, span);
          for (let x = 0; x < width; x += 1) {
            const sum = [...shown.bands.subarray(x * all.bands, (x + 1) * all.bands)].reduce((p, q) => p + q, 0);
            assert.ok(Math.abs(sum - shown.total[x]!) < 1, 'bands add up to the total');
            assert.equal(shown.total[x], totals[shown.step[x]!], 'the total is that of its step');
            const inside = totals.slice(Math.ceil(span[x]!), Math.ceil(span[x + 1]!));
            if (inside.length > 0) assert.ok(shown.total[x]! >= Math.max(...inside), 'no peak is smoothed away');
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it('finds a step by its time', () => {
    const all = series(record([place(1, 1), allocate(1, 4, 10), allocate(2, 4, 20), allocate(3, 4, 20)]).recording);
    assert.deepEqual(
      [0, 10, 11, 20, 21].map((time) => stepAt(all, time)),
      [0, 0, 1, 1, 3],
    );
  });

  it('says what is wrong with a file that is no profile', async () => {
    await assert.rejects(readProfile([]), /the file is empty/);
    await assert.rejects(readProfile(['hello']), /first line is not a report/);
    await assert.rejects(readProfile(['{"version":2,"peakBytes":1}']), /of version 2/);
  });
});
