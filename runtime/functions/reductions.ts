/**
 * Functions of `numpy` that reduce or run along axes.
 *
 * Depends on: core, ops.
 */
import { isFloat } from '../core/dtype.ts';
import { composed, lift, type ArrayLike } from '../ops/apply.ts';
import { printAval } from '../core/aval.ts';
import { argumentWrong, shapesDisagree } from '../core/errors.ts';
import { isNan, equal, notEqual, bitOr, bitAnd, shiftLeft } from '../ops/compare.ts';
import { div, mul, sqrt, sub, where } from '../ops/elementwise.ts';
import { axisOf } from '../ops/family.ts';
import { dynamicSlice } from '../ops/gather.ts';
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
import { countArg, optionsOf } from '../ops/options.ts';
import * as s from '../ops/shape.ts';
import type { Value } from '../ops/value.ts';
import { scan } from './loops.ts';
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
const varianceDefaults: VarianceOptions & { readonly keepdims: boolean } = {
  mean: undefined,
  correction: undefined,
  ddof: undefined,
  keepdims: false,
} as never;
const floated = (x: ArrayLike): Value => {
  const value = lift(x);
  return isFloat(value.dtype) ? value : value.astype('float32');
};
const countOver = (x: Value, axis: Axis): number => axesOf('var', axis, x).reduce((product, k) => product * x.shape[k]!, 1);
/** Mean squared distance from the mean; `correction` is taken off the count. */
export const variance = composed('var', (x: ArrayLike, axis?: Axis, options: VarianceOptions = {}): Value => {
  const given = optionsOf('var', options, varianceDefaults);
  const own = lift(x);
  const float = own.dtype === 'float32' ? own : own.astype('float32');
  const centred = float.sub(given.mean ?? mean(float, axis, { keepdims: true }));
  const result = sum(mul(centred, centred), axis, { keepdims: given.keepdims }).div(
    Math.max(0, countOver(float, axis) - (given.correction ?? given.ddof ?? 0)),
  );
  return own.dtype === 'float16' ? result.astype('float16') : result;
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
    if (axesOf('nanmax', axis, value).some((k) => value.shape[k] === 0))
      throw shapesDisagree('nanmax', [printAval(value.aval)], 'no elements have no extreme');
    return where(allOf(isNan(value), axis, options), NaN, reduce(withoutNan(value, end), axis, options));
  };
export const nanmax = composed('nanmax', nanExtreme(max, -Infinity));
export const nanmin = composed('nanmin', nanExtreme(min, Infinity));
const countReal = (x: Value, axis: Axis, options?: ReduceOptions): Value => sum(where(isNan(x), 0, 1).astype(x.dtype), axis, options);
export const nanmean = composed('nanmean', (x: ArrayLike, axis?: Axis, options?: ReduceOptions): Value => {
  const value = floated(x);
  return nansum(value, axis, options).div(countReal(value, axis, options));
});
export const nanvar = composed(
  'nanvar',
  (x: ArrayLike, axis?: Axis, options: { readonly correction?: number; readonly keepdims?: boolean } = {}): Value => {
    const { correction, keepdims } = optionsOf('nanvar', options, { correction: 0, keepdims: false });
    const value = floated(x);
    // What was no number is left out; what becomes none on the way (infinity from infinity) is not.
    const centred = where(isNan(value), 0, value.sub(nanmean(value, axis, { keepdims: true })));
    const count = countReal(value, axis, { keepdims }).sub(correction);
    return where(count.greater(0), sum(mul(centred, centred), axis, { keepdims }).div(count), NaN);
  },
);
export const nanstd = composed(
  'nanstd',
  (x: ArrayLike, axis?: Axis, options: { readonly correction?: number; readonly keepdims?: boolean } = {}): Value =>
    sqrt(nanvar(x, axis, options)),
);
/** The place of an extreme among what is a number; -1 where nothing is. */
const nanPosition =
  (find: typeof argmaxOf, end: number) =>
  (x: ArrayLike, axis?: number | null, options?: ReduceOptions): Value => {
    const value = lift(x);
    if (!isFloat(value.dtype)) return find(value, axis, options);
    return where(allOf(isNan(value), axis, options), -1, find(withoutNan(value, end), axis, options));
  };
export const nanargmax = composed('nanargmax', nanPosition(argmaxOf, -Infinity));
export const nanargmin = composed('nanargmin', nanPosition(argminOf, Infinity));

export const average = composed(
  'average',
  (x: ArrayLike, axis?: Axis, options: { readonly weights?: ArrayLike; readonly keepdims?: boolean } = {}): Value => {
    const { weights: scale, keepdims } = optionsOf('average', options, { weights: undefined as ArrayLike | undefined, keepdims: false });
    if (scale === undefined) return mean(x, axis, { keepdims });
    const value = floated(x);
    const given = lift(scale);
    const along = given.ndim === 1 && value.ndim > 1 ? axesOf('average', axis, value)[0]! : undefined;
    const weights = along === undefined ? given : given.reshape(value.shape.map((extent, k) => (k === along ? extent : 1)));
    return div(sum(mul(value, weights), axis, { keepdims }), sum(weights.broadcastTo(value.shape), axis, { keepdims }));
  },
);

/**
 * Every element combined with all before it, in log2(n) steps that each combine at twice the distance. Distances are data of a
 * loop: written out, each step would be an expression of the one before it, twice.
 */
function cumulative(x: ArrayLike, axis: number | null | undefined, combine: (a: Value, b: Value) => Value, neutral: number): Value {
  const value = axis === undefined || axis === null ? lift(x).reshape([-1]) : lift(x);
  const along = axisOf('cumsum', axis ?? 0, value.aval);
  if (value.size === 0) return value.dtype === 'bool' ? value.astype('int32') : value;
  const extent = value.shape[along]!;
  const start = value.dtype === 'bool' ? value.astype('int32') : value;
  const steps = Math.ceil(Math.log2(extent));
  if (steps === 0) return start;
  const combined = (running: Value, distance: Value): Value => {
    const from = start.shape.map((_, k) => (k === along ? distance.neg().add(extent) : 0));
    const before = s.full(start.shape, neutral, start.dtype);
    return combine(dynamicSlice(concatenate([before, running], along), from, start.shape), running);
  };
  const distances = shiftLeft(1, s.iota([steps], 0, 'int32'));
  return scan((running: Value, distance: Value) => [combined(running, distance), undefined], start, distances)[0];
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
/** The running values of NumPy's newer functions: an axis has to be named where there are several. */
function running(
  name: string,
  along: (x: ArrayLike, axis: number) => Value,
  initial: number,
  x: ArrayLike,
  options: CumulativeOptions | undefined,
): Value {
  const { axis, includeInitial } = optionsOf(name, options, { axis: undefined as number | undefined, includeInitial: false });
  const value = lift(x);
  if (value.ndim !== 1 && axis === undefined)
    throw argumentWrong(name, `${printAval(value.aval)} without an axis`, 'say along which axis to run: { axis: 0 }');
  return withInitial(along(value, axis ?? 0), { axis: axis ?? 0, includeInitial }, initial);
}
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
export const cumulativeSum = composed('cumulativeSum', (x: ArrayLike, options?: CumulativeOptions): Value =>
  running('cumulativeSum', cumsum, 0, x, options),
);
export const cumulativeProd = composed('cumulativeProd', (x: ArrayLike, options?: CumulativeOptions): Value =>
  running('cumulativeProd', cumprod, 1, x, options),
);

const edgeDefaults: { readonly prepend: ArrayLike | undefined; readonly append: ArrayLike | undefined } = {
  prepend: undefined,
  append: undefined,
};
export const diff = composed(
  'diff',
  (x: ArrayLike, n: number = 1, axis: number = -1, options: { readonly prepend?: ArrayLike; readonly append?: ArrayLike } = {}): Value => {
    const { prepend, append } = optionsOf('diff', options, edgeDefaults);
    countArg('diff', 'n', n);
    const value = lift(x);
    const along = axisOf('diff', axis, value.aval);
    if (n === 0) return value;
    const edge = (part: ArrayLike): Value => {
      const own = lift(part);
      return own.ndim === 0 ? own.astype(value.dtype).broadcastTo(value.shape.map((extent, k) => (k === along ? 1 : extent))) : own;
    };
    const whole = concatenate(
      [...(prepend === undefined ? [] : [edge(prepend)]), value, ...(append === undefined ? [] : [edge(append)])],
      along,
    );
    let result = whole;
    for (let k = 0; k < n; k++) {
      const extent = result.shape[along]!;
      if (extent === 0) break;
      const [later, earlier] = [s.sliceAlong(result, along, 1, extent), s.sliceAlong(result, along, 0, extent - 1)];
      result = result.dtype === 'bool' ? notEqual(later, earlier) : sub(later, earlier);
    }
    return result;
  },
);
export const ediff1d = composed(
  'ediff1d',
  (x: ArrayLike, options: { readonly toEnd?: ArrayLike; readonly toBegin?: ArrayLike } = {}): Value => {
    const { toBegin, toEnd } = optionsOf('ediff1d', options, {
      toBegin: undefined as ArrayLike | undefined,
      toEnd: undefined as ArrayLike | undefined,
    });
    const steps = diff(lift(x).reshape([-1]));
    const edge = (part: ArrayLike): Value => lift(part).astype(steps.dtype).reshape([-1]);
    return concatenate([...(toBegin === undefined ? [] : [edge(toBegin)]), steps, ...(toEnd === undefined ? [] : [edge(toEnd)])]);
  },
);
export const trapezoid = composed(
  'trapezoid',
  (y: ArrayLike, x?: ArrayLike | null, options: { readonly dx?: ArrayLike; readonly axis?: number } = {}): Value => {
    const { dx, axis } = optionsOf('trapezoid', options, { dx: 1 as ArrayLike, axis: -1 });
    const value = floated(y);
    const along = axisOf('trapezoid', axis, value.aval);
    const extent = value.shape[along]!;
    if (extent === 0) return sum(value, along);
    const heights = s.sliceAlong(value, along, 1, extent).add(s.sliceAlong(value, along, 0, extent - 1));
    const widths = x === undefined || x === null ? lift(dx) : spreadAlong(diff(x, 1, lift(x).ndim === 1 ? 0 : axis), value.ndim, along);
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
    const { rowvar, bias, ddof } = optionsOf('cov', options, { rowvar: true, bias: false, ddof: undefined as number | undefined });
    const rows = (a: ArrayLike): Value => {
      const v = floated(a);
      if (v.ndim > 2) throw shapesDisagree('cov', [printAval(v.aval)], 'it takes a vector, or a matrix with a variable in each row');
      const m = v.ndim < 2 ? v.reshape([1, -1]) : v;
      return !rowvar && v.ndim === 2 ? m.transpose() : m;
    };
    const table = y === undefined || y === null ? rows(x) : concatenate([rows(x), rows(y)], 0);
    const centred = table.sub(mean(table, 1, { keepdims: true }));
    const result = centred.matmul(centred.transpose()).div(table.shape[1]! - (ddof ?? (bias ? 0 : 1)));
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

/** Are all elements equal, and the shapes? With `equalNaN`, NaN equals NaN. */
export const arrayEqual = composed('arrayEqual', (x: ArrayLike, y: ArrayLike, options: { readonly equalNaN?: boolean } = {}): Value => {
  const { equalNaN } = optionsOf('arrayEqual', options, { equalNaN: false });
  const [a, b] = [lift(x), lift(y)];
  if (!s.sameShape(a.shape, b.shape)) return s.full([], 0, 'bool');
  return allOf(equalNaN ? bitOr(equal(a, b), bitAnd(isNan(a), isNan(b))) : equal(a, b));
});
/** Are all elements equal after broadcasting? False for shapes that don't broadcast. */
export const arrayEquiv = composed('arrayEquiv', (x: ArrayLike, y: ArrayLike): Value => {
  const [a, b] = [lift(x), lift(y)];
  const fits = a.shape.every((extent, k) => {
    const other = b.shape[k - a.ndim + b.ndim];
    return other === undefined || other === extent || other === 1 || extent === 1;
  });
  return fits ? allOf(equal(a, b)) : s.full([], 0, 'bool');
});
