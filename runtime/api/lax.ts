/**
 * `lax`: primitives, convolution, control flow, and sums over the lanes of a `pmap`.
 *
 * Depends on: functions.
 */
export * from '../functions/lax.ts';
