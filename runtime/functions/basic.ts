/**
 * Small functions that several folders of names share.
 *
 * Depends on: ops.
 */
import { apply, composed, lift, type ArrayLike } from '../ops/apply.ts';
import { abs, add, div, log1p, mul, neg, sqrt, sub, where, log } from '../ops/elementwise.ts';
import { stopEntry } from '../ops/shape.ts';
import type { Value } from '../ops/value.ts';

/** The same array, through which no gradient flows. */
export const stopGradient = (x: ArrayLike): Value => apply(stopEntry, [lift(x)]);

/** The number whose error function is x (Giles 2010, single precision; the form that JAX's normal numbers come from). */
export const erfInv = composed('erfInv', (x: ArrayLike): Value => {
  const value = lift(x);
  const w = neg(log1p(neg(mul(value, value))));
  const near = w.less(5);
  const small = [
    2.81022636e-8, 3.43273939e-7, -3.5233877e-6, -4.39150654e-6, 0.00021858087, -0.00125372503, -0.00417768164, 0.246640727, 1.50140941,
  ];
  const large = [
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047, 1.00167406, 2.83297682,
  ];
  const position = where(near, sub(w, 2.5), sub(sqrt(w), 3));
  const factor = (k: number): Value => where(near, small[k]!, large[k]!);
  let sum = factor(0);
  for (let k = 1; k < small.length; k++) sum = add(factor(k), mul(sum, position));
  return where(abs(value).equal(1), mul(value, Infinity), mul(sum, value));
});
export const logit = composed('logit', (x: ArrayLike): Value => log(div(x, sub(1, x))));
