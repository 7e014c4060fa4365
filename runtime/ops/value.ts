/**
 * An array under any interpreter: the methods that people call on arrays, whoever carries them out.
 *
 * A tracer, an array on a device and an abstract value of the analysis all extend it. Methods only call ops.
 * Depends on: core, all ops.
 */
import { isKnown, type Dim } from '../core/dim.ts';
import { bytesOf, isDType, type DType, type Typed } from '../core/dtype.ts';
import { printAval, type Aval, type KnownAval } from '../core/aval.ts';
import { argumentWrong, describe, typeError } from '../core/errors.ts';
import { currentInterpreter, type HostArray } from '../core/interpreter.ts';
import type { HasAval } from '../core/program.ts';
import type { ArrayLike } from './apply.ts';
import * as compare from './compare.ts';
import * as elementwise from './elementwise.ts';
import { dynamicUpdateSlice } from './gather.ts';
import { at, slice, take, type At, type Index } from './indexing.ts';
import { matmul } from './matmul.ts';
import * as reduce from './reduce.ts';
import type { Axis, ReduceOptions } from './reduce.ts';
import * as shape from './shape.ts';

/** A dtype, as a string or in an options object. */
export type DTypeArg = DType | { readonly dtype?: DType | undefined };

export const dtypeArg = (argument: DTypeArg | undefined, otherwise: DType): DType => {
  const dtype: unknown = typeof argument === 'object' && argument !== null ? argument.dtype : argument;
  if (dtype === undefined || dtype === null) return otherwise;
  if (!isDType(dtype)) throw argumentWrong('dtype', `${describe(dtype)}, which is no dtype`, 'use float32, float16, int32, uint32 or bool');
  return dtype;
};

/** Contents in nested lists; a number (or boolean) for an array without axes. */
export type Contents = number | boolean | readonly Contents[];

export abstract class Array implements HasAval {
  abstract readonly aval: Aval;

  /** Throws where the contents are gone: donated or disposed arrays, tracers whose trace is over. */
  ensureAlive(): void {}

  /** True once disposed or donated. Safe to read at any time, like shape, dtype, size and nbytes. */
  get isDisposed(): boolean {
    return false;
  }
  /** The contents, in order. The copy is made at the call: donating or disposing afterwards is legal. float16 comes as float32, bool as 0 and 1. */
  data(): Promise<HostArray> {
    return unreadable('data()');
  }
  /** The only element. Throws when there are more. */
  item(): Promise<number> {
    return unreadable('item()');
  }
  /** The contents in nested lists. */
  jsAsync(): Promise<Contents> {
    return unreadable('jsAsync()');
  }
  /** The same at once: on the `cpu` device only; on `webgpu` a TypeError names the asynchronous form. */
  js(): Contents {
    return unreadable('js()');
  }
  dataSync(): HostArray {
    return unreadable('dataSync()');
  }
  itemSync(): number {
    return unreadable('itemSync()');
  }
  /** Frees the buffer. Does nothing on an array that is already disposed or donated. */
  dispose(): void {}
  [Symbol.dispose](): void {
    this.dispose();
  }
  toString(): string {
    return `Array:${printAval(this.aval)}`;
  }

  get shape(): readonly number[] {
    return knownShape(this.aval.shape);
  }
  get dtype(): DType {
    return this.aval.dtype;
  }
  get weakType(): boolean {
    return this.aval.weak === true;
  }
  get ndim(): number {
    return this.aval.shape.length;
  }
  /** Number of elements. */
  get size(): number {
    return this.shape.reduce((product, extent) => product * extent, 1);
  }
  /** Bytes of the contents. */
  get nbytes(): number {
    return this.size * bytesOf[this.dtype];
  }

  add(other: ArrayLike): Array {
    return elementwise.add(this, other);
  }
  sub(other: ArrayLike): Array {
    return elementwise.sub(this, other);
  }
  mul(other: ArrayLike): Array {
    return elementwise.mul(this, other);
  }
  div(other: ArrayLike): Array {
    return elementwise.div(this, other);
  }
  /** Remainder with the sign of the divisor, as Python has it. */
  mod(other: ArrayLike): Array {
    return elementwise.mod(this, other);
  }
  pow(other: ArrayLike): Array {
    return elementwise.pow(this, other);
  }
  neg(): Array {
    return elementwise.neg(this);
  }
  maximum(other: ArrayLike): Array {
    return elementwise.maximum(this, other);
  }
  minimum(other: ArrayLike): Array {
    return elementwise.minimum(this, other);
  }
  matmul(other: ArrayLike): Array {
    return matmul(this, other);
  }

  equal(other: ArrayLike): Array {
    return compare.equal(this, other);
  }
  notEqual(other: ArrayLike): Array {
    return compare.notEqual(this, other);
  }
  less(other: ArrayLike): Array {
    return compare.lessThan(this, other);
  }
  lessEqual(other: ArrayLike): Array {
    return compare.lessEqual(this, other);
  }
  greater(other: ArrayLike): Array {
    return compare.greater(this, other);
  }
  greaterEqual(other: ArrayLike): Array {
    return compare.greaterEqual(this, other);
  }
  /** Both of two conditions. */
  logicalAnd(other: ArrayLike): Array {
    return compare.bitAnd(truth(this), truth(other));
  }

  sum(axis?: Axis, options?: ReduceOptions): Array {
    return reduce.sum(this, axis, options);
  }
  prod(axis?: Axis, options?: ReduceOptions): Array {
    return reduce.prod(this, axis, options);
  }
  mean(axis?: Axis, options?: ReduceOptions): Array {
    return reduce.mean(this, axis, options);
  }
  max(axis?: Axis, options?: ReduceOptions): Array {
    return reduce.max(this, axis, options);
  }
  min(axis?: Axis, options?: ReduceOptions): Array {
    return reduce.min(this, axis, options);
  }
  any(axis?: Axis, options?: ReduceOptions): Array {
    return reduce.any(this, axis, options);
  }
  all(axis?: Axis, options?: ReduceOptions): Array {
    return reduce.all(this, axis, options);
  }

  /** The same elements in another shape; one dimension may be -1. */
  reshape(to: number | readonly number[]): Array {
    return shape.reshape(this, to);
  }
  /** Axes in another order; reversed without an argument. */
  transpose(permutation?: readonly number[] | null): Array {
    return shape.transpose(this, permutation);
  }
  flatten(): Array {
    return shape.reshape(this, [-1]);
  }
  ravel(): Array {
    return shape.reshape(this, [-1]);
  }
  broadcastTo(to: readonly number[]): Array {
    return shape.broadcastTo(this, to);
  }
  moveAxis(from: number, to: number): Array {
    return shape.moveAxis(this, from, to);
  }
  /** One entry per axis: an index drops the axis, [start, stop, stride] keeps a part of it, [] all; null is a new axis, '...' fills up, an array picks. */
  slice(...index: readonly Index[]): Array {
    return slice(this, ...index);
  }
  /** The part of one axis at `position`, without that axis. */
  takeSlice(axis: number, position: number): Array {
    return slice(this, ...globalThis.Array.from({ length: axis }, (): Index => []), position);
  }
  take(indices: ArrayLike, axis?: number | null): Array {
    return take(this, indices, axis);
  }
  /** Functional updates of a part: `x.at([0, 2]).set(y)`; in place when x is dead afterwards. */
  at(...index: readonly Index[]): At {
    return at(this, ...index);
  }
  dynamicUpdate(update: Array, starts: readonly ArrayLike[]): Array {
    return dynamicUpdateSlice(this, update, starts);
  }

  astype(dtype: DTypeArg): Array {
    return elementwise.astype(this, dtypeArg(dtype, this.dtype));
  }
  /** The same elements in the type in which operands meet; weak where none of them was given a dtype that wide. */
  meeting(type: Typed): Array {
    return elementwise.astype(this, type.dtype, type.weak);
  }
  /** The same bits as another dtype. */
  view(dtype?: DType): Array {
    return elementwise.bitcastTo(this, dtype ?? this.dtype);
  }
  /** A new array with its own buffer. */
  copy(): Array {
    return elementwise.copy(this);
  }
  zerosLike(): Array {
    return shape.full(this.shape, 0, this.dtype);
  }
  onesLike(): Array {
    return shape.full(this.shape, 1, this.dtype);
  }

  /** Slices along the first axis. */
  *[Symbol.iterator](): IterableIterator<this> {
    if (this.ndim === 0) throw typeError('an array without axes has nothing to go through');
    for (let k = 0; k < this.shape[0]!; k++) yield slice(this, k) as this;
  }
}

const truth = (x: ArrayLike): ArrayLike =>
  typeof x === 'boolean' || (typeof x === 'object' && x.dtype === 'bool') ? x : compare.notEqual(x, 0);

function unreadable(reader: string): never {
  throw typeError(`\`${reader}\`: a number beside arrays has no contents of its own`);
}

function knownShape(dims: readonly Dim[]): readonly number[] {
  if (dims.every(isKnown)) return dims;
  throw new Error('internal: value: a dimension is known by name only');
}

/** A JavaScript number as an operand: it has a type, and no buffer. */
export class LiteralValue extends Array {
  readonly literal: number | boolean;
  readonly aval: Aval;
  constructor(literal: number | boolean, aval: Aval) {
    super();
    this.literal = literal;
    this.aval = aval;
  }
}

/** What a JavaScript number becomes: weakly typed unless a type is given. Every interpreter's `scalar`. */
export function literalValue(value: number | boolean, type?: { readonly dtype: DType; readonly weak?: boolean }): LiteralValue {
  const own: { readonly dtype: DType; readonly weak?: boolean } =
    type ?? (typeof value === 'boolean' ? { dtype: 'bool' } : { dtype: 'float32', weak: true });
  return new LiteralValue(value, { shape: [], dtype: own.dtype, ...(own.weak ? { weak: true } : {}) });
}

/** Contents given on the host while a function is traced: captured by the program, and put on the device when it runs. */
export class ConstantValue extends Array {
  readonly contents: HostArray;
  readonly aval: Aval;
  constructor(contents: HostArray, aval: Aval) {
    super();
    this.contents = contents;
    this.aval = aval;
  }
}

/** An array with these contents, wherever we are. */
export function constantValue(contents: HostArray, aval: KnownAval): Array {
  const interpreter = currentInterpreter();
  return interpreter.constant === undefined ? new ConstantValue(contents, aval) : (interpreter.constant(contents, aval) as Array);
}

export { Array as Value };
