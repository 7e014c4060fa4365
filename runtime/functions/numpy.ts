/**
 * `numpy`: every function under NumPy's name, in jax-js's spelling.
 *
 * Depends on: functions.
 */
export * from './creation.ts';
export * from './math.ts';
export * from './shaping.ts';
export * from './reductions.ts';
export * from './linear.ts';
export { argsort, sort, take, takeAlongAxis, searchsorted, isin, median } from './sorting.ts';
export * from './windows.ts';
export { crossProduct as cross } from './products.ts';
export * as linalg from './linalg.ts';
export * as fft from './fft.ts';
