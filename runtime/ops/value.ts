/**
 * An array under any interpreter: the methods that people call on arrays, whoever carries them out.
 *
 * A tracer, an array on a device and an abstract value of the analysis all extend it. Methods only call ops.
 * Depends on: core, all ops.
 */
import { isKnown, type Dim } from '../core/dim.ts';
import { bytesOf, isDType, type DType } from '../core/dtype.ts';
import type { Aval } from '../core/aval.ts';
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
  const dtype = typeof argument === 'object' ? argument.dtype : argument;
  if (dtype === undefined) return otherwise;
  if (!isDType(dtype)) throw new TypeError(`\`${String(dtype)}\` is no dtype: use float32, float16, int32, uint32 or bool`);
  return dtype;
};

export abstract class Value implements HasAval {
  abstract readonly aval: Aval;

  /** Throws where the contents are gone: donated or disposed arrays, tracers whose trace is over. */
  ensureAlive(): void {}

  get shape(): readonly number[] { return knownShape(this.aval.shape); }
  get dtype(): DType { return this.aval.dtype; }
  get weakType(): boolean { return this.aval.weak === true; }
  get ndim(): number { return this.aval.shape.length; }
  /** Number of elements. */
  get size(): number { return this.shape.reduce((product, extent) => product * extent, 1); }
  /** Bytes of the contents. */
  get nbytes(): number { return this.size * bytesOf[this.dtype]; }

  add(other: ArrayLike): Value { return elementwise.add(this, other); }
  sub(other: ArrayLike): Value { return elementwise.sub(this, other); }
  mul(other: ArrayLike): Value { return elementwise.mul(this, other); }
  div(other: ArrayLike): Value { return elementwise.div(this, other); }
  /** Remainder with the sign of the divisor, as Python has it. */
  mod(other: ArrayLike): Value {
    const rest = elementwise.rem(this, other);
    const wrong = rest.notEqual(0).logicalAnd(compare.lessThan(rest, 0).notEqual(compare.lessThan(other, 0)));
    return elementwise.where(wrong, rest.add(other), rest);
  }
  pow(other: ArrayLike): Value { return elementwise.pow(this, other); }
  neg(): Value { return elementwise.neg(this); }
  maximum(other: ArrayLike): Value { return elementwise.maximum(this, other); }
  minimum(other: ArrayLike): Value { return elementwise.minimum(this, other); }
  matmul(other: ArrayLike): Value { return matmul(this, other); }

  equal(other: ArrayLike): Value { return compare.equal(this, other); }
  notEqual(other: ArrayLike): Value { return compare.notEqual(this, other); }
  less(other: ArrayLike): Value { return compare.lessThan(this, other); }
  lessEqual(other: ArrayLike): Value { return compare.lessEqual(this, other); }
  greater(other: ArrayLike): Value { return compare.greater(this, other); }
  greaterEqual(other: ArrayLike): Value { return compare.greaterEqual(this, other); }
  /** Both of two conditions. */
  logicalAnd(other: ArrayLike): Value { return compare.bitAnd(this, other); }

  sum(axis?: Axis, options?: ReduceOptions): Value { return reduce.sum(this, axis, options); }
  prod(axis?: Axis, options?: ReduceOptions): Value { return reduce.prod(this, axis, options); }
  mean(axis?: Axis, options?: ReduceOptions): Value { return reduce.mean(this, axis, options); }
  max(axis?: Axis, options?: ReduceOptions): Value { return reduce.max(this, axis, options); }
  min(axis?: Axis, options?: ReduceOptions): Value { return reduce.min(this, axis, options); }
  any(axis?: Axis, options?: ReduceOptions): Value { return reduce.any(this, axis, options); }
  all(axis?: Axis, options?: ReduceOptions): Value { return reduce.all(this, axis, options); }

  /** The same elements in another shape; one dimension may be -1. */
  reshape(to: number | readonly number[]): Value { return shape.reshape(this, to); }
  /** Axes in another order; reversed without an argument. */
  transpose(permutation?: readonly number[] | null): Value { return shape.transpose(this, permutation); }
  flatten(): Value { return shape.reshape(this, [-1]); }
  ravel(): Value { return shape.reshape(this, [-1]); }
  broadcastTo(to: readonly number[]): Value { return shape.broadcastTo(this, to); }
  moveAxis(from: number, to: number): Value { return shape.moveAxis(this, from, to); }
  /** One entry per axis: an index drops the axis, [start, stop, stride] keeps a part of it, [] all; null is a new axis, '...' fills up, an array picks. */
  slice(...index: readonly Index[]): Value { return slice(this, ...index); }
  /** The part of one axis at `position`, without that axis. */
  takeSlice(axis: number, position: number): Value { return slice(this, ...Array.from({ length: axis }, (): Index => []), position); }
  take(indices: ArrayLike, axis?: number | null): Value { return take(this, indices, axis); }
  /** Functional updates of a part: `x.at([0, 2]).set(y)`; in place when x is dead afterwards. */
  at(...index: readonly Index[]): At { return at(this, ...index); }
  dynamicUpdate(update: Value, starts: readonly ArrayLike[]): Value { return dynamicUpdateSlice(this, update, starts); }

  astype(dtype: DTypeArg): Value { return elementwise.astype(this, dtypeArg(dtype, this.dtype)); }
  /** The same bits as another dtype. */
  view(dtype?: DType): Value { return dtype === undefined || dtype === this.dtype ? this : elementwise.bitcastTo(this, dtype); }
  /** A new array with its own buffer. */
  copy(): Value { return elementwise.copy(this); }
  zerosLike(): Value { return shape.full(this.shape, 0, this.dtype); }
  onesLike(): Value { return shape.full(this.shape, 1, this.dtype); }

  /** Slices along the first axis. */
  *[Symbol.iterator](): IterableIterator<this> {
    if (this.ndim === 0) throw new TypeError('an array without axes has nothing to go through');
    for (let k = 0; k < this.shape[0]!; k++) yield slice(this, k) as this;
  }
}

function knownShape(dims: readonly Dim[]): readonly number[] {
  if (dims.every(isKnown)) return dims;
  throw new Error('internal: value: a dimension is known by name only');
}

/** A JavaScript number as an operand: it has a type, and no buffer. */
export class LiteralValue extends Value {
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
  const own: { readonly dtype: DType; readonly weak?: boolean } = type ?? (typeof value === 'boolean' ? { dtype: 'bool' } : { dtype: 'float32', weak: true });
  return new LiteralValue(value, { shape: [], dtype: own.dtype, ...(own.weak ? { weak: true } : {}) });
}
