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
};
