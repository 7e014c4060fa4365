/**
 * `np`: arrays, functions of arrays, dtypes and constants.
 *
 * Depends on: ops, functions.
 */
export * from '../functions/numpy.ts';
export { DType, newaxis } from './names.ts';
export { Array } from '../ops/value.ts';
export type { ArrayLike } from '../ops/apply.ts';
