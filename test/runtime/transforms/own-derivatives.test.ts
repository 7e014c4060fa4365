/**
 * Functions with derivatives of their own: rules that call the function itself, batches, and what has no derivative.
 *
 * Depends on: runtime, test/support.
 */
import assert from 'node:assert/strict';
import { customJvp, customVjp, grad, hessian, jit, jvp, np, vmap, type Array } from '../../../runtime/index.ts';
import { near, numbersOf, onCpu } from '../../support/arrays.ts';

const xs = [0.3, -1.2, 2];

describe('derivatives that functions bring along', () => {
  before(() => void onCpu());

  it('a forward rule may call its own function, as is usual in JAX, and takes part in every order', () => {
    const cube = customVjp((x: Array) => x.mul(x).mul(x));
    cube.defvjp(
      (x) => [cube(x), x] as const,
      (x, g) => [g.mul(x).mul(x).mul(30)],
    );
    const total = (x: Array): Array => cube(x).sum();
    const expected = xs.map((x) => 30 * x * x);
    near(numbersOf(grad(total)(np.array(xs))), expected, 1e-5, 'gradient');
    near(numbersOf(jit(grad(total))(np.array(xs))), expected, 1e-5, 'compiled');
    near(numbersOf(vmap(grad(cube))(np.array(xs))), expected, 1e-5, 'batched');
    near(
      numbersOf(grad((x: Array) => grad(total)(x).sum())(np.array(xs))),
      xs.map((x) => 60 * x),
      1e-4,
      'second',
    );
  });

  it('so may a tangent rule: the second derivative uses it again', () => {
    const exp = customJvp((x: Array) => np.exp(x));
    exp.defjvp(([x], [t]) => [exp(x), t.mul(exp(x)).mul(3)]);
    const total = (x: Array): Array => exp(x).sum();
    near(
      numbersOf(grad(total)(np.array(xs))),
      xs.map((x) => 3 * Math.exp(x)),
      1e-5,
      'gradient',
    );
    near(
      numbersOf(hessian(total)(np.array(xs))),
      xs.flatMap((x, k) => xs.map((_, j) => (j === k ? 9 * Math.exp(x) : 0))),
      1e-5,
      'second',
    );
    near(
      numbersOf(vmap(grad(exp))(np.array(xs))),
      xs.map((x) => 3 * Math.exp(x)),
      1e-5,
      'batched',
    );
  });

  it('several arguments, a batch, and an array that only some rows share', () => {
    const f = customVjp((x: Array, y: Array) => x.mul(np.sin(y)));
    f.defvjp(
      (x, y) => [f(x, y), [np.cos(y), np.sin(y), x]] as const,
      ([cos, sin, x], g) => [g.mul(sin!).mul(2), g.mul(cos!).mul(x!)],
    );
    const y = np.array(0.5);
    const [dx, dy] = vmap(grad(f, { argnums: [0, 1] }) as never as (x: Array, y: Array) => [Array, Array], [0, null])(np.array(xs), y);
    near(
      numbersOf(dx),
      xs.map(() => 2 * Math.sin(0.5)),
      1e-6,
      'first',
    );
    near(
      numbersOf(dy),
      xs.map((x) => x * Math.cos(0.5)),
      1e-6,
      'second',
    );
  });

  it('say what has no derivative, instead of a zero', () => {
    const reverse = customVjp((x: Array) => x.mul(x));
    reverse.defvjp(
      (x) => [x.mul(x), x] as const,
      (x, g) => [g.mul(x).mul(2)],
    );
    assert.throws(() => jvp(reverse, [np.array(1)], [np.array(1)]), /has a gradient of its own, and no tangent/);
    const closing = (make: (w: Array) => (x: Array) => Array) => grad((w: Array) => make(w)(np.array(2)))(np.array(3));
    assert.throws(
      () =>
        closing((w) => {
          const f = customVjp((x: Array) => x.mul(w));
          f.defvjp(
            (x) => [x.mul(w), w] as const,
            (own, g) => [g.mul(own)],
          );
          return f;
        }),
      /closes over an array that is differentiated: pass that array as an argument/,
    );
    assert.throws(
      () =>
        closing((w) => {
          const f = customJvp((x: Array) => x.mul(w));
          f.defjvp(([x], [t]) => [x.mul(w), t.mul(w)]);
          return f;
        }),
      /closes over an array that is differentiated/,
    );
    const wrong = customVjp((x: Array) => x.mul(x));
    wrong.defvjp(
      (x) => x.mul(x) as never,
      (_, g) => [g],
    );
    assert.throws(() => grad(wrong)(np.array(1)), /return \[the result, what the backward rule needs\]/);
  });

  it('may close over arrays that nobody differentiates', () => {
    const w = np.array(5);
    const f = customVjp((x: Array) => x.mul(w));
    f.defvjp(
      (x) => [f(x), w] as const,
      (own, g) => [g.mul(own).mul(2)],
    );
    assert.equal(grad(f)(np.array(1)).itemSync(), 10);
    assert.equal(jit(grad(f))(np.array(1)).itemSync(), 10);
  });
});
