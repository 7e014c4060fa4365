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
import { iota } from '../ops/shape.ts';
import { dtypeArg, Value, type DTypeArg } from '../ops/value.ts';
import { isclose } from './math.ts';
import { cumsum, diff } from './reductions.ts';
import { concatenate } from './shaping.ts';
import { sliceAlong } from '../ops/shape.ts';
import { vmap } from './transforms.ts';

const phase = (n: number): Value => iota([n], 0, 'float32').mul((2 * Math.PI) / (n - 1));
export const hann = composed('hann', (n: number): Value => (n <= 1 ? iota([n], 0, 'float32').add(1) : cos(phase(n)).mul(-0.5).add(0.5)));
export { hann as hanning };
export const hamming = composed('hamming', (n: number): Value =>
  n <= 1 ? iota([n], 0, 'float32').add(1) : cos(phase(n)).mul(-0.46).add(0.54),
);
export const blackman = composed('blackman', (n: number): Value =>
  n <= 1
    ? iota([n], 0, 'float32').add(1)
    : cos(phase(n))
        .mul(-0.5)
        .add(cos(phase(n).mul(2)).mul(0.08))
        .add(0.42),
);
export const bartlett = composed('bartlett', (n: number): Value =>
  n <= 1
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

export const allclose = composed(
  'allclose',
  (x: ArrayLike, y: ArrayLike, options: { readonly rtol?: number; readonly atol?: number; readonly equalNan?: boolean } = {}): Value =>
    all(isclose(x, y, options)),
);

export const unwrap = composed(
  'unwrap',
  (p: ArrayLike, discont?: number | null, axis: number = -1, period: number = 2 * Math.PI): Value => {
    const value = lift(p).astype('float32');
    const along = axisOf('unwrap', axis, value.aval);
    const steps = diff(value, 1, along);
    const wrapped = steps.sub(round(steps.div(period)).mul(period));
    const correction = where(abs(steps).less(discont ?? period / 2), 0, wrapped.sub(steps));
    const first = sliceAlong(value, along, 0, 1);
    return concatenate([first, sliceAlong(value, along, 1, value.shape[along]!).add(cumsum(correction, along))], along);
  },
);

/** Coordinates of every element, one array per axis, stacked (or a list with `sparse`). */
export function indices(shape: readonly number[], options: { readonly dtype?: DType; readonly sparse?: boolean } = {}): Value | Value[] {
  const own = shape.map((_, k) =>
    options.sparse
      ? iota(
          shape.map((extent, j) => (j === k ? extent : 1)),
          k,
          options.dtype ?? 'int32',
        )
      : iota(shape, k, options.dtype ?? 'int32'),
  );
  return options.sparse
    ? own
    : concatenate(
        own.map((x) => x.reshape([1, ...shape])),
        0,
      );
}
export const fromfunction = (f: (...at: Value[]) => unknown, shape: readonly number[], options: { readonly dtype?: DType } = {}): unknown =>
  f(...shape.map((_, k) => iota(shape, k, options.dtype ?? 'float32')));
/** `f` of every one-dimensional slice along an axis. */
export const applyAlongAxis = composed('applyAlongAxis', (f: (x: Value) => Value, axis: number, x: ArrayLike): Value => {
  const value = lift(x);
  const along = axisOf('applyAlongAxis', axis, value.aval);
  const front = value.moveAxis(along, value.ndim - 1);
  const rows = front.reshape([-1, value.shape[along]!]);
  const out = vmap(f as (...args: unknown[]) => unknown)(rows) as Value;
  const shaped = out.reshape([...front.shape.slice(0, -1), ...out.shape.slice(1)]);
  return out.ndim === 1 ? shaped : shaped.moveAxis(shaped.ndim - 1, along);
});
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
  readonly tiny: number;
  readonly dtype: DType;
}
export function finfo(dtype: DTypeArg): FloatFacts {
  const own = dtypeArg(dtype, 'float32');
  if (own === 'float32')
    return {
      bits: 32,
      eps: 2 ** -23,
      max: 3.4028234663852886e38,
      min: -3.4028234663852886e38,
      smallestNormal: 2 ** -126,
      tiny: 2 ** -126,
      dtype: own,
    };
  if (own === 'float16') return { bits: 16, eps: 2 ** -10, max: 65504, min: -65504, smallestNormal: 2 ** -14, tiny: 2 ** -14, dtype: own };
  throw new TypeError(`finfo is about floats, and ${own} is none`);
}
export function iinfo(dtype: DTypeArg): { readonly bits: number; readonly max: number; readonly min: number; readonly dtype: DType } {
  const own = dtypeArg(dtype, 'int32');
  if (own === 'int32') return { bits: 32, max: 2 ** 31 - 1, min: -(2 ** 31), dtype: own };
  if (own === 'uint32') return { bits: 32, max: 2 ** 32 - 1, min: 0, dtype: own };
  throw new TypeError(`iinfo is about whole numbers, and ${own} is none`);
}
export const [float32, float16, int32, uint32, bool] = ['float32', 'float16', 'int32', 'uint32', 'bool'] as const;
