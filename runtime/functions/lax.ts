/**
 * `lax`: the primitive layer under its own names, and control flow.
 *
 * Depends on: core, ops, functions.
 */
import type { DType } from '../core/dtype.ts';
import { composed, lift, type ArrayLike } from '../ops/apply.ts';
import { bitcastTo, erf as erfEntry } from '../ops/elementwise.ts';
import { dot as contracted } from '../ops/matmul.ts';
import type { Value } from '../ops/value.ts';
import { typed } from '../ops/family.ts';
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

export const erf = (x: ArrayLike): Value => erfEntry(x);
export const erfc = composed('erfc', (x: ArrayLike): Value => erfEntry(x).neg().add(1));
export const bitcastConvertType = (x: ArrayLike, dtype: DType): Value => bitcastTo(lift(x), dtype);

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
  const given = options.lhsContractingDims !== undefined || options.lhsBatchDims !== undefined;
  const from = (axes: readonly number[] | undefined, value: Value): readonly number[] =>
    (axes ?? []).map((axis) => (axis < 0 ? axis + value.ndim : axis));
  return contracted(
    x,
    y,
    given
      ? {
          contract: [from(options.lhsContractingDims, x), from(options.rhsContractingDims, y)],
          batch: [from(options.lhsBatchDims, x), from(options.rhsBatchDims, y)],
        }
      : { contract: [[x.ndim - 1], [Math.max(0, y.ndim - 2)]], batch: [[], []] },
  );
});
/** JAX's form: [[contracted of x, of y], [batch of x, of y]]. */
export function dotGeneral(
  lhs: ArrayLike,
  rhs: ArrayLike,
  dimensions: readonly [readonly [readonly number[], readonly number[]], readonly [readonly number[], readonly number[]]],
): Value {
  const [contract, batch] = dimensions;
  return dot(lhs, rhs, {
    lhsContractingDims: contract[0],
    rhsContractingDims: contract[1],
    lhsBatchDims: batch[0],
    rhsBatchDims: batch[1],
  });
}

/** Elements of `x` where the given axes are indexed by arrays of one shape; it stands at `at` in the result. */
export const gather = (x: ArrayLike, indices: readonly ArrayLike[], axes: readonly number[], at = 0): Value =>
  gatherElements(x, indices, axes, at);
/** The array with `updates` put at such places; in place when the old array is dead. */
export const scatter = (x: Value, indices: readonly ArrayLike[], updates: Value, axes: readonly number[], at = 0): Value =>
  scatterElements(x, updates, indices, axes, at, 'set');
export const scatterAdd = (x: Value, indices: readonly ArrayLike[], updates: Value, axes: readonly number[], at = 0): Value =>
  scatterElements(x, updates, indices, axes, at, 'add');
