/**
 * More of what surprised users of array libraries: words that explain, results that agree, and what is written and kept.
 *
 * Each title names the public report (owner/project#number) that told of it. Depends on: runtime, test/support.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { donate, DonationError, grad, jit, lax, memory, np, vmap, type Array } from '../../runtime/index.ts';
import type { Device } from '../../runtime/device/device.ts';
import { expectPeak } from '../../runtime/testing.ts';
import { numbersOf, onCpu } from '../support/arrays.ts';

const mebibyte = 2 ** 20;

/** What is warned of meanwhile. */
function warnings(run: () => void): readonly string[] {
  const former = console.warn;
  const found: string[] = [];
  console.warn = (...parts: unknown[]) => void found.push(parts.join(' '));
  try {
    run();
  } finally {
    console.warn = former;
  }
  return found;
}

describe('reports of users', () => {
  let device: Device;
  beforeEach(() => {
    device = onCpu();
  });
  const inUse = (): number => device.allocator.stats().bytesInUse;

  it('jax#9237: an unusable donation is told by argument, bytes, nearest output and reason', () => {
    const total = jit((state: { weights: Array }) => state.weights.sum(), { donateArgnums: 0 });
    const [text, ...more] = warnings(() => {
      for (let k = 0; k < 2; k++) total({ weights: np.ones([32, 32]) });
    });
    assert.deepEqual(more, []);
    assert.match(text!, /`state\.weights` f32\[32,32\], 4\.0 KiB: no output has its 4096 bytes; the nearest is f32\[\] with 256/);
  });

  it('jax#9675: a donation that must not be lost is an error before anything runs, and one that is used is none', () => {
    const strict = { donateArgnums: 0, donate: 'strict' } as const;
    const x = np.ones([1024]);
    assert.throws(() => jit((y: Array) => y.sum(), strict)(x), DonationError);
    assert.equal(x.isDisposed, false);
    assert.equal(jit((y: Array) => y.add(1), strict)(x).shape[0], 1024);
    assert.equal(x.isDisposed, true);
  });

  it('jax#8470: by position, by name and at the call, a donation gives the same plan', () => {
    const f = (params: { w: Array }, x: Array): { w: Array } => ({ w: params.w.sub(x) });
    const args = (): [{ w: Array }, Array] => [{ w: np.ones([512, 512]) }, np.ones([512, 512])];
    const [position, name] = [{ donateArgnums: 0 }, { donateArgnames: 'params' }].map((options) => jit(f, options).lower(...args()));
    assert.equal(name!.aliasBytes, mebibyte);
    assert.equal(name!.peakBytes, position!.peakBytes);
    const [params, x] = args();
    const before = inUse();
    jit(f)(donate(params), x);
    assert.equal(params.w.isDisposed, true);
    assert.equal(inUse(), before);
  });

  it('liesel PR 272, elegy PR 226, crazyflow PR 110, jaxmg PR 29: what died says by whose call, with both places', () => {
    const solver = jit(
      function solve(matrix: Array) {
        return matrix.matmul(matrix);
      },
      { donateArgnums: 0 },
    );
    const a = np.ones([8, 8]);
    solver(a);
    assert.throws(() => solver(a), /`matrix` .*donated[\s\S]*made at .*reports\.test\.ts[\s\S]*donated to `solve` at .*reports\.test\.ts/);
  });

  it('xla#45912: donated x, exp, a loop that reads it, an update: no temporary of its size', () => {
    const f = jit(
      (x: Array) => {
        const h = np.exp(x);
        const total = lax.foriLoop(0, 4, (_, s: Array) => s.add(h.sum()), np.zeros([]));
        return [h.at([0, 1]).set(0), total] as const;
      },
      { donateArgnums: 0 },
    );
    const lowered = f.lower(np.ones([512, 512]));
    assert.deepEqual(lowered.memoryAnalysis().copies, []);
    assert.ok(lowered.tempBytes <= 5 * 256, `${lowered.tempBytes} bytes of temporaries: scalars and sums of parts`);
    assert.equal(lowered.aliasBytes, mebibyte);
    const [next, total] = f(np.zeros([4]));
    assert.deepEqual([...numbersOf(next)], [0, 1, 1, 1]);
    assert.equal(total.itemSync(), 16);
  });

  it('jax#17845: a carry shifted by one in a scan is right, and its copy is told', () => {
    const shift = (c: Array, x: Array): [Array, Array] => [
      c
        .at([1, 256])
        .set(c.slice([0, 255]))
        .at([0, 1])
        .set(x),
      c.slice([255, 256]),
    ];
    const f = jit((carry: Array, xs: Array) => lax.scan(shift, carry, xs), { donateArgnums: 0 });
    const { peakBytes, argumentBytes, outputBytes, memoryAnalysis } = f.lower(np.ones([256]), np.ones([4]));
    assert.ok(peakBytes <= argumentBytes + outputBytes + 2 * 1024, `${peakBytes} bytes at the peak`);
    const [copy, ...others] = memoryAnalysis().copies;
    assert.deepEqual([copy!.bytes, others], [1024, []]);
    const line = /^f32\[256\] is read later at reports\.test\.ts:(\d+), at every round of the loop$/.exec(copy!.reason)?.[1];
    const lines = readFileSync(new URL(import.meta.url), 'utf8').split('\n');
    assert.match(lines[Number(line) - 1] ?? '', /c\.slice\(\[255, 256\]\)/, copy!.reason);
    assert.match(lines[memoryAnalysis().places[copy!.place]!.line - 1]!, /\.set\(c\.slice|\.at\(/);
    const [carry] = f(np.arange(256).mul(1), np.array([7, 8, 9, 10]));
    assert.deepEqual([...numbersOf(carry)].slice(0, 6), [10, 9, 8, 7, 0, 1]);
  });

  it('jax#40101: an element set in every round of a loop writes an element, however large the array', () => {
    const set = jit((x: Array) => lax.foriLoop(0, 8, (i, c: Array) => lax.dynamicUpdateSlice(c, np.zeros([1]), [i]), x), {
      donateArgnums: 0,
    });
    for (const n of [1024, 2 ** 20]) {
      const lowered = set.lower(np.ones([n]));
      const written = [...String(lowered).matchAll(/^k\d+ (\w+): (?:element|update)\[([\d,]*)\]/gm)].map(([, name, sizes]) => [
        name,
        sizes,
      ]);
      assert.deepEqual(written, [
        ['fill', ''],
        ['dynamicUpdateSlice', '1'],
        ['add', ''],
      ]);
      assert.deepEqual([lowered.tempBytes, lowered.memoryAnalysis().copies], [256, []]);
    }
  });

  it('jax#10197, jax#1034: a ring buffer that is donated takes its own bytes and those of a row', () => {
    const add = jit((ring: Array, row: Array, k: Array) => lax.dynamicUpdateSlice(ring, row, [k.mod(64), 0]), { donateArgnums: 0 });
    let ring = np.zeros([64, 128]);
    const start = inUse();
    memory.resetPeak();
    for (let k = 0; k < 70; k++) {
      const [row, at] = [np.full([1, 128], k), np.array(k, 'int32')];
      ring = add(ring, row, at);
      row.dispose();
      at.dispose();
    }
    assert.equal(inUse(), start);
    assert.ok(memory.stats().peakBytesInUse - start < 2048, `${memory.stats().peakBytesInUse - start} bytes more at the peak`);
    assert.deepEqual(
      [0, 5, 6, 63].map((row) => ring.slice(row, 0).itemSync()),
      [64, 69, 6, 63],
    );
  });

  it('jax#282, jax#10878: what a compiled function closed over is free after its dispose, however often it is made anew', () => {
    const x = np.ones([256]);
    const start = inUse();
    for (let k = 0; k < 5; k++) {
      const f = jit((v: Array) => v.add(np.full([256], k)));
      f(x).dispose();
      f.dispose();
    }
    assert.equal(inUse(), start);
  });

  it('jax#6905, jax#16278, jax#3220, jax#11448: parameters closed over are held once, not once per shape', () => {
    const params = np.ones([512, 512]);
    const predict = jit((x: Array) => x.matmul(params));
    const start = inUse();
    for (const batch of [1, 2, 3, 4]) predict(np.ones([batch, 512])).dispose();
    assert.ok(inUse() - start < mebibyte, `${inUse() - start} bytes more after four shapes`);
  });

  it('jax#10007, jax#19429, jax#2072: a loop that trains ends with the bytes it began with', () => {
    const step = jit((w: Array, x: Array) => w.sub(grad((v: Array) => np.square(x.matmul(v)).mean())(w).mul(0.01)), { donateArgnums: 0 });
    const x = np.ones([32, 16]);
    let w = np.ones([16, 1]);
    w = step(w, x);
    const start = inUse();
    for (let k = 0; k < 50; k++) w = step(w, x);
    assert.equal(inUse(), start);
  });

  it('jax#23358: a batched update of one row is planned as the batch of copies that it is, and says where', () => {
    const f = jit((x: Array, at: Array) => vmap((k: Array) => lax.dynamicUpdateSlice(x, np.zeros([1]), [k]))(at));
    const lowered = f.lower(np.ones([512]), np.arange(512).astype('int32'));
    assert.ok(lowered.peakBytes >= 512 * 512 * 4 && lowered.peakBytes < 2.1 * 512 * 512 * 4, `${lowered.peakBytes} bytes`);
    const { values, places } = lowered.memoryAnalysis();
    const largest = values.toSorted((a, b) => b.bytes - a.bytes)[0]!;
    assert.equal(largest.bytes, 512 * 512 * 4);
    assert.match(String(places[largest.place]?.file), /reports\.test\.ts/);
    assert.throws(
      () =>
        jit((x: Array, at: Array) => vmap((k: Array) => lax.dynamicUpdateSlice(x, np.zeros([1]), [k]))(at), { memoryBudget: '256KiB' })(
          np.ones([512]),
          np.arange(512).astype('int32'),
        ),
      /reports\.test\.ts/,
    );
  });

  it('PyAutoFit PR 1453, tsim PR 84, aimz#227: the peak is a line in the batch, and the largest batch that fits fits', () => {
    const f = jit((w: Array, x: Array) => np.tanh(x.matmul(w)).matmul(w.transpose()).sum(1));
    const w = np.ones([64, 128]);
    const peak = (batch: number): number => f.lower(w, np.ones([batch, 64])).peakBytes;
    const slope = (peak(2048) - peak(1024)) / 1024;
    assert.equal(peak(4096), peak(1024) + 3072 * slope);
    const budget = 4 * mebibyte;
    const batch = Math.floor((budget - (peak(1024) - 1024 * slope)) / slope);
    assert.ok(peak(batch) <= budget);
    assert.ok(peak(batch + 128) > budget);
    const [x, start] = [np.ones([batch, 64]), inUse()];
    expectPeak(() => f(w, x).dispose()).toBeAtMost(budget + start - w.nbytes - x.nbytes);
  });

  it('jax#11319, jax#14808: a map in batches needs the memory of a batch, in proportion', () => {
    const f = (x: Array): Array => {
      const square = np.sort(x.reshape([32, 1]).mul(x.reshape([1, 32])), -1);
      return square.matmul(square).sum();
    };
    const xs = np.ones([32, 32]);
    const all = jit((v: Array) => vmap(f)(v)).lower(xs);
    const batches = jit((v: Array) => lax.map(f, v, { batchSize: 2 })).lower(xs);
    assert.ok(batches.tempBytes * 8 <= all.tempBytes, `${batches.tempBytes} bytes in batches, ${all.tempBytes} at once`);
  });
});
