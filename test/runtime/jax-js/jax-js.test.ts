/**
 * Programs written for jax-js: the same numbers when the import is changed, the same mistakes found, no bytes left over.
 *
 * Depends on: runtime, test/support, @jax-js/jax.
 */
import assert from 'node:assert/strict';
import * as theirs from '@jax-js/jax';
import * as ours from '../../../runtime/jax-js.ts';
import { near, onCpu } from '../../support/arrays.ts';
import type { Device } from '../../../runtime/device/device.ts';

type Library = typeof ours;
const flat = (x: unknown): number[] => (Array.isArray(x) ? x.flatMap(flat) : [Number(x)]);

/** Programs as their README writes them, with every reference accounted for; each returns numbers. */
const programs: Readonly<Record<string, (library: Library) => unknown>> = {
  'references: x + x, sin, tanh, erfc': ({ numpy: np, scipySpecial }) => {
    const x = np.array([1, 2, 3]);
    return [x.ref.add(x.ref), np.sin(x.ref), np.tanh(x.ref).mul(5), scipySpecial.erfc(x)].map((y) => y.js());
  },
  'a function that keeps and consumes': ({ numpy: np }) => {
    const foo = (x: ours.Array, y: ours.Array): ours.Array => x.ref.add(x.mul(y));
    return foo(np.array([1, 2]), np.array([3, 4])).js();
  },
  'derivatives: vmap of grad, jvp, vjp, hessian': ({ numpy: np, vmap, grad, jvp, vjp, hessian }) => {
    const x = np.array([0.1, 0.2, 0.3]);
    const [y, dy] = jvp((a: ours.Array) => np.sin(a).sum(), [x.ref], [np.ones([3])]);
    const [z, back] = vjp((a: ours.Array) => np.cos(a), [x.ref]);
    const [g] = back(np.ones([3]));
    back.dispose();
    return [
      vmap(grad(np.sin as (a: ours.Array) => ours.Array))(x.ref),
      y,
      dy,
      z,
      g!,
      hessian((a: ours.Array) => a.ref.mul(a.ref).mul(a).sum())(x),
    ].map((v) => v.js());
  },
  'a training loop': ({ numpy: np, valueAndGrad, jit, tree }) => {
    type Params = { w: ours.Array; b: ours.Array };
    const loss = (p: Params, x: ours.Array, y: ours.Array): ours.Array => np.square(np.tanh(np.matmul(x, p.w)).add(p.b).sub(y)).mean();
    const step = jit((p: Params, x: ours.Array, y: ours.Array) => {
      const [value, g] = valueAndGrad(loss)(tree.ref(p), x, y);
      return [value, tree.map((a: ours.Array, d: ours.Array) => a.sub(d.mul(0.1)), p, g) as Params] as const;
    });
    let params: Params = {
      w: np.array([
        [0.1, -0.2],
        [0.3, 0.4],
      ]),
      b: np.zeros([2]),
    };
    const [x, y] = [
      np.array([
        [1, 2],
        [3, 4],
        [5, 6],
      ]),
      np.ones([3, 2]),
    ];
    const losses: unknown[] = [];
    for (let k = 0; k < 4; k++) {
      const [value, next] = step(params, x.ref, y.ref);
      losses.push(value.js());
      params = next;
    }
    x.dispose();
    y.dispose();
    const out = [losses, params.w.js(), params.b.js()];
    step.dispose();
    return out;
  },
  'random numbers and linear algebra': ({ numpy: np, random }) => {
    const [a, b] = random.split(random.key(7), 2);
    const m = np.array([
      [4, 1],
      [1, 3],
    ]);
    return [random.uniform(a!, [4]), random.bits(b!, [2]), np.linalg.cholesky(m.ref), np.linalg.solve(m, np.array([1, 2]))].map((y) =>
      y.js(),
    );
  },
};

describe('tidemark/jax-js', () => {
  let device: Device;
  before(async () => {
    await theirs.init('cpu');
    theirs.defaultDevice('cpu');
  });
  beforeEach(() => {
    device = onCpu();
  });

  for (const [name, program] of Object.entries(programs))
    it(`${name}: the numbers of jax-js, and every byte back`, () => {
      near(flat(program(ours)), flat(program(theirs as unknown as Library)), 2e-5, name);
      assert.equal(device.allocator.stats().bytesInUse, 0);
    });

  const { numpy: np, jit, grad } = ours;
  it('refuses a use after the last reference, and says what to add', () => {
    const x = np.array([1, 2]);
    x.add(1).dispose();
    assert.throws(() => x.mul(2), /used after its last reference was taken[\s\S]*taken at .*jax-js\.test\.ts[\s\S]*add \.ref/);
    const y = np.array([1, 2]);
    assert.throws(() => np.add(y, y), /used 2 times in one call and has 1 reference/);
    assert.equal(y.refCount, 1);
    y.dispose();
    assert.throws(() => {
      y.dispose();
    }, /last reference/);
  });

  it('donates an argument that comes with its last reference', () => {
    const f = jit((a: ours.Array) => a.mul(2));
    const x = np.ones([1024]);
    device.allocator.resetPeak();
    const y = f(x.ref);
    assert.equal(device.allocator.stats().peakBytesInUse, 8192);
    y.dispose();
    device.allocator.resetPeak();
    const z = f(x);
    assert.equal(device.allocator.stats().peakBytesInUse, 4096);
    assert.equal(x.refCount, 0);
    z.dispose();
  });

  it('holds what a compiled function closed over until it is disposed', () => {
    const w = np.full([64], 3);
    const f = jit((x: ours.Array) => x.mul(w));
    assert.equal((f(np.ones([64])).js() as number[])[0], 3);
    assert.equal((f(np.ones([64])).js() as number[])[0], 3);
    assert.equal(device.allocator.stats().bytesInUse, 256);
    f.dispose();
    assert.equal(device.allocator.stats().bytesInUse, 0);
  });

  it('frees what a gradient consumed', () => {
    const t = np.ones([64]);
    grad((p: ours.Array) => p.sub(t).sum())(np.ones([64])).dispose();
    assert.equal(device.allocator.stats().bytesInUse, 0);
  });
});
