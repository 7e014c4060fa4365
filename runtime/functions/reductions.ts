/**
 * Functions of `numpy` that reduce or run along axes.
 *
 * Depends on: core, ops.
 */
import { isFloat } from '../core/dtype.ts';
import { composed, lift, type ArrayLike } from '../ops/apply.ts';
import { isNan, equal, notEqual } from '../ops/compare.ts';
import { div, mul, sqrt, sub, where } from '../ops/elementwise.ts';
import { axisOf } from '../ops/family.ts';
import {
  all as allOf,
  argmax as argmaxOf,
  argmin as argminOf,
  axesOf,
  max,
  mean,
  min,
  prod,
  sum,
  type Axis,
  type ReduceOptions,
} from '../ops/reduce.ts';
import * as s from '../ops/shape.ts';
import type { Value } from '../ops/value.ts';
import { concatenate, expandDims } from './shaping.ts';

export { sum, prod, max, min, mean, any, all, argmax, argmin } from '../ops/reduce.ts';
export { max as amax, min as amin } from '../ops/reduce.ts';

export const ptp = composed('ptp', (x: ArrayLike, axis?: Axis, options?: ReduceOptions): Value =>
  sub(max(x, axis, options), min(x, axis, options)),
);
export const countNonzero = composed('countNonzero', (x: ArrayLike, axis?: Axis, options?: ReduceOptions): Value =>
  sum(notEqual(x, 0).astype('int32'), axis, options),
);

export type VarianceOptions = {
  readonly mean?: ArrayLike;
  readonly correction?: number;
  readonly ddof?: number;
  readonly keepdims?: boolean;
};
const countOver = (x: Value, axis: Axis): number => axesOf('var', axis, x).reduce((product, k) => product * x.shape[k]!, 1);
/** Mean squared distance from the mean; `correction` is taken off the count. */
export const variance = composed('var', (x: ArrayLike, axis?: Axis, options: VarianceOptions = {}): Value => {
  const value = lift(x);
  const float = isFloat(value.dtype) ? value : value.astype('float32');
  const centred = float.sub(options.mean ?? mean(float, axis, { keepdims: true }));
  return sum(mul(centred, centred), axis, { keepdims: options.keepdims ?? false }).div(
    countOver(float, axis) - (options.correction ?? options.ddof ?? 0),
  );
});
export { variance as var_ };
export const std = composed('std', (x: ArrayLike, axis?: Axis, options: VarianceOptions = {}): Value => sqrt(variance(x, axis, options)));

const withoutNan = (x: Value, instead: number): Value => (isFloat(x.dtype) ? where(isNan(x), instead, x) : x);
export const nansum = composed('nansum', (x: ArrayLike, axis?: Axis, options?: ReduceOptions): Value =>
  sum(withoutNan(lift(x), 0), axis, options),
);
export const nanprod = composed('nanprod', (x: ArrayLike, axis?: Axis, options?: ReduceOptions): Value =>
  prod(withoutNan(lift(x), 1), axis, options),
);
const nanExtreme =
  (reduce: typeof max, end: number) =>
  (x: ArrayLike, axis?: Axis, options?: ReduceOptions): Value => {
    const value = lift(x);
    if (!isFloat(value.dtype)) return reduce(value, axis, options);
    return where(allOf(isNan(value), axis, options), NaN, reduce(withoutNan(value, end), axis, options));
  };
export const nanmax = composed('nanmax', nanExtreme(max, -Infinity));
export const nanmin = composed('nanmin', nanExtreme(min, Infinity));
const countReal = (x: Value, axis: Axis, options?: ReduceOptions): Value => sum(where(isNan(x), 0, 1).astype('float32'), axis, options);
export const nanmean = composed('nanmean', (x: ArrayLike, axis?: Axis, options?: ReduceOptions): Value => {
  const value = lift(x).astype('float32');
  return nansum(value, axis, options).div(countReal(value, axis, options));
});
export const nanvar = composed(
  'nanvar',
  (x: ArrayLike, axis?: Axis, options: { readonly correction?: number; readonly keepdims?: boolean } = {}): Value => {
    const value = lift(x).astype('float32');
    const centred = value.sub(nanmean(value, axis, { keepdims: true }));
    return nansum(mul(centred, centred), axis, { keepdims: options.keepdims ?? false }).div(
      countReal(value, axis, { keepdims: options.keepdims ?? false }).sub(options.correction ?? 0),
    );
  },
);
export const nanstd = composed(
  'nanstd',
  (x: ArrayLike, axis?: Axis, options: { readonly correction?: number; readonly keepdims?: boolean } = {}): Value =>
    sqrt(nanvar(x, axis, options)),
);
export const nanargmax = composed('nanargmax', (x: ArrayLike, axis?: number | null, options?: ReduceOptions): Value =>
  argmaxOf(withoutNan(lift(x), -Infinity), axis, options),
);
export const nanargmin = composed('nanargmin', (x: ArrayLike, axis?: number | null, options?: ReduceOptions): Value =>
  argminOf(withoutNan(lift(x), Infinity), axis, options),
);

export const average = composed(
  'average',
  (x: ArrayLike, axis?: Axis, options: { readonly weights?: ArrayLike; readonly keepdims?: boolean } = {}): Value => {
    if (options.weights === undefined) return mean(x, axis, { keepdims: options.keepdims ?? false });
    const value = lift(x);
    const given = lift(options.weights);
    const along = given.ndim === 1 && value.ndim > 1 ? axesOf('average', axis, value)[0]! : undefined;
    const weights = along === undefined ? given : given.reshape(value.shape.map((extent, k) => (k === along ? extent : 1)));
    const keepdims = options.keepdims ?? false;
    return div(sum(mul(value, weights), axis, { keepdims }), sum(weights.broadcastTo(value.shape), axis, { keepdims }));
  },
);

/** Every element combined with all before it, in log2(n) steps that each combine at twice the distance. */
function cumulative(x: ArrayLike, axis: number | null | undefined, combine: (a: Value, b: Value) => Value, neutral: number): Value {
  const value = axis === undefined || axis === null ? lift(x).reshape([-1]) : lift(x);
  const along = axisOf('cumsum', axis ?? 0, value.aval);
  const extent = value.shape[along]!;
  let running = value.dtype === 'bool' ? value.astype('int32') : value;
  for (let distance = 1; distance < extent; distance *= 2) {
    const border = running.shape.map((own, k) => (k === along ? distance : own));
    const shifted = concatenate([s.full(border, neutral, running.dtype), s.sliceAlong(running, along, 0, extent - distance)], along);
    running = combine(shifted, running);
  }
  return running;
}
export const cumsum = composed('cumsum', (x: ArrayLike, axis?: number | null): Value => cumulative(x, axis, (a, b) => a.add(b), 0));
export const cumprod = composed('cumprod', (x: ArrayLike, axis?: number | null): Value => cumulative(x, axis, (a, b) => a.mul(b), 1));
export const cummax = composed('cummax', (x: ArrayLike, axis?: number | null): Value =>
  cumulative(x, axis, (a, b) => a.maximum(b), -Infinity),
);
export const cummin = composed('cummin', (x: ArrayLike, axis?: number | null): Value =>
  cumulative(x, axis, (a, b) => a.minimum(b), Infinity),
);
export const nancumsum = composed('nancumsum', (x: ArrayLike, axis?: number | null): Value => cumsum(withoutNan(lift(x), 0), axis));
export const nancumprod = composed('nancumprod', (x: ArrayLike, axis?: number | null): Value => cumprod(withoutNan(lift(x), 1), axis));
type CumulativeOptions = { readonly axis?: number; readonly includeInitial?: boolean };
const withInitial = (result: Value, options: CumulativeOptions, initial: number): Value => {
  if (!options.includeInitial) return result;
  const along = axisOf('cumulativeSum', options.axis ?? 0, result.aval);
  return concatenate(
    [
      s.full(
        result.shape.map((own, k) => (k === along ? 1 : own)),
        initial,
        result.dtype,
      ),
      result,
    ],
    along,
  );
};
export const cumulativeSum = composed('cumulativeSum', (x: ArrayLike, options: CumulativeOptions = {}): Value =>
  withInitial(cumsum(x, options.axis ?? 0), options, 0),
);
export const cumulativeProd = composed('cumulativeProd', (x: ArrayLike, options: CumulativeOptions = {}): Value =>
  withInitial(cumprod(x, options.axis ?? 0), options, 1),
);

export const diff = composed(
  'diff',
  (x: ArrayLike, n: number = 1, axis: number = -1, options: { readonly prepend?: ArrayLike; readonly append?: ArrayLike } = {}): Value => {
    const value = lift(x);
    const along = axisOf('diff', axis, value.aval);
    const edge = (part: ArrayLike): Value => {
      const own = lift(part);
      return own.ndim === 0 ? own.astype(value.dtype).broadcastTo(value.shape.map((extent, k) => (k === along ? 1 : extent))) : own;
    };
    const whole = concatenate(
      [
        ...(options.prepend === undefined ? [] : [edge(options.prepend)]),
        value,
        ...(options.append === undefined ? [] : [edge(options.append)]),
      ],
      along,
    );
    let result = whole;
    for (let k = 0; k < n; k++) {
      const extent = result.shape[along]!;
      const [later, earlier] = [s.sliceAlong(result, along, 1, extent), s.sliceAlong(result, along, 0, extent - 1)];
      result = result.dtype === 'bool' ? notEqual(later, earlier) : sub(later, earlier);
    }
    return result;
  },
);
export const ediff1d = composed(
  'ediff1d',
  (x: ArrayLike, options: { readonly toEnd?: ArrayLike; readonly toBegin?: ArrayLike } = {}): Value => {
    const steps = diff(lift(x).reshape([-1]));
    const edge = (part: ArrayLike): Value => lift(part).astype(steps.dtype).reshape([-1]);
    return concatenate([
      ...(options.toBegin === undefined ? [] : [edge(options.toBegin)]),
      steps,
      ...(options.toEnd === undefined ? [] : [edge(options.toEnd)]),
    ]);
  },
);
export const trapezoid = composed(
  'trapezoid',
  (y: ArrayLike, x?: ArrayLike | null, options: { readonly dx?: number; readonly axis?: number } = {}): Value => {
    const value = lift(y);
    const along = axisOf('trapezoid', options.axis ?? -1, value.aval);
    const extent = value.shape[along]!;
    const heights = s.sliceAlong(value, along, 1, extent).add(s.sliceAlong(value, along, 0, extent - 1));
    const widths =
      x === undefined || x === null ? lift(options.dx ?? 1) : spreadAlong(diff(x, 1, lift(x).ndim === 1 ? 0 : along), value.ndim, along);
    return sum(mul(heights, widths), along).mul(0.5);
  },
);
const spreadAlong = (x: Value, rank: number, axis: number): Value =>
  x.ndim === 1 ? x.reshape(Array.from({ length: rank }, (_, k) => (k === axis ? x.size : 1))) : x;

export const cov = composed(
  'cov',
  (
    x: ArrayLike,
    y?: ArrayLike | null,
    options: { readonly rowvar?: boolean; readonly bias?: boolean; readonly ddof?: number } = {},
  ): Value => {
    const rows = (a: ArrayLike): Value => {
      const v = lift(a).astype('float32');
      const m = v.ndim < 2 ? v.reshape([1, -1]) : v;
      return options.rowvar === false && v.ndim === 2 ? m.transpose() : m;
    };
    const table = y === undefined || y === null ? rows(x) : concatenate([rows(x), rows(y)], 0);
    const centred = table.sub(mean(table, 1, { keepdims: true }));
    const result = centred.matmul(centred.transpose()).div(table.shape[1]! - (options.ddof ?? (options.bias ? 0 : 1)));
    return result.shape[0] === 1 ? result.reshape([]) : result;
  },
);
export const corrcoef = composed('corrcoef', (x: ArrayLike, y?: ArrayLike): Value => {
  const c = cov(x, y);
  if (c.ndim === 0) return c.div(c);
  const deviation = sqrt(diagonalOf(c));
  return c.div(expandDims(deviation, 1)).div(expandDims(deviation, 0)).maximum(-1).minimum(1);
});
const diagonalOf = (x: Value): Value => {
  const n = x.shape[0]!;
  const k = s.iota([n], 0, 'int32');
  return sum(where(expandDims(k, 1).equal(expandDims(k, 0)), x, 0), 1);
};

export const arrayEqual = composed('arrayEqual', (x: ArrayLike, y: ArrayLike): Value => {
  const [a, b] = [lift(x), lift(y)];
  return s.sameShape(a.shape, b.shape) ? allOf(equal(a, b)) : s.full([], 0, 'bool');
});
export const arrayEquiv = composed('arrayEquiv', (x: ArrayLike, y: ArrayLike): Value => allOf(equal(x, y)));
