/**
 * NumPy's indexing: whole numbers, ranges, new axes, an ellipsis and index arrays, and updates at such places.
 *
 * An index is resolved once into a plan: first a strided slice with dropped and new axes, then index arrays. Reading and
 * updating share it. Depends on: core, shape, gather.
 */
import { printAval } from '../core/aval.ts';
import { shapesDisagree } from '../core/errors.ts';
import { apply, composed, lift, type ArrayLike } from './apply.ts';
import { broadcastShape } from './family.ts';
import { gather, scatter, type Combination } from './gather.ts';
import { fromFront } from './positions.ts';
import { flipEntry, iota, sliceEntry } from './shape.ts';
import type { Value } from './value.ts';

/** A place along one axis: a number drops the axis; [start, stop] or [start, stop, stride] keeps a part, [] all of it; null is a new axis; '...' fills up; an array of whole numbers picks. */
export type Index =
  number | readonly [] | readonly [number] | readonly [number, number] | readonly [number, number, number] | null | '...' | Value;

interface Range {
  readonly start: number;
  readonly stop: number;
  readonly stride: number;
}
interface Plan {
  /** One per axis of the array. */
  readonly ranges: readonly Range[];
  readonly reversed: readonly number[];
  /** Per axis of the array: dropped, kept, or indexed by an array. */
  readonly axes: readonly ('drop' | 'keep' | Value)[];
  /** The result's axes before index arrays are put in: an axis of the array, or a new one. */
  readonly layout: readonly (number | 'new')[];
  /**
   * Where the axes of index arrays stand in the result. Beside an array a number is an index array too: together with
   * their neighbours they stand where the first was, apart from each other in front.
   */
  readonly place: number;
}

function planOf(x: Value, index: readonly Index[]): Plan {
  const consumed = index.filter((part) => part !== null && part !== '...').length;
  if (consumed > x.ndim) throw shapesDisagree('slice', [printAval(x.aval)], `${consumed} indices are more than its axes`);
  const at = index.indexOf('...');
  const fill: readonly Index[] = Array.from({ length: x.ndim - consumed }, (): Index => []);
  const full = at < 0 ? [...index, ...fill] : [...index.slice(0, at), ...fill, ...index.slice(at + 1)];
  const ranges: Range[] = [];
  const reversed: number[] = [];
  const axes: ('drop' | 'keep' | Value)[] = [];
  const layout: (number | 'new')[] = [];
  const advanced: { readonly at: number; readonly before: number }[] = [];
  full.forEach((part, at) => {
    if (part === null || part === '...') {
      layout.push('new');
      return;
    }
    if (!isIndexList(part)) advanced.push({ at, before: layout.length });
    const axis = axes.length;
    const extent = x.shape[axis]!;
    if (typeof part === 'number') {
      const position = part < 0 ? part + extent : part;
      if (!Number.isInteger(part) || position < 0 || position >= extent)
        throw shapesDisagree('slice', [printAval(x.aval)], `index ${part} is outside of axis ${axis}, which has ${extent} elements`);
      ranges.push({ start: position, stop: position + 1, stride: 1 });
      axes.push('drop');
    } else if (isIndexList(part)) {
      const { range, reverse } = rangeOf(part, extent);
      ranges.push(range);
      if (reverse) reversed.push(axis);
      axes.push('keep');
      layout.push(axis);
    } else {
      ranges.push({ start: 0, stop: extent, stride: 1 });
      axes.push(part);
      layout.push(axis);
    }
  });
  const together = advanced.every(({ at }, k) => k === 0 || at === advanced[k - 1]!.at + 1);
  return { ranges, reversed, axes, layout, place: together ? (advanced[0]?.before ?? 0) : 0 };
}
const isIndexList = (
  part: Index,
): part is readonly [] | readonly [number] | readonly [number, number] | readonly [number, number, number] => Array.isArray(part);

/** As Python does: ends count from the end when negative and are cut off at the array's own; a negative stride goes backwards. */
function rangeOf(part: readonly number[], extent: number): { readonly range: Range; readonly reverse: boolean } {
  const [from, to, step = 1] = part;
  const cut = (end: number, least: number): number => Math.max(least, Math.min(extent, end < 0 ? end + extent : end));
  if (step > 0) {
    const start = cut(from ?? 0, 0);
    return { range: { start, stop: Math.max(start, cut(to ?? extent, 0)), stride: step }, reverse: false };
  }
  const within = (end: number): number => Math.max(-1, Math.min(extent - 1, end < 0 ? end + extent : end));
  const first = from === undefined ? extent - 1 : within(from);
  const last = to === undefined ? -1 : within(to);
  const count = Math.max(0, Math.ceil((first - last) / -step));
  const start = first + (count - 1) * step;
  return { range: count === 0 ? { start: 0, stop: 0, stride: 1 } : { start, stop: first + 1, stride: -step }, reverse: true };
}

/** x[index] as a new array. */
export const slice = composed('slice', (x: Value, ...index: readonly Index[]): Value => {
  const plan = planOf(x, index);
  const whole = plan.ranges.every(({ start, stop, stride }, axis) => start === 0 && stop === x.shape[axis] && stride === 1);
  const part = whole
    ? x
    : apply(sliceEntry, [x], {
        start: plan.ranges.map((r) => r.start),
        stop: plan.ranges.map((r) => r.stop),
        stride: plan.ranges.map((r) => r.stride),
      });
  const turned = plan.reversed.length === 0 ? part : apply(flipEntry, [part], { axes: plan.reversed });
  const laidOut = turned.reshape(plan.layout.map((axis) => (axis === 'new' ? 1 : turned.shape[axis]!)));
  const picked = plan.layout.flatMap((axis, position) =>
    axis !== 'new' && typeof plan.axes[axis] === 'object' ? [{ position, indices: plan.axes[axis] }] : [],
  );
  return picked.length === 0
    ? laidOut
    : pick(
        laidOut,
        picked.map((p) => p.position),
        picked.map((p) => p.indices),
        plan.place,
      );
});

/** Several index arrays broadcast together; their axes stand at `place`. */
const pick = (x: Value, axes: readonly number[], arrays: readonly Value[], place: number): Value =>
  gather(x, jointIndices(x, axes, arrays), axes, place);

function jointIndices(x: Value, axes: readonly number[], arrays: readonly Value[]): readonly Value[] {
  const shape = broadcastShape(
    'slice',
    arrays.map((a) => a.aval),
  ) as readonly number[];
  return arrays.map((a, k) => fromFront(a, x.shape[axes[k]!]!).broadcastTo(shape));
}
/** What `x.at(index)` offers: the array with that part replaced or combined; in place when the old array is dead. */
export interface At {
  readonly get: () => Value;
  readonly set: (value: ArrayLike) => Value;
  readonly add: (value: ArrayLike) => Value;
  readonly mul: (value: ArrayLike) => Value;
  readonly min: (value: ArrayLike) => Value;
  readonly max: (value: ArrayLike) => Value;
}

export function at(x: Value, ...index: readonly Index[]): At {
  const update =
    (combine: Combination) =>
    (value: ArrayLike): Value =>
      updated(x, index, value, combine);
  return {
    get: () => slice(x, ...index),
    set: update('set'),
    add: update('add'),
    mul: update('mul'),
    min: update('min'),
    max: update('max'),
  };
}

const updated = composed('at', (x: Value, index: readonly Index[], given: ArrayLike, combine: Combination): Value => {
  const value = lift(given);
  const plan = planOf(x, index);
  const spread = slice(x, ...index).shape;
  const updates = value.astype(x.dtype).broadcastTo(spread);
  const arrays = plan.axes.some((axis) => typeof axis === 'object');
  const contiguous = plan.ranges.every((r) => r.stride === 1) && plan.reversed.length === 0;
  // One block that is replaced is written as such; combined, it goes through the update that reads what is there itself.
  if (!arrays && contiguous && combine === 'set')
    return x.dynamicUpdate(
      updates.reshape(plan.ranges.map((r) => r.stop - r.start)),
      plan.ranges.map((r) => r.start),
    );
  return scatterInto(x, plan, updates, combine);
});

/** Every axis is indexed by an array: given ones as they are, ranges and numbers as counts. */
function scatterInto(x: Value, plan: Plan, updates: Value, combine: Combination): Value {
  const given = plan.axes.flatMap((axis, k) => (typeof axis === 'object' ? [{ axis: k, array: axis }] : []));
  const joint =
    given.length === 0
      ? []
      : jointIndices(
          x,
          given.map((g) => g.axis),
          given.map((g) => g.array),
        );
  const positions = plan.layout.flatMap((axis, position) => (axis !== 'new' && typeof plan.axes[axis] === 'object' ? [position] : []));
  const jointRank = joint[0]?.ndim ?? 0;
  const place = positions.length === 0 ? 0 : plan.place;
  // Where each axis of the layout stands in the updates.
  const rest = plan.layout.map((_, position) => position).filter((position) => !positions.includes(position));
  const standsAt = (position: number): number => {
    const k = rest.indexOf(position);
    return k < place ? k : k + jointRank;
  };
  const counted = plan.ranges.map((range, axis) => {
    const kind = plan.axes[axis]!;
    if (typeof kind === 'object') {
      const array = joint[given.findIndex((g) => g.axis === axis)]!;
      return array
        .reshape([
          ...Array.from({ length: place }, () => 1),
          ...array.shape,
          ...Array.from({ length: updates.ndim - place - jointRank }, () => 1),
        ])
        .broadcastTo(updates.shape);
    }
    if (kind === 'drop') return lift(range.start).astype('int32').broadcastTo(updates.shape);
    const along = iota(updates.shape, standsAt(plan.layout.indexOf(axis)), 'int32');
    const steps = plan.reversed.includes(axis)
      ? along.mul(-range.stride).add(range.start + range.stride * (Math.ceil((range.stop - range.start) / range.stride) - 1))
      : along.mul(range.stride).add(range.start);
    return steps;
  });
  return scatter(
    x,
    updates,
    counted,
    plan.axes.map((_, axis) => axis),
    0,
    combine,
    given.length === 0,
  );
}

/** Elements along one axis at whole-number positions; without an axis, of the flattened array. */
export const take = composed('take', (x: Value, indices: ArrayLike, axis: number | null | undefined): Value => {
  const source = axis === null || axis === undefined ? x.reshape([-1]) : x;
  const along = axis === null || axis === undefined ? 0 : axis < 0 ? axis + x.ndim : axis;
  return gather(source, [fromFront(lift(indices), source.shape[along]!)], [along], along);
});
