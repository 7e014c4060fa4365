/**
 * `lax`: the primitive layer under its own names, and control flow.
 *
 * Depends on: core, ops, functions.
 */
import { printAval } from '../core/aval.ts';
import { bytesOf, type DType } from '../core/dtype.ts';
import { argumentWrong, describe, shapesDisagree, wrongDType } from '../core/errors.ts';
import { composed, lift, type ArrayLike } from '../ops/apply.ts';
import { abs, add, bitcastTo, div, erf as erfEntry, exp, mul, sub, where } from '../ops/elementwise.ts';
import { dot as contracted } from '../ops/matmul.ts';
import { optionsOf } from '../ops/options.ts';
import { dtypeArg, type Value } from '../ops/value.ts';
import { axisOf, typed } from '../ops/family.ts';
import { commonType } from '../ops/apply.ts';
import { gather as gatherElements, scatter as scatterElements } from '../ops/gather.ts';

export { erfInv, stopGradient } from './basic.ts';
export { associativeScan, cond, foriLoop, map, scan, switch, switchBranch, whileLoop } from './loops.ts';
export {
  avgPool,
  conv,
  convGeneralDilated,
  convTranspose,
  convWithGeneralPadding,
  maxPool,
  minPool,
  reduceWindow,
  sumPool,
} from './conv.ts';
export { topK } from './sorting.ts';
export { allGather, axisIndex, axisSize, pmax, pmean, pmin, psum } from '../ops/collective.ts';
export { dynamicSlice, dynamicUpdateSlice } from '../ops/gather.ts';
export { rsqrt } from '../ops/elementwise.ts';
export * as linalg from './lax-linalg.ts';

/** The error function. */
export const erf = (x: ArrayLike): Value => erfEntry(x);
/** 1 - erf(x), accurate where that is small (a rational approximation of relative error 1.2e-7; Press et al., erfcc). */
export const erfc = composed('erfc', (x: ArrayLike): Value => {
  const given = lift(x);
  const value = given.astype('float32');
  const size = abs(value);
  const t = div(1, add(mul(size, 0.5), 1));
  const factors = [0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418, 0.37409196, 1.00002368];
  const poly = factors.reduce<Value>((sum, factor) => add(mul(sum, t), factor), lift(0));
  const tail = mul(t, exp(add(sub(mul(poly, t), mul(size, size)), -1.26551223)));
  const far = where(value.less(0), sub(2, tail), tail);
  const result = where(size.less(1), sub(1, erfEntry(value)), far);
  return given.dtype === 'float16' ? result.astype('float16') : result;
});
/** The same bits as another dtype of the same width. */
export const bitcastConvertType = (x: ArrayLike, dtype: DType): Value => {
  const [value, to] = [lift(x), dtypeArg(dtype, 'float32')];
  if (bytesOf[value.dtype] !== bytesOf[to] || (value.dtype === 'bool') !== (to === 'bool'))
    throw wrongDType('bitcastConvertType', printAval(value.aval), `a dtype as wide as ${to}`);
  return bitcastTo(value, to);
};

export interface DotOptions {
  readonly lhsContractingDims?: readonly number[];
  readonly rhsContractingDims?: readonly number[];
  readonly lhsBatchDims?: readonly number[];
  readonly rhsBatchDims?: readonly number[];
}
/** Sums of products over contracted axes: batch axes first, then what is left of each side. */
export const dot = composed('lax.dot', (lhs: ArrayLike, rhs: ArrayLike, options: DotOptions = {}): Value => {
  const values = [lift(lhs), lift(rhs)];
  const type = commonType(values);
  const [x, y] = values.map((value) => typed(value, { dtype: type.dtype })) as [Value, Value];
  const none = undefined as readonly number[] | undefined;
  const given = optionsOf('dot', options, {
    lhsContractingDims: none,
    rhsContractingDims: none,
    lhsBatchDims: none,
    rhsBatchDims: none,
  });
  const named = Object.values(given).some((axes) => axes !== none);
  if (!named && (x.ndim === 0 || y.ndim === 0)) return x.mul(y);
  const from = (axes: readonly number[] | undefined, value: Value): readonly number[] => {
    if (axes !== undefined && !Array.isArray(axes)) throw argumentWrong('dot', `${describe(axes)} as axes`, 'axes are lists of numbers');
    return (axes ?? []).map((axis) => axisOf('dot', axis, value.aval));
  };
  const contract = named
    ? ([from(given.lhsContractingDims, x), from(given.rhsContractingDims, y)] as const)
    : ([[x.ndim - 1], [Math.max(0, y.ndim - 2)]] as const);
  const batch = [from(given.lhsBatchDims, x), from(given.rhsBatchDims, y)] as const;
  for (const [left, right] of [contract, batch]) {
    if (left.length !== right.length || new Set(left).size !== left.length || new Set(right).size !== right.length)
      throw argumentWrong('dot', `axes [${left.join(',')}] and [${right.join(',')}]`, 'both sides need as many axes, each once');
    left.forEach((axis, k) => {
      if (x.shape[axis] !== y.shape[right[k]!])
        throw shapesDisagree(
          'dot',
          [printAval(x.aval), printAval(y.aval)],
          `dimensions ${String(x.shape[axis])} and ${String(y.shape[right[k]!])} have to be equal`,
        );
    });
  }
  return contracted(x, y, { contract, batch });
});
/** JAX's form: [[contracted of x, of y], [batch of x, of y]]. */
export function dotGeneral(
  lhs: ArrayLike,
  rhs: ArrayLike,
  dimensions: readonly [readonly [readonly number[], readonly number[]], readonly [readonly number[], readonly number[]]],
): Value {
  if (!Array.isArray(dimensions) || dimensions.length !== 2 || !dimensions.every((pair) => Array.isArray(pair) && pair.length === 2))
    throw argumentWrong('dotGeneral', `${describe(dimensions)} as dimensions`, 'give it [[contracted of x, of y], [batch of x, of y]]');
  const [contract, batch] = dimensions;
  return dot(lhs, rhs, {
    lhsContractingDims: contract[0],
    rhsContractingDims: contract[1],
    lhsBatchDims: batch[0],
    rhsBatchDims: batch[1],
  });
}

/** Index arrays, the axes that they index, and where they stand in the result. */
function placesArg(operation: string, x: Value, indices: readonly ArrayLike[], axes: readonly number[], at: number): readonly number[] {
  if (!Array.isArray(indices) || !Array.isArray(axes) || indices.length !== axes.length || indices.length === 0)
    throw argumentWrong(
      operation,
      `${describe(indices)} as indices and ${describe(axes)} as axes`,
      'give it a list of index arrays, and the axis that each indexes',
    );
  for (const index of indices) {
    const own = lift(index);
    if (own.dtype !== 'int32' && own.dtype !== 'uint32' && typeof index !== 'number')
      throw wrongDType(operation, printAval(own.aval), 'whole numbers as indices');
  }
  if (!(Number.isInteger(at) && at >= 0 && at <= x.ndim - axes.length))
    throw argumentWrong(
      operation,
      `${describe(at)} as the place of the index axes`,
      `it is a whole number from 0 to ${x.ndim - axes.length}`,
    );
  return axes.map((axis) => axisOf(operation, axis, x.aval));
}
/** Elements of `x` where the given axes are indexed by arrays of one shape; it stands at `at` in the result. */
export const gather = (x: ArrayLike, indices: readonly ArrayLike[], axes: readonly number[], at = 0): Value =>
  gatherElements(x, indices, placesArg('gather', lift(x), indices, axes, at), at);
/** The array with `updates` put at such places; in place when the old array is dead. */
export const scatter = (x: Value, indices: readonly ArrayLike[], updates: Value, axes: readonly number[], at = 0): Value =>
  scatterElements(lift(x), lift(updates), indices, placesArg('scatter', lift(x), indices, axes, at), at, 'set');
/** The array with `updates` added at such places. */
export const scatterAdd = (x: Value, indices: readonly ArrayLike[], updates: Value, axes: readonly number[], at = 0): Value =>
  scatterElements(lift(x), lift(updates), indices, placesArg('scatterAdd', lift(x), indices, axes, at), at, 'add');
