/**
 * What surprised users of array libraries, as programs with the memory that they should take.
 *
 * Each title names the public report (owner/project#number) that told of it. Depends on: runtime, test/support.
 */
import assert from 'node:assert/strict';
import {
  ArrayDeletedError,
  checkpoint,
  donate,
  DonationError,
  grad,
  jit,
  lax,
  memory,
  np,
  scope,
  tree,
  vmap,
  type Array,
} from '../../runtime/index.ts';
import { init } from '../../runtime/api/init.ts';
import { numbersOf, onCpu } from '../support/arrays.ts';
import type { Device } from '../../runtime/device/device.ts';

const mebibyte = 2 ** 20;
const square = (n: number): Array => np.ones([n, n]);

describe('surprises', () => {
  let device: Device;
  beforeEach(() => {
    device = onCpu();
  });
  const inUse = (): number => device.allocator.stats().bytesInUse;

  it('jax#1733: a training step keeps one copy of its weights when they are donated', () => {
    const step = (w: Array, g: Array): Array => w.sub(g.mul(0.1));
    assert.equal(jit(step).lower(square(512), square(512)).peakBytes, 3 * mebibyte);
    assert.equal(jit(step, { donateArgnums: 0 }).lower(square(512), square(512)).peakBytes, 2 * mebibyte);
    const w = square(512);
    const next = jit(step)(donate(w), square(512));
    assert.equal(w.isDisposed, true);
    assert.equal(next.nbytes, mebibyte);
  });

  it('jax#1273: ten products in a row take two buffers, not eight', () => {
    const chain = jit(
      (x: Array, w: Array) => {
        let h = x;
        for (let k = 0; k < 10; k++) h = np.tanh(h.matmul(w));
        return h;
      },
      { donateArgnums: [0] },
    );
    const lowered = chain.lower(np.ones([2048, 64]), square(64));
    assert.equal(lowered.peakBytes, 2 * 2048 * 64 * 4 + 64 * 64 * 4);
  });

  it('jax#1273: ten convolutions of a donated image take twice its bytes, not eight times', () => {
    const chain = (x: Array, kernel: Array): Array => {
      let h = x;
      for (let k = 0; k < 10; k++) h = lax.conv(h, kernel, [1, 1], 'SAME');
      return h;
    };
    const [image, kernel] = [np.ones([4, 8, 64, 64]), np.ones([8, 8, 3, 3])];
    const lowered = jit(chain, { donateArgnums: 0 }).lower(image, kernel);
    assert.equal(lowered.peakBytes, 2 * image.nbytes + kernel.nbytes);
    assert.deepEqual(lowered.memoryAnalysis().copies, []);
  });

  it('jax#8470: a tree donated as an object is donated like one by position', () => {
    const step = jit((state: { params: Array; count: Array }) => ({ params: state.params.mul(0.9), count: state.count.add(1) }), {
      donateArgnums: 0,
    });
    const lowered = step.lower({ count: np.zeros([]), params: square(512) });
    assert.equal(lowered.aliasBytes, mebibyte + 256);
  });

  it('jax#9635, jax#12627: the same array twice, deep in a tree, is an error at once and no dead lock', () => {
    const f = jit((a: { x: Array[] }, b: Array) => [a.x[0]!.add(b), b], { donateArgnums: [0, 1] });
    const x = np.ones([4]);
    assert.throws(() => f({ x: [x] }, x), DonationError);
    assert.equal(numbersOf(x)[0], 1);
  });

  it('xla#22604: donating twice in a row is an error that names both calls', () => {
    const step = jit((x: Array) => x.mul(2), { donateArgnums: 0 });
    const x = np.ones([4]);
    step(x);
    assert.throws(() => step(x), ArrayDeletedError);
  });

  it('jax#7144: an evaluation step shares the state that the training step donates', () => {
    const train = jit((w: Array) => w.mul(0.5), { donateArgnums: 0 });
    const evaluate = jit((w: Array) => w.sum());
    let w = np.ones([4]);
    for (let k = 0; k < 2; k++) {
      assert.equal(evaluate(w).itemSync(), 4 * 0.5 ** k);
      w = train(w);
    }
    assert.equal(w.isDisposed, false);
  });

  it('orbax#626: a checkpoint that is still being read sees the old values after the next donating step', async () => {
    const step = jit((w: Array) => w.add(1), { donateArgnums: 0 });
    const w = np.zeros([4]);
    const saved = w.data();
    step(w);
    assert.deepEqual([...(await saved)], [0, 0, 0, 0]);
  });

  it('jax#35473: a donated matrix without an output is freed at its last use', () => {
    const f = (m: Array): Array => {
      const g = m.matmul(m);
      const h = g.matmul(g);
      return h.matmul(g).add(h).matmul(g).sum();
    };
    const [kept, freed] = [jit(f), jit(f, { donateArgnums: 0 })].map((g) => g.lower(square(256)).peakBytes);
    assert.equal(kept! - freed!, 256 * 256 * 4);
    const [whole, consumed] = [{}, { donateArgnums: 0 }].map((options) => jit(np.linalg.eigvalsh, options).lower(square(64)).peakBytes);
    assert.equal(whole! - consumed!, 64 * 64 * 4);
  });

  it('jax#6284: unchanged leaves cost nothing when others change', () => {
    const f = jit((s: { frozen: Array; w: Array }) => ({ frozen: s.frozen, w: s.w.mul(2) }));
    const s = { frozen: square(512), w: np.ones([4]) };
    const before = inUse();
    f(s);
    assert.equal(inUse() - before, 256);
  });

  it('xla#45912: donated x -> exp -> loop -> update needs no copy of x', () => {
    const f = jit(
      (x: Array) =>
        lax
          .foriLoop(0, 4, (_, c: Array) => c.mul(0.5), np.exp(x))
          .at([0, 1])
          .set(0),
      { donateArgnums: 0 },
    );
    const { peakBytes, argumentBytes } = f.lower(square(256));
    assert.equal(peakBytes - argumentBytes, 256, 'the loop’s counter, and no temporary of the size of x');
  });

  it('jax#25399, xla#20440: an element read before an update in place costs no copy', () => {
    const f = jit(
      (x: Array) => {
        const old = x.slice(0, 0);
        return [x.at(0, 0).add(1), old] as const;
      },
      { donateArgnums: 0 },
    );
    const lowered = f.lower(square(256));
    assert.deepEqual(lowered.memoryAnalysis().copies, []);
    assert.ok(lowered.peakBytes - lowered.argumentBytes <= 1024);
    const [next, old] = f(square(256));
    assert.deepEqual([next.slice(0, 0).itemSync(), old.itemSync()], [2, 1]);
  });

  it('jax#38145, jax#17845: a loop whose body may pass its carry through keeps one carry', () => {
    const f = jit(
      (x: Array) =>
        lax.foriLoop(
          0,
          8,
          (i, c: Array) =>
            lax.cond(
              i.less(4),
              (v: Array) => v.add(1),
              (v: Array) => v,
              c,
            ),
          x,
        ),
      { donateArgnums: 0 },
    );
    const { peakBytes, argumentBytes, memoryAnalysis } = f.lower(square(256));
    assert.ok(peakBytes <= argumentBytes + 1024, `${peakBytes} bytes for a carry of ${argumentBytes}`);
    assert.deepEqual(memoryAnalysis().copies, []);
    assert.equal(numbersOf(f(square(256)))[0], 5);
  });

  it('jax#40101, jax#16647: a row written into a large buffer is written in place', () => {
    const write = jit((storage: Array, row: Array, at: Array) => lax.dynamicUpdateSlice(storage, row, [at, 0]), {
      donateArgnames: 'storage',
    });
    const lowered = write.lower(np.zeros([4096, 32]), np.ones([1, 32]), np.array(3, 'int32'));
    assert.equal(lowered.aliasBytes, 4096 * 32 * 4);
    assert.deepEqual(lowered.memoryAnalysis().copies, []);
    assert.equal(lowered.tempBytes, 0);
  });

  it('jax#9132: an update out of place costs one more buffer, and the plan shows it', () => {
    const f = jit((x: Array) => [x.at([0, 4], []).set(0), x.sum()] as const);
    const { peakBytes, argumentBytes } = f.lower(square(256));
    assert.equal(peakBytes, 2 * argumentBytes + 256);
  });

  it('jax#39625, jax#39100: donation changes no bit, in whatever order outputs come', () => {
    const parts = (a: Array, b: Array): Array[] => [a.at([0, 2]).add(1), b.at([0, 2]).mul(3), a.add(b)];
    for (const order of [
      [0, 1, 2],
      [2, 1, 0],
      [1, 2, 0],
    ]) {
      const f = (a: Array, b: Array): Array[] => {
        const all = parts(a, b);
        return order.map((k) => all[k]!);
      };
      const run = (donateArgnums: number[]): number[][] =>
        quietly(() => jit(f, { donateArgnums })(np.arange(8).add(0.5), np.arange(8).mul(0.25)).map((x) => [...numbersOf(x)]));
      assert.deepEqual(run([0, 1]), run([]));
      assert.deepEqual(run([1]), run([]));
    }
  });

  it('jax#6905, jax#282: what a compiled function closes over is counted with its arguments', () => {
    const table = square(512);
    const f = jit((x: Array) => x.add(table));
    assert.ok(f.lower(square(512)).peakBytes >= 3 * mebibyte);
  });

  it('jax#9064: scalars read to the host pin nothing', async () => {
    const step = jit((w: Array) => [w.sum(), w.mul(0.5)] as const, { donateArgnums: 0 });
    let w = np.ones([256]);
    const losses: number[] = [];
    for (let k = 0; k < 10; k++) {
      const [loss, next] = step(w);
      losses.push(await loss.item());
      loss.dispose();
      w = next;
    }
    assert.equal(inUse(), 1024);
    assert.equal(losses.length, 10);
  });

  it('jax#14934, jax#1222: a block after which everything is freed, also when it fails', () => {
    assert.throws(
      () =>
        scope(() => {
          square(256);
          throw new Error('failed');
        }),
      /failed/,
    );
    scope(() => {
      square(256).matmul(square(256));
    });
    assert.equal(inUse(), 0);
  });

  it('jax#22755, jax#13428: out of memory names the lines that hold memory, and nothing is lost', () => {
    device = onCpu();
    const kept = square(256);
    assert.throws(() => np.zeros([2 ** 15, 2 ** 15]), /surprises\.test\.ts/);
    assert.equal(numbersOf(kept)[0], 1);
    assert.equal(numbersOf(np.ones([4]))[0], 1);
  });

  it('jax#18954, jax#12848, jax#31292: the analysis is what a call really takes', () => {
    const f = jit((x: Array, w: Array) => np.tanh(x.matmul(w)).sum(0));
    const [x, w] = [np.ones([128, 64]), np.ones([64, 96])];
    device.allocator.resetPeak();
    const planned = f.lower(x, w).peakBytes;
    assert.equal(device.allocator.stats().peakBytesInUse, x.nbytes + w.nbytes);
    f(x, w);
    assert.equal(device.allocator.stats().peakBytesInUse, planned);
  });

  it('jax#11319, jax#14808: a map in batches takes the memory of one batch', () => {
    const f = (x: Array): Array => np.tanh(x.reshape([64, 1]).matmul(x.reshape([1, 64]))).sum();
    const xs = np.ones([32, 64]);
    const all = jit((v: Array) => vmap((x: Array) => f(x).add(f(x).mul(0)))(v)).lower(xs).peakBytes;
    const batches = jit((v: Array) => lax.map(f, v, { batchSize: 4 })).lower(xs).peakBytes;
    assert.ok(batches <= all, `${batches} bytes in batches, ${all} at once`);
  });

  it('jax#27748, jax#12792: checkpoint lowers the peak of a deep stack', () => {
    const block = (x: Array, w: Array): Array => x.add(np.tanh(np.tanh(x.matmul(w)).matmul(w.transpose())));
    const deep = (layer: typeof block) =>
      jit((ws: Array[], x: Array) => grad((own: Array[]) => np.square(own.reduce((h, w) => layer(h, w), x)).mean())(ws)).lower(
        Array_(6, () => np.ones([32, 128])),
        np.ones([1024, 32]),
      ).peakBytes;
    const [plain, again] = [deep(block), deep(checkpoint(block))];
    assert.ok(again < plain, `${again} bytes with checkpoint, ${plain} without`);
  });

  it('jax#37830, jax#3412: what comes from the host is copied, and a copy is a copy', () => {
    const data = Float32Array.of(1, 2);
    const x = np.array(data);
    const y = x.copy();
    data[0] = 9;
    x.dispose();
    assert.deepEqual([...numbersOf(y)], [1, 2]);
  });

  it('jax#19213, jax#19035, CrossQ#7: a memory setting that comes too late is an error', async () => {
    np.ones([2]);
    await assert.rejects(init({ memory: { preallocate: true } }), /memory\.preallocate/);
  });

  it('fdtdx PR 398: the peak can be reset and bracketed', () => {
    square(512).dispose();
    memory.resetPeak();
    assert.equal(memory.stats().peakBytesInUse, 0);
    const { peakBytes } = memory.measure(() => {
      square(256).dispose();
    });
    assert.equal(peakBytes, 256 * 256 * 4);
  });

  it('optax PR 1059: an initialiser that returns its argument is seen as an alias when it is donated', () => {
    const initialise = (p: Array): { z: Array } => ({ z: p });
    const params = np.ones([4]);
    const state = initialise(params);
    const step = jit((p: Array, s: { z: Array }) => [p.add(1), { z: s.z.mul(2) }] as const, { donateArgnums: [0, 1] });
    assert.throws(() => step(params, state), /`p` and as `s\.z`/);
    step(
      params,
      tree.map((x) => x.copy(), state),
    );
  });
});

/** Without the warning that a third donation has no output. */
function quietly<T>(run: () => T): T {
  const former = console.warn;
  console.warn = () => {};
  try {
    return run();
  } finally {
    console.warn = former;
  }
}
const Array_ = <T>(length: number, make: (k: number) => T): T[] => globalThis.Array.from({ length }, (_, k) => make(k));
