/**
 * Reductions over axes, and positions of extremes.
 *
 * An entry drops its axes; `keepdims` is a reshape around it. Axes come sorted and counted from 0.
 * Depends on: core, family, arithmetic.
 */
import type { KnownAval } from '../core/aval.ts';
import { isFloat, type DType } from '../core/dtype.ts';
import { argumentWrong, describe, shapesDisagree } from '../core/errors.ts';
import { printAval } from '../core/aval.ts';
import { apply, composed, lift, type ArrayLike, type Entry } from './apply.ts';
import { applied, choose, int, isBelow, nanText, or, scalarFunction } from './arithmetic.ts';
import { axisOf, borrows, callable, numbers, type Gradient } from './family.ts';
import { where } from './elementwise.ts';
import { optionsOf } from './options.ts';
import type { Scalar, ScalarFunction } from './scalar.ts';
import type { Value } from './value.ts';

export type Axis = number | readonly number[] | null | undefined;
export type ReduceOptions = boolean | { readonly keepdims?: boolean };

/** Axes sorted and from 0; all of them for null. */
export function axesOf(operation: string, axis: Axis, x: Value): readonly number[] {
  if (axis === null || axis === undefined) return x.shape.map((_, k) => k);
  const list = typeof axis === 'number' ? [axis] : axis;
  if (!Array.isArray(list))
    throw argumentWrong(
      operation,
      `${describe(axis)} as axis`,
      'an axis is a number, a list of numbers, or null for all; options come after it',
    );
  return [...new Set(list.map((a) => axisOf(operation, a, x.aval)))].sort((a, b) => a - b);
}

/** What axes are left, one entry per axis of the operand: reduced ones as 1. */
export const keptShape = (shape: readonly number[], axes: readonly number[]): readonly number[] =>
  shape.map((extent, axis) => (axes.includes(axis) ? 1 : extent));

/** Spreads a result back over the axes that it was reduced over. */
export const spreadBack = (x: Value, aval: KnownAval, axes: readonly number[]): Value =>
  x.reshape(keptShape(aval.shape, axes)).broadcastTo(aval.shape);

interface ReductionSpec {
  readonly summary: string;
  readonly initial: (dtype: DType) => number;
  readonly combine: ScalarFunction;
  readonly gradient?: Gradient;
  readonly tangent?: NonNullable<Entry['tangent']>;
}

function reduction(id: string, spec: ReductionSpec): Entry {
  const entry: Entry = {
    id,
    summary: spec.summary,
    infer: ([x], { axes }) => [
      { shape: x!.shape.filter((_, axis) => !numbers(axes).includes(axis)), dtype: x!.dtype, ...(x!.weak ? { weak: true } : {}) },
    ],
    body: { kind: 'reduction', axes: ({ axes }) => numbers(axes), initial: spec.initial, combine: spec.combine },
    effects: borrows,
    ...(spec.gradient ? { gradient: spec.gradient } : {}),
    ...(spec.tangent ? { tangent: spec.tangent } : {}),
    batch: ([x], [axis], { axes, ...others }) => {
      if (axis === undefined) return { results: [apply(entry, [x!], { axes, ...others })], axes: [undefined] };
      return { results: [apply(entry, [x!.moveAxis(axis, 0)], { axes: numbers(axes).map((a) => a + 1), ...others })], axes: [0] };
    },
    flops: ([x], { axes }) => numbers(axes).reduce((count, axis) => count * x!.shape[axis]!, 1),
    overwrites: [],
  };
  return entry;
}

const linear =
  (entry: () => Entry): NonNullable<Entry['tangent']> =>
  (_p, [tangent], _o, parameters) => [tangent && apply(entry(), [tangent], parameters)];

export const sumEntry: Entry = reduction('sum', {
  summary: 'Sum over axes.',
  initial: () => 0,
  combine: scalarFunction(
    'plus',
    1,
    ([a, b]) => `(${a} + ${b})`,
    (a, b) => a! + b!,
  ),
  gradient: { saves: 'nothing', rule: ([g], _s, { axes }, [x]) => [spreadBack(g!, x!, numbers(axes))] },
  tangent: linear(() => sumEntry),
});

const extreme = (id: 'max' | 'min'): Entry => {
  const sign = id === 'max' ? '>' : '<';
  const host = id === 'max' ? Math.max : Math.min;
  const end = id === 'max' ? -Infinity : Infinity;
  const initial = (dtype: DType): number => {
    if (isFloat(dtype)) return end;
    if (dtype === 'bool') return id === 'max' ? 0 : 1;
    return dtype === 'uint32' ? (id === 'max' ? 0 : 2 ** 32 - 1) : id === 'max' ? -(2 ** 31) : 2 ** 31 - 1;
  };
  const entry: Entry = reduction(id, {
    summary: `The ${id === 'max' ? 'largest' : 'smallest'} element over axes; NaN when one is.`,
    initial,
    combine: scalarFunction(
      id,
      1,
      ([a, b], dtype) => (isFloat(dtype) ? `select(${b}, ${a}, (${a} ${sign} ${b}) | ${nanText(a!, dtype)})` : `${id}(${a}, ${b})`),
      (a, b) => host(a!, b!),
    ),
    // Elements that share the extreme share its cotangent.
    gradient: {
      saves: { inputs: [0], output: true },
      rule: ([g], [x, y], { axes }, [aval]) => {
        const chosen = x!.equal(spreadBack(y!, aval!, numbers(axes)));
        const count = apply(sumEntry, [chosen.astype(x!.dtype)], { axes: axes! });
        return [where(chosen, spreadBack(g!.div(count), aval!, numbers(axes)), 0)];
      },
    },
    tangent: ([x], [tangent], [y], { axes }) => {
      if (tangent === undefined) return [undefined];
      const chosen = x!.equal(spreadBack(y!, x!.aval as KnownAval, numbers(axes)));
      const count = apply(sumEntry, [chosen.astype(x!.dtype)], { axes: axes! });
      return [apply(sumEntry, [where(chosen, tangent, 0)], { axes: axes! }).div(count)];
    },
  });
  return entry;
};
export const maxEntry: Entry = extreme('max');
export const minEntry: Entry = extreme('min');

/** The product of all other elements along the axes: exact where an element is zero. */
function productOfOthers(x: Value, axes: readonly number[]): Value {
  const zero = x.equal(0);
  const zeros = spreadBack(apply(sumEntry, [zero.astype(x.dtype)], { axes }), x.aval as KnownAval, axes);
  const nonzero = where(zero, 1, x);
  const product = spreadBack(apply(prodEntry, [nonzero], { axes }), x.aval as KnownAval, axes);
  const othersZero = zeros.sub(zero.astype(x.dtype)).greater(0);
  return where(othersZero, 0, product.div(nonzero));
}
export const prodEntry: Entry = reduction('prod', {
  summary: 'Product over axes.',
  initial: () => 1,
  combine: scalarFunction(
    'timesOf',
    1,
    ([a, b]) => `(${a} * ${b})`,
    (a, b) => a! * b!,
  ),
  gradient: {
    saves: 'inputs',
    rule: ([g], [x], { axes }, [aval]) => [spreadBack(g!, aval!, numbers(axes)).mul(productOfOthers(x!, numbers(axes)))],
  },
  tangent: ([x], [tangent], _o, { axes }) => [
    tangent && apply(sumEntry, [tangent.mul(productOfOthers(x!, numbers(axes)))], { axes: axes! }),
  ],
});
export const anyEntry: Entry = reduction('any', {
  summary: 'Does it hold anywhere?',
  initial: () => 0,
  combine: scalarFunction(
    'orOf',
    1,
    ([a, b]) => `(${a} | ${b})`,
    (a, b) => a! | b!,
  ),
});
export const allEntry: Entry = reduction('all', {
  summary: 'Does it hold everywhere?',
  initial: () => 1,
  combine: scalarFunction(
    'andOf',
    1,
    ([a, b]) => `(${a} & ${b})`,
    (a, b) => a! & b!,
  ),
});

const sideGreater = scalarFunction(
  'beyondMax',
  2,
  ([a, b], _dtype, [from]) => (isFloat(from!) ? `((${a} > ${b}) | (${nanText(a!, from!)} & !${nanText(b!, from!)}))` : `(${a} > ${b})`),
  (a, b) => (a! > b! || (Number.isNaN(a) && !Number.isNaN(b)) ? 1 : 0),
);
const sideLess = scalarFunction(
  'beyondMin',
  2,
  ([a, b], _dtype, [from]) => (isFloat(from!) ? `((${a} < ${b}) | (${nanText(a!, from!)} & !${nanText(b!, from!)}))` : `(${a} < ${b})`),
  (a, b) => (a! < b! || (Number.isNaN(a) && !Number.isNaN(b)) ? 1 : 0),
);

/** Position of the first extreme along one axis. Parameters: { axis }. */
const position = (id: 'argmax' | 'argmin'): Entry => {
  const beyond = id === 'argmax' ? sideGreater : sideLess;
  const entry: Entry = {
    id,
    summary: `Where along an axis the ${id === 'argmax' ? 'largest' : 'smallest'} element stands; the first of equal ones.`,
    infer: ([x], { axis }) => [{ shape: x!.shape.filter((_, k) => k !== axis), dtype: 'int32' }],
    body: {
      kind: 'element',
      scalar: ({ at, load, inputs, parameters }) => {
        const axis = parameters['axis'] as number;
        const [counter, best, where] = [Symbol('k'), Symbol('best'), Symbol('where')];
        const dtype = inputs[0]!.dtype;
        const elementAt = (k: Scalar): Scalar => load(0, [...at.slice(0, axis), k, ...at.slice(axis)]);
        const k = variable(counter, 'int32');
        const element = elementAt(k);
        const isBeyond = or(
          applied(beyond, dtype === 'bool' ? [toInt(element), toInt(variable(best, dtype))] : [element, variable(best, dtype)], 'bool'),
          isBelow(variable(where, 'int32'), int(0)),
        );
        return {
          kind: 'loop',
          counter,
          extent: int(inputs[0]!.shape[axis]!),
          dtype: 'int32',
          result: variable(where, 'int32'),
          state: [
            { variable: best, dtype, initial: elementAt(int(0)), next: choose(isBeyond, element, variable(best, dtype)) },
            { variable: where, dtype: 'int32', initial: int(0), next: choose(isBeyond, k, variable(where, 'int32')) },
          ],
        };
      },
    },
    effects: borrows,
    batch: ([x], [axis], { axis: along }) =>
      axis === undefined
        ? { results: [apply(entry, [x!], { axis: along })], axes: [undefined] }
        : { results: [apply(entry, [x!.moveAxis(axis, 0)], { axis: (along as number) + 1 })], axes: [0] },
    flops: ([x], { axis }) => x!.shape[axis as number]!,
    overwrites: [],
  };
  return entry;
};
const boolToInt = scalarFunction(
  'boolToInt',
  0,
  ([x]) => `i32(${x})`,
  (x) => x!,
);
const toInt = (x: Scalar): Scalar => applied(boolToInt, [x], 'int32');
const variable = (symbol: symbol, dtype: DType): Scalar => ({ kind: 'variable', variable: symbol, dtype });

export const argmaxEntry: Entry = position('argmax');
export const argminEntry: Entry = position('argmin');

const keep = (operation: string, options: ReduceOptions | undefined): boolean =>
  typeof options === 'boolean' ? options : optionsOf(operation, options, { keepdims: false }).keepdims;

function reduce(entry: Entry, prepare: (x: Value) => Value = (x) => x) {
  return callable(entry, (x: ArrayLike, axis?: Axis, options?: ReduceOptions): Value => {
    const given = lift(x);
    const value = prepare(given);
    const axes = axesOf(entry.id, axis, value);
    if (needsElements.includes(entry.id) && axes.some((k) => value.aval.shape[k] === 0))
      throw shapesDisagree(entry.id, [printAval(value.aval)], 'no elements have no extreme');
    // One element is its own sum, largest and smallest: only the axis goes.
    const single = axes.every((k) => value.aval.shape[k] === 1);
    const reduced =
      axes.length === 0 ? value : single ? value.reshape(value.shape.filter((_, k) => !axes.includes(k))) : apply(entry, [value], { axes });
    const result = given.dtype === 'float16' && value.dtype === 'float32' ? reduced.astype('float16') : reduced;
    return keep(entry.id, options) ? result.reshape(keptShape(value.shape, axes)) : result;
  });
}
const needsElements: readonly string[] = ['max', 'min'];
/** What many elements are added up in: a float16 stops growing at 2048 ones, and ends at 65504. */
const counted = (x: Value): Value => (x.dtype === 'bool' ? x.astype('int32') : x.dtype === 'float16' ? x.astype('float32') : x);
const asBool = (x: Value): Value => (x.dtype === 'bool' ? x : x.notEqual(0));

export const sum = reduce(sumEntry, counted);
export const prod = reduce(prodEntry, counted);
export const max = reduce(maxEntry);
export const min = reduce(minEntry);
export const any = reduce(anyEntry, asBool);
export const all = reduce(allEntry, asBool);

export const mean = composed('mean', (x: ArrayLike, axis?: Axis, options?: ReduceOptions): Value => {
  const value = lift(x);
  const float = value.dtype === 'float32' ? value : value.astype('float32');
  const count = axesOf('mean', axis, value).reduce((product, k) => product * value.shape[k]!, 1);
  const result = sum(float, axis, options).mul(1 / count);
  return value.dtype === 'float16' ? result.astype('float16') : result;
});

const positionOf = (entry: Entry) =>
  callable(entry, (x: ArrayLike, axis?: number | null, options?: ReduceOptions): Value => {
    const value = lift(x);
    const flat = axis === undefined || axis === null;
    const along = flat ? 0 : axisOf(entry.id, axis, value.aval);
    if ((flat ? value.aval.shape : [value.aval.shape[along]]).includes(0))
      throw shapesDisagree(entry.id, [printAval(value.aval)], 'no elements have no extreme');
    const found = apply(entry, [flat ? value.reshape([-1]) : value], { axis: along });
    return keep(entry.id, options) ? found.reshape(flat ? value.shape.map(() => 1) : keptShape(value.shape, [along])) : found;
  });
export const argmax = positionOf(argmaxEntry);
export const argmin = positionOf(argminEntry);
