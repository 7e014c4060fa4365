/**
 * Programs after jax-js's documentation, in words of our own; each returns numbers and accounts for every reference.
 *
 * Depends on: runtime.
 */
import type * as ours from '../../../runtime/jax-js.ts';

type Library = typeof ours;
type A = ours.Array;

export const programs: Readonly<Record<string, (library: Library) => unknown>> = {
  'a table by broadcasting, and its row means': ({ numpy: np }) => {
    const table = np
      .arange(3)
      .reshape([3, 1])
      .mul(10)
      .add(np.arange(4).reshape([1, 4]));
    return [table.ref.js(), table.astype(np.float32).mean(1).js()];
  },
  'a power with a static exponent': ({ numpy: np, jit }) => {
    const power = jit(
      (x: A, times: number) => {
        let product = np.ones(x.shape);
        for (let k = 0; k < times; k++) product = product.mul(x.ref);
        x.dispose();
        return product;
      },
      { staticArgnums: [1] },
    );
    const x = np.array([1, 2, 3]);
    const out = [power(x.ref, 2).js(), power(x, 3).js()];
    power.dispose();
    return out;
  },
  'a gradient at a plain number': ({ grad }) => grad((x: A) => x.ref.mul(x.ref).mul(x).sum())(5 as never).js(),
  'a vector taken apart inside of a hessian': ({ numpy: np, hessian }) =>
    hessian((v: A) => {
      const [a, b, c] = v as unknown as [A, A, A];
      return a.ref.mul(b.ref).add(b.mul(c)).add(np.square(a).mul(0.1));
    })(np.array([1, 2, 3])).js(),
  'gradients of a tree': ({ numpy: np, nn, grad }) => {
    type Params = { w: A; b: A };
    const loss = (p: Params, x: A): A => nn.logSoftmax(np.dot(x, p.w).add(p.b)).slice(0, 1).neg();
    const g = grad(loss)(
      {
        w: np.array([
          [0.2, -0.1],
          [0.4, 0.3],
        ]),
        b: np.zeros([2]),
      },
      np.array([[1, 2]]),
    );
    return [g.w.js(), g.b.js()];
  },
  'a fit by least squares': ({ numpy: np }) => {
    const x = np.linspace(-1, 1, 9);
    const y = x.ref.mul(x.ref).mul(2).sub(x.ref.mul(0.5)).add(1).reshape([-1, 1]);
    return np.linalg.lstsq(np.stack([np.square(x.ref), x.ref, np.onesLike(x)], 1), y).js();
  },
  'a filter in the frequencies': ({ numpy: np }) => {
    const t = np.linspace(0, 1, 16, false);
    const wave = np.sin(t.ref.mul(2 * Math.PI)).add(np.cos(t.mul(10 * Math.PI)).mul(0.3));
    const { real, imag } = np.fft.rfft(wave);
    const low = np.arange(9).less(3).astype(np.float32);
    return np.fft.irfft({ real: real.mul(low.ref), imag: imag.mul(low) }).js();
  },
  'edges and pools of an image': ({ numpy: np, lax }) => {
    const image = np.arange(36).astype(np.float32).reshape([1, 1, 6, 6]);
    const kernel = np.array([
      [
        [
          [-1, 0, 1],
          [-2, 0, 2],
          [-1, 0, 1],
        ],
      ],
    ]);
    const edges = lax.conv(image, kernel, [1, 1], 'SAME');
    return lax.reduceWindow(edges, (w: A) => np.max(w), [2, 2], [2, 2]).js();
  },
  'heat that spreads step by step': ({ numpy: np, jit }) => {
    const step = jit((u: A) => np.roll(u.ref, 1).add(np.roll(u.ref, -1)).mul(0.25).add(u.mul(0.5)));
    let u = np.zeros([8]).add(np.arange(8).equal(4).astype(np.float32));
    for (let k = 0; k < 5; k++) u = step(u);
    step.dispose();
    return u.js();
  },
  'a stack of twenty rows': ({ numpy: np }) => np.stack(Array.from({ length: 20 }, (_, k) => np.full([3], k))).js(),
  'draws of whole bits': ({ random }) => random.bits(random.key(3), [4]).js(),
  'close or not': ({ numpy: np }) => [np.allclose(np.array([1, 2]), [1, 2]), np.allclose(np.array([1, 2]), np.array([1, 3]))],
  'parts of an array that comes with its last reference': ({ numpy: np }) => [
    ...np.split(np.arange(6), 3).map((part) => part.js()),
    ...np.unstack(np.arange(4).reshape([2, 2])).map((row) => row.js()),
  ],
  'rows added up by a method of lists': ({ numpy: np }) =>
    [
      [1, 2],
      [3, 4],
      [5, 6],
    ]
      .map((row) => np.array(row))
      .reduce(np.add)
      .js(),
  'positions that are floats': ({ numpy: np }) => [
    np.take(np.array([1, 2, 3]), np.array([0, 2])).js(),
    np.takeAlongAxis(np.array([[4, 5, 6]]), np.array([[2, 0]])).js(),
  ],
  'whole numbers beside others': ({ numpy: np }) => {
    const whole = (): A => np.array([-5, 5, 7], { dtype: np.int32 });
    return [whole().div(2), whole().add(2.8), np.multiply(whole(), 1.5), np.divide(whole(), whole())].flatMap((x) => [
      x.dtype === np.int32,
      x.js(),
    ]);
  },
  'an array of arrays': ({ numpy: np }) => np.array([np.array(1), np.array(2).mul(3)]).js(),
  'thin decompositions, and eigenvectors first in lax': ({ numpy: np, lax }) => {
    const [u, s, v] = np.linalg.svd(np.ones([3, 2]));
    const [vectors, values] = lax.linalg.eigh(np.diag(np.array([3, 1, 2])));
    const shapeOf = (x: A): readonly number[] => {
      x.dispose();
      return x.shape;
    };
    return [...[u, s, v, vectors].map(shapeOf), values.js()];
  },
  'a function of places, and one along an axis': ({ numpy: np }) => [
    np.fromfunction((i: A) => np.array([1, 2, 3]).mul(i), [2]).js(),
    np.applyAlongAxis((row: A) => np.stack([row.ref, row.mul(2)], 0), 0, np.arange(6).reshape([3, 2])).js(),
  ],
  'a gradient in a batch that closes over what it consumes': ({ numpy: np, grad, vmap }) => {
    const at = np.array([0, 0, 2], { dtype: np.int32 });
    return vmap(grad((x: A) => np.take(x, at).sum()))(np.ones([2, 5])).js();
  },
  'an area under batches of rows, and no difference at all': ({ numpy: np }) => [
    np.trapezoid(np.arange(12).astype(np.float32).reshape([2, 2, 3]), np.arange(6).astype(np.float32).reshape([2, 3])).js(),
    np.diff(np.array([1, 5, 2]), 0, -1, { prepend: 0 }).js(),
  ],
  'running sums of rows, and their order': ({ numpy: np }) => {
    const rows = np.array([3, 1, 2, 9, 7, 8, 5, 4, 6, 0, 2, 1]).reshape([2, 6]);
    return [np.cumsum(rows.ref, 1), np.sort(rows.ref, 0), np.argsort(rows, 1)].map((x) => x.js());
  },
};
