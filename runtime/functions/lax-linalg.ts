/**
 * `lax.linalg`: factorisations under their own names.
 *
 * Depends on: functions.
 */
export { cholesky, eigh, lu, qr, svd, triangularSolve } from './linalg.ts';
