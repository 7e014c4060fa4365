/**
 * The rest of `numpy`: window functions, comparisons of whole arrays, functions of coordinates, facts about dtypes.
 *
 * Depends on: core, ops, functions.
 */
import type { DType } from '../core/dtype.ts';
import { composed, lift, type ArrayLike } from '../ops/apply.ts';
import { abs, cos, sub, where, round } from '../ops/elementwise.ts';
import { axisOf } from '../ops/family.ts';
import { all } from '../ops/reduce.ts';
import { argumentWrong, describe } from '../core/errors.ts';
import { countArg, optionsOf, shapeArg } from '../ops/options.ts';
import { full, iota } from '../ops/shape.ts';
import { dtypeArg, Value, type DTypeArg } from '../ops/value.ts';
import { isclose, type CloseOptions } from './math.ts';
import { cumsum, diff } from './reductions.ts';
import { concatenate } from './shaping.ts';
import { sliceAlong } from '../ops/shape.ts';
import { vmap } from './transforms.ts';

const lengthArg = (name: string, n: number): number => countArg(name, 'length', n);
const phase = (n: number): Value => iota([n], 0, 'float32').mul((2 * Math.PI) / (n - 1));
/** A raised cosine of n elements, 0 at both ends. */
export const hann = composed('hann', (n: number): Value =>
  lengthArg('hann', n) <= 1 ? iota([n], 0, 'float32').add(1) : cos(phase(n)).mul(-0.5).add(0.5),
);
export { hann as hanning };
/** A raised cosine that ends at 0.08. */
export const hamming = composed('hamming', (n: number): Value =>
  lengthArg('hamming', n) <= 1 ? iota([n], 0, 'float32').add(1) : cos(phase(n)).mul(-0.46).add(0.54),
);
/** The window of two cosines after Blackman. */
export const blackman = composed('blackman', (n: number): Value =>
  lengthArg('blackman', n) <= 1
    ? iota([n], 0, 'float32').add(1)
    : cos(phase(n))
        .mul(-0.5)
        .add(cos(phase(n).mul(2)).mul(0.08))
        .add(0.42),
);
/** A triangle of n elements, 0 at both ends. */
export const bartlett = composed('bartlett', (n: number): Value =>
  lengthArg('bartlett', n) <= 1
    ? iota([n], 0, 'float32').add(1)
    : sub(
        1,
        abs(
          iota([n], 0, 'float32')
            .mul(2 / (n - 1))
            .sub(1),
        ),
      ),
);

/** Are all elements close? Shapes broadcast. */
export const allclose = composed('allclose', (x: ArrayLike, y: ArrayLike, options: CloseOptions = {}): Value =>
  all(isclose(x, y, options)),
);

/** A signal without its jumps by whole periods. */
export const unwrap = composed(
  'unwrap',
  (p: ArrayLike, discont?: number | null, axis: number = -1, period: number = 2 * Math.PI): Value => {
    const value = lift(p).astype('float32');
    const along = axisOf('unwrap', axis, value.aval);
    if (value.size === 0) return value;
    const steps = diff(value, 1, along);
    const wrapped = steps.sub(round(steps.div(period)).mul(period));
    const correction = where(abs(steps).less(discont ?? period / 2), 0, wrapped.sub(steps));
    const first = sliceAlong(value, along, 0, 1);
    return concatenate([first, sliceAlong(value, along, 1, value.shape[along]!).add(cumsum(correction, along))], along);
  },
);

export interface CoordinateOptions {
  readonly dtype?: DType;
  /** Accepted for programs written for jax-js; there is one device. */
  readonly device?: string;
}
/** Coordinates of every element, one array per axis, stacked (or a list with `sparse`). */
export function indices(shape: readonly number[], options?: CoordinateOptions & { readonly sparse?: false }): Value;
export function indices(shape: readonly number[], options: CoordinateOptions & { readonly sparse: true }): Value[];
export function indices(shape: readonly number[], options?: CoordinateOptions & { readonly sparse?: boolean }): Value | Value[];
export function indices(shape: readonly number[], options: CoordinateOptions & { readonly sparse?: boolean } = {}): Value | Value[] {
  const given = optionsOf('indices', options, { dtype: 'int32' as DType, sparse: false, device: undefined as string | undefined });
  const dtype = dtypeArg(given.dtype, 'int32');
  shapeArg('indices', shape);
  const own = shape.map((_, k) =>
    given.sparse
      ? iota(
          shape.map((extent, j) => (j === k ? extent : 1)),
          k,
          dtype,
        )
      : iota(shape, k, dtype),
  );
  if (given.sparse) return own;
  return own.length === 0
    ? full([0], 0, dtype)
    : concatenate(
        own.map((x) => x.reshape([1, ...shape])),
        0,
      );
}
/** What `f` makes of the coordinates of every element, one array per axis. */
export const fromfunction = <R>(f: (...at: Value[]) => R, shape: readonly number[], options: CoordinateOptions = {}): R => {
  const { dtype } = optionsOf('fromfunction', options, { dtype: 'float32' as DType, device: undefined as string | undefined });
  if (typeof f !== 'function') throw argumentWrong('fromfunction', `${describe(f)} as its function`, 'give it a function of coordinates');
  shapeArg('fromfunction', shape);
  // As JAX has it, one call for each place: what it returns stands behind the axes of the shape.
  const each = shape.reduceRight(
    (inner: (...at: Value[]) => unknown, _, k) =>
      vmap(
        inner as (...args: unknown[]) => unknown,
        shape.map((__, j) => (j === k ? 0 : null)),
      ),
    f,
  );
  return each(...shape.map((extent) => iota([extent], 0, dtypeArg(dtype, 'float32')))) as R;
};
/** `f` of every one-dimensional slice along an axis. */
export const applyAlongAxis = composed('applyAlongAxis', (f: (x: Value) => Value, axis: number, x: ArrayLike): Value => {
  if (typeof f !== 'function')
    throw argumentWrong('applyAlongAxis', `${describe(f)} as its function`, 'the function comes first, then the axis, then the array');
  const value = lift(x);
  const along = axisOf('applyAlongAxis', axis, value.aval);
  const front = value.moveAxis(along, value.ndim - 1);
  const rows = front.reshape([-1, value.shape[along]!]);
  const out = vmap(f as (...args: unknown[]) => unknown)(rows) as Value;
  const shaped = out.reshape([...front.shape.slice(0, -1), ...out.shape.slice(1)]);
  // The axes of a result come where the slices were.
  const axes = shaped.shape.map((_, k) => k);
  return shaped.transpose([...axes.slice(0, along), ...axes.slice(value.ndim - 1), ...axes.slice(along, value.ndim - 1)]);
});
/** `f(x, axis)` for one axis after another. */
export const applyOverAxes = composed(
  'applyOverAxes',
  (f: (x: Value, axis: number) => Value, x: ArrayLike, axes: readonly number[]): Value =>
    axes.reduce<Value>((value, axis) => {
      const out = f(value, axis);
      return out.ndim === value.ndim
        ? out
        : out.reshape(value.shape.map((extent, k) => (k === axisOf('applyOverAxes', axis, value.aval) ? 1 : extent)));
    }, lift(x)),
);

export interface FloatFacts {
  readonly bits: number;
  readonly eps: number;
  readonly max: number;
  readonly min: number;
  readonly smallestNormal: number;
  readonly smallestSubnormal: number;
  readonly tiny: number;
  readonly epsneg: number;
  readonly machep: number;
  readonly negep: number;
  readonly maxexp: number;
  readonly minexp: number;
  readonly nexp: number;
  readonly nmant: number;
  readonly precision: number;
  readonly resolution: number;
  readonly dtype: DType;
}
/** What follows from the bits of mantissa and exponent. */
const layout = (nmant: number, nexp: number, precision: number) => {
  const bias = 2 ** (nexp - 1) - 1;
  return {
    tiny: 2 ** (1 - bias),
    smallestSubnormal: 2 ** (1 - bias - nmant),
    epsneg: 2 ** (-nmant - 1),
    machep: -nmant,
    negep: -nmant - 1,
    maxexp: bias + 1,
    minexp: 1 - bias,
    nexp,
    nmant,
    precision,
    resolution: 10 ** -precision,
  };
};
/** Facts about a float dtype, under NumPy's names. */
export function finfo(dtype: DTypeArg): FloatFacts {
  const own = dtypeArg(dtype, 'float32');
  if (own === 'float32')
    return {
      bits: 32,
      eps: 2 ** -23,
      max: 3.4028234663852886e38,
      min: -3.4028234663852886e38,
      smallestNormal: 2 ** -126,
      ...layout(23, 8, 6),
      dtype: own,
    };
  if (own === 'float16')
    return { bits: 16, eps: 2 ** -10, max: 65504, min: -65504, smallestNormal: 2 ** -14, ...layout(10, 5, 3), dtype: own };
  throw argumentWrong('finfo', own, 'it is about floats: for whole numbers there is iinfo');
}
/** Facts about a dtype of whole numbers. */
export function iinfo(dtype: DTypeArg): { readonly bits: number; readonly max: number; readonly min: number; readonly dtype: DType } {
  const own = dtypeArg(dtype, 'int32');
  if (own === 'int32') return { bits: 32, max: 2 ** 31 - 1, min: -(2 ** 31), dtype: own };
  if (own === 'uint32') return { bits: 32, max: 2 ** 32 - 1, min: 0, dtype: own };
  throw argumentWrong('iinfo', own, 'it is about whole numbers: for floats there is finfo');
}
export const [float32, float16, int32, uint32, bool] = ['float32', 'float16', 'int32', 'uint32', 'bool'] as const;
