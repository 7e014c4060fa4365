/**
 * Functions of `numpy` that move elements: axes, joins, splits, repeats, borders.
 *
 * Depends on: core, ops.
 */
import { printAval } from '../core/aval.ts';
import { argumentWrong, describe, shapesDisagree } from '../core/errors.ts';
import { apply, commonType, composed, lift, type ArrayLike } from '../ops/apply.ts';
import { axisOf, broadcastShape, typed } from '../ops/family.ts';
import type { Index } from '../ops/indexing.ts';
import * as s from '../ops/shape.ts';
import { countArg, listArg, optionsOf, shapeArg } from '../ops/options.ts';
import { axesOf, type Axis } from '../ops/reduce.ts';
import type { Value } from '../ops/value.ts';

export { reshape, transpose, transpose as permuteDims, broadcastTo } from '../ops/shape.ts';

type Shape = readonly number[];
export type Pair = readonly [number, number];

/** How many axes x has. */
export const ndim = (x: ArrayLike): number => lift(x).ndim;
/** The sizes of the axes of x. */
export const shape = (x: ArrayLike): Shape => lift(x).shape;
/** How many elements x has, in all or along an axis. */
export const size = (x: ArrayLike, axis?: number): number => {
  const value = lift(x);
  return axis === undefined ? value.size : value.shape[axisOf('size', axis, value.aval)]!;
};
/** Is it a number, a boolean or an array without axes? */
export const isscalar = (x: unknown): boolean =>
  typeof x === 'number' || typeof x === 'boolean' || (typeof x === 'object' && x !== null && 'ndim' in x && x.ndim === 0);

/** All elements in one axis. */
export const ravel = (x: ArrayLike): Value => lift(x).reshape([-1]);
/** Axes of one element dropped: all of them, or the given ones. */
export function squeeze(x: ArrayLike, axis?: Axis): Value {
  const value = lift(x);
  const dropped =
    axis === undefined || axis === null ? value.shape.flatMap((extent, k) => (extent === 1 ? [k] : [])) : axesOf('squeeze', axis, value);
  for (const k of dropped)
    if (value.shape[k] !== 1) throw shapesDisagree('squeeze', [printAval(value.aval)], `axis ${k} has ${value.shape[k]} elements`);
  return value.reshape(value.shape.filter((_, k) => !dropped.includes(k)));
}
/** One axis or a list of them. */
function axisList(operation: string, axis: number | Shape): Shape {
  const list = typeof axis === 'number' ? [axis] : axis;
  if (!Array.isArray(list)) throw argumentWrong(operation, `${describe(axis)} as axis`, 'an axis is a whole number, or a list of them');
  return list;
}
/** New axes of one element, at these places of the result. */
export function expandDims(x: ArrayLike, axis: number | readonly number[]): Value {
  const value = lift(x);
  const list = axisList('expandDims', axis);
  const rank = value.ndim + list.length;
  const added = new Set(list.map((k) => axisOf('expandDims', k, { shape: Array.from({ length: rank }, () => 1), dtype: value.dtype })));
  const rest = [...value.shape];
  return value.reshape(Array.from({ length: rank }, (_, k) => (added.has(k) ? 1 : rest.shift()!)));
}
/** Axes moved to other places; the rest keep their order. */
export function moveaxis(x: ArrayLike, from: number | Shape, to: number | Shape): Value {
  const value = lift(x);
  const source = axisList('moveaxis', from).map((k) => axisOf('moveaxis', k, value.aval));
  const target = axisList('moveaxis', to).map((k) => axisOf('moveaxis', k, value.aval));
  if (source.length !== target.length || new Set(source).size !== source.length || new Set(target).size !== target.length)
    throw argumentWrong('moveaxis', `[${source.join(',')}] to [${target.join(',')}]`, 'give it as many places as axes, each once');
  const rest = value.shape.map((_, k) => k).filter((k) => !source.includes(k));
  return value.transpose(value.shape.map((_, k) => (target.includes(k) ? source[target.indexOf(k)]! : rest.shift()!)));
}
/** Two axes exchanged. */
export function swapaxes(x: ArrayLike, a: number, b: number): Value {
  const value = lift(x);
  const [i, j] = [axisOf('swapaxes', a, value.aval), axisOf('swapaxes', b, value.aval)];
  return value.transpose(value.shape.map((_, k) => (k === i ? j : k === j ? i : k)));
}
/** The last two axes exchanged. */
export const matrixTranspose = (x: ArrayLike): Value => swapaxes(x, -1, -2);

/** The shape in which these shapes meet. */
export const broadcastShapes = (...shapes: readonly Shape[]): Shape =>
  broadcastShape(
    'broadcastShapes',
    shapes.map((own) => ({ shape: shapeArg('broadcastShapes', own), dtype: 'float32' })),
  ) as Shape;
/** The arrays, each in the shape in which they meet. */
export function broadcastArrays(...arrays: readonly ArrayLike[]): Value[] {
  const values = arrays.map(lift);
  const whole = broadcastShapes(...values.map((x) => x.shape));
  return values.map((x) => x.broadcastTo(whole));
}

/** One after another along an axis; of one dtype, the one in which they meet. */
export const concatenate = composed('concatenate', (arrays: readonly ArrayLike[], axis: number | null = 0): Value => {
  const given = listArg('concatenate', arrays).map(lift);
  if (given.length === 0) throw argumentWrong('concatenate', 'an empty list', 'it needs one array at least');
  const type = commonType(given);
  const values = given.map((x) => (axis === null ? x.reshape([-1]) : x));
  const along = axisOf('concatenate', axis ?? 0, values[0]!.aval);
  return values.length === 1
    ? values[0]!
    : joined(
        values.map((x) => typed(x, { dtype: type.dtype })),
        along,
      );
});
/**
 * One kernel reads few arrays, so many are joined group by group: the first group with room for the rest, the others
 * written into it in place. Nothing is copied twice.
 */
function joined(values: readonly Value[], axis: number): Value {
  if (values.length <= mostTogether) return apply(s.concatenateEntry, values, { axis });
  const groups: Value[] = [];
  for (let start = 0; start < values.length; start += mostTogether - 1)
    groups.push(concatenate(values.slice(start, start + mostTogether - 1), axis));
  const extents = groups.map((group) => group.shape[axis]!);
  const total = extents.reduce((a, b) => a + b);
  const [first, ...rest] = groups as [Value, ...Value[]];
  const only = (value: number): readonly number[] => first.shape.map((_, k) => (k === axis ? value : 0));
  const room = apply(s.padEntry, [first], { value: 0, low: only(0), high: only(total - extents[0]!), interior: only(0) });
  let at = extents[0]!;
  return rest.reduce((whole, group, k) => {
    const next = whole.dynamicUpdate(group, only(at));
    at += extents[k + 1]!;
    return next;
  }, room);
}
const mostTogether = 8;
/** Side by side along a new axis. */
export const stack = composed('stack', (arrays: readonly ArrayLike[], axis: number = 0): Value => {
  const values = listArg('stack', arrays).map(lift);
  const [first] = values;
  if (first === undefined) throw argumentWrong('stack', 'an empty list', 'it needs one array at least');
  if (values.some((x) => !s.sameShape(x.shape, first.shape)))
    throw shapesDisagree(
      'stack',
      values.map((x) => printAval(x.aval)),
      'all arrays have to have one shape',
    );
  const type = commonType(values);
  const at = axisOf('stack', axis, { shape: [1, ...first.shape], dtype: first.dtype });
  return concatenate(
    values.map((x) => expandDims(typed(x, { dtype: type.dtype }), at)),
    at,
  );
});
const atLeast = (x: Value, rank: 1 | 2 | 3): Value => {
  if (x.ndim >= rank) return x;
  if (rank === 1) return x.reshape([1]);
  if (rank === 2) return x.reshape([1, x.ndim === 0 ? 1 : x.shape[0]!]);
  return x.ndim === 2 ? x.reshape([...x.shape, 1]) : x.reshape([1, x.ndim === 0 ? 1 : x.shape[0]!, 1]);
};
/** Side by side along axis 1 (vectors: one after another). */
export const hstack = composed('hstack', (arrays: readonly ArrayLike[]): Value => {
  const list = listArg('hstack', arrays).map((x) => atLeast(lift(x), 1));
  return concatenate(list, list[0]?.ndim === 1 ? 0 : 1);
});
/** One below another along axis 0; vectors count as rows. */
export const vstack = composed('vstack', (arrays: readonly ArrayLike[]): Value =>
  concatenate(
    listArg('vstack', arrays).map((x) => atLeast(lift(x), 2)),
    0,
  ),
);
/** Behind one another along axis 2. */
export const dstack = composed('dstack', (arrays: readonly ArrayLike[]): Value =>
  concatenate(
    listArg('dstack', arrays).map((x) => atLeast(lift(x), 3)),
    2,
  ),
);
/** Vectors as the columns of a matrix. */
export const columnStack = composed('columnStack', (arrays: readonly ArrayLike[]): Value =>
  concatenate(
    listArg('columnStack', arrays)
      .map(lift)
      .map((x) => (x.ndim < 2 ? x.reshape([-1, 1]) : x)),
    1,
  ),
);
/** Values after those of x along an axis; both flattened without one. */
export const append = composed('append', (x: ArrayLike, values: ArrayLike, axis: number | null = null): Value =>
  concatenate([x, values], axis),
);

/** The slices along an axis, as a list. */
export function unstack(x: ArrayLike, axis = 0): Value[] {
  const value = lift(x);
  const along = axisOf('unstack', axis, value.aval);
  return Array.from({ length: value.shape[along]! }, (_, k) => value.takeSlice(along, k));
}
const sectionsArg = (operation: string, sections: number | readonly number[]): void => {
  if (typeof sections === 'number') countArg(operation, 'sections', sections, 1);
  else if (!Array.isArray(sections) || !sections.every(Number.isInteger))
    throw argumentWrong(
      operation,
      `${describe(sections)} as sections`,
      'give it a number of equal parts, or a list of the places where parts end',
    );
};
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
  sectionsArg('split', sections);
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
  sectionsArg('arraySplit', sections);
  if (typeof sections !== 'number') return cut(value, along, sections);
  const [each, longer] = [Math.floor(value.shape[along]! / sections), value.shape[along]! % sections];
  return cut(
    value,
    along,
    Array.from({ length: sections - 1 }, (_, k) => (k + 1) * each + Math.min(k + 1, longer)),
  );
}
/** Parts along axis 0. */
export const vsplit = (x: ArrayLike, sections: number | readonly number[]): Value[] => split(x, sections, 0);
/** Parts along axis 1 (of a vector: along axis 0). */
export const hsplit = (x: ArrayLike, sections: number | readonly number[]): Value[] => split(x, sections, lift(x).ndim === 1 ? 0 : 1);
/** Parts along axis 2. */
export const dsplit = (x: ArrayLike, sections: number | readonly number[]): Value[] => split(x, sections, 2);

/** Elements in reverse order along axes; all of them without an axis. */
export function flip(x: ArrayLike, axis?: Axis): Value {
  const value = lift(x);
  const axes = axesOf('flip', axis, value);
  return axes.length === 0 ? value : apply(s.flipEntry, [value], { axes });
}
/** Rows in reverse order. */
export const flipud = (x: ArrayLike): Value => flip(x, 0);
/** Columns in reverse order. */
export const fliplr = (x: ArrayLike): Value => flip(x, 1);
/** Turned by k quarter turns in the plane of two axes. */
export const rot90 = composed('rot90', (x: ArrayLike, k: number = 1, axes: readonly number[] = [0, 1]): Value => {
  const value = lift(x);
  if (!Array.isArray(axes) || axes.length !== 2)
    throw argumentWrong('rot90', `${describe(axes)} as axes`, 'it turns in the plane of two axes: [0, 1]');
  const [a, b] = axes.map((axis) => axisOf('rot90', axis, value.aval)) as [number, number];
  if (a === b || !Number.isInteger(k))
    throw argumentWrong('rot90', `k = ${k} and axes [${axes.join(',')}]`, 'k is a whole number, and the axes are different');
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
  const axes = typeof axis === 'number' ? (typeof shift === 'number' ? [axis] : shift.map(() => axis)) : axis;
  if (typeof shift !== 'number' && shift.length !== axes.length)
    throw argumentWrong('roll', `${shift.length} shifts and ${axes.length} axes`, 'give it one shift for each axis, or one for all');
  if (!(typeof shift === 'number' ? [shift] : shift).every(Number.isInteger))
    throw argumentWrong('roll', `${describe(shift)} as shift`, 'a shift is a whole number');
  return axes.reduce<Value>((rolled, own, k) => {
    const along = axisOf('roll', own, value.aval);
    const extent = value.shape[along]!;
    const by = extent === 0 ? 0 : (((typeof shift === 'number' ? shift : shift[k]!) % extent) + extent) % extent;
    if (by === 0) return rolled;
    return concatenate([s.sliceAlong(rolled, along, extent - by, extent), s.sliceAlong(rolled, along, 0, extent - by)], along);
  }, value);
});
/** Each element so many times, one after another along an axis; flattened without one. */
export const repeat = composed('repeat', (x: ArrayLike, repeats: number, axis?: number | null): Value => {
  const value = axis === undefined || axis === null ? lift(x).reshape([-1]) : lift(x);
  const along = axisOf('repeat', axis ?? 0, value.aval);
  countArg('repeat', 'repeats', repeats);
  const spread = [...value.shape.slice(0, along + 1), repeats, ...value.shape.slice(along + 1)];
  return expandDims(value, along + 1)
    .broadcastTo(spread)
    .reshape(value.shape.map((extent, k) => (k === along ? extent * repeats : extent)));
});
/** The whole array so many times along each axis. */
export const tile = composed('tile', (x: ArrayLike, reps: number | readonly number[]): Value => {
  const list = shapeArg('tile', reps);
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
    const { mode, constantValues } = optionsOf('pad', options, { mode: 'constant' as NonNullable<PadOptions['mode']>, constantValues: 0 });
    if (!borderModes.includes(mode))
      throw argumentWrong('pad', `mode ${JSON.stringify(mode)}`, `its modes are ${borderModes.map((own) => `"${own}"`).join(', ')}`);
    if (mode === 'constant')
      return apply(s.padEntry, [value], {
        value: constantValues,
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
const borderModes: readonly NonNullable<PadOptions['mode']>[] = ['constant', 'edge', 'reflect', 'symmetric', 'wrap'];
function pairsOf(width: number | Pair | readonly Pair[] | Readonly<Record<number, Pair>>, value: Value): readonly Pair[] {
  const pairs = rawPairsOf(width, value);
  const wrong =
    pairs.length !== value.ndim ||
    pairs.some((pair) => !Array.isArray(pair) || pair.length !== 2 || !pair.every((n) => Number.isInteger(n) && n >= 0));
  if (wrong)
    throw argumentWrong(
      'pad',
      `${describe(width)} as widths for ${printAval(value.aval)}`,
      'give it a number, a pair [before, after], or a pair for each axis, of whole numbers from 0',
    );
  return pairs;
}
function rawPairsOf(width: number | Pair | readonly Pair[] | Readonly<Record<number, Pair>>, value: Value): readonly Pair[] {
  if (typeof width === 'number') return value.shape.map((): Pair => [width, width]);
  if (Array.isArray(width)) {
    if (typeof width[0] === 'number') return value.shape.map(() => width as unknown as Pair);
    const list = width as readonly Pair[];
    return list.length === 1 ? value.shape.map(() => list[0]!) : list;
  }
  if (typeof width !== 'object' || width === null) return [];
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
/** Coordinates of a grid from its axes: one array per axis, in the shape of the grid. */
export const meshgrid = composed('meshgrid', (arrays: readonly ArrayLike[], options: { readonly indexing?: 'xy' | 'ij' } = {}): Value[] => {
  const { indexing } = optionsOf('meshgrid', options, { indexing: 'xy' as 'xy' | 'ij' });
  if (indexing !== 'xy' && indexing !== 'ij') throw argumentWrong('meshgrid', `indexing ${JSON.stringify(indexing)}`, 'it is "xy" or "ij"');
  const values = listArg('meshgrid', arrays).map((x) => lift(x).reshape([-1]));
  const grids = values.map((x, k) =>
    x.reshape(values.map((_, j) => (j === k ? x.size : 1))).broadcastTo(values.map((other) => other.size)),
  );
  return indexing === 'xy' && values.length > 1 ? grids.map((grid) => swapaxes(grid, 0, 1)) : grids;
});
