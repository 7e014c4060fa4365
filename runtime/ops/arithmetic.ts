/**
 * Small scalar expressions: what index computations and loops of op bodies are written with.
 *
 * Constants are folded as the expression is built, so the index of a transposed slice stays one addition.
 * Depends on: scalar.
 */
import type { DType } from '../core/dtype.ts';
import { coordinate, dtypeOf, type Scalar, type ScalarFunction } from './scalar.ts';

export const scalarFunction = (
  name: string,
  flops: number,
  wgsl: ScalarFunction['wgsl'],
  host: ScalarFunction['host'],
  needs?: Readonly<Record<string, string>>,
): ScalarFunction => ({ name, flops, wgsl, host, ...(needs ? { needs } : {}) });

const infix = (name: string, sign: string, host: ScalarFunction['host']): ScalarFunction =>
  scalarFunction(name, 1, ([a, b]) => `(${a} ${sign} ${b})`, host);

export const intAdd = infix('intAdd', '+', (a, b) => (a! + b!) | 0);
export const intSub = infix('intSub', '-', (a, b) => (a! - b!) | 0);
export const intMul = infix('intMul', '*', (a, b) => Math.imul(a!, b!));
export const intDiv = infix('intDiv', '/', (a, b) => (a! / b!) | 0);
export const intMod = infix('intMod', '%', (a, b) => a! % b!);
const intMin = scalarFunction(
  'intMin',
  1,
  ([a, b]) => `min(${a}, ${b})`,
  (a, b) => Math.min(a!, b!),
);
const intMax = scalarFunction(
  'intMax',
  1,
  ([a, b]) => `max(${a}, ${b})`,
  (a, b) => Math.max(a!, b!),
);
const below = infix('below', '<', (a, b) => (a! < b! ? 1 : 0));
const equals = infix('equals', '==', (a, b) => (a === b ? 1 : 0));
export const isInsideFunction = scalarFunction(
  'isInside',
  1,
  ([a, extent]) => `(u32(${a}) < u32(${extent}))`,
  (a, extent) => (a! >= 0 && a! < extent! ? 1 : 0),
);
const both = infix('both', '&', (a, b) => a! & b!);
const either = infix('either', '|', (a, b) => a! | b!);

export const int = (value: number): Scalar => ({ kind: 'constant', value, dtype: 'int32' });
const known = (x: Scalar): number | undefined => (x.kind === 'constant' ? x.value : undefined);

export const applied = (apply: ScalarFunction, operands: readonly Scalar[], dtype: DType): Scalar => ({
  kind: 'apply',
  apply,
  operands,
  dtype,
});

function folded(apply: ScalarFunction, a: Scalar, b: Scalar, dtype: DType = 'int32'): Scalar {
  const x = known(a);
  const y = known(b);
  return x !== undefined && y !== undefined ? { kind: 'constant', value: apply.host(x, y), dtype } : applied(apply, [a, b], dtype);
}

export const added = (a: Scalar, b: Scalar): Scalar => (known(a) === 0 ? b : known(b) === 0 ? a : folded(intAdd, a, b));
export const less = (a: Scalar, b: Scalar): Scalar => (known(b) === 0 ? a : folded(intSub, a, b));
export const scaled = (a: Scalar, b: Scalar): Scalar =>
  known(a) === 0 || known(b) === 0 ? int(0) : known(a) === 1 ? b : known(b) === 1 ? a : folded(intMul, a, b);
export const divided = (a: Scalar, by: number): Scalar => (by === 1 ? a : folded(intDiv, a, int(by)));
export const rest = (a: Scalar, by: number): Scalar => (by === 1 ? int(0) : folded(intMod, a, int(by)));
export const atMostOf = (a: Scalar, b: Scalar): Scalar => folded(intMin, a, b);
export const atLeastOf = (a: Scalar, b: Scalar): Scalar => folded(intMax, a, b);
export const isBelow = (a: Scalar, b: Scalar): Scalar => folded(below, a, b, 'bool');
export const isEqual = (a: Scalar, b: Scalar): Scalar => folded(equals, a, b, 'bool');
export const and = (a: Scalar, b: Scalar): Scalar => (known(a) === 1 ? b : known(b) === 1 ? a : folded(both, a, b, 'bool'));
export const or = (a: Scalar, b: Scalar): Scalar => folded(either, a, b, 'bool');
/** 0 <= a < extent, as one comparison: a negative number is a large one without its sign. */
export const isInside = (a: Scalar, extent: number): Scalar => folded(isInsideFunction, a, int(extent), 'bool');
export const clamped = (a: Scalar, extent: number): Scalar => atMostOf(atLeastOf(a, int(0)), int(Math.max(0, extent - 1)));

export const choose = (condition: Scalar, then: Scalar, otherwise: Scalar): Scalar => ({
  kind: 'choose',
  condition,
  then,
  otherwise,
  dtype: dtypeOf(then),
});

export const coordinatesOf = (rank: number): readonly Scalar[] => Array.from({ length: rank }, (_, axis) => coordinate(axis));

/** Offset of `index` in an array of `shape`, row by row. */
export function linear(index: readonly Scalar[], shape: readonly number[]): Scalar {
  return index.reduce<Scalar>((sum, at, axis) => added(scaled(sum, int(shape[axis]!)), at), int(0));
}

/** The index in an array of `shape` that lies at `offset`. */
export function unravelled(offset: Scalar, shape: readonly number[]): readonly Scalar[] {
  const index: Scalar[] = [];
  let left = offset;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    const extent = shape[axis]!;
    index.unshift(axis === 0 ? left : extent === 1 ? int(0) : rest(left, extent));
    left = extent === 1 ? left : divided(left, extent);
  }
  return shape.length === 0 ? [] : index;
}

/**
 * NaN is told by its bits: compilers of shaders may assume that x == x. Conditions are joined by `|` and `&`: each `||` would
 * be a branch, and a few dozen of them in a loop are more than some compilers end with.
 */
export const nanText = (x: string, dtype: DType): string =>
  dtype === 'float16' ? `(${x} != ${x})` : `((bitcast<u32>(${x}) & 0x7fffffffu) > 0x7f800000u)`;
