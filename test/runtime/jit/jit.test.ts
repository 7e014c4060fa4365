/**
 * jit: what is traced again, what goes in and out, and the life of arrays.
 *
 * Depends on: runtime, test/support.
 */
import assert from 'node:assert/strict';
import { devicePut, jit, np, random, scope, tree, type Array } from '../../../runtime/index.ts';
import { near, numbersOf, onCpu } from '../../support/arrays.ts';
import type { Device } from '../../../runtime/device/device.ts';

describe('jit', () => {
  let device: Device;
  beforeEach(() => {
    device = onCpu();
  });
  const inUse = (): number => device.allocator.stats().bytesInUse;

  it('traces once per shapes, dtypes, structure and static arguments, and not per value', () => {
    let traces = 0;
    const f = jit(
      (x: Array | number, n: number) => {
        traces++;
        return np.multiply(x, n);
      },
      { staticArgnums: [1] },
    );
    f(np.ones([2]), 3);
    f(np.zeros([2]), 3);
    assert.equal(traces, 1);
    f(np.ones([3]), 3);
    f(np.ones([2], 'int32'), 3);
    f(np.ones([2]), 4);
    assert.equal(traces, 4);
    assert.equal(f(1.5, 3).itemSync(), 4.5);
    assert.equal(f(2.5, 3).itemSync(), 7.5);
    assert.equal(traces, 5);
  });

  it('takes and gives trees, numbers and typed arrays, and says which leaf it can not take', () => {
    const f = jit((p: { a: Array; list: [Array, number] }, data: Float32Array | Array) => ({
      sum: p.a.add(p.list[0]).mul(p.list[1]),
      data: (data as Array).add(1),
      five: 5,
    }));
    const out = f({ a: np.ones([2]), list: [np.ones([2]), 3] }, Float32Array.of(1, 2));
    assert.deepEqual([numbersOf(out.sum), numbersOf(out.data), numbersOf(out.five as unknown as Array)], [[6, 6], [2, 3], [5]]);
    assert.throws(() => jit((named: unknown) => named)({ deep: ['text'] }), /`named\.deep\[0\]` is a string/);
  });

  it('keeps weak types weak: a number never widens an array', () => {
    const f = jit((x: Array, s: Array | number) => x.mul(s));
    assert.equal(f(np.ones([2], 'float16'), 0.5).dtype, 'float16');
    assert.equal(np.arange(3).mul(2).dtype, 'int32');
    assert.equal(np.arange(3).mul(0.5).dtype, 'float32');
    assert.equal(np.array([1, 2], 'uint32').add(np.array([1, 2], 'int32')).dtype, 'int32');
  });

  it('is inlined in another jit, and works as a method', () => {
    const inner = jit((x: Array) => x.mul(2));
    class Model {
      readonly w = np.full([2], 3);
      readonly apply = jit((x: Array) => inner(x).mul(this.w));
    }
    assert.deepEqual(numbersOf(new Model().apply(np.ones([2]))), [6, 6]);
  });

  it('keeps what it closed over, and drops its programs by dispose', () => {
    const f = jit((x: Array) => x.add(np.array([1, 2, 3])));
    f(np.ones([3])).dispose();
    const before = inUse();
    assert.ok(before >= 256);
    f.dispose();
    assert.equal(inUse(), before - 256);
  });

  it('plans without running: lower() says peak, arguments, outputs and what a donation would save', () => {
    const step = (w: Array, x: Array): Array => w.sub(np.tanh(x.matmul(w)).mean());
    const f = jit(step);
    const lowered = f.lower(np.ones([256, 256]), np.ones([8, 256]));
    assert.equal(lowered.argumentBytes, 4 * (256 * 256 + 8 * 256));
    assert.equal(lowered.outputBytes, 4 * 256 * 256);
    assert.equal(lowered.peakWith([0]), jit(step, { donateArgnums: [0] }).lower(np.ones([256, 256]), np.ones([8, 256])).peakBytes);
    assert.ok(lowered.peakBytes - lowered.peakWith([0]) > 2 ** 17);
    assert.match(String(lowered), /dot/);
  });

  it('uses exactly the bytes that its plan says', () => {
    const f = jit((x: Array, w: Array) => np.tanh(x.matmul(w)).matmul(w.transpose()).sum(1));
    const [x, w] = [np.ones([64, 128]), np.ones([128, 32])];
    device.allocator.resetPeak();
    f(x, w);
    assert.equal(device.allocator.stats().peakBytesInUse, f.lower(x, w).peakBytes);
  });
});

describe('the life of arrays', () => {
  let device: Device;
  beforeEach(() => {
    device = onCpu();
  });
  const inUse = (): number => device.allocator.stats().bytesInUse;

  it('ends by dispose, once, and an eager function leaves nothing but its result', () => {
    const x = np.ones([1024]);
    const y = np.std(x);
    assert.equal(inUse(), 4096 + 256);
    x.dispose();
    x.dispose();
    y.dispose();
    assert.throws(() => x.sum(), /was read after it was disposed[\s\S]*made at .*jit\.test\.ts/);
    assert.deepEqual([x.shape, x.isDisposed], [[1024], true]);
  });

  it('leaves nothing behind of conversions, broadcasts and index steps that an eager call needs', () => {
    const [x, row, whole] = [np.ones([4, 3]), np.ones([3]), np.arange(3)];
    const before = inUse();
    const results = [
      x.add(row),
      x.mul(whole),
      x.mod(2),
      x.slice(1, [0, 2]),
      x.at(1).add(5),
      x.take(whole, 0),
      np.where(x.greater(0), row, 2),
      x.sum(0, true),
      x.max(1),
      np.einsum('ij,j->i', x, row),
      x.pow(3),
      whole.div(2),
    ];
    const made = results.length + 1;
    assert.equal(inUse() - before, 256 * made);
    for (let k = 0; k < 20; k++) x.mul(k + 0.5).dispose();
    assert.equal(inUse() - before, 256 * made);
  });

  it('is its own for every result, also where nothing had to be done, and then takes no bytes', () => {
    const x = np.ones([2, 3]);
    const before = inUse();
    const same = [x.reshape([2, 3]), x.astype('float32'), x.broadcastTo([2, 3]), x.transpose([0, 1]), np.squeeze(x), x.slice(), np.clip(x)];
    assert.equal(inUse(), before);
    x.dispose();
    for (const y of same) {
      assert.equal(numbersOf(y)[5], 1);
      y.dispose();
    }
    assert.equal(inUse(), 0);
  });

  it('ends with a scope, but for what it returns, also when it throws', async () => {
    const before = inUse();
    const kept = scope(() => {
      const x = np.ones([256]);
      return { sum: x.add(1), list: [x.mul(2)] };
    });
    assert.equal(inUse() - before, 2 * 1024);
    tree.dispose(kept);
    assert.throws(
      () =>
        scope(() => {
          np.ones([256]);
          throw new Error('stop');
        }),
      /stop/,
    );
    const later = await scope(async () => {
      const x = np.ones([256]);
      await Promise.resolve();
      const y = np.ones([256]);
      return y.add(await x.sum().item());
    });
    assert.equal(numbersOf(later)[0], 257);
    later.dispose();
    await assert.rejects(
      scope(async () => {
        np.ones([256]);
        await Promise.resolve();
        np.ones([256]);
        throw new Error('later');
      }),
      /later/,
    );
    assert.equal(inUse(), before);
    scope(() => {
      const outer = np.ones([256]);
      const inner = scope(() => outer.add(1));
      assert.equal(inner.isDisposed, false);
    });
    assert.equal(inUse(), before);
  });

  it('reads in every form, and copies what comes from the host', async () => {
    const data = Float32Array.of(1, 2, 3, 4);
    const x = devicePut(data, { shape: [2, 2] });
    data[0] = 9;
    assert.deepEqual(await x.jsAsync(), [
      [1, 2],
      [3, 4],
    ]);
    assert.deepEqual([await x.sum().item(), [...(await x.data())]], [10, [1, 2, 3, 4]]);
    await assert.rejects(x.item(), /needs an array of one element/);
    assert.deepEqual(np.array([true, false]).js(), [true, false]);
    assert.deepEqual([...np.array([0.5, -2.25], 'float16').dataSync()], [0.5, -2.25]);
    const [a, b] = x;
    assert.deepEqual(
      [a!.js(), b!.js()],
      [
        [1, 2],
        [3, 4],
      ],
    );
  });

  it('gives the random numbers of JAX for its seeds', () => {
    const key = random.key(0);
    near(numbersOf(random.normal(key, [3])), [1.6226422, 2.0252647, -0.43359444], 1e-6, 'jax.random.normal(jax.random.key(0), (3,))');
    near(numbersOf(random.uniform(key, [3])), [0.947667, 0.9785799, 0.33229148], 1e-6, 'jax.random.uniform(jax.random.key(0), (3,))');
    assert.deepEqual(
      random.split(key).map((k) => numbersOf(k)),
      [
        [1797259609, 2579123966],
        [928981903, 3453687069],
      ],
    );
  });
});
