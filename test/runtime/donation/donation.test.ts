/**
 * Donation, row by row of its table in the README.
 *
 * Depends on: runtime, test/support.
 */
import assert from 'node:assert/strict';
import {
  ArrayDeletedError,
  donate,
  DonationError,
  grad,
  jit,
  np,
  pmap,
  tree,
  valueAndGrad,
  vjp,
  vmap,
  type Array,
} from '../../../runtime/index.ts';
import { DeviceArray } from '../../../runtime/api/array.ts';
import { numbersOf, onCpu } from '../../support/arrays.ts';
import type { Device } from '../../../runtime/device/device.ts';

const addressOf = (x: Array): string => {
  assert.ok(x instanceof DeviceArray);
  return `${x.buffer.address.slab}:${x.buffer.address.offset}`;
};

describe('donation', () => {
  let device: Device;
  beforeEach(() => {
    device = onCpu();
  });
  const inUse = (): number => device.allocator.stats().bytesInUse;

  /** Warnings that a call prints. */
  function warnings(run: () => void): string[] {
    const found: string[] = [];
    const former = console.warn;
    console.warn = (text: string) => {
      found.push(text);
    };
    try {
      run();
    } finally {
      console.warn = former;
    }
    return found;
  }

  it('gives the buffer of a donated leaf to an output of its size', () => {
    const step = jit((x: Array) => x.mul(0.5).add(1), { donateArgnums: [0] });
    const x = np.ones([1024]);
    const before = addressOf(x);
    const y = step(x);
    assert.equal(addressOf(y), before);
    assert.equal(inUse(), 4096);
    assert.equal(step.lower(y).aliasBytes, 4096);
    assert.equal(step.lower(y).peakBytes, 4096);
  });

  it('pairs outputs with donated leaves so that nothing is copied', () => {
    const crossed = jit((a: Array, b: Array) => [b.mul(2), a.mul(3)], { donateArgnums: [0, 1] });
    const { copies } = crossed.lower(np.ones([512]), np.ones([512])).memoryAnalysis();
    assert.deepEqual(copies, []);
    const [first, second] = crossed(np.ones([512]), np.full([512], 2));
    assert.equal(numbersOf(first!)[0], 4);
    assert.equal(numbersOf(second!)[0], 3);
  });

  it('frees a donated leaf without an output at its last use, and uses its space again', () => {
    const f = (x: Array): Array => np.tanh(np.exp(x).matmul(np.ones([256, 256]))).sum();
    const borrowing = jit(f).lower(np.ones([256, 256])).peakBytes;
    const donating = jit(f, { donateArgnums: [0] }).lower(np.ones([256, 256])).peakBytes;
    assert.ok(donating < borrowing, `${donating} bytes with donation, ${borrowing} without`);
  });

  it('warns once of a donation that lowers nothing, and names path, shape, bytes and reason', () => {
    const total = jit((state: { x: Array }) => state.x.sum(), { donateArgnums: [0] });
    const [text, ...more] = warnings(() => {
      total({ x: np.ones([1024]) });
      total({ x: np.ones([1024]) });
    });
    assert.match(text!, /`state\.x` f32\[1024\], 4\.0 KiB: no output has its 4096 bytes/);
    assert.deepEqual(more, []);
  });

  it('is an error instead when it is strict, and leaves everything alive', () => {
    const x = np.ones([1024]);
    const total = jit((y: Array) => y.sum(), { donateArgnums: [0], donate: 'strict' });
    assert.throws(() => total(x), DonationError);
    assert.equal(x.isDisposed, false);
    assert.equal(x.sum().itemSync(), 1024);
  });

  it('leaves every donated leaf dead, with where it was made and where it was donated', () => {
    const step = jit(
      function advance(weights: { w: Array }) {
        return { w: weights.w.mul(2) };
      },
      { donateArgnums: [0] },
    );
    const params = { w: np.ones([8]) };
    step(params);
    assert.equal(params.w.isDisposed, true);
    assert.deepEqual([params.w.shape, params.w.dtype, params.w.nbytes], [[8], 'float32', 32]);
    assert.throws(
      () => params.w.add(1),
      (error: Error) =>
        error instanceof ArrayDeletedError &&
        /`weights\.w` was read after its buffer was donated[\s\S]*made at .*donation\.test\.ts[\s\S]*donated to `advance` at .*donation\.test\.ts/.test(
          error.message,
        ),
    );
    assert.throws(() => step(params), ArrayDeletedError);
    params.w.dispose();
  });

  it('donates nothing when the call throws before it is submitted', () => {
    const x = np.ones([4]);
    const broken = jit((y: Array) => y.matmul(np.ones([5])), { donateArgnums: [0] });
    assert.throws(() => broken(x), /dimensions 4 and 5/);
    assert.equal(numbersOf(x)[0], 1);
  });

  it('refuses one buffer twice in a call, by both paths, before anything runs', () => {
    const both = jit((a: Array, b: { c: Array }) => [a.add(b.c), a.sub(b.c)], { donateArgnums: [0, 1] });
    const x = np.ones([4]);
    assert.throws(
      () => both(x, { c: x }),
      (error: Error) => error instanceof DonationError && /donated twice in one call: as `a` and as `b\.c`/.test(error.message),
    );
    const first = jit((a: Array, b: Array) => a.add(b), { donateArgnums: [0] });
    assert.throws(() => first(x, x), /donated and also read in one call: as `a` and as `b`/);
    assert.equal(x.isDisposed, false);
    const closing = jit((a: Array) => a.add(x), { donateArgnums: [0] });
    assert.throws(() => closing(x), /closes over/);
    assert.equal(x.isDisposed, false);
  });

  it('checks its options at jit()', () => {
    const f = (params: Array, x: Array): Array => params.add(x);
    assert.throws(() => jit(f, { donateArgnums: [0], staticArgnums: [0] }), /argument 0 is static and donated/);
    assert.throws(() => jit(f, { donateArgnums: [2] }), TypeError);
    assert.throws(() => jit(f, { donateArgnums: [-3] }), TypeError);
    assert.throws(() => jit(f, { donateArgnames: 'weights' }), /its parameters are params, x.*donateArgnums/);
  });

  it('takes names and negative positions', () => {
    for (const options of [{ donateArgnames: 'params' }, { donateArgnums: -2 }]) {
      const step = jit((params: Array, x: Array) => params.add(x), options);
      const [params, x] = [np.ones([4]), np.ones([4])];
      step(params, x);
      assert.deepEqual([params.isDisposed, x.isDisposed], [true, false]);
    }
  });

  it('never touches typed arrays and numbers of the caller', () => {
    const f = jit((x: Float32Array | Array, s: number | Array) => (x as Array).mul(s as Array), { donateArgnums: [0, 1] });
    const data = Float32Array.of(1, 2, 3);
    const [y] = [f(data, 2)];
    assert.deepEqual(numbersOf(y), [2, 4, 6]);
    assert.deepEqual([...data], [1, 2, 3]);
    assert.equal(inUse(), 256);
  });

  it('donates by a one-shot handle at a jitted call, in a tree, and to an eager operation', () => {
    const f = jit((state: { a: Array; b: Array }) => ({ a: state.a.mul(2), b: state.b.add(1) }));
    const state = { a: np.ones([256]), b: np.ones([256]) };
    const next = f(donate(state));
    assert.deepEqual([state.a.isDisposed, state.b.isDisposed], [true, true]);
    const before = addressOf(next.a);
    const sum = np.add(donate(next.a), 1);
    assert.equal(addressOf(sum), before);
    assert.equal(next.a.isDisposed, true);
    assert.equal(numbersOf(sum)[0], 3);
  });

  it('refuses a handle that was used, or whose array died; one that is never used has no effect', () => {
    const x = np.ones([4]);
    const handle = donate(x);
    np.exp(handle);
    assert.throws(() => np.exp(handle), DonationError);
    const y = np.ones([4]);
    const late = donate(y);
    y.dispose();
    assert.throws(() => np.exp(late), DonationError);
    const z = np.ones([4]);
    donate(z);
    assert.equal(z.isDisposed, false);
  });

  it('has no effect inside of a trace, and says so once', () => {
    const f = jit((x: Array) => donate(x).add(donate(x)));
    const x = np.ones([4]);
    const texts = warnings(() => {
      assert.equal(numbersOf(f(x))[0], 2);
    });
    assert.equal(texts.length, 1);
    assert.equal(x.isDisposed, false);
  });

  it('lets a read that is pending finish', async () => {
    const step = jit((x: Array) => x.mul(2), { donateArgnums: [0] });
    const x = np.full([4], 3);
    const pending = x.data();
    step(x);
    assert.deepEqual([...(await pending)], [3, 3, 3, 3]);
  });

  it('has no effect of its own in a nested jit', () => {
    const inner = jit((x: Array) => x.mul(2), { donateArgnums: [0] });
    const outer = jit((x: Array) => inner(x).add(x));
    const x = np.ones([4]);
    assert.deepEqual(numbersOf(outer(x)), [3, 3, 3, 3]);
    assert.equal(x.isDisposed, false);
  });

  it('kills the leaf of a transformed donating function, and never gives a wrong gradient', () => {
    const loss = jit((w: Array) => np.square(w).sum(), { donateArgnums: [0] });
    const w = np.full([4], 3);
    assert.deepEqual(numbersOf(grad(loss)(w)), [6, 6, 6, 6]);
    assert.equal(w.isDisposed, true);
    const v = np.full([4], 3);
    const [value, g] = valueAndGrad(loss)(v);
    assert.deepEqual([value.itemSync(), ...numbersOf(g)], [36, 6, 6, 6, 6]);
    const u = np.full([4], 3);
    const [, pull] = vjp(loss, [u]);
    assert.equal(u.isDisposed, true);
    np.zeros([4]);
    assert.deepEqual(numbersOf(pull(np.ones([]))[0]), [6, 6, 6, 6]);
    const rows = np.ones([3, 2]);
    assert.deepEqual(numbersOf(vmap(loss)(rows)), [2, 2, 2]);
    assert.equal(rows.isDisposed, true);
  });

  it('forwards unchanged inputs without copying', () => {
    const f = jit((s: { big: Array; n: Array }) => ({ big: s.big, n: s.n.add(1) }));
    const s = { big: np.ones([4096]), n: np.zeros([]) };
    const before = inUse();
    const out = f(s);
    assert.equal(inUse() - before, 256);
    assert.equal(addressOf(out.big), addressOf(s.big));
    s.big.dispose();
    assert.equal(numbersOf(out.big)[0], 1);
  });

  it('works across the lanes of a pmap', () => {
    const step = pmap((w: Array, g: Array) => w.sub(g), { axisName: 'lanes', donateArgnums: [0] });
    const w = np.ones([2, 8]);
    const next = step(w, np.ones([2, 8]));
    assert.equal(w.isDisposed, true);
    assert.equal(numbersOf(next)[0], 0);
  });

  it('changes no bit of any result', () => {
    const f = (p: { w: Array; m: Array }, x: Array) => {
      const [value, g] = valueAndGrad((w: Array) => np.square(np.tanh(x.matmul(w))).mean())(p.w);
      const m = p.m.mul(0.9).add(g);
      return { value, p: { w: p.w.sub(m.mul(0.1)), m } };
    };
    const state = () => ({
      w: np.array(
        Float32Array.from({ length: 64 }, (_, k) => Math.sin(k)),
        { shape: [8, 8] },
      ),
      m: np.zeros([8, 8]),
    });
    const x = np.array(
      Float32Array.from({ length: 32 }, (_, k) => Math.cos(k)),
      { shape: [4, 8] },
    );
    const results = [jit(f), jit(f, { donateArgnums: [0] }), jit(f, { donateArgnums: [0, 1] })].map((g) => {
      const out = g(state(), g === undefined ? x : x.copy());
      return tree.leaves(out).map((leaf) => numbersOf(leaf));
    });
    assert.deepEqual(results[1], results[0]);
    assert.deepEqual(results[2], results[0]);
  });
});
