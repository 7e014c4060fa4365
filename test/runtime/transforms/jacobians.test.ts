/**
 * All partial derivatives: of trees, by several arguments, with something passed on.
 *
 * Depends on: runtime, test/support.
 */
import assert from 'node:assert/strict';
import { grad, hessian, jacfwd, jacrev, jit, lax, np, vmap, type Array } from '../../../runtime/index.ts';
import { near, numbersOf, onCpu } from '../../support/arrays.ts';

const [a, b] = [
  [0.5, -1],
  [2, 3],
];
const pair = (): { a: Array; b: Array } => ({ a: np.array(a), b: np.array(b) });

describe('jacobians', () => {
  before(() => void onCpu());

  for (const [name, jacobian] of [
    ['jacfwd', jacfwd],
    ['jacrev', jacrev],
  ] as const)
    it(`${name} of a tree gives a tree of the argument’s form for each result`, () => {
      const found = jit(jacobian((p: { a: Array; b: Array }) => ({ product: p.a.mul(p.b), total: np.sin(p.a).sum() })))(pair());
      near(numbersOf(found.product.a), [2, 0, 0, 3], 0, 'product by a');
      near(numbersOf(found.product.b), [0.5, 0, 0, -1], 0, 'product by b');
      near(numbersOf(found.total.a), a.map(Math.cos), 1e-6, 'total by a');
      near(numbersOf(found.total.b), [0, 0], 0, 'total by b');
      assert.deepEqual([found.product.a.shape, found.total.a.shape], [[2, 2], [2]]);
      const f = (x: Array, y: Array): Array => x.mul(x).mul(y);
      const [byX, byY] = jacobian(f, { argnums: [0, -1] })(np.array(a), np.array(b));
      near(numbersOf(byX), [2 * 0.5 * 2, 0, 0, 2 * -1 * 3], 0, 'by the first');
      near(numbersOf(byY), [0.25, 0, 0, 1], 0, 'by the last');
      const [derivative, rest] = jacobian((x: Array) => [x.mul(3), { n: x.sum() }] as const, { hasAux: true })(np.array(a));
      near([...numbersOf(derivative), rest.n.itemSync()], [3, 0, 0, 3, -0.5], 0, 'with something passed on');
    });

  it('a hessian of a tree has a block for each pair of leaves', () => {
    const found = hessian((p: { a: Array; b: Array }) => p.a.mul(p.a).mul(p.b).sum())(pair());
    near(numbersOf(found.a.a), [4, 0, 0, 6], 1e-6, 'a a');
    near(numbersOf(found.a.b), [1, 0, 0, -2], 1e-6, 'a b');
    near(numbersOf(found.b.a), [1, 0, 0, -2], 1e-6, 'b a');
    near(numbersOf(found.b.b), [0, 0, 0, 0], 0, 'b b');
  });

  it('a hessian of a batched scan is the jacobian of its gradient', () => {
    const f = (w: Array): Array =>
      vmap((x: Array) => lax.scan((c: Array, y: Array): [Array, Array] => [np.tanh(c.mul(w).add(y)).sum().add(c), c], np.zeros([]), x)[0])(
        np.array([
          [0.1, 0.2, 0.3],
          [-1, 0.5, 2],
        ]),
      ).sum();
    const w = np.array([0.3, -0.2]);
    near(numbersOf(hessian(f)(w)), numbersOf(jacrev(grad(f))(w)), 1e-4, 'hessian');
  });

  it('say what can’t be differentiated', () => {
    const f = (x: Array): Array => x.mul(2);
    assert.throws(() => jacrev(f)(np.array([1, 2], 'int32')), /only floats have gradients/);
    assert.throws(() => jacfwd((x: Array) => x.greater(0))(np.ones([2])), /a result of bool/);
    assert.throws(() => jacfwd(f, { argnums: 1 })(np.ones([2])), /argnums 1 and 1 arguments/);
    assert.throws(() => grad((x: Array) => x.sum(), { argnums: -2 })(np.ones([2])), /argnums -2 and 1 arguments/);
    near(numbersOf(grad((x: Array, y: Array) => x.mul(y).sum(), { argnums: -1 })(np.array(a), np.array(b)) as Array), a, 0, 'the last');
  });
});
