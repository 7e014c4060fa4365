/**
 * Arithmetic on coordinates: what bodies of ops build their indices with.
 *
 * Everything that can be folded is folded while it is built, and the functions are known by identity: so the compiler
 * sees that an index is a sum of coordinates with factors, which decides what can be read four elements at a time.
 * `over` and `rest` are for values that are not negative. Depends on: scalar.
 */
import { constant, type Scalar, type ScalarFunction } from './scalar.ts';

const infix = (name: string, sign: string, host: (a: number, b: number) => number): ScalarFunction => ({
  name,
  wgsl: ([a, b]) => `(${a!} ${sign} ${b!})`,
  host,
  flops: 0,
});

export const indexPlus = infix('index plus', '+', (a, b) => a + b);
export const indexMinus = infix('index minus', '-', (a, b) => a - b);
export const indexTimes = infix('index times', '*', (a, b) => Math.imul(a, b));
export const indexOver = infix('index over', '/', (a, b) => Math.trunc(a / b));
export const indexRest = infix('index rest', '%', (a, b) => a % b);
export const indexBelow = infix('index below', '<', (a, b) => (a < b ? 1 : 0));
export const indexAtMost = infix('index at most', '<=', (a, b) => (a <= b ? 1 : 0));
export const indexSame = infix('index same', '==', (a, b) => (a === b ? 1 : 0));
export const indexLeast: ScalarFunction = { name: 'index least', wgsl: ([a, b]) => `min(${a!}, ${b!})`, host: Math.min, flops: 0 };
export const indexMost: ScalarFunction = { name: 'index most', wgsl: ([a, b]) => `max(${a!}, ${b!})`, host: Math.max, flops: 0 };
export const both: ScalarFunction = { name: 'both', wgsl: ([a, b]) => `(${a!} && ${b!})`, host: (a, b) => a && b, flops: 0 };

export const whole = (value: number): Scalar => constant(value, 'int32');

const valueIn = (scalar: Scalar): number | undefined => (scalar.kind === 'constant' ? scalar.value : undefined);

const apply = (fn: ScalarFunction, dtype: 'int32' | 'bool', a: Scalar, b: Scalar): Scalar => {
  const x = valueIn(a);
  const y = valueIn(b);
  return x !== undefined && y !== undefined ? constant(fn.host(x, y), dtype) : { kind: 'apply', apply: fn, operands: [a, b], dtype };
};

export function plus(a: Scalar, b: Scalar): Scalar {
  if (valueIn(a) === 0) return b;
  if (valueIn(b) === 0) return a;
  return apply(indexPlus, 'int32', a, b);
}
export const minus = (a: Scalar, b: Scalar): Scalar => (valueIn(b) === 0 ? a : apply(indexMinus, 'int32', a, b));
export function times(a: Scalar, b: Scalar): Scalar {
  if (valueIn(a) === 0 || valueIn(b) === 1) return a;
  if (valueIn(b) === 0 || valueIn(a) === 1) return b;
  return apply(indexTimes, 'int32', a, b);
}
export const over = (a: Scalar, b: Scalar): Scalar => (valueIn(b) === 1 ? a : apply(indexOver, 'int32', a, b));
export const rest = (a: Scalar, b: Scalar): Scalar => (valueIn(b) === 1 ? whole(0) : apply(indexRest, 'int32', a, b));
export const least = (a: Scalar, b: Scalar): Scalar => apply(indexLeast, 'int32', a, b);
export const most = (a: Scalar, b: Scalar): Scalar => apply(indexMost, 'int32', a, b);
export const below = (a: Scalar, b: Scalar): Scalar => apply(indexBelow, 'bool', a, b);
export const atMost = (a: Scalar, b: Scalar): Scalar => apply(indexAtMost, 'bool', a, b);
export const sameIndex = (a: Scalar, b: Scalar): Scalar => apply(indexSame, 'bool', a, b);

/** Row-major position of `index` in an array of `shape`. */
export const positionOf = (index: readonly Scalar[], shape: readonly number[]): Scalar =>
  index.reduce<Scalar>((position, at, axis) => plus(times(position, whole(shape[axis]!)), shape[axis] === 1 ? whole(0) : at), whole(0));

/** Coordinates in an array of `shape` of the element at row-major `position`. */
export function coordinatesOf(position: Scalar, shape: readonly number[]): Scalar[] {
  const index: Scalar[] = [];
  let left = position;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    const extent = shape[axis]!;
    const outermost = shape.slice(0, axis).every((dim) => dim === 1);
    index.unshift(extent === 1 ? whole(0) : outermost ? left : rest(left, whole(extent)));
    left = over(left, whole(extent));
  }
  return index;
}
