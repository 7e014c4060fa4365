/**
 * Programs for jax-js in strict TypeScript, without a cast: `npm run check` is their first test, these runs the second.
 *
 * Depends on: runtime.
 */
import assert from 'node:assert/strict';
import { devicePut, grad, jit, lax, numpy as np, random, tree, valueAndGrad, vjp, vmap } from '../../../runtime/jax-js.ts';
import { onCpu } from '../../support/arrays.ts';

interface Params {
  foo: np.Array;
  bar: np.Array[];
}

describe('jax-js in strict TypeScript', () => {
  beforeEach(() => void onCpu());

  it('arrays from typed arrays, with options', () => {
    const buffer = new Float32Array([10, 20, 30, 100, 200, 300]);
    const x: np.Array = np.array(buffer).reshape([2, 3]);
    assert.deepEqual(x.js(), [
      [10, 20, 30],
      [100, 200, 300],
    ]);
    assert.equal(np.array([1, 2, 3], { dtype: np.int32 }).dtype, np.DType.Int32);
  });

  it('gradients of trees keep their types', () => {
    const sums = (p: Params): np.Array => p.foo.sum().add(p.bar.map((x) => x.sum()).reduce(np.add));
    const g: Params = grad(sums)({ foo: np.array([1, 2, 3]), bar: [np.array([10]), np.array([11, 12])] });
    assert.deepEqual(
      [g.foo.js(), g.bar.map((x) => x.js())],
      [
        [1, 1, 1],
        [[1], [1, 1]],
      ],
    );
    const [value, d] = valueAndGrad((x: np.Array) => x.ref.mul(x).sum())(np.array([3]));
    assert.deepEqual([value.item(), d.js()], [9, [6]]);
    const [out, back] = vjp((x: np.Array) => np.sin(x), [np.zeros([2])]);
    const [cotangent] = back(np.onesLike(out));
    back.dispose();
    assert.deepEqual(cotangent.js(), [1, 1]);
  });

  it('control flow carries what it was given', () => {
    const [total, seen] = lax.scan(
      (carry: np.Array, x: np.Array): [np.Array, np.Array] => {
        const next = carry.add(x);
        return [next.ref, next];
      },
      np.array(0),
      np.array([1, 2, 3]),
    );
    assert.deepEqual([total.item(), seen.js()], [6, [1, 3, 6]]);
    const doubled: np.Array = lax.foriLoop(0, 3, (i: np.Array, x: np.Array) => x.mul(2).add(i), np.array(1));
    const halved: np.Array = lax.whileLoop(
      (x: np.Array) => x.greater(1),
      (x: np.Array) => x.mul(0.5),
      np.array(8),
    );
    const chosen: np.Array = lax.cond(
      np.array(true),
      (x: np.Array) => x.add(1),
      (x: np.Array) => x.sub(1),
      np.array(1),
    );
    assert.deepEqual([doubled.item(), halved.item(), chosen.item()], [12, 1, 2]);
  });

  it('overloads are those of the functions', () => {
    const [u, s, v] = np.linalg.svd(np.eye(2));
    const only: np.Array = np.linalg.svd(np.eye(2), { computeUv: false });
    assert.deepEqual([u.shape, s.shape, v.shape, only.shape], [[2, 2], [2], [2, 2], [2]]);
    const rows: np.Array[] = np.indices([2, 2], { sparse: true });
    assert.equal(rows.length, 2);
    const keys: np.Array = random.split(random.key(0), 3);
    assert.equal(keys.shape[0], 3);
  });

  it('compiled functions, batches and trees', async () => {
    const hypot = jit(function hypot(x1: np.Array, x2: np.Array) {
      return np.sqrt(np.square(x1).add(np.square(x2)));
    });
    assert.equal(hypot(np.array([3]), np.array([4])).item(), 5);
    hypot.dispose();
    const rows: np.Array = vmap((row: np.Array) => row.sum())(np.ones([2, 3]));
    assert.deepEqual(rows.js(), [3, 3]);
    const params = { w: np.ones([2]), b: np.zeros([1]) };
    const copies: typeof params = tree.ref(params);
    tree.dispose(copies);
    assert.equal(params.w.refCount, 1);
    assert.deepEqual((await devicePut(params.w, 'cpu')).js(), [1, 1]);
  });
});
