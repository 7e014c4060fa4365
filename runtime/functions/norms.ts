/**
 * Norms of vectors and matrices.
 *
 * Depends on: core, ops, functions.
 */
import { printAval } from '../core/aval.ts';
import { argumentWrong, describe, shapesDisagree } from '../core/errors.ts';
import { composed, lift, type ArrayLike } from '../ops/apply.ts';
import { abs, sqrt } from '../ops/elementwise.ts';
import { axisOf } from '../ops/family.ts';
import { optionsOf } from '../ops/options.ts';
import { axesOf, max, min, sum, type Axis } from '../ops/reduce.ts';
import type { Value } from '../ops/value.ts';
import { svdvals } from './linalg.ts';

const floated = (a: ArrayLike): Value => {
  const value = lift(a);
  return value.dtype === 'float16' || value.dtype === 'float32' ? value : value.astype('float32');
};

export interface NormOptions {
  readonly ord?: number | 'f' | 'fro' | 'nuc' | null;
  readonly axis?: Axis;
  readonly keepdims?: boolean;
}
/** The norm of order `ord` (2) over axes (all): the root of summed powers, the largest for Infinity, how many are not 0 for 0. */
export const vectorNorm = composed('vectorNorm', (x: ArrayLike, options: NormOptions = {}): Value => {
  const value = floated(x);
  const { axis, keepdims, ord } = optionsOf('vectorNorm', options, normDefaults);
  const order = ord ?? 2;
  if (typeof order !== 'number')
    throw argumentWrong('vectorNorm', `order ${JSON.stringify(order)}`, 'the norm of a vector has a number as order');
  const size = abs(value);
  if (order === Infinity) return max(size, axis, { keepdims });
  if (order === -Infinity) return max(size.neg(), axis, { keepdims }).neg();
  if (order === 0) return sum(value.notEqual(0).astype(value.dtype), axis, { keepdims });
  if (order === 1) return sum(size, axis, { keepdims });
  if (order === 2) return sqrt(sum(value.mul(value), axis, { keepdims }));
  return sum(size.pow(order), axis, { keepdims }).pow(1 / order);
});
const normDefaults: NormOptions & { readonly keepdims: boolean } = { ord: undefined, axis: undefined, keepdims: false } as never;
/** The norm of the matrices of the last two axes: "fro" unless an order is given. */
const matrixOf = (x: ArrayLike): Value => {
  const value = floated(x);
  if (value.ndim < 2) throw shapesDisagree('matrixNorm', [printAval(value.aval)], 'it takes a matrix, or a stack of them');
  return value;
};
export const matrixNorm = composed(
  'matrixNorm',
  (x: ArrayLike, options: { readonly ord?: NormOptions['ord']; readonly keepdims?: boolean } = {}): Value => {
    const { ord, keepdims } = optionsOf('matrixNorm', options, { ord: 'fro' as NormOptions['ord'], keepdims: false });
    const value = matrixOf(x);
    const [rows, columns] = [value.ndim - 2, value.ndim - 1];
    switch (ord ?? 'fro') {
      case 'f':
      case 'fro':
        return sqrt(sum(value.mul(value), [rows, columns], { keepdims }));
      case 'nuc':
        return kept(svdvals(value).sum(-1), keepdims);
      case 1:
        return kept(max(sum(abs(value), rows), -1), keepdims);
      case -1:
        return kept(min(sum(abs(value), rows), -1), keepdims);
      case Infinity:
        return kept(max(sum(abs(value), columns), -1), keepdims);
      case -Infinity:
        return kept(min(sum(abs(value), columns), -1), keepdims);
      case 2:
        return kept(max(svdvals(value), -1), keepdims);
      case -2:
        return kept(min(svdvals(value), -1), keepdims);
      default:
        throw argumentWrong(
          'matrixNorm',
          `order ${describe(ord)}`,
          'the norm of a matrix has order "fro", "nuc", 1, -1, 2, -2, Infinity or -Infinity',
        );
    }
  },
);
const kept = (x: Value, keepdims: boolean): Value => (keepdims ? x.reshape([...x.shape, 1, 1]) : x);
/** A vector's norm, or a matrix's where there are two axes and an order. */
export const norm = composed('norm', (x: ArrayLike, options: NormOptions = {}): Value => {
  const value = lift(x);
  const { ord, axis, keepdims } = optionsOf('norm', options, normDefaults);
  const named = ord !== undefined && ord !== null;
  if (axis === undefined || axis === null) {
    if (!named) return vectorNorm(value, { keepdims });
    if (value.ndim === 1) return vectorNorm(value, { ord, keepdims });
    if (value.ndim === 2) return matrixNorm(value, { ord, keepdims });
    throw shapesDisagree('norm', [printAval(value.aval)], 'an order without an axis is for vectors and matrices: name the axes');
  }
  const axes = axesOf('norm', axis, value);
  if (axes.length === 1) return vectorNorm(value, { ...(named ? { ord } : {}), axis: axes[0]!, keepdims });
  if (axes.length !== 2) throw argumentWrong('norm', `${describe(axis)} as axis`, 'give it one axis, or two for a matrix');
  // In the order given: the first counts the rows.
  const [rows, columns] = (axis as readonly number[]).map((own) => axisOf('norm', own, value.aval)) as [number, number];
  const rest = value.shape.map((_, k) => k).filter((k) => k !== rows && k !== columns);
  const result = matrixNorm(value.transpose([...rest, rows, columns]), { ord: ord ?? 'fro' });
  return keepdims ? result.reshape(value.shape.map((extent, k) => (axes.includes(k) ? 1 : extent))) : result;
});
