/**
 * Sorting, searching, and picking elements.
 *
 * Sorting is a bitonic network of whole-array steps: log2(n)·(log2(n)+1)/2 exchanges, each at a distance, so it runs in
 * parallel. Distances are data of a loop, so there is one kernel however long the rows are. Positions travel along and
 * break ties, so it is stable; gradients follow the positions. Depends on: core, ops, control (by loops).
 */
import { printAval } from '../core/aval.ts';
import { isFloat } from '../core/dtype.ts';
import { argumentWrong, shapesDisagree, wrongDType } from '../core/errors.ts';
import { composed, lift, scalarOf, type ArrayLike } from '../ops/apply.ts';
import { bitAnd, bitOr, bitXor, isNan, lessThan, not, shiftLeft } from '../ops/compare.ts';
import { where } from '../ops/elementwise.ts';
import { axisOf } from '../ops/family.ts';
import { pick } from '../ops/pick.ts';
import { gather } from '../ops/gather.ts';
import { fromFront } from '../ops/positions.ts';
import { any } from '../ops/reduce.ts';
import { optionsOf } from '../ops/options.ts';
import * as s from '../ops/shape.ts';
import type { Value } from '../ops/value.ts';
import { stopGradient } from './basic.ts';
import { scan } from './loops.ts';
import { concatenate } from './shaping.ts';

/** Does a stand after b? By value, NaN last, then by position. */
function after(a: Value, b: Value, positionA: Value, positionB: Value): Value {
  const later = positionB.less(positionA);
  if (!isFloat(a.dtype)) {
    const [x, y] = a.dtype === 'bool' ? [a.astype('int32'), b.astype('int32')] : [a, b];
    return bitOr(lessThan(y, x), bitAnd(y.equal(x), later));
  }
  const [nanA, nanB] = [isNan(a), isNan(b)];
  const greater = bitOr(lessThan(b, a), bitAnd(nanA, not(nanB)));
  const equal = bitOr(a.equal(b), bitAnd(nanA, nanB));
  return bitOr(greater, bitAnd(equal, later));
}

/** Values and their positions in order along the last axis of [rows, n]. */
function sortedRows(values: Value): { readonly values: Value; readonly positions: Value } {
  const [rows, n] = values.shape as [number, number];
  const size = 2 ** Math.ceil(Math.log2(Math.max(1, n)));
  // What fills up stands behind everything: equal values are told apart by position.
  const filler = values.dtype === 'bool' ? 1 : isFloat(values.dtype) ? NaN : values.dtype === 'uint32' ? 2 ** 32 - 1 : 2 ** 31 - 1;
  const whole = size === n ? values : concatenate([values, s.full([rows, size - n], filler, values.dtype)], 1);
  const start: [Value, Value] = [whole, s.iota([rows, size], 1, 'int32')];
  const levels = Math.log2(size);
  const [[own, positions]] =
    levels === 0
      ? [start]
      : scan((held: [Value, Value], step: [Value, Value]) => [exchanged(held, step), undefined], start, stepsOf(levels));
  return { values: own.slice([], [0, n]), positions: positions.slice([], [0, n]) };
}

/** Block and distance of every exchange: blocks of 2, 4, 8 …, and in each the distances from half of it down to 1. */
function stepsOf(levels: number): [Value, Value] {
  const step = s.iota([(levels * (levels + 1)) / 2], 0, 'int32');
  // Level k begins after 1 + 2 + … + k exchanges.
  let [level, begin] = [step.mul(0), step.mul(0)];
  for (let k = 1; k < levels; k++) {
    const reached = step.greaterEqual((k * (k + 1)) / 2).astype('int32');
    [level, begin] = [level.add(reached), begin.add(reached.mul(k))];
  }
  return [shiftLeft(2, level), shiftLeft(1, level.sub(step.sub(begin)))];
}
/** Each place looks at the one `distance` away; the lower of the two keeps the smaller element, or the larger where a block descends. */
function exchanged([own, positions]: [Value, Value], [block, distance]: [Value, Value]): [Value, Value] {
  const place = s.iota([own.shape[1]!], 0, 'int32');
  const partner = bitXor(place, distance);
  const [other, otherAt] = [own, positions].map((x) => gather(x, [partner], [1], 1)) as [Value, Value];
  const isLow = bitAnd(place, distance).equal(0);
  const ascends = bitAnd(place, block).equal(0);
  const takes = after(own, other, positions, otherAt).equal(isLow.equal(ascends));
  return [where(takes, other, own), where(takes, otherAt, positions)];
}

function order(x: Value, axis: number): Value {
  const front = stopGradient(x).moveAxis(axis, x.ndim - 1);
  const n = x.shape[axis]!;
  if (x.size === 0) return s.full(x.shape, 0, 'int32');
  const { positions } = sortedRows(front.reshape([x.size / n, n]));
  return positions.reshape(front.shape).moveAxis(x.ndim - 1, axis);
}

/** Positions that put an axis (the last) in ascending order; equal elements keep theirs. int32. */
export const argsort = composed('argsort', (x: ArrayLike, axis: number | null = -1): Value => {
  const value = axis === null ? lift(x).reshape([-1]) : lift(x);
  return order(value, axisOf('argsort', axis ?? 0, value.aval));
});
/** In ascending order along an axis (the last); NaN stands last. */
export const sort = composed('sort', (x: ArrayLike, axis: number | null = -1): Value => {
  const value = axis === null ? lift(x).reshape([-1]) : lift(x);
  const along = axisOf('sort', axis ?? 0, value.aval);
  return pickedAlong(value, order(value, along), along);
});
/** The elements at positions that are known to lie inside. */
const pickedAlong = (value: Value, positions: Value, axis: number): Value =>
  gather(
    value,
    value.shape.map((_, k) => (k === axis ? positions : s.iota(positions.shape, k, 'int32'))),
    value.shape.map((_, k) => k),
    0,
  );
/** The k largest along an axis (the last), in descending order, and where they stand. */
export const topK = composed('topK', (x: ArrayLike, k: number, axis: number = -1): [Value, Value] => {
  const value = lift(x);
  const along = axisOf('topK', axis, value.aval);
  if (!(Number.isInteger(k) && k >= 0 && k <= value.shape[along]!))
    throw argumentWrong(
      'topK',
      `k = ${k} for ${printAval(value.aval)}`,
      `k is a whole number from 0 to ${value.shape[along]!}, the extent of axis ${along}`,
    );
  // Turned round so that the largest comes first: NaN counts as the largest; the complement of an integer can't overflow.
  const turned = isFloat(value.dtype) ? where(isNan(value), -Infinity, value.neg()) : not(value);
  const positions = s.sliceAlong(order(turned, along), along, 0, k);
  return [pickedAlong(value, positions, along), positions];
});

/** Elements along an axis at positions; without an axis, of the flattened array. Negative positions count from the end. */
export const take = composed('take', (x: ArrayLike, indices: ArrayLike, axis?: number | null): Value => {
  const source = axis === undefined || axis === null ? lift(x).reshape([-1]) : lift(x);
  const along = axisOf('take', axis ?? 0, source.aval);
  const extent = source.shape[along]!;
  const at = wholeIndices('take', indices);
  if (extent === 0 && at.size > 0)
    throw shapesDisagree('take', [printAval(source.aval), printAval(at.aval)], `axis ${along} has no elements`);
  const picked = gather(source, [fromFront(at, extent)], [along], along);
  const spread = [...source.shape.slice(0, along).map(() => 1), ...at.shape, ...source.shape.slice(along + 1).map(() => 1)];
  return outsideFilled(picked, insideOf(at, extent).reshape(spread));
});
/** Positions have to be whole numbers. */
function wholeIndices(operation: string, indices: ArrayLike): Value {
  if (typeof indices === 'number' && Number.isInteger(indices)) return lift(indices).astype('int32');
  const at = lift(indices);
  if (at.dtype !== 'int32' && at.dtype !== 'uint32')
    throw wrongDType(operation, printAval(at.aval), 'whole numbers (int32 or uint32) as indices');
  return at;
}
const insideOf = (at: Value, extent: number): Value => bitAnd(at.less(extent), at.greaterEqual(at.dtype === 'uint32' ? 0 : -extent));
/** What lies outside comes as NaN (whole numbers: the smallest, as JAX has it), so that it is seen. */
const outsideFilled = (picked: Value, inside: Value): Value => {
  const filler = isFloat(picked.dtype) ? NaN : picked.dtype === 'int32' ? -(2 ** 31) : picked.dtype === 'uint32' ? 2 ** 32 - 1 : 1;
  return where(inside.broadcastTo(picked.shape), picked, scalarOf(filler, { dtype: picked.dtype }));
};
/** One position per row: `indices` has the rank of x. */
export const takeAlongAxis = composed('takeAlongAxis', (x: ArrayLike, indices: ArrayLike, axis: number = -1): Value => {
  const [value, index] = [lift(x), wholeIndices('takeAlongAxis', indices)];
  const along = axisOf('takeAlongAxis', axis, value.aval);
  if (
    index.ndim !== value.ndim ||
    value.shape.some((extent, k) => k !== along && extent !== index.shape[k] && extent !== 1 && index.shape[k] !== 1)
  )
    throw shapesDisagree('takeAlongAxis', [printAval(value.aval), printAval(index.aval)], `all axes but ${along} have to agree`);
  const shape = value.shape.map((extent, k) => (k === along ? index.shape[k]! : extent === 1 ? index.shape[k]! : extent));
  const picked = index.shape[along] === 1 ? pickedFrom(value, index, along, shape) : gatheredFrom(value, index, along, shape);
  return outsideFilled(picked, insideOf(index, value.shape[along]!));
});
/** One element of each row. */
function pickedFrom(x: Value, index: Value, along: number, shape: readonly number[]): Value {
  const rows = x.broadcastTo(shape.map((extent, k) => (k === along ? x.shape[k]! : extent)));
  return pick(rows, fromFront(index, x.shape[along]!).astype('int32').broadcastTo(shape), along);
}
function gatheredFrom(x: Value, index: Value, along: number, shape: readonly number[]): Value {
  const positions = x.shape.map((extent, k) =>
    k === along ? fromFront(index, extent).broadcastTo(shape) : extent === 1 ? s.full(shape, 0, 'int32') : s.iota(shape, k, 'int32'),
  );
  return gather(
    x,
    positions,
    x.shape.map((_, k) => k),
    0,
  );
}
/** Where each query would be put to keep ascending `sorted` in order. */
export const searchsorted = composed(
  'searchsorted',
  (sorted: ArrayLike, queries: ArrayLike, options: { readonly side?: 'left' | 'right' } = {}): Value => {
    const { side } = optionsOf('searchsorted', options, { side: 'left' as 'left' | 'right' });
    if (side !== 'left' && side !== 'right')
      throw argumentWrong('searchsorted', `side ${JSON.stringify(side)}`, 'a side is "left" or "right"');
    const [row, wanted] = [lift(sorted), lift(queries)];
    const column = wanted.reshape([...wanted.shape, 1]);
    const before = side === 'right' ? row.lessEqual(column) : row.less(column);
    return before.astype('int32').sum(-1);
  },
);
export const isin = composed('isin', (x: ArrayLike, among: ArrayLike, options: { readonly invert?: boolean } = {}): Value => {
  const { invert } = optionsOf('isin', options, { invert: false });
  const value = lift(x);
  const found = any(value.reshape([...value.shape, 1]).equal(lift(among).reshape([-1])), -1);
  return invert ? not(found) : found;
});
export const median = composed('median', (x: ArrayLike, axis?: number | null): Value => {
  const value = axis === undefined || axis === null ? lift(x).reshape([-1]) : lift(x);
  const along = axisOf('median', axis ?? 0, value.aval);
  const ascending = sort(value.astype('float32'), along);
  const n = value.shape[along]!;
  return ascending
    .takeSlice(along, Math.floor((n - 1) / 2))
    .add(ascending.takeSlice(along, Math.floor(n / 2)))
    .mul(0.5);
});
