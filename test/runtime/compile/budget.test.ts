/**
 * `memoryBudget`: the plan fits, by computing values again that cost least per byte, with the same bits; or an error that
 * names what cannot fit together, before anything runs.
 *
 * Depends on: runtime, test/support.
 */
import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import { useDevice } from '../../../runtime/api/current.ts';
import { OutOfMemoryError } from '../../../runtime/core/errors.ts';
import { jit, lax, nn, np, valueAndGrad, type Array as A } from '../../../runtime/index.ts';
import { numbers, numbersOf, onCpu } from '../../support/arrays.ts';
import { sharedWebGPU } from '../../support/gpu.ts';

type Weights = readonly A[];
const layers = 6;
const width = 32;
const batch = 1024;
/** Bytes of one activation. */
const activation = batch * width * 4;

const loss = (weights: Weights, x: A): A => {
  const last = weights.reduce((h, w) => np.tanh(h.matmul(w)), x);
  return last.mul(last).sum();
};
const step = (weights: Weights, x: A): unknown => valueAndGrad(loss)(weights, x);
const made = (): [Weights, A] => [
  Array.from({ length: layers }, (_, i) => np.array(numbers(width * width, i, -0.3, 0.3)).reshape([width, width])),
  np.array(numbers(batch * width, 99)).reshape([batch, width]),
];
const leavesOf = (result: unknown): readonly A[] => {
  const [value, gradients] = result as readonly [A, Weights];
  return [value, ...gradients];
};

describe('memoryBudget', function () {
  this.timeout(120_000);

  it('that the plan keeps anyway changes nothing', () => {
    onCpu();
    const [weights, x] = made();
    const plain = jit(step).lower(weights, x);
    const same = jit(step, { memoryBudget: plain.peakBytes }).lower(weights, x);
    assert.deepEqual(same.memoryAnalysis().recomputed, []);
    assert.equal(same.toString(), plain.toString());
  });

  it('is kept by computing activations again: fewer than checkpointing all would, and the report says which', () => {
    const device = onCpu();
    const [weights, x] = made();
    const plain = jit(step).lower(weights, x).peakBytes;
    const budget = plain - 2 * activation;
    const frugal = jit(step, { memoryBudget: budget });
    const analysis = frugal.lower(weights, x).memoryAnalysis();
    assert.ok(analysis.peakBytes <= budget, `${analysis.peakBytes} bytes are planned, ${budget} are allowed`);
    assert.equal(analysis.recomputed.length, 2);
    const product = 2 * batch * width * width;
    for (const { bytes, flops, shape, place } of analysis.recomputed) {
      assert.deepEqual([bytes, shape], [activation, [batch, width]]);
      assert.ok(flops >= product && flops < 1.5 * product, `${flops} operations for one product of ${product}`);
      assert.match(analysis.places[place]!.file, /budget\.test\.ts$/);
    }
    assert.ok(
      analysis.values.some(
        ({ role, place }) => role === 'again' && analysis.places[place]!.line === analysis.places[analysis.recomputed[0]!.place]!.line,
      ),
    );
    const before = device.allocator.stats().bytesInUse;
    const { argumentBytes } = analysis;
    device.allocator.resetPeak();
    const expected = leavesOf(jit(step)(weights, x)).map(numbersOf);
    assert.equal(device.allocator.stats().peakBytesInUse - before + argumentBytes, plain);
    device.allocator.resetPeak();
    const start = device.allocator.stats().bytesInUse;
    const found = leavesOf(frugal(weights, x)).map(numbersOf);
    assert.ok(device.allocator.stats().peakBytesInUse - start + argumentBytes <= budget, 'the measured peak is within the budget too');
    assert.deepEqual(found, expected);
  });

  it('takes what costs fewest operations per byte', () => {
    onCpu();
    // Both are read early and late; the outer sum costs one operation per element, the product many.
    const f = (a: A, b: A): A => {
      const cheap = lax.stopGradient(a.reshape([256, 1])).add(a.reshape([1, 256]));
      const dear = b.matmul(b);
      const early = cheap.matmul(dear).sum().add(dear.matmul(cheap).sum());
      const middle = np
        .tanh(b.mul(early))
        .matmul(np.cos(b.add(early)))
        .matmul(b);
      return cheap.matmul(middle.matmul(dear));
    };
    const [a, b] = [np.array(numbers(256, 1)), np.array(numbers(256 * 256, 2)).reshape([256, 256])];
    const plain = jit(f).lower(a, b);
    const budgeted = jit(f, { memoryBudget: plain.peakBytes - 1024 });
    const { recomputed, peakBytes } = budgeted.lower(a, b).memoryAnalysis();
    assert.ok(peakBytes < plain.peakBytes);
    assert.equal(recomputed.length, 1);
    assert.equal(recomputed[0]!.flops, 256 * 256);
    assert.deepEqual(numbersOf(budgeted(a, b)), numbersOf(jit(f)(a, b)));
  });

  it('that cannot be kept fails before anything runs, and names the fewest buffers by path and line', () => {
    const device = onCpu();
    const [weights, x] = made();
    const donating = jit((state: { readonly w: Weights }, input: A) => step(state.w, input), {
      memoryBudget: '300KiB',
      donateArgnums: [0],
    });
    const before = device.allocator.stats();
    assert.throws(
      () => donating({ w: weights }, x),
      (fault) => {
        assert.ok(fault instanceof OutOfMemoryError);
        assert.match(fault.message, /memoryBudget is 300\.0 KiB/);
        assert.match(
          fault.message,
          /these [23] buffers are needed at the same time at .*budget\.test\.ts:\d+:\d+, and are 384\.0 KiB together/,
        );
        assert.match(fault.message, /128\.0 KiB in `input` f32\[1024,32\]\n/);
        const lines = readFileSync(new URL(import.meta.url), 'utf8').split('\n');
        const made = [...fault.message.matchAll(/128\.0 KiB in f32\[1024,32\].*, made at \/.*budget\.test\.ts:(\d+):\d+\n/g)];
        assert.ok(made.length > 0, fault.message);
        for (const [, line] of made) assert.match(lines[Number(line) - 1]!, /np\.tanh\(h\.matmul\(w\)\)/, 'the line as it was written');
        return true;
      },
    );
    assert.deepEqual(device.allocator.stats(), before);
    assert.ok([...weights, x].every((array) => !array.isDisposed));
    assert.equal(leavesOf(jit(step)(weights, x)).length, 1 + layers);
  });

  it('below arguments and results is said at once', () => {
    onCpu();
    assert.throws(
      () => jit((x: A) => x.add(1), { memoryBudget: '1KiB' })(np.ones([1024])),
      /this buffer alone is too large:\n.*4\.0 KiB in .*f32\[1024\]/,
    );
  });

  it('that is no size is a TypeError that says what is one', () => {
    for (const memoryBudget of ['plenty', '', 0, -1, Number.NaN])
      assert.throws(
        () => jit((x: A) => x, { memoryBudget }),
        (fault) => fault instanceof TypeError && /memoryBudget is .*"512MiB"/.test(fault.message),
      );
  });

  it('gives the same bits on WebGPU', async () => {
    const device = await sharedWebGPU();
    useDevice(device);
    const [weights, x] = made();
    const plain = jit(step);
    const frugal = jit(step, { memoryBudget: plain.lower(weights, x).peakBytes - 2 * activation });
    const read = (result: unknown) => Promise.all(leavesOf(result).map((leaf) => leaf.data()));
    assert.deepEqual(await read(frugal(weights, x)), await read(plain(weights, x)));
    onCpu();
  });

  /** Steps chosen at random, whose results are all read a second time on the way back; some are read in between. */
  const zigzag =
    (seed: number) =>
    (x: A, w: A): A => {
      const choices = numbers(40, seed, 0, 1);
      const steps: readonly ((h: A) => A)[] = [
        (h) => np.tanh(h),
        (h) => h.matmul(w),
        (h) => nn.softmax(h, -1),
        (h) => h.sub(h.mean(0, true)).mul(1.5),
        (h) => np.cos(h.transpose([1, 0])),
        (h) => np.where(h.greater(0), h, h.mul(h).sum(1, true)),
      ];
      const way: A[] = [x];
      for (const choice of choices.slice(0, 9)) way.push(steps[Math.floor(choice * steps.length)]!(way.at(-1)!));
      return way.toReversed().reduce((sum, h, i) => (choices[20 + i]! < 0.3 ? np.sin(sum.matmul(h)) : np.cos(sum.mul(h))));
    };

  it('gives the same bits for programs made at random, or says that it cannot', () => {
    onCpu();
    let [recomputing, refused] = [0, 0];
    for (let seed = 1; seed <= 5; seed++) {
      const f = zigzag(seed);
      const [x, w] = [np.array(numbers(4096, seed)).reshape([64, 64]), np.array(numbers(4096, -seed, -0.2, 0.2)).reshape([64, 64])];
      const plain = jit(f);
      const expected = numbersOf(plain(x, w));
      const { peakBytes } = plain.lower(x, w);
      for (const memoryBudget of [peakBytes - 1, Math.floor(peakBytes * 0.7)]) {
        const frugal = jit(f, { memoryBudget });
        try {
          assert.deepEqual(numbersOf(frugal(x, w)), expected, `seed ${seed}, ${memoryBudget} bytes`);
          const { recomputed, peakBytes: planned } = frugal.lower(x, w).memoryAnalysis();
          assert.ok(planned <= memoryBudget, `seed ${seed}`);
          if (recomputed.length > 0) recomputing++;
        } catch (fault) {
          if (!(fault instanceof OutOfMemoryError)) throw fault;
          assert.match(fault.message, /memoryBudget/);
          refused++;
        }
      }
    }
    assert.ok(recomputing >= 4, `only ${recomputing} plans were made with less memory, ${refused} refused`);
  });
});
