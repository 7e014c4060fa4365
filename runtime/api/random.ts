/**
 * `random`: numbers from keys; the same seeds give JAX's numbers.
 *
 * Depends on: functions.
 */
export * from '../functions/random.ts';
