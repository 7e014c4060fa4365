/**
 * Arrays out of nothing, or out of numbers on the host.
 *
 * Depends on: core, ops.
 */
import { printAval, type KnownAval } from '../core/aval.ts';
import { isDType, type DType } from '../core/dtype.ts';
import { argumentWrong, describe, shapesDisagree } from '../core/errors.ts';
import type { HostArray } from '../core/interpreter.ts';
import { composed, lift, scalarOf, type ArrayLike } from '../ops/apply.ts';
import { where } from '../ops/elementwise.ts';
import { countArg, optionsOf, shapeArg, sizeArg } from '../ops/options.ts';
import * as shapes from '../ops/shape.ts';
import { constantValue, dtypeArg, Value, type DTypeArg } from '../ops/value.ts';

/** Numbers in nested lists of equal lengths. */
export type Nested = number | boolean | readonly Nested[];
export interface ArrayOptions {
  readonly shape?: readonly number[];
  readonly dtype?: DType | undefined;
  /** Accepted for programs written for jax-js; there is one device. */
  readonly device?: string;
}
type Shape = readonly number[];

const isHostArray = (values: unknown): values is HostArray => ArrayBuffer.isView(values) && !(values instanceof DataView);

const dtypeOfContents = (contents: HostArray): DType =>
  contents instanceof Float32Array
    ? 'float32'
    : contents instanceof Int32Array
      ? 'int32'
      : contents instanceof Uint32Array
        ? 'uint32'
        : contents instanceof Uint16Array
          ? 'float16'
          : 'bool';

/** Float16 is stored as its bits. */
export function toHalf(value: number): number {
  single[0] = value;
  const bits = word[0]!;
  const sign = (bits >>> 16) & 0x8000;
  const exponent = ((bits >>> 23) & 0xff) - 112;
  const mantissa = bits & 0x7fffff;
  if (exponent >= 31) return sign | 0x7c00 | (((bits >>> 23) & 0xff) === 255 && mantissa !== 0 ? 0x200 : 0);
  if (exponent <= 0) {
    if (exponent < -10) return sign;
    const full = mantissa | 0x800000;
    const shift = 14 - exponent;
    const half = full >>> shift;
    const left = full & ((1 << shift) - 1);
    const middle = 1 << (shift - 1);
    return sign | (half + (left > middle || (left === middle && (half & 1) === 1) ? 1 : 0));
  }
  const half = (exponent << 10) | (mantissa >>> 13);
  const left = mantissa & 0x1fff;
  return sign | (half + (left > 0x1000 || (left === 0x1000 && (half & 1) === 1) ? 1 : 0));
}
const single = new Float32Array(1);
const word = new Uint32Array(single.buffer);

/** Numbers as the contents of an array of `dtype`. */
export function hostArray(values: ArrayLike2, dtype: DType): HostArray {
  switch (dtype) {
    case 'float32':
      return Float32Array.from(values);
    case 'float16':
      return Uint16Array.from(values, toHalf);
    case 'int32':
      return Int32Array.from(values);
    case 'uint32':
      return Uint32Array.from(values);
    case 'bool':
      return Uint8Array.from(values, (value) => (value === 0 ? 0 : 1));
  }
}
type ArrayLike2 = globalThis.ArrayLike<number>;

function shapeOf(values: Nested): Shape {
  if (!Array.isArray(values)) {
    if (typeof values === 'number' || typeof values === 'boolean') return [];
    throw argumentWrong(
      'array',
      `${describe(values)} among its numbers`,
      'lists hold numbers or booleans; arrays are joined with np.stack',
    );
  }
  const list = values as readonly Nested[];
  if (list.length === 0) return [0];
  const inner = shapeOf(list[0]!);
  for (const item of list) {
    const other = shapeOf(item);
    if (other.length !== inner.length || other.some((extent, k) => extent !== inner[k]))
      throw shapesDisagree('array', [`[${inner.join(',')}]`, `[${other.join(',')}]`], 'nested lists have to have equal lengths');
  }
  return [list.length, ...inner];
}
const flat = (values: Nested): readonly (number | boolean)[] =>
  Array.isArray(values) ? (values as readonly Nested[]).flatMap(flat) : [values as number | boolean];

const arrayOptions = (operation: string, argument: DTypeArg | ArrayOptions | undefined): ArrayOptions =>
  typeof argument === 'string'
    ? { dtype: argument }
    : optionsOf<ArrayOptions>(operation, argument, { shape: undefined, dtype: undefined, device: undefined } as never);
/** The dtype from a name, or from { dtype } (`device` is accepted for programs written for jax-js). */
const typeOption = (operation: string, argument: DTypeArg | undefined, otherwise: DType): DType =>
  dtypeArg(typeof argument === 'string' ? argument : arrayOptions(operation, argument).dtype, otherwise);

/**
 * An array with the given contents: numbers, nested lists, a typed array (copied), or an array of ours.
 * Numbers become float32, booleans bool, unless a dtype is given. 4 bytes an element (float16: 2).
 */
export function array(values: Value | HostArray | Nested, options?: DTypeArg | ArrayOptions): Value {
  const given = arrayOptions('array', options);
  const { dtype } = given;
  if (dtype !== undefined && !isDType(dtype)) dtypeArg(dtype, 'float32');
  const shape = given.shape === undefined ? undefined : shapeArg('array', given.shape);
  if (values instanceof Value) {
    const shaped = shape ? values.reshape(shape) : values;
    const typed = dtype ? shaped.astype(dtype) : shaped;
    return typed === values ? values.copy() : typed;
  }
  if (isHostArray(values)) {
    const own = dtypeOfContents(values);
    return placed(dtype === undefined || dtype === own ? values.slice() : hostArray(values, dtype), shape ?? [values.length], dtype ?? own);
  }
  const own = shapeOf(values);
  const numbers = flat(values);
  const known = dtype ?? (numbers.length > 0 && numbers.every((value) => typeof value === 'boolean') ? 'bool' : 'float32');
  return placed(hostArray(numbers.map(Number), known), shape ?? own, known);
}

function placed(contents: HostArray, shape: Shape, dtype: DType): Value {
  const aval: KnownAval = { shape, dtype };
  const size = shape.reduce((product, extent) => product * extent, 1);
  if (size !== contents.length) throw shapesDisagree('array', [`[${shape.join(',')}]`], `${contents.length} elements don't fill it`);
  return constantValue(contents, aval);
}

/** An array of zeros, float32 unless a dtype is given. */
export const zeros = (shape: number | Shape, dtype?: DTypeArg): Value =>
  shapes.full(shapeArg('zeros', shape), 0, typeOption('zeros', dtype, 'float32'));
/** An array of ones, float32 unless a dtype is given. */
export const ones = (shape: number | Shape, dtype?: DTypeArg): Value =>
  shapes.full(shapeArg('ones', shape), 1, typeOption('ones', dtype, 'float32'));
/** An array of one value. */
export function full(shape: number | Shape, value: ArrayLike, dtype?: DTypeArg): Value {
  const own = shapeArg('full', shape);
  if (value instanceof Value) return spreadOver(value, own, typeOption('full', dtype, value.dtype));
  if (typeof value !== 'number' && typeof value !== 'boolean')
    throw argumentWrong('full', `${describe(value)} as its value`, 'give it a number, a boolean or an array');
  return shapes.full(
    own,
    fitting(Number(value), typeOption('full', dtype, typeof value === 'boolean' ? 'bool' : 'float32')),
    typeOption('full', dtype, typeof value === 'boolean' ? 'bool' : 'float32'),
  );
}

/** A number as an element of the dtype: whole numbers lose their fraction. */
const fitting = (value: number, dtype: DType): number => hostArray([value], dtype === 'float16' ? 'float32' : dtype)[0]!;

const spreadOver = composed('full', (value: Value, shape: Shape, dtype: DType): Value => value.astype(dtype).broadcastTo(shape));

type LikeOptions = DTypeArg | ArrayOptions;
const likeOf = (operation: string, x: ArrayLike, options: LikeOptions | undefined): { readonly shape: Shape; readonly dtype: DType } => {
  const value = lift(x);
  const { shape, dtype } = arrayOptions(operation, options);
  return { shape: shape === undefined ? value.shape : shapeArg(operation, shape), dtype: dtypeArg(dtype, value.dtype) };
};
/** Zeros in the shape and dtype of x, unless others are given. */
export function zerosLike(x: ArrayLike, options?: LikeOptions): Value {
  const { shape, dtype } = likeOf('zerosLike', x, options);
  return shapes.full(shape, 0, dtype);
}
/** Ones in the shape and dtype of x, unless others are given. */
export function onesLike(x: ArrayLike, options?: LikeOptions): Value {
  const { shape, dtype } = likeOf('onesLike', x, options);
  return shapes.full(shape, 1, dtype);
}
/** One value in the shape and dtype of x, unless others are given. */
export function fullLike(x: ArrayLike, value: ArrayLike, options?: LikeOptions): Value {
  const { shape, dtype } = likeOf('fullLike', x, options);
  return full(shape, value, dtype);
}

/**
 * Numbers from `start` below `stop`. `arange(n)`, `arange(n, dtype)`, `arange(start, stop, step, { dtype })`; whole
 * numbers are int32 where all three are whole, as in NumPy.
 */
export function arange(start: number, stop?: number | DTypeArg, step = 1, options?: DTypeArg): Value {
  const [from, to] = typeof stop === 'number' ? [start, stop] : [0, start];
  const dtype = dtypeArg(
    typeof stop === 'number' ? options : (stop ?? options),
    [from, to, step].every(Number.isInteger) ? 'int32' : 'float32',
  );
  for (const [name, bound] of [
    ['start', from],
    ['stop', to],
    ['step', step],
  ] as const)
    if (typeof bound !== 'number' || !Number.isFinite(bound) || (name === 'step' && bound === 0))
      throw argumentWrong(
        'arange',
        `${describe(bound)} as \`${name}\``,
        name === 'step' ? 'a step is a number other than 0' : 'bounds are finite numbers',
      );
  const count = Math.max(0, Math.ceil((to - from) / step));
  return sequence(count, from, step, dtype);
}
const sequence = composed('arange', (count: number, from: number, step: number, dtype: DType): Value => {
  const counted = shapes.iota([count], 0, dtype === 'bool' ? 'int32' : dtype);
  const scaled = step === 1 ? counted : counted.mul(step);
  return (from === 0 ? scaled : scaled.add(from)).astype(dtype);
});

/** `count` numbers evenly from start to stop, the end included unless `endpoint` is false. */
export const linspace = composed(
  'linspace',
  (start: number, stop: number, count: number = 50, endpoint: boolean = true, options?: DTypeArg): Value => {
    const dtype = typeOption('linspace', options, 'float32');
    countArg('linspace', 'count', count);
    if (count === 0) return shapes.full([0], 0, dtype);
    const steps = endpoint ? count - 1 : count;
    if (steps <= 0) return shapes.full([count], start, dtype);
    const counted = shapes.iota([count], 0, 'float32');
    const values = counted.mul((stop - start) / steps).add(start);
    const exact = endpoint ? where(counted.equal(count - 1), stop, values) : values;
    return exact.astype(dtype);
  },
);
/** Powers of `base` at evenly spaced exponents. */
export const logspace = composed(
  'logspace',
  (start: number, stop: number, count: number = 50, endpoint: boolean = true, base: number = 10, options?: DTypeArg): Value =>
    lift(base)
      .pow(linspace(start, stop, count, endpoint))
      .astype(typeOption('logspace', options, 'float32')),
);
/** `count` numbers in a geometric progression from start to stop, both of one sign. */
export const geomspace = composed(
  'geomspace',
  (start: number, stop: number, count: number = 50, endpoint: boolean = true, options?: DTypeArg): Value => {
    const sign = start < 0 ? -1 : 1;
    return logspace(Math.log2(sign * start), Math.log2(sign * stop), count, endpoint, 2)
      .mul(sign)
      .astype(typeOption('geomspace', options, 'float32'));
  },
);

/** Ones on a diagonal: `eye(n)`, `eye(n, m)`, `eye(n, dtype)`, `eye(n, m, { dtype })`. */
export function eye(rows: number, columns?: number | DTypeArg, options?: DTypeArg): Value {
  const width = typeof columns === 'number' ? columns : rows;
  sizeArg('eye', 'rows', rows);
  sizeArg('eye', 'columns', width);
  return diagonalOnes(rows, width, 0, typeOption('eye', typeof columns === 'number' ? options : (columns ?? options), 'float32'));
}
/** A square array with ones on its diagonal. */
export const identity = (n: number, options?: DTypeArg): Value => eye(n, n, options);
const diagonalOnes = composed('eye', (rows: number, columns: number, k: number, dtype: DType): Value =>
  shapes
    .iota([rows, columns], 0, 'int32')
    .add(k)
    .equal(shapes.iota([rows, columns], 1, 'int32'))
    .astype(dtype),
);

/** Ones on and below the k-th diagonal. */
export const tri = composed('tri', (rows: number, columns: number = rows, k: number = 0, options?: DTypeArg): Value => {
  sizeArg('tri', 'rows', rows);
  sizeArg('tri', 'columns', columns);
  countArg('tri', 'k', k, -Infinity);
  return shapes
    .iota([rows, columns], 0, 'int32')
    .add(k)
    .greaterEqual(shapes.iota([rows, columns], 1, 'int32'))
    .astype(typeOption('tri', options, 'float32'));
});
const triangle = (operation: string, x: Value, k: number): Value => {
  if (x.ndim < 2) throw shapesDisagree(operation, [printAval(x.aval)], 'it needs two axes at least');
  return tri(x.shape[x.ndim - 2]!, x.shape[x.ndim - 1]!, k, 'bool');
};
const zeroLike = (x: Value): Value => scalarOf(0, { dtype: x.dtype });
/** What lies on and below the k-th diagonal. */
export const tril = composed('tril', (x: ArrayLike, k: number = 0): Value => {
  const value = lift(x);
  return where(triangle('tril', value, k), value, zeroLike(value));
});
/** What lies on and above the k-th diagonal. */
export const triu = composed('triu', (x: ArrayLike, k: number = 0): Value => {
  const value = lift(x);
  return where(triangle('triu', value, k - 1), zeroLike(value), value);
});

export type { Shape };
