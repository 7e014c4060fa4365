/**
 * Elements at computed positions: gather, scatter, and slices whose start is known only at run time.
 *
 * One general form serves all of NumPy's index arrays: `axes` of an array are indexed by as many index arrays of one
 * shape, which stands at `at` in the result; the other axes keep their order. Depends on: core, family, arithmetic.
 */
import { printAval, type Aval } from '../core/aval.ts';
import { isKnown, type Dim } from '../core/dim.ts';
import { argumentWrong, describe, shapesDisagree } from '../core/errors.ts';
import type { Parameters } from '../core/program.ts';
import { apply, composed, lift, type ArrayLike, type Entry } from './apply.ts';
import { added, and, atMostOf, clamped, int, isInside, scalarFunction } from './arithmetic.ts';
import { where } from './elementwise.ts';
import { borrows, numbers } from './family.ts';
import { shapeArg } from './options.ts';
import type { ElementContext } from './op.ts';
import type { Scalar, ScalarFunction } from './scalar.ts';
import { startFromFront } from './positions.ts';
import { full, iota } from './shape.ts';
import type { Value } from './value.ts';

const others = (rank: number, axes: readonly number[]): readonly number[] =>
  Array.from({ length: rank }, (_, k) => k).filter((k) => !axes.includes(k));

/** The shape of gathered elements: index dimensions at `at` among the axes that aren't indexed. */
function gatheredShape(shape: readonly Dim[], index: readonly Dim[], axes: readonly number[], at: number): readonly Dim[] {
  const kept = others(shape.length, axes).map((axis) => shape[axis]!);
  return [...kept.slice(0, at), ...index, ...kept.slice(at)];
}

/** Splits coordinates of gathered elements into those of the index arrays and those of the axes that are kept. */
function splitCoordinates(
  coordinates: readonly Scalar[],
  at: number,
  indexRank: number,
): { readonly index: readonly Scalar[]; readonly kept: readonly Scalar[] } {
  return { index: coordinates.slice(at, at + indexRank), kept: [...coordinates.slice(0, at), ...coordinates.slice(at + indexRank)] };
}

/** Operands: array, index arrays (int32, one shape). Parameters: { axes, at }. Indices are cut off at the ends. */
export const gatherEntry: Entry = {
  id: 'gather',
  summary: 'Elements at positions given by index arrays.',
  infer: ([x, index], { axes, at }) => [{ shape: gatheredShape(x!.shape, index!.shape, numbers(axes), at as number), dtype: x!.dtype }],
  body: {
    kind: 'element',
    scalar: ({ at, load, inputs, parameters }) => {
      const axes = numbers(parameters['axes']);
      const { index, kept } = splitCoordinates(at, parameters['at'] as number, inputs[1]!.shape.length);
      const keptAxes = others(inputs[0]!.shape.length, axes);
      return load(
        0,
        inputs[0]!.shape.map((extent, axis) =>
          axes.includes(axis) ? clamped(load(1 + axes.indexOf(axis), index), extent) : kept[keptAxes.indexOf(axis)]!,
        ),
      );
    },
  },
  effects: borrows,
  gradient: {
    saves: 'inputs',
    rule: ([g], [, ...indices], parameters, [x]) => {
      const inside = indices.map((index, k) => clampedIndex(index, x!.shape[numbers(parameters['axes'])[k]!]!));
      return [apply(scatterEntries.add, [zerosOf(x!), g!, ...inside], { ...parameters, unique: false })];
    },
  },
  tangent: ([, ...indices], [tangent], _o, parameters) => [tangent && apply(gatherEntry, [tangent, ...indices], parameters)],
  batch: (operands, axes, parameters, size) => batchIndexed(gatherEntry, operands, axes, parameters, size, 1),
  flops: () => 0,
  overwrites: [],
};
const zerosOf = (aval: Aval): Value => full(aval.shape as readonly number[], 0, aval.dtype);
const clampedIndex = (index: Value, extent: number): Value => index.maximum(0).minimum(extent - 1);

export type Combination = 'set' | 'add' | 'mul' | 'min' | 'max';
const combinations: Readonly<Record<Exclude<Combination, 'set'>, ScalarFunction>> = {
  add: scalarFunction(
    'scatterAdd',
    1,
    ([a, b]) => `(${a} + ${b})`,
    (a, b) => a! + b!,
  ),
  mul: scalarFunction(
    'scatterMul',
    1,
    ([a, b]) => `(${a} * ${b})`,
    (a, b) => a! * b!,
  ),
  min: scalarFunction(
    'scatterMin',
    1,
    ([a, b]) => `min(${a}, ${b})`,
    (a, b) => Math.min(a!, b!),
  ),
  max: scalarFunction(
    'scatterMax',
    1,
    ([a, b]) => `max(${a}, ${b})`,
    (a, b) => Math.max(a!, b!),
  ),
};

const scatterIndex = ({ at, load, inputs, parameters }: ElementContext): readonly Scalar[] => {
  const axes = numbers(parameters['axes']);
  const { index, kept } = splitCoordinates(at, parameters['at'] as number, inputs[2]!.shape.length);
  const keptAxes = others(inputs[0]!.shape.length, axes);
  return inputs[0]!.shape.map((_, axis) => (axes.includes(axis) ? load(2 + axes.indexOf(axis), index) : kept[keptAxes.indexOf(axis)]!));
};

function scatterOf(combine: Combination): Entry {
  const entry: Entry = {
    id: combine === 'set' ? 'scatter' : `scatter-${combine}`,
    summary:
      combine === 'set'
        ? 'The array with elements replaced at positions given by index arrays; positions outside are skipped.'
        : `The array with updates combined (${combine}) at positions given by index arrays.`,
    infer: ([x, updates, index], { axes, at }) => {
      const wanted = gatheredShape(x!.shape, index!.shape, numbers(axes), at as number);
      if (updates!.shape.length !== wanted.length)
        throw shapesDisagree(
          'scatter',
          [printAval(x!), printAval(updates!)],
          'the updates have to have the shape of the elements at these indices',
        );
      return [{ shape: x!.shape, dtype: x!.dtype }];
    },
    body: {
      kind: 'update',
      target: 0,
      over: 1,
      index: scatterIndex,
      inside: (context) =>
        scatterIndex(context).reduce<Scalar>(
          (all, k, axis) =>
            numbers(context.parameters['axes']).includes(axis) ? and(all, isInside(k, context.inputs[0]!.shape[axis]!)) : all,
          { kind: 'constant', value: 1, dtype: 'bool' },
        ),
      value: ({ at, load }) => load(1, at),
      ...(combine === 'set' ? {} : { combine: combinations[combine] }),
      disjoint: (_inputs, { unique }) => unique === true,
    },
    effects: borrows,
    gradient: {
      saves: { ...everyInput, output: true },
      rule: ([g], saved, parameters, avals) => {
        const [x, updates, ...indices] = saved.slice(0, avals.length) as [Value, Value, ...Value[]];
        const kept = whereInside(apply(gatherEntry, [g!, ...indices], onlyPlace(parameters)), indices, avals[0]!, parameters);
        if (combine === 'add') return [g, kept];
        if (combine === 'set') {
          const target = apply(entry, [g!, zerosOf(avals[1]!), ...indices], parameters);
          return [target, parameters['unique'] === true ? kept : where(lastWriter(avals, indices, parameters), kept, 0)];
        }
        const [slopeOfTarget, slopeOfUpdates] = partials(entry, combine, [x, updates, ...indices], saved[avals.length]!, parameters);
        return [g!.mul(slopeOfTarget), kept.mul(slopeOfUpdates)];
      },
    },
    tangent: ([x, updates, ...indices], [dx, du], [out], parameters) => {
      if (dx === undefined && du === undefined) return [undefined];
      if (combine === 'set' || combine === 'add')
        return [apply(entry, [dx ?? x!.zerosLike(), du ?? updates!.zerosLike(), ...indices], parameters)];
      const [slopeOfTarget, slopeOfUpdates] = partials(entry, combine, [x!, updates!, ...indices], out!, parameters);
      const left = dx?.mul(slopeOfTarget);
      const right = du && apply(scatterEntries.add, [x!.zerosLike(), du.mul(slopeOfUpdates), ...indices], parameters);
      return [left && right ? left.add(right) : (left ?? right)];
    },
    batch: (operands, axes, parameters, size) => batchIndexed(entry, operands, axes, parameters, size, 2),
    flops: () => (combine === 'set' ? 0 : 1),
    overwrites: [0],
  };
  return entry;
}
const everyInput = { inputs: Array.from({ length: 10 }, (_, k) => k) };

/** Slopes of a product or an extreme in its target and in each update. */
function partials(
  entry: Entry,
  combine: 'mul' | 'min' | 'max',
  [x, updates, ...indices]: readonly [Value, Value, ...Value[]],
  out: Value,
  parameters: Parameters,
): readonly [Value, Value] {
  const gathered = apply(gatherEntry, [out, ...indices], onlyPlace(parameters));
  if (combine === 'mul') return [apply(entry, [x.onesLike(), updates, ...indices], parameters), gathered.div(updates)];
  return [x.equal(out).astype(x.dtype), updates.equal(gathered).astype(x.dtype)];
}
const onlyPlace = ({ axes, at }: Parameters): Parameters => ({ axes, at });

/** Cotangents of updates that fell outside are zero. */
function whereInside(g: Value, indices: readonly Value[], target: Aval, { axes, at }: Parameters): Value {
  const inside = indices
    .map((index, k) => index.greaterEqual(0).logicalAnd(index.less(target.shape[numbers(axes)[k]!] as number)))
    .reduce((a, b) => a.logicalAnd(b));
  const place = at as number;
  return where(
    inside.reshape([...Array.from({ length: place }, () => 1), ...inside.shape, ...g.shape.slice(place + inside.ndim).map(() => 1)]),
    g,
    0,
  );
}

/** Which update was the one that stayed, where several hit one element. */
function lastWriter(avals: readonly Aval[], indices: readonly Value[], parameters: Parameters): Value {
  const shape = avals[1]!.shape as readonly number[];
  const numbersOf = iota([shape.reduce((a, b) => a * b, 1)], 0, 'int32').reshape(shape);
  const written = apply(scatterEntries.set, [full(avals[0]!.shape as readonly number[], -1, 'int32'), numbersOf, ...indices], parameters);
  return apply(gatherEntry, [written, ...indices], onlyPlace(parameters)).equal(numbersOf);
}

export const scatterEntries: Readonly<Record<Combination, Entry>> = {
  set: scatterOf('set'),
  add: scatterOf('add'),
  mul: scatterOf('mul'),
  min: scatterOf('min'),
  max: scatterOf('max'),
};

/** Index arrays with a batch axis: the array's own batch axis becomes one more indexed axis. */
function batchIndexed(
  entry: Entry,
  operands: readonly Value[],
  axes: readonly (number | undefined)[],
  parameters: Parameters,
  size: number,
  arrays: 1 | 2,
) {
  const { axes: along, at, ...more } = parameters;
  const place = at as number;
  const front = (x: Value, axis: number | undefined): Value =>
    axis === undefined ? x.broadcastTo([size, ...x.shape]) : x.moveAxis(axis, 0);
  const indices = operands.slice(arrays);
  const indexAxes = axes.slice(arrays);
  const indexed = indexAxes.some((axis) => axis !== undefined);
  if (!indexed) {
    const moved = operands.slice(0, arrays).map((x, k) => front(x, axes[k]));
    return {
      results: [apply(entry, [...moved, ...indices], { ...more, axes: numbers(along).map((k) => k + 1), at: place + 1 })],
      axes: [0],
    };
  }
  const batchedIndices = indices.map((index, k) => front(index, indexAxes[k]));
  if (arrays === 1 && axes[0] === undefined)
    return { results: [apply(entry, [operands[0]!, ...batchedIndices], parameters)], axes: [place] };
  const rows = iota(batchedIndices[0]!.shape, 0, 'int32');
  const target = front(operands[0]!, axes[0]);
  const updates = operands.slice(1, arrays).map((u, k) => front(u, axes[1 + k]).moveAxis(0, place));
  const result = apply(entry, [target, ...updates, rows, ...batchedIndices], {
    ...more,
    axes: [0, ...numbers(along).map((k) => k + 1)],
    at: place,
  });
  return { results: [result], axes: [arrays === 1 ? place : 0] };
}

const startScalars = (context: ElementContext, first: number, sizes: readonly number[]): readonly Scalar[] =>
  context.inputs[0]!.shape.map((extent, axis) => atMostOf(clamped(context.load(first + axis, []), extent), int(extent - sizes[axis]!)));

/** Operands: array, one int32 scalar per axis. Parameters: { sizes }. Starts are moved so that the slice lies inside. */
export const dynamicSliceEntry: Entry = {
  id: 'dynamicSlice',
  summary: 'A slice whose start is known at run time.',
  infer: ([x], { sizes }) => {
    numbers(sizes).forEach((extent, axis) => {
      const whole = x!.shape[axis]!;
      if (isKnown(whole) && extent > whole)
        throw shapesDisagree('dynamicSlice', [printAval(x!)], `sizes [${numbers(sizes).join(',')}] are larger than the array`);
    });
    return [{ shape: numbers(sizes), dtype: x!.dtype }];
  },
  body: {
    kind: 'element',
    scalar: (context) =>
      context.load(
        0,
        startScalars(context, 1, numbers(context.parameters['sizes'])).map((start, axis) => added(start, context.at[axis]!)),
      ),
  },
  effects: borrows,
  gradient: { saves: 'inputs', rule: ([g], [, ...starts], _p, [x]) => [apply(dynamicUpdateEntry, [zerosOf(x!), g!, ...starts])] },
  tangent: ([, ...starts], [tangent], _o, parameters) => [tangent && apply(dynamicSliceEntry, [tangent, ...starts], parameters)],
  batch: ([x, ...starts], [axis, ...startAxes], { sizes }, size) => {
    if (startAxes.every((a) => a === undefined)) {
      return {
        results: [apply(dynamicSliceEntry, [x!.moveAxis(axis!, 0), zero(), ...starts], { sizes: [size, ...numbers(sizes)] })],
        axes: [0],
      };
    }
    const positions = startPositions(starts, startAxes, x!, axis, numbers(sizes), size);
    const along = numbers(sizes).map((_, k) => k);
    return batchIndexed(gatherEntry, [x!, ...positions], [axis, ...positions.map(() => 0)], { axes: along, at: 0 }, size, 1);
  },
  flops: () => 0,
  overwrites: [],
};
const zero = (): Value => lift(0).astype('int32');

/** Index arrays [size, ...sizes] of a slice that starts elsewhere in each row of the batch. */
function startPositions(
  starts: readonly Value[],
  startAxes: readonly (number | undefined)[],
  x: Value,
  axis: number | undefined,
  sizes: readonly number[],
  size: number,
): readonly Value[] {
  const shape = axis === undefined ? x.shape : x.shape.filter((_, k) => k !== axis);
  return starts.map((start, k) => {
    const bounded = start.maximum(0).minimum(shape[k]! - sizes[k]!);
    const column = startAxes[k] === undefined ? bounded.broadcastTo([size]) : bounded;
    return column.reshape([size, ...sizes.map(() => 1)]).add(iota([size, ...sizes], k + 1, 'int32'));
  });
}

/** Operands: array, update, one int32 scalar per axis. In place when the array dies here. */
export const dynamicUpdateEntry: Entry = {
  id: 'dynamicUpdateSlice',
  summary: 'The array with a slice replaced, whose start is known at run time.',
  infer: ([x, update]) => {
    if (
      x!.shape.length !== update!.shape.length ||
      update!.shape.some((extent, k) => isKnown(extent) && isKnown(x!.shape[k]!) && extent > x!.shape[k]!)
    )
      throw shapesDisagree('dynamicUpdateSlice', [printAval(x!), printAval(update!)], 'the update has to fit into the array');
    return [{ shape: x!.shape, dtype: x!.dtype }];
  },
  body: {
    kind: 'update',
    target: 0,
    over: 1,
    index: (context) => startScalars(context, 2, context.inputs[1]!.shape).map((start, axis) => added(start, context.at[axis]!)),
    value: ({ at, load }) => load(1, at),
    disjoint: () => true,
  },
  effects: borrows,
  gradient: {
    saves: 'inputs',
    rule: ([g], [, , ...starts], _p, [, update]) => [
      apply(dynamicUpdateEntry, [g!, zerosOf(update!), ...starts]),
      apply(dynamicSliceEntry, [g!, ...starts], { sizes: update!.shape }),
    ],
  },
  tangent: ([x, update, ...starts], [dx, du]) => [
    dx === undefined && du === undefined
      ? undefined
      : apply(dynamicUpdateEntry, [dx ?? x!.zerosLike(), du ?? update!.zerosLike(), ...starts]),
  ],
  batch: ([x, update, ...starts], [axis, updateAxis, ...startAxes], _p, size) => {
    const front = (y: Value, a: number | undefined): Value => (a === undefined ? y.broadcastTo([size, ...y.shape]) : y.moveAxis(a, 0));
    if (startAxes.every((a) => a === undefined))
      return { results: [apply(dynamicUpdateEntry, [front(x!, axis), front(update!, updateAxis), zero(), ...starts])], axes: [0] };
    const sizes = updateAxis === undefined ? update!.shape : update!.shape.filter((_, k) => k !== updateAxis);
    const positions = startPositions(starts, startAxes, x!, axis, sizes, size);
    return batchIndexed(
      scatterEntries.set,
      [x!, update!, ...positions],
      [axis, updateAxis, ...positions.map(() => 0)],
      { axes: sizes.map((_, k) => k), at: 0, unique: true },
      size,
      2,
    );
  },
  flops: () => 0,
  overwrites: [0],
};

/** Elements of `x` where `axes` are indexed by `indices`, arrays of one shape that stands at `at`. */
export const gather = composed('gather', (x: ArrayLike, indices: readonly ArrayLike[], axes: readonly number[], at: number): Value =>
  apply(gatherEntry, [lift(x), ...indexArrays(indices)], { axes, at }),
);
export const scatter = composed(
  'scatter',
  (
    x: Value,
    updates: Value,
    indices: readonly ArrayLike[],
    axes: readonly number[],
    at: number,
    combine: Combination,
    unique: boolean = false,
  ): Value => apply(scatterEntries[combine], [x, updates, ...indexArrays(indices)], { axes, at, unique }),
);
const indexArrays = (indices: readonly ArrayLike[]): readonly Value[] => indices.map((index) => lift(index).astype('int32'));

const startsOf = (operation: string, starts: readonly ArrayLike[], x: Value): readonly Value[] => {
  if (!Array.isArray(starts)) throw argumentWrong(operation, `${describe(starts)} as starts`, 'starts are a number for each axis');
  if (starts.length !== x.ndim)
    throw shapesDisagree('dynamicSlice', [printAval(x.aval)], `it needs one start for each axis and got ${starts.length}`);
  return starts.map((start, axis) => startFromFront(start, x.shape[axis]!));
};
export const dynamicSlice = composed('dynamicSlice', (x: ArrayLike, starts: readonly ArrayLike[], sizes: readonly number[]): Value => {
  const value = lift(x);
  const whole = shapeArg('dynamicSlice', sizes);
  if (whole.length !== value.ndim)
    throw argumentWrong('dynamicSlice', `${whole.length} sizes for ${printAval(value.aval)}`, 'give it a size for each axis');
  return apply(dynamicSliceEntry, [value, ...startsOf('dynamicSlice', starts, value)], { sizes: whole });
});
export const dynamicUpdateSlice = composed('dynamicUpdateSlice', (x: ArrayLike, update: ArrayLike, starts: readonly ArrayLike[]): Value => {
  const value = lift(x);
  return apply(dynamicUpdateEntry, [value, lift(update).astype(value.dtype), ...startsOf('dynamicUpdateSlice', starts, value)]);
});
