/**
 * What ops of one family share: constructors that fill in an entry's shape rule, effects, tangent and batching rule.
 *
 * The derivative of an elementwise op is diagonal, so its tangent is its gradient rule applied to the tangent; nobody
 * writes both. Operands of an elementwise op have one shape, or rank 0. Depends on: core, op, apply, arithmetic.
 */
import { printAval, type Aval, type KnownAval } from '../core/aval.ts';
import { printDim, same, type Dim } from '../core/dim.ts';
import { promote, type Typed } from '../core/dtype.ts';
import type { Effects } from '../core/effects.ts';
import { argumentWrong, axisOutOfRange, describe, shapesDisagree } from '../core/errors.ts';
import type { Numbers } from '../core/interpreter.ts';
import type { Parameters } from '../core/program.ts';
import { apply, commonType, composed, whole, floatType, lift, literalOf, scalarOf, type ArrayLike, type Entry } from './apply.ts';
import type { Batched, Body, GradientRule, Saved } from './op.ts';
import type { Value } from './value.ts';

export const borrows: Effects = { arguments: new Map(), rest: { kind: 'reads' }, result: { kind: 'creates' } };

export type Gradient = GradientRule<Value>;

/** The shape that operands broadcast to; unknown dimensions are taken as agreeing. */
export function broadcastShape(operation: string, avals: readonly Aval[]): readonly Dim[] {
  const rank = Math.max(0, ...avals.map((aval) => aval.shape.length));
  return Array.from({ length: rank }, (_, axis) => {
    let extent: Dim = 1;
    for (const { shape } of avals) {
      const own = shape[axis - rank + shape.length];
      if (own === undefined || own === 1) continue;
      if (extent === 1) extent = own;
      else if (same(extent, own) === 'no')
        throw shapesDisagree(operation, avals.map(printAval), `dimension ${printDim(extent)} doesn't broadcast to ${printDim(own)}`);
      else if (typeof own === 'number') extent = own;
    }
    return extent;
  });
}

/** What `saves` names, picked from an equation's operands and results. */
export function savedOf<V>(saves: Saved, inputs: readonly V[], outputs: readonly V[]): readonly V[] {
  switch (saves) {
    case 'inputs':
      return inputs;
    case 'output':
      return outputs;
    case 'nothing':
      return [];
    default:
      return [
        ...(saves.inputs ?? []).filter((index) => index < inputs.length).map((index) => inputs[index]!),
        ...(saves.output ? outputs : []),
      ];
  }
}

export interface ElementwiseSpec {
  readonly summary: string;
  /** The operands' common dtype is made a float first, or left as it is. */
  readonly operands?: 'any' | 'float';
  readonly result?: (type: Typed) => Typed;
  readonly scalar: Extract<Body, { kind: 'elementwise' }>['scalar'];
  readonly gradient?: Gradient;
  readonly flops?: number;
}

export const toBool = (): Typed => ({ dtype: 'bool' });
const unchanged = (type: Typed): Typed => type;

/** The entry of an elementwise op; `inputTypes` says which operands decide the dtype (all but a `where`'s condition). */
export function elementwise(
  id: string,
  spec: ElementwiseSpec,
  typed: (inputs: readonly Aval[]) => readonly Aval[] = (inputs) => inputs,
): Entry {
  const result = spec.result ?? unchanged;
  const entry: Entry = {
    id,
    summary: spec.summary,
    infer(inputs) {
      const common = promote(typed(inputs));
      const type = result(spec.operands === 'float' ? floatType(common) : common);
      return [{ shape: broadcastShape(id, inputs), dtype: type.dtype, ...(type.weak ? { weak: true } : {}) }];
    },
    body: { kind: 'elementwise', scalar: spec.scalar },
    effects: borrows,
    ...(spec.gradient ? { gradient: spec.gradient, tangent: diagonalTangent(spec.gradient) } : {}),
    batch: (operands, axes, parameters, size) => batchElementwise(entry, operands, axes, parameters, size),
    flops: () => spec.flops ?? 1,
    overwrites: [0, 1, 2],
  };
  return entry;
}

/** A diagonal derivative is its own transpose. */
function diagonalTangent(gradient: Gradient): NonNullable<Entry['tangent']> {
  return (primals, tangents, outputs, parameters) => {
    const saved = savedOf(gradient.saves, primals, outputs);
    const avals = primals.map((x) => x.aval as KnownAval);
    let sum: Value | undefined;
    tangents.forEach((tangent, k) => {
      if (tangent === undefined) return;
      const term = gradient.rule([tangent], saved, parameters, avals)[k];
      if (term !== undefined) sum = sum === undefined ? term : sum.add(term);
    });
    const shape = outputs[0]!.shape;
    return [sum === undefined ? undefined : sum.broadcastTo(shape)];
  };
}

/** Batch axes go to the front; operands without one are broadcast, unless they are scalars. */
function batchElementwise(
  entry: Entry,
  operands: readonly Value[],
  axes: readonly (number | undefined)[],
  parameters: Parameters,
  size: number,
): Batched<Value> {
  const rank = Math.max(...operands.map((x, k) => (axes[k] === undefined ? x.ndim : x.ndim - 1)));
  const shape = operands
    .map((x, k) => (axes[k] === undefined ? x.shape : x.shape.filter((_, axis) => axis !== axes[k])))
    .find((s) => s.length === rank)!;
  const moved = operands.map((x, k) => {
    const axis = axes[k];
    if (axis === undefined) return x.ndim === 0 ? x : x.broadcastTo([size, ...shape]);
    const front = x.moveAxis(axis, 0);
    return front.ndim - 1 === rank ? front : front.reshape([size, ...shape.map(() => 1)]).broadcastTo([size, ...shape]);
  });
  return { results: [apply(entry, moved, parameters)], axes: [0] };
}

/** Gives operands one dtype and one shape (scalars stay scalars). */
export function together(id: string, operands: readonly ArrayLike[], kind: 'any' | 'float' = 'any'): readonly Value[] {
  const values = operands.map(lift);
  const common = commonType(values);
  const type = kind === 'float' ? floatType(common) : common;
  return spread(
    id,
    values.map((x) => typed(x, type)),
  );
}

/** `x` with the given dtype; a literal changes its type without an equation. */
export function typed(x: Value, type: Typed): Value {
  const literal = literalOf(x);
  if (literal !== undefined) return scalarOf(literal, type);
  return x.dtype === type.dtype ? x : x.meeting(type);
}

/** Broadcasts to one shape, scalars left as they are. */
export function spread(id: string, values: readonly Value[]): readonly Value[] {
  const shape = broadcastShape(
    id,
    values.map((x) => x.aval),
  );
  const everyScalar = shape.length === 0;
  return everyScalar ? values : values.map((x) => (x.ndim === 0 ? x : x.broadcastTo(shape as readonly number[])));
}

export type Unary = Entry & ((x: ArrayLike) => Value);
export type Binary = Entry & ((x: ArrayLike, y: ArrayLike) => Value);

/** Makes an entry callable; broadcasts and conversions that the call needs belong to it, and are one program with it. */
export const callable = <A extends unknown[], R>(
  entry: Entry,
  call: (...args: A) => R,
  numbers: Numbers = 'settings',
): Entry & ((...args: A) => R) => Object.assign(composed(entry.id, call, numbers), entry);

/** The same with so many operands and no more, which is its length: `rows.reduce(add)` passes a position and the list too. */
function fixed<A extends unknown[]>(entry: Entry, call: (...args: A) => Value): Entry & ((...args: A) => Value) {
  const all = callable(entry, call, 'values');
  const own = (...args: A): Value => all(...(args.length > call.length ? (args.slice(0, call.length) as A) : args));
  return whole(Object.defineProperties(Object.assign(own, entry), { name: { value: entry.id }, length: { value: call.length } }));
}

export function unary(id: string, spec: ElementwiseSpec): Unary {
  const entry = elementwise(id, spec);
  const op: Unary = fixed(entry, (x: ArrayLike): Value => apply(op, together(id, [x], spec.operands)));
  return op;
}

export function binary(id: string, spec: ElementwiseSpec): Binary {
  const entry = elementwise(id, spec);
  const op: Binary = fixed(entry, (x: ArrayLike, y: ArrayLike): Value => apply(op, together(id, [x, y], spec.operands)));
  return op;
}

/** An axis counted from 0; negative ones count from the end. */
export function axisOf(operation: string, axis: number, aval: Aval): number {
  const rank = aval.shape.length;
  if (typeof axis !== 'number')
    throw argumentWrong(operation, `${describe(axis)} as an axis of ${printAval(aval)}`, 'an axis is a whole number');
  const at = axis < 0 ? axis + rank : axis;
  if (!Number.isInteger(at) || at < 0 || at >= rank) throw axisOutOfRange(operation, axis, printAval(aval));
  return at;
}

/** Numbers of a parameter that is a list of them. */
export const numbers = (parameter: unknown): readonly number[] => parameter as readonly number[];
