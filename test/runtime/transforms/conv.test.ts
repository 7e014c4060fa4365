/**
 * Gradients of convolutions: transposes of their tangents, whatever the strides, borders and dilations.
 *
 * Depends on: runtime, test/support.
 */
import assert from 'node:assert/strict';
import { grad, jit, jvp, lax, np, vjp, vmap, type Array } from '../../../runtime/index.ts';
import { near, numbers, numbersOf, onCpu } from '../../support/arrays.ts';

interface Geometry {
  readonly input: readonly number[];
  readonly kernel: readonly number[];
  readonly strides: readonly number[];
  readonly padding: 'SAME' | 'VALID' | readonly (readonly [number, number])[];
  readonly lhsDilation?: readonly number[];
  readonly rhsDilation?: readonly number[];
}

const geometries: readonly Geometry[] = [
  { input: [2, 3, 7, 8], kernel: [4, 3, 3, 2], strides: [1, 1], padding: 'VALID' },
  { input: [2, 3, 7, 8], kernel: [4, 3, 3, 3], strides: [2, 3], padding: 'SAME' },
  { input: [1, 2, 9], kernel: [3, 2, 4], strides: [2], padding: [[3, 1]] },
  { input: [2, 1, 6, 6], kernel: [2, 1, 2, 2], strides: [1, 2], padding: 'SAME', rhsDilation: [2, 2] },
  { input: [1, 2, 5, 4], kernel: [2, 2, 3, 3], strides: [1, 1], padding: 'SAME', lhsDilation: [2, 3] },
  { input: [1, 2, 5, 4], kernel: [2, 2, 3, 3], strides: [2, 1], padding: [[2, 0], [1, 2]], lhsDilation: [3, 1], rhsDilation: [1, 2] }, // prettier-ignore
  { input: [1, 1, 4, 4], kernel: [1, 1, 1, 2], strides: [1, 1], padding: [[2, 2], [3, 0]] }, // prettier-ignore
];

const filled = (shape: readonly number[], seed: number): Array =>
  np
    .array(
      numbers(
        shape.reduce((product, extent) => product * extent, 1),
        seed,
      ),
    )
    .reshape([...shape]);
const dot = (a: Array, b: Array): number => a.mul(b).sum().itemSync() as number;

describe('gradients of convolutions', () => {
  before(() => void onCpu());

  for (const { input, kernel, strides, padding, ...dilations } of geometries)
    it(`${input.join('x')} by ${kernel.join('x')}, strides ${strides.join()}, ${JSON.stringify({ padding, ...dilations })}`, () => {
      const f = (x: Array, w: Array): Array => lax.convGeneralDilated(x, w, strides, padding, dilations) as Array;
      const [x, w] = [filled(input, 1), filled(kernel, 2)];
      const [dx, dw] = [filled(input, 3), filled(kernel, 4)];
      const [y, pull] = vjp(f, [x, w]) as unknown as [Array, (g: Array) => [Array, Array]];
      const g = filled(y.shape as number[], 5);
      const [gx, gw] = pull(g);
      assert.deepEqual([gx.shape, gw.shape], [input, kernel]);
      const [, pushed] = jvp(f as never, [x, w] as never, [dx, dw] as never) as unknown as [Array, Array];
      near([dot(gx, dx) + dot(gw, dw)], [dot(g, pushed)], 1e-4, 'gradient against tangent');
    });

  it('for each example of a batch, and of second order', () => {
    const [x, w] = [filled([3, 2, 5, 5], 1), filled([2, 2, 3, 3], 2)];
    const loss = (one: Array, kernel: Array): Array =>
      np.square(lax.conv(one.reshape([1, 2, 5, 5]), kernel, [2, 2], 'SAME') as Array).sum();
    const each = vmap(grad(loss, { argnums: 1 } as never) as never, [0, null] as never) as unknown as (x: Array, w: Array) => Array;
    const one = grad(loss, { argnums: 1 } as never) as unknown as (x: Array, w: Array) => Array;
    const alone = [0, 1, 2].flatMap((i) => [...numbersOf(one(x.slice(i) as Array, w))]);
    near(numbersOf(each(x, w)), alone, 1e-4, 'each example');
    // The loss is quadratic in the kernel: its gradient along itself is twice the loss.
    const along = grad((kernel: Array) =>
      one(x.slice(0) as Array, kernel)
        .mul(kernel)
        .sum(),
    );
    near(numbersOf(jit(along)(w)), numbersOf(one(x.slice(0) as Array, w).mul(2)), 1e-4, 'second order');
  });
});
