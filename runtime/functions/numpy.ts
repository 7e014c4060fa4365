/**
 * `numpy`: every function under NumPy's name, in jax-js's spelling.
 *
 * Depends on: functions.
 */
export {
  arange,
  array,
  eye,
  full,
  fullLike,
  geomspace,
  identity,
  linspace,
  logspace,
  ones,
  onesLike,
  tri,
  tril,
  triu,
  zeros,
  zerosLike,
  type ArrayOptions,
  type Nested,
  type Shape,
} from './creation.ts';
export * from './math.ts';
export * from './shaping.ts';
export * from './reductions.ts';
export * from './linear.ts';
export { argsort, sort, take, takeAlongAxis, searchsorted, isin, median } from './sorting.ts';
export * from './windows.ts';
export { crossProduct as cross } from './products.ts';
export * as linalg from './linalg.ts';
export * as fft from './fft.ts';
