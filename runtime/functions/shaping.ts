/**
 * Functions of `numpy` that move elements: axes, joins, splits, repeats, borders.
 *
 * Depends on: core, ops.
 */
import { printAval } from '../core/aval.ts';
import { shapesDisagree } from '../core/errors.ts';
import { apply, commonType, composed, lift, type ArrayLike } from '../ops/apply.ts';
import { axisOf, broadcastShape, typed } from '../ops/family.ts';
import type { Index } from '../ops/indexing.ts';
import * as s from '../ops/shape.ts';
import { axesOf, type Axis } from '../ops/reduce.ts';
import type { Value } from '../ops/value.ts';

export { reshape, transpose, transpose as permuteDims, broadcastTo } from '../ops/shape.ts';

type Shape = readonly number[];
export type Pair = readonly [number, number];

export const ndim = (x: ArrayLike): number => lift(x).ndim;
export const shape = (x: ArrayLike): Shape => lift(x).shape;
export const size = (x: ArrayLike, axis?: number): number => {
  const value = lift(x);
  return axis === undefined ? value.size : value.shape[axisOf('size', axis, value.aval)]!;
};
export const isscalar = (x: unknown): boolean =>
  typeof x === 'number' || typeof x === 'boolean' || (typeof x === 'object' && x !== null && 'ndim' in x && x.ndim === 0);

export const ravel = (x: ArrayLike): Value => lift(x).reshape([-1]);
export function squeeze(x: ArrayLike, axis?: Axis): Value {
  const value = lift(x);
  const dropped =
    axis === undefined || axis === null ? value.shape.flatMap((extent, k) => (extent === 1 ? [k] : [])) : axesOf('squeeze', axis, value);
  for (const k of dropped)
    if (value.shape[k] !== 1) throw shapesDisagree('squeeze', [printAval(value.aval)], `axis ${k} has ${value.shape[k]} elements`);
  return value.reshape(value.shape.filter((_, k) => !dropped.includes(k)));
}
export function expandDims(x: ArrayLike, axis: number | readonly number[]): Value {
  const value = lift(x);
  const list = typeof axis === 'number' ? [axis] : axis;
  const rank = value.ndim + list.length;
  const added = new Set(list.map((k) => axisOf('expandDims', k, { shape: Array.from({ length: rank }, () => 1), dtype: value.dtype })));
  const rest = [...value.shape];
  return value.reshape(Array.from({ length: rank }, (_, k) => (added.has(k) ? 1 : rest.shift()!)));
}
export function moveaxis(x: ArrayLike, from: number | Shape, to: number | Shape): Value {
  const value = lift(x);
  const source = (typeof from === 'number' ? [from] : from).map((k) => axisOf('moveaxis', k, value.aval));
  const target = (typeof to === 'number' ? [to] : to).map((k) => axisOf('moveaxis', k, value.aval));
  const rest = value.shape.map((_, k) => k).filter((k) => !source.includes(k));
  return value.transpose(value.shape.map((_, k) => (target.includes(k) ? source[target.indexOf(k)]! : rest.shift()!)));
}
export function swapaxes(x: ArrayLike, a: number, b: number): Value {
  const value = lift(x);
  const [i, j] = [axisOf('swapaxes', a, value.aval), axisOf('swapaxes', b, value.aval)];
  return value.transpose(value.shape.map((_, k) => (k === i ? j : k === j ? i : k)));
}
export const matrixTranspose = (x: ArrayLike): Value => swapaxes(x, -1, -2);

export const broadcastShapes = (...shapes: readonly Shape[]): Shape =>
  broadcastShape(
    'broadcastShapes',
    shapes.map((own) => ({ shape: own, dtype: 'float32' })),
  ) as Shape;
export function broadcastArrays(...arrays: readonly ArrayLike[]): Value[] {
  const values = arrays.map(lift);
  const whole = broadcastShapes(...values.map((x) => x.shape));
  return values.map((x) => x.broadcastTo(whole));
}

/** One after another along an axis; of one dtype, the one in which they meet. */
export const concatenate = composed('concatenate', (arrays: readonly ArrayLike[], axis: number | null = 0): Value => {
  const values = arrays.map(lift).map((x) => (axis === null ? x.reshape([-1]) : x));
  if (values.length === 0) throw shapesDisagree('concatenate', ['[]'], 'it needs at least one array');
  const type = commonType(values);
  const along = axisOf('concatenate', axis ?? 0, values[0]!.aval);
  return values.length === 1
    ? values[0]!
    : apply(
        s.concatenateEntry,
        values.map((x) => typed(x, { dtype: type.dtype })),
        { axis: along },
      );
});
/** Side by side along a new axis. */
export const stack = composed('stack', (arrays: readonly ArrayLike[], axis: number = 0): Value => {
  const values = arrays.map(lift);
  const at = axis < 0 ? axis + (values[0]?.ndim ?? 0) + 1 : axis;
  return concatenate(
    values.map((x) => expandDims(x, at)),
    at,
  );
});
const atLeast = (x: Value, rank: 1 | 2 | 3): Value => {
  if (x.ndim >= rank) return x;
  if (rank === 1) return x.reshape([1]);
  if (rank === 2) return x.reshape([1, x.ndim === 0 ? 1 : x.shape[0]!]);
  return x.ndim === 2 ? x.reshape([...x.shape, 1]) : x.reshape([1, x.ndim === 0 ? 1 : x.shape[0]!, 1]);
};
export const hstack = composed('hstack', (arrays: readonly ArrayLike[]): Value => {
  const list = arrays.map((x) => atLeast(lift(x), 1));
  return concatenate(list, list[0]!.ndim === 1 ? 0 : 1);
});
export const vstack = composed('vstack', (arrays: readonly ArrayLike[]): Value =>
  concatenate(
    arrays.map((x) => atLeast(lift(x), 2)),
    0,
  ),
);
export const dstack = composed('dstack', (arrays: readonly ArrayLike[]): Value =>
  concatenate(
    arrays.map((x) => atLeast(lift(x), 3)),
    2,
  ),
);
export const columnStack = composed('columnStack', (arrays: readonly ArrayLike[]): Value =>
  concatenate(
    arrays.map(lift).map((x) => (x.ndim < 2 ? x.reshape([-1, 1]) : x)),
    1,
  ),
);
export const append = composed('append', (x: ArrayLike, values: ArrayLike, axis: number | null = null): Value =>
  concatenate([x, values], axis),
);

export function unstack(x: ArrayLike, axis = 0): Value[] {
  const value = lift(x);
  const along = axisOf('unstack', axis, value.aval);
  return Array.from({ length: value.shape[along]! }, (_, k) => value.takeSlice(along, k));
}
const cut = (value: Value, axis: number, ends: readonly number[]): Value[] => {
  const extent = value.shape[axis]!;
  const bounds = [0, ...ends.map((end) => Math.max(0, Math.min(extent, end < 0 ? end + extent : end))), extent];
  return bounds
    .slice(1)
    .map((stop, k) => value.slice(...Array.from({ length: axis }, (): Index => []), [Math.min(bounds[k]!, stop), stop]));
};
/** Parts of equal length along an axis, or parts that end at the given places. */
export function split(x: ArrayLike, sections: number | readonly number[], axis = 0): Value[] {
  const value = lift(x);
  const along = axisOf('split', axis, value.aval);
  if (typeof sections !== 'number') return cut(value, along, sections);
  if (value.shape[along]! % sections !== 0)
    throw shapesDisagree('split', [printAval(value.aval)], `${value.shape[along]} elements don't divide into ${sections} equal parts`);
  return arraySplit(value, sections, along);
}
/** The same, where the first parts may be one longer. */
export function arraySplit(x: ArrayLike, sections: number | readonly number[], axis = 0): Value[] {
  const value = lift(x);
  const along = axisOf('arraySplit', axis, value.aval);
  if (typeof sections !== 'number') return cut(value, along, sections);
  const [each, longer] = [Math.floor(value.shape[along]! / sections), value.shape[along]! % sections];
  return cut(
    value,
    along,
    Array.from({ length: sections - 1 }, (_, k) => (k + 1) * each + Math.min(k + 1, longer)),
  );
}
export const vsplit = (x: ArrayLike, sections: number | readonly number[]): Value[] => split(x, sections, 0);
export const hsplit = (x: ArrayLike, sections: number | readonly number[]): Value[] => split(x, sections, lift(x).ndim === 1 ? 0 : 1);
export const dsplit = (x: ArrayLike, sections: number | readonly number[]): Value[] => split(x, sections, 2);

export function flip(x: ArrayLike, axis?: Axis): Value {
  const value = lift(x);
  const axes = axesOf('flip', axis, value);
  return axes.length === 0 ? value : apply(s.flipEntry, [value], { axes });
}
export const flipud = (x: ArrayLike): Value => flip(x, 0);
export const fliplr = (x: ArrayLike): Value => flip(x, 1);
export const rot90 = composed('rot90', (x: ArrayLike, k: number = 1, axes: readonly number[] = [0, 1]): Value => {
  const value = lift(x);
  const [a, b] = axes.map((axis) => axisOf('rot90', axis, value.aval)) as [number, number];
  switch (((k % 4) + 4) % 4) {
    case 0:
      return value;
    case 1:
      return flip(swapaxes(value, a, b), a);
    case 2:
      return flip(value, [a, b]);
    default:
      return swapaxes(flip(value, a), a, b);
  }
});
/** Elements pushed along axes; what leaves at the end comes in at the start. */
export const roll = composed('roll', (x: ArrayLike, shift: number | readonly number[], axis?: Axis): Value => {
  const value = lift(x);
  if (axis === undefined || axis === null) return roll(value.reshape([-1]), shift, 0).reshape(value.shape);
  const axes = typeof axis === 'number' ? [axis] : axis;
  return axes.reduce<Value>((rolled, own, k) => {
    const along = axisOf('roll', own, value.aval);
    const extent = value.shape[along]!;
    const by = extent === 0 ? 0 : (((typeof shift === 'number' ? shift : shift[k]!) % extent) + extent) % extent;
    if (by === 0) return rolled;
    return concatenate([s.sliceAlong(rolled, along, extent - by, extent), s.sliceAlong(rolled, along, 0, extent - by)], along);
  }, value);
});
export const repeat = composed('repeat', (x: ArrayLike, repeats: number, axis?: number | null): Value => {
  const value = axis === undefined || axis === null ? lift(x).reshape([-1]) : lift(x);
  const along = axisOf('repeat', axis ?? 0, value.aval);
  const spread = [...value.shape.slice(0, along + 1), repeats, ...value.shape.slice(along + 1)];
  return expandDims(value, along + 1)
    .broadcastTo(spread)
    .reshape(value.shape.map((extent, k) => (k === along ? extent * repeats : extent)));
});
export const tile = composed('tile', (x: ArrayLike, reps: number | readonly number[]): Value => {
  const list = typeof reps === 'number' ? [reps] : reps;
  const own = lift(x);
  const rank = Math.max(own.ndim, list.length);
  const value = own.reshape([...Array.from({ length: rank - own.ndim }, () => 1), ...own.shape]);
  const times = [...Array.from({ length: rank - list.length }, () => 1), ...list];
  const paired = value.shape.flatMap((extent) => [1, extent]);
  return value
    .reshape(paired)
    .broadcastTo(value.shape.flatMap((extent, k) => [times[k]!, extent]))
    .reshape(value.shape.map((extent, k) => extent * times[k]!));
});

export interface PadOptions {
  readonly mode?: 'constant' | 'edge' | 'reflect' | 'symmetric' | 'wrap';
  readonly constantValues?: number;
}
/** A border: a number or a pair for all axes, a pair for each, or pairs by axis. */
export const pad = composed(
  'pad',
  (x: ArrayLike, width: number | Pair | readonly Pair[] | Readonly<Record<number, Pair>>, options: PadOptions = {}): Value => {
    const value = lift(x);
    const pairs = pairsOf(width, value);
    const { mode = 'constant' } = options;
    if (mode === 'constant')
      return apply(s.padEntry, [value], {
        value: options.constantValues ?? 0,
        low: pairs.map(([low]) => low),
        high: pairs.map(([, high]) => high),
        interior: pairs.map(() => 0),
      });
    return pairs.reduce((padded, [low, high], axis) => {
      const extent = padded.shape[axis]!;
      const index = s.iota([low + extent + high], 0, 'int32').sub(low);
      return padded.take(borderIndex(index, extent, mode), axis);
    }, value);
  },
);
function pairsOf(width: number | Pair | readonly Pair[] | Readonly<Record<number, Pair>>, value: Value): readonly Pair[] {
  if (typeof width === 'number') return value.shape.map((): Pair => [width, width]);
  if (Array.isArray(width)) {
    if (typeof width[0] === 'number') return value.shape.map(() => width as unknown as Pair);
    const list = width as readonly Pair[];
    return list.length === 1 ? value.shape.map(() => list[0]!) : value.shape.map((_, k) => list[k]!);
  }
  const byAxis = new Map(
    Object.entries(width as Readonly<Record<number, Pair>>).map(([axis, pair]) => [axisOf('pad', Number(axis), value.aval), pair]),
  );
  return value.shape.map((_, k) => byAxis.get(k) ?? [0, 0]);
}
function borderIndex(index: Value, extent: number, mode: 'edge' | 'reflect' | 'symmetric' | 'wrap'): Value {
  switch (mode) {
    case 'edge':
      return index.maximum(0).minimum(extent - 1);
    case 'wrap':
      return index.mod(extent);
    case 'reflect': {
      const period = Math.max(1, 2 * extent - 2);
      const around = index.mod(period);
      return around.minimum(around.neg().add(period));
    }
    case 'symmetric': {
      const around = index.mod(2 * extent);
      return around.minimum(around.neg().add(2 * extent - 1));
    }
  }
}
export const meshgrid = composed('meshgrid', (arrays: readonly ArrayLike[], options: { readonly indexing?: 'xy' | 'ij' } = {}): Value[] => {
  const values = arrays.map((x) => lift(x).reshape([-1]));
  const grids = values.map((x, k) =>
    x.reshape(values.map((_, j) => (j === k ? x.size : 1))).broadcastTo(values.map((other) => other.size)),
  );
  return (options.indexing ?? 'xy') === 'xy' && values.length > 1 ? grids.map((grid) => swapaxes(grid, 0, 1)) : grids;
});
