/**
 * Transformations against each other, against loops, and against finite differences.
 *
 * Depends on: runtime, test/support.
 */
import assert from 'node:assert/strict';
import {
  checkpoint,
  checkpointPolicies,
  customJvp,
  customVjp,
  evalShape,
  grad,
  hessian,
  jacfwd,
  jacrev,
  jit,
  jvp,
  lax,
  linearize,
  makeJaxpr,
  nn,
  np,
  pmap,
  valueAndGrad,
  vjp,
  vmap,
  type Array,
} from '../../../runtime/index.ts';
import { near, numbers, numbersOf, onCpu } from '../../support/arrays.ts';

const vector = (count: number, seed: number): Array => np.array(numbers(count, seed));
const slope = (f: (x: Array) => Array, at: number): number =>
  (f(np.array(at + 0.01)).itemSync() - f(np.array(at - 0.01)).itemSync()) / 0.02;
const rows = np.array;

describe('transformations', () => {
  let xs: Array;
  before(() => {
    onCpu();
    xs = rows([
      [1, 2],
      [3, -1],
      [0.5, 0.1],
    ]);
  });

  const f = (x: Array): Array => np.sin(x).mul(x.sum());
  it('forward and reverse mode give the same derivatives', () => {
    const x = vector(4, 1);
    near(numbersOf(jacfwd(f)(x)), numbersOf(jacrev(f)(x)), 1e-5, 'jacobian');
    const scalar = (v: Array): Array => f(v).mul(f(v)).sum();
    near(numbersOf(hessian(scalar)(x)), numbersOf(jacrev(grad(scalar))(x)), 1e-4, 'hessian');
    const [y, push] = linearize(f, [x]);
    const [z, pull] = vjp(f, [x]);
    near(numbersOf(y), numbersOf(z), 0, 'values');
    const [t, g] = [vector(4, 2), vector(4, 3)];
    near([push(t).mul(g).sum().itemSync()], [pull(g)[0].mul(t).sum().itemSync()], 1e-5, 'transpose');
    near(numbersOf(jvp(f, [x], [t])[1]), numbersOf(push(t)), 1e-6, 'jvp');
  });

  it('nest in any order, with and without jit', () => {
    const g = (x: Array): Array => np.tanh(x).mul(x);
    const [x, both] = [np.array(0.3), np.array([0.3, -0.7])];
    const second = grad(grad(g))(x).itemSync();
    near([second], [slope(grad(g), 0.3)], 1e-3, 'second derivative');
    near([jit(grad(jit(grad(g))))(x).itemSync()], [second], 1e-6, 'under jit');
    near(numbersOf(vmap(grad(grad(g)))(both)), [second, grad(grad(g))(np.array(-0.7)).itemSync()], 1e-5, 'batched');
    near(
      numbersOf(grad((v: Array) => vmap(grad(g))(v).sum())(both)),
      numbersOf(vmap(grad(grad(g)))(both)),
      1e-5,
      'gradient of a batch of gradients',
    );
    near(
      numbersOf(
        jit(vmap(vmap(g)))(
          rows([
            [1, 2],
            [3, 4],
          ]),
        ),
      ),
      numbersOf(
        g(
          rows([
            [1, 2],
            [3, 4],
          ]),
        ),
      ),
      1e-6,
      'two batch axes',
    );
  });

  it('take trees, aux results, and several arguments', () => {
    const loss = (p: { w: Array; b: Array[] }, x: Array): Array => x.mul(p.w).add(p.b[0]!).sum();
    const [value, g] = valueAndGrad(loss)({ w: np.array([1, 2]), b: [np.array(3)] }, np.array([4, 5]));
    assert.deepEqual([value.itemSync(), numbersOf(g.w), numbersOf(g.b[0]!)], [20, [4, 5], [2]]);
    const [gradient, extra] = grad((x: Array) => [x.mul(x), { twice: x.mul(2) }] as const, { hasAux: true })(np.array(3));
    assert.deepEqual([gradient.itemSync(), extra.twice.itemSync()], [6, 6]);
    const both = grad((x: Array, y: Array) => x.mul(y), { argnums: [0, 1] })(np.array(3), np.array(4)) as unknown as Array[];
    assert.deepEqual(
      both.map((x) => x.itemSync()),
      [4, 3],
    );
  });

  it('say what is wrong', () => {
    assert.throws(() => grad((x: Array) => x)(np.ones([2])), /returns f32\[2\], and only a single float has a gradient/);
    assert.throws(() => grad((x: Array) => x.sum())(np.ones([2], 'int32')), /i32\[2\], and only floats have gradients/);
    assert.throws(() => vmap((x: Array, y: Array) => x.add(y))(np.ones([2]), np.ones([3])), /has 2 rows/);
    let kept: Array | undefined;
    jit((x: Array) => {
      kept = x.add(1);
      return x;
    })(np.ones([2]));
    assert.throws(() => kept!.add(1), /was made while .* was traced, and is used after that/);
    assert.throws(
      () =>
        jit((x: Array) => {
          void x.js();
          return x;
        })(np.ones([2])),
      /it has no value yet/,
    );
  });

  const looped = (w: Array): Array => {
    const [carry, out] = lax.scan(
      (c: Array, x: Array): [Array, Array] => {
        const n = np.tanh(c.mul(w).add(x));
        return [n, n.mul(x)];
      },
      np.zeros([2]),
      xs,
    );
    return carry.sum().add(out.sum());
  };
  const unrolled = (w: Array): Array => {
    let c = np.zeros([2]);
    let total = np.zeros([]);
    for (let k = 0; k < 3; k++) {
      const x = xs.slice(k);
      c = np.tanh(c.mul(w).add(x));
      total = total.add(c.mul(x).sum());
    }
    return c.sum().add(total);
  };
  it('go through scan as through an unrolled loop', () => {
    const w = np.array(0.7);
    near([looped(w).itemSync()], [unrolled(w).itemSync()], 1e-6, 'value');
    near([grad(looped)(w).itemSync()], [grad(unrolled)(w).itemSync()], 1e-5, 'gradient');
    near([grad(grad(looped))(w).itemSync()], [grad(grad(unrolled))(w).itemSync()], 1e-4, 'second derivative');
    near(
      numbersOf(vmap(grad(looped))(np.array([0.7, 0.2]))),
      [0.7, 0.2].map((v) => grad(unrolled)(np.array(v)).itemSync()),
      1e-5,
      'batch',
    );
    near([jvp(looped, [w], [np.ones([])])[1].itemSync()], [grad(unrolled)(w).itemSync()], 1e-5, 'tangent');
    near([jit(grad(looped))(w).itemSync()], [grad(unrolled)(w).itemSync()], 1e-5, 'under jit');
  });

  it('go through conditions and loops without a known end', () => {
    const branch = (p: Array, x: Array): Array =>
      lax.cond(
        p,
        (v: Array) => np.sin(v).mul(3),
        (v: Array) => v.mul(v),
        x,
      );
    const [yes, no, x] = [np.array(true), np.array(false), np.array(2)];
    near(
      [branch(yes, x), branch(no, x)].map((v) => v.itemSync()),
      [3 * Math.sin(2), 4],
      1e-6,
      'value',
    );
    near(
      [yes, no].map((p) => grad((v: Array) => branch(p, v))(x).itemSync()),
      [3 * Math.cos(2), 4],
      1e-5,
      'gradient',
    );
    near(numbersOf(vmap(branch)(np.array([true, false]), np.array([2, 2]))), [3 * Math.sin(2), 4], 1e-6, 'each row its own');
    const doubled = (v: Array): Array =>
      lax.whileLoop(
        (c: Array) => c.less(100),
        (c: Array) => c.mul(2),
        v,
      );
    near(numbersOf(vmap(doubled)(np.array([3, 50, 200]))), [192, 100, 200], 0, 'each row its own count');
    near([jvp(doubled, [np.array(3)], [np.array(1)])[1].itemSync()], [64], 0, 'tangent');
    assert.throws(() => grad(doubled)(np.array(3)), /a `whileLoop` has no gradient/);
    assert.equal(lax.foriLoop(0, 5, (i: Array, c: Array) => c.add(i), np.zeros([])).itemSync(), 10);
    assert.equal(lax.switch(np.array(7, 'int32'), [(v: Array) => v, (v: Array) => v.mul(10)], np.array(2)).itemSync(), 20);
    assert.throws(
      () => lax.scan((c: Array): [Array, undefined] => [c.reshape([1]), undefined], np.zeros([]), undefined, 2),
      /turns carry from f32\[\] into f32\[1\]/,
    );
  });

  it('compute again what a checkpoint forgot, and get the same gradient', () => {
    const block = (x: Array, w: Array): Array => np.tanh(np.sin(x).matmul(w));
    const w = np.ones([2, 2]);
    const expected = numbersOf(grad((v: Array) => block(xs, v).sum())(w));
    for (const policy of [checkpointPolicies.nothingSaveable, checkpointPolicies.dotsSaveable, checkpointPolicies.everythingSaveable])
      near(numbersOf(grad((v: Array) => checkpoint(block, { policy })(xs, v).sum())(w)), expected, 1e-6, policy.kind);
  });

  it('use derivatives that a function brings along', () => {
    const reversed = customVjp((x: Array) => x.mul(x));
    reversed.defvjp(
      (x) => [x.mul(x), x] as const,
      (x, g) => [g.mul(x).mul(100)],
    );
    near([grad(reversed)(np.array(3)).itemSync(), ...numbersOf(vmap(grad(reversed))(np.array([1, 2])))], [300, 100, 200], 0, 'reverse');
    const pushed = customJvp((x: Array) => x.mul(x));
    pushed.defjvp(([x], [t]) => [x.mul(x), t.mul(x).mul(7)]);
    near([grad(pushed)(np.array(3)).itemSync(), jvp(pushed, [np.array(3)], [np.array(1)])[1].itemSync()], [21, 21], 0, 'forward');
  });

  it('share sums, means, extremes and indices over the lanes of a pmap', () => {
    const [sum, mean, index, all, most] = pmap(
      (x: Array) => [lax.psum(x, 'i'), lax.pmean(x, 'i'), lax.axisIndex('i'), lax.allGather(x, 'i'), lax.pmax(x, 'i')],
      { axisName: 'i' },
    )(np.array([1, 2, 6]));
    assert.deepEqual(
      [sum, mean, index, all, most].map((x) => numbersOf(x!)),
      [
        [9, 9, 9],
        [3, 3, 3],
        [0, 1, 2],
        [1, 2, 6, 1, 2, 6, 1, 2, 6],
        [6, 6, 6],
      ],
    );
    assert.throws(() => lax.psum(np.ones([]), 'i'), /no axis named `i`/);
  });

  it('can be read: programs and shapes without running', () => {
    assert.equal(
      String(
        makeJaxpr(function twice(x: Array) {
          return x.mul(2);
        })(np.ones([3])),
      ),
      'twice(a: f32[3]) {\n  b: f32[3] = mul a 2:f32[]\n  return b\n}',
    );
    assert.deepEqual(
      evalShape((x: Array) => ({ y: nn.relu(x).sum(0) }), np.ones([2, 3])),
      { y: { shape: [3], dtype: 'float32' } },
    );
  });
});
