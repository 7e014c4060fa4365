/**
 * Applies an op to operands through the current interpreter, on the user's line.
 *
 * Depends on: core, op.
 */
import { currentInterpreter, placeInForce, type Numbers } from '../core/interpreter.ts';
import { explained, notAnArray } from '../core/errors.ts';
import { promote, type DType, type Typed } from '../core/dtype.ts';
import type { Parameters } from '../core/program.ts';
import { userPlace } from '../core/stack.ts';
import type { Op } from './op.ts';
import type { Value } from './value.ts';

/** What every function of arrays takes: an array, or a JavaScript number (weakly typed) or boolean. */
export type ArrayLike = Value | number | boolean;

/** An entry of the table over our own arrays. */
export type Entry = Op<Value>;

export function applyAll(op: Entry, operands: readonly Value[], parameters: Parameters = {}): readonly Value[] {
  const place = placeInForce() ?? userPlace();
  return currentInterpreter().apply(op, operands, parameters, place) as readonly Value[];
}

export const apply = (op: Entry, operands: readonly Value[], parameters: Parameters = {}): Value => applyAll(op, operands, parameters)[0]!;

/** Functions that `composed` made. */
const wholes = new WeakSet<object>();
/** Does it run as one compiled program, so that it may take the buffer of what was donated to it? */
export const isWhole = (f: object): boolean => wholes.has(f);

/** Marks a function as composed of ops: called on arrays of a device it runs as one compiled program. */
export function composed<A extends unknown[], R>(name: string, f: (...args: A) => R, numbers: Numbers = 'settings'): (...args: A) => R {
  const call = (...args: A): R => {
    const interpreter = currentInterpreter();
    const former = operation;
    operation = name;
    try {
      return interpreter.composed === undefined ? f(...args) : interpreter.composed(name, f, args, numbers);
    } catch (fault) {
      throw explained(fault, name, args);
    } finally {
      operation = former;
    }
  };
  return whole(Object.defineProperty(call, 'name', { value: name }));
}
/** Says of a function that all it does is to call one that `composed` made. */
export function whole<F extends object>(f: F): F {
  wholes.add(f);
  return f;
}
/** The function that is working, for messages. */
let operation = 'an operation';

/** A number becomes a weakly typed scalar; arrays stay what they are. */
export function lift(x: ArrayLike): Value {
  if (typeof x === 'number' || typeof x === 'boolean') return currentInterpreter().scalar(x) as Value;
  if (typeof x !== 'object' || x === null || !('aval' in x)) throw notAnArray(operation, x);
  return x;
}

/** The number behind a literal operand, if it is one. */
export function literalOf(x: Value): number | undefined {
  if (!('literal' in x)) return undefined;
  return Number(x.literal);
}

/** The literal `value` with a dtype of its own. */
export const scalarOf = (value: number, type: Typed): Value =>
  currentInterpreter().scalar(type.dtype === 'bool' ? value !== 0 : fitting(value, type.dtype), type) as Value;
/** A number as an element of the dtype: whole numbers wrap, fractions are cut off. */
function fitting(value: number, dtype: DType): number {
  if (dtype === 'float32' || dtype === 'float16') return value;
  if (Number.isInteger(value)) return dtype === 'int32' ? value | 0 : value >>> 0;
  if (Number.isNaN(value)) return 0;
  return dtype === 'int32'
    ? Math.max(-(2 ** 31), Math.min(2 ** 31 - 1, Math.trunc(value)))
    : Math.max(0, Math.min(2 ** 32 - 1, Math.trunc(value)));
}

/** How a number takes part in promotion: a whole number beside arrays of integers stays an integer. */
export function commonType(operands: readonly Value[]): Typed {
  const arrays = operands.filter((x) => literalOf(x) === undefined);
  if (arrays.length === 0) return promote(operands.map((x) => x.aval));
  return promote(operands.map((x) => typeBeside(x)));
}

function typeBeside(x: Value): Typed {
  const literal = literalOf(x);
  const { dtype, weak } = x.aval;
  return literal !== undefined && weak === true && Number.isInteger(literal) && dtype === 'float32'
    ? { dtype: 'int32', weak: true }
    : { dtype, ...(weak ? { weak } : {}) };
}

export const floatType = (type: Typed): Typed =>
  type.dtype === 'float16' || type.dtype === 'float32' ? type : { dtype: 'float32', ...(type.weak ? { weak: true } : {}) };

export type { DType };
