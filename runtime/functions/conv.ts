/**
 * Convolution in general dilated form, pooling, and other functions of windows.
 *
 * A convolution is a view of all windows contracted with the kernel; fusion turns the view into loads, so the windows are
 * never stored. Gradients, tangents and batches follow from those of view and contraction. Depends on: core, ops.
 */
import { printAval } from '../core/aval.ts';
import { argumentWrong, describe, shapesDisagree } from '../core/errors.ts';
import { apply, commonType, composed, lift, type ArrayLike } from '../ops/apply.ts';
import { typed } from '../ops/family.ts';
import { dot } from '../ops/matmul.ts';
import { optionsOf } from '../ops/options.ts';
import { flipEntry, padEntry, windowsEntry } from '../ops/shape.ts';
import { max, min, sum } from '../ops/reduce.ts';
import type { Value } from '../ops/value.ts';
import { convolve } from './convolution.ts';
import { concatenate } from './shaping.ts';
import { vmap } from './transforms.ts';

type Pair = readonly [number, number];
export type Padding = 'SAME' | 'VALID' | 'SAME_LOWER' | readonly Pair[] | number;

/** Borders per spatial axis. */
function paddingOf(
  padding: Padding,
  input: readonly number[],
  window: readonly number[],
  strides: readonly number[],
  dilation: readonly number[],
): readonly Pair[] {
  if (typeof padding === 'number') return input.map((): Pair => [padding, padding]);
  if (typeof padding !== 'string') {
    const pairs: unknown = padding;
    if (
      !Array.isArray(pairs) ||
      pairs.length !== input.length ||
      !pairs.every((pair) => Array.isArray(pair) && pair.length === 2 && pair.every(Number.isInteger))
    )
      throw argumentWrong(
        'conv',
        `${describe(padding)} as padding`,
        `use "SAME", "VALID", or a pair [before, after] for each of the ${input.length} spatial axes`,
      );
    return padding;
  }
  switch (padding.toUpperCase()) {
    case 'VALID':
      return input.map((): Pair => [0, 0]);
    case 'SAME':
    case 'SAME_LOWER':
      return input.map((extent, k): Pair => {
        const reach = (window[k]! - 1) * dilation[k]! + 1;
        const total = Math.max(0, (Math.ceil(extent / strides[k]!) - 1) * strides[k]! + reach - extent);
        const small = Math.floor(total / 2);
        return padding.toUpperCase() === 'SAME' ? [small, total - small] : [total - small, small];
      });
    default:
      throw argumentWrong(
        'conv',
        `padding ${JSON.stringify(padding)}`,
        'use "SAME", "SAME_LOWER", "VALID", or a pair for each spatial axis',
      );
  }
}

const bordered = (x: Value, borders: readonly Pair[], interior: readonly number[], value: number): Value => {
  const lead = x.ndim - borders.length;
  const all = (of: (k: number) => number): readonly number[] => x.shape.map((_, axis) => (axis < lead ? 0 : of(axis - lead)));
  const [low, high, gaps] = [all((k) => borders[k]![0]), all((k) => borders[k]![1]), all((k) => interior[k]!)];
  return [...low, ...high, ...gaps].every((n) => n === 0) ? x : apply(padEntry, [x], { value, low, high, interior: gaps });
};

export interface ConvOptions {
  readonly lhsDilation?: readonly number[];
  readonly rhsDilation?: readonly number[];
  readonly featureGroupCount?: number;
  readonly batchGroupCount?: number;
}

/** Input [N, C, S…], kernel [O, C / groups, W…] -> [N, O, positions…]. */
export const convGeneralDilated = composed(
  'convGeneralDilated',
  (lhs: ArrayLike, rhs: ArrayLike, strides: readonly number[], padding: Padding, given: ConvOptions = {}): Value => {
    const options = optionsOf<ConvOptions>('convGeneralDilated', given, {
      lhsDilation: undefined,
      rhsDilation: undefined,
      featureGroupCount: 1,
      batchGroupCount: 1,
    } as unknown as ConvOptions);
    const values = [lift(lhs), lift(rhs)];
    const type = commonType(values);
    const [x, w] = values.map((value) => typed(value, { dtype: type.dtype })) as [Value, Value];
    const spatial = x.ndim - 2;
    for (const [name, list] of [
      ['strides', strides],
      ['lhsDilation', options.lhsDilation ?? strides],
      ['rhsDilation', options.rhsDilation ?? strides],
    ] as const)
      if (!Array.isArray(list) || list.length !== spatial || !list.every((n) => Number.isInteger(n) && n > 0))
        throw argumentWrong(
          'conv',
          `${describe(list)} as ${name} for ${printAval(x.aval)}`,
          `give it a whole number from 1 for each of the ${Math.max(0, spatial)} spatial axes`,
        );
    const groups = options.featureGroupCount ?? 1;
    if (w.ndim !== x.ndim || x.shape[1] !== w.shape[1]! * groups || w.shape[0]! % groups !== 0 || strides.length !== spatial)
      throw shapesDisagree(
        'conv',
        [printAval(x.aval), printAval(w.aval)],
        `an input [N, C, …] needs a kernel [O, C / ${groups}, …] and ${spatial} strides`,
      );
    if ((options.batchGroupCount ?? 1) !== 1) return batchGrouped(x, w, strides, padding, options);
    const ones = strides.map(() => 1);
    const lhsDilation = options.lhsDilation ?? ones;
    const dilation = options.rhsDilation ?? ones;
    const window = w.shape.slice(2);
    const reached = x.shape.slice(2).map((extent, k) => (extent === 0 ? 0 : (extent - 1) * lhsDilation[k]! + 1));
    const borders = paddingOf(padding, reached, window, strides, dilation);
    if (groups === 1) {
      const [low, high] = [borders.map(([before]) => before), borders.map(([, after]) => after)];
      return convolve(x, w, { strides, low, high, lhsDilation, rhsDilation: dilation });
    }
    const spread = bordered(
      x,
      borders,
      lhsDilation.map((d) => d - 1),
      0,
    );
    // [N, C, positions…, window…]
    const windows = apply(windowsEntry, [spread], { window, stride: strides, dilation });
    const windowAxes = window.map((_, k) => 2 + spatial + k);
    const split = windows.reshape([x.shape[0]!, groups, x.shape[1]! / groups, ...windows.shape.slice(2)]);
    const kernel = w.reshape([groups, w.shape[0]! / groups, ...w.shape.slice(1)]);
    const product = dot(split, kernel, {
      contract: [
        [2, ...windowAxes.map((k) => k + 1)],
        [2, ...window.map((_, k) => 3 + k)],
      ],
      batch: [[1], [0]],
    });
    // [groups, N, positions…, O / groups] -> [N, groups, O / groups, positions…]
    const ordered = product.transpose([1, 0, product.ndim - 1, ...window.map((_, k) => 2 + k)]);
    return ordered.reshape([x.shape[0]!, w.shape[0]!, ...ordered.shape.slice(3)]);
  },
);

function batchGrouped(
  x: Value,
  w: Value,
  strides: readonly number[],
  padding: Padding,
  { batchGroupCount = 1, ...options }: ConvOptions,
): Value {
  const [rows, outs] = [x.shape[0]! / batchGroupCount, w.shape[0]! / batchGroupCount];
  return concatenate(
    Array.from({ length: batchGroupCount }, (_, g) =>
      convGeneralDilated(x.slice([g * rows, (g + 1) * rows]), w.slice([g * outs, (g + 1) * outs]), strides, padding, options),
    ),
    1,
  );
}

/** Input [N, C, S…] by kernel [O, C, W…] -> [N, O, positions…]. */
export const conv = (lhs: ArrayLike, rhs: ArrayLike, strides: readonly number[], padding: Padding): Value =>
  convGeneralDilated(lhs, rhs, strides, padding);
/** `conv` with dilations of the input and of the kernel. */
export const convWithGeneralPadding = (
  lhs: ArrayLike,
  rhs: ArrayLike,
  strides: readonly number[],
  padding: Padding,
  lhsDilation?: readonly number[],
  rhsDilation?: readonly number[],
): Value =>
  convGeneralDilated(lhs, rhs, strides, padding, { ...(lhsDilation ? { lhsDilation } : {}), ...(rhsDilation ? { rhsDilation } : {}) });

/** The gradient of a convolution by its input, as a layer of its own. */
export const convTranspose = composed(
  'convTranspose',
  (
    lhs: ArrayLike,
    rhs: ArrayLike,
    strides: readonly number[],
    padding: Padding,
    options: { readonly rhsDilation?: readonly number[]; readonly transposeKernel?: boolean } = {},
  ): Value => {
    const [x, given] = [lift(lhs), lift(rhs)];
    if (!Array.isArray(strides) || strides.length !== x.ndim - 2)
      throw argumentWrong(
        'convTranspose',
        `${describe(strides)} as strides for ${printAval(x.aval)}`,
        'give it a whole number from 1 for each spatial axis',
      );
    optionsOf('convTranspose', options, { rhsDilation: undefined, transposeKernel: false } as object);
    if (typeof padding === 'string' && !['SAME', 'VALID'].includes(padding.toUpperCase()))
      throw argumentWrong('convTranspose', `padding ${JSON.stringify(padding)}`, 'use "SAME", "VALID", or a pair for each spatial axis');
    const window = given.shape.slice(2);
    const dilation = options.rhsDilation ?? strides.map(() => 1);
    const w = options.transposeKernel
      ? apply(flipEntry, [given.transpose([1, 0, ...window.map((_, k) => 2 + k)])], { axes: window.map((_, k) => 2 + k) })
      : given;
    const borders =
      typeof padding === 'string'
        ? window.map((extent, k): Pair => {
            const reach = (extent - 1) * dilation[k]! + 1;
            const stride = strides[k]!;
            const total = padding.toUpperCase() === 'SAME' ? reach + stride - 2 : reach + stride - 2 + Math.max(reach - stride, 0);
            const low = padding.toUpperCase() === 'SAME' ? (stride > reach - 1 ? reach - 1 : Math.ceil(total / 2)) : reach - 1;
            return [low, total - low];
          })
        : padding;
    return convGeneralDilated(
      x,
      w,
      strides.map(() => 1),
      borders,
      { lhsDilation: strides, rhsDilation: dilation },
    );
  },
);

const windowArg = (operation: string, window: readonly number[], x: Value, strides: readonly number[] = window): void => {
  if (!Array.isArray(strides) || strides.length !== window.length || !strides.every((n) => Number.isInteger(n) && n > 0))
    throw argumentWrong(operation, `${describe(strides)} as strides`, 'strides are whole numbers from 1, as many as the window has');
  if (!Array.isArray(window) || window.length > x.ndim || !window.every((n) => Number.isInteger(n) && n > 0))
    throw argumentWrong(
      operation,
      `${describe(window)} as window for ${printAval(x.aval)}`,
      'a window is a list of whole numbers from 1, for the last axes',
    );
};
const pooled = (
  x: Value,
  reduce: (windows: Value, axes: readonly number[]) => Value,
  window: readonly number[],
  strides: readonly number[],
  padding: Padding,
  filler: number,
): Value => {
  windowArg('pool', window, x, strides);
  const borders = paddingOf(
    padding,
    x.shape.slice(x.ndim - window.length),
    window,
    strides,
    window.map(() => 1),
  );
  const windows = apply(
    windowsEntry,
    [
      bordered(
        x,
        borders,
        window.map(() => 0),
        filler,
      ),
    ],
    { window, stride: strides, dilation: window.map(() => 1) },
  );
  return reduce(
    windows,
    window.map((_, k) => windows.ndim - window.length + k),
  );
};
/** A function of each window, which it gets as one flat array; windows over the last axes. */
export const reduceWindow = composed(
  'reduceWindow',
  (operand: ArrayLike, computation: (window: Value) => Value, window: readonly number[], strides?: readonly number[]): Value => {
    const x = lift(operand);
    windowArg('reduceWindow', window, x, strides);
    if (typeof computation !== 'function')
      throw argumentWrong('reduceWindow', `${describe(computation)} as its computation`, 'give it a function of one window, like np.max');
    const windows = apply(windowsEntry, [x], { window, stride: strides ?? window.map(() => 1), dilation: window.map(() => 1) });
    const lead = windows.shape.slice(0, windows.ndim - window.length);
    const flat = windows.reshape([-1, window.reduce((a, b) => a * b, 1)]);
    const each = vmap(((part: Value) => computation(part)) as (...args: unknown[]) => unknown)(flat) as Value;
    return each.reshape([...lead, ...each.shape.slice(1)]);
  },
);
/** The largest of each window over the last axes. */
export const maxPool = composed(
  'maxPool',
  (x: ArrayLike, window: readonly number[], strides: readonly number[] = window, padding: Padding = 'VALID'): Value =>
    pooled(lift(x), (w, axes) => max(w, axes), window, strides, padding, -Infinity),
);
/** The smallest of each window over the last axes. */
export const minPool = composed(
  'minPool',
  (x: ArrayLike, window: readonly number[], strides: readonly number[] = window, padding: Padding = 'VALID'): Value =>
    pooled(lift(x), (w, axes) => min(w, axes), window, strides, padding, Infinity),
);
/** The sum of each window over the last axes. */
export const sumPool = composed(
  'sumPool',
  (x: ArrayLike, window: readonly number[], strides: readonly number[] = window, padding: Padding = 'VALID'): Value =>
    pooled(lift(x), (w, axes) => sum(w, axes), window, strides, padding, 0),
);
/** The mean of each window over the last axes. */
export const avgPool = composed(
  'avgPool',
  (x: ArrayLike, window: readonly number[], strides: readonly number[] = window, padding: Padding = 'VALID'): Value =>
    sumPool(x, window, strides, padding).div(window.reduce((a, b) => a * b, 1)),
);
