/**
 * Element types in NumPy's functions: how float16 is added up, weak types that meet others, JAX's numbers in float16.
 *
 * Depends on: runtime, test/support.
 */
import assert from 'node:assert/strict';
import { grad, nn, np, random, type Array } from '../../../runtime/index.ts';
import { near, numbersOf, onCpu } from '../../support/arrays.ts';

const half = 'float16';
const typeOf = (x: Array): string => `${x.dtype}${x.weakType ? ' weak' : ''}`;

describe('element types', () => {
  before(() => void onCpu());

  it('float16 is added up in float32: sums neither stop at 2048 nor overflow on the way', () => {
    const ones = np.ones([5000], half);
    const row = ones.reshape([1, 5000]);
    const many: Record<string, Array> = {
      sum: ones.sum(),
      product: row.matmul(row.transpose()).reshape([]),
      vector: np.dot(ones, ones),
      einsum: np.einsum('i,i->', ones, ones),
    };
    for (const [name, x] of Object.entries(many)) assert.deepEqual([x.dtype, x.itemSync()], [half, 5000], name);
    const large = np.full([3000], 60000, half);
    assert.deepEqual([large.mean().dtype, large.mean().itemSync()], [half, 60000]);
    const spread = np.array([-100, 100], half);
    assert.equal(np.var_(np.concatenate(globalThis.Array.from({ length: 20 }, () => spread))).itemSync(), 10000);
    near(numbersOf(nn.softmax(ones)), numbersOf(ones.div(5000)), 1e-6, 'softmax');
    const g = grad((x: Array) => x.mul(x).mean())(np.array([1, 2, 3, 4], half));
    assert.deepEqual([g.dtype, ...numbersOf(g)], [half, 0.5, 1, 1.5, 2]);
  });

  it('a number beside an array of integers makes a weak float: the next array decides, as in JAX', () => {
    const whole = np.array([1, 2], 'int32');
    assert.equal(typeOf(whole.add(0.5)), 'float32 weak');
    assert.equal(typeOf(whole.add(0.5).add(np.ones([2], half))), half);
    assert.equal(typeOf(whole.add(0.5).add(np.ones([2]))), 'float32');
    assert.equal(typeOf(np.array([true, false]).add(1)), 'int32 weak');
    assert.equal(
      typeOf(
        np
          .array([true, false])
          .add(1)
          .add(np.ones([2], 'uint32')),
      ),
      'uint32',
    );
    assert.equal(typeOf(np.where(np.array([true, false]), 1.5, whole)), 'float32 weak');
    assert.equal(typeOf(np.clip(whole, 0.5, 2.5)), 'float32 weak');
    assert.equal(typeOf(whole.add(1)), 'int32');
    assert.equal(typeOf(whole.add(0.5).astype('float32')), 'float32');
  });

  it('random numbers in float16 are JAX’s', () => {
    const key = random.key(42);
    assert.deepEqual(numbersOf(random.uniform(key, [5], half)), [0.076171875, 0.1904296875, 0.9755859375, 0.7568359375, 0.44921875]);
    const range = random.uniform(key, [5], { dtype: half, minval: -2, maxval: 3 });
    assert.equal(range.dtype, half);
    near(numbersOf(range), [-1.619140625, -1.0478515625, 2.87890625, 1.78515625, 0.24609375], 2e-3, 'uniform');
    near(
      numbersOf(random.normal(key, [5], half)),
      [-1.4296875, -0.87548828125, 1.974609375, 0.69677734375, -0.1270751953125],
      4e-3,
      'normal',
    );
  });
});
