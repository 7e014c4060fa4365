/**
 * Every error that a user can meet, one function each.
 *
 * A message says what happened to which array, where it was done, and what to do. `code` is the id of the static rule
 * where there is one, and the error's anchor in the README. Depends on: nothing.
 */
export class TidemarkError extends Error {
  readonly code: string;
  constructor(code: string, what: string, notes: readonly string[], fix: string) {
    super([what, ...notes.map((note) => `  - ${note}`), `fix: ${fix}  [${code}]`].join('\n'));
    this.name = 'TidemarkError';
    this.code = code;
  }
}

/** An array was used after it was donated or disposed. */
export class ArrayDeletedError extends TidemarkError {
  override readonly name = 'ArrayDeletedError';
}

/** A donation that can't be carried out; nothing was executed and every argument is alive. */
export class DonationError extends TidemarkError {
  override readonly name = 'DonationError';
}

/** Shapes or dtypes that don't go together. */
export class ShapeError extends TidemarkError {
  override readonly name = 'ShapeError';
}

/** No room for the request; the device stays usable and everything alive stays intact. */
export class OutOfMemoryError extends TidemarkError {
  override readonly name = 'OutOfMemoryError';
}

/** The device was lost or destroyed. */
export class DeviceLostError extends TidemarkError {
  override readonly name = 'DeviceLostError';
}

export function readAfterDonation(array: string, donatedTo: string, donatedAt: string, madeAt: string): ArrayDeletedError {
  return new ArrayDeletedError(
    'use-after-donate',
    `${array} was read after its buffer was donated`,
    [`made at ${madeAt}`, `donated to ${donatedTo} at ${donatedAt}`],
    'read it before that call, or leave that argument out of donateArgnums',
  );
}

export function readAfterDispose(array: string, disposedAt: string, madeAt: string): ArrayDeletedError {
  return new ArrayDeletedError(
    'use-after-dispose',
    `${array} was read after it was disposed`,
    [`made at ${madeAt}`, `disposed at ${disposedAt}`],
    'dispose it after its last use',
  );
}

export function shapesDisagree(operation: string, shapes: readonly string[], why: string): ShapeError {
  return new ShapeError('shape', `\`${operation}\` got ${shapes.join(' and ')}: ${why}`, [], 'make the shapes agree');
}

export function axisOutOfRange(operation: string, axis: number, array: string): ShapeError {
  return new ShapeError('shape', `\`${operation}\` got axis ${axis} for ${array}, which has no such axis`, [], 'count axes from 0, or from -1 at the end');
}

export function wrongDType(operation: string, array: string, wanted: string): ShapeError {
  return new ShapeError('dtype', `\`${operation}\` got ${array}, and needs ${wanted}`, [], 'convert it with astype');
}

export function tracerEscaped(array: string, traced: string, madeAt: string): TidemarkError {
  return new TidemarkError(
    'tracer-escape',
    `${array} was made while \`${traced || 'a function'}\` was traced, and is used after that`,
    [`made at ${madeAt}`],
    'return it from the traced function instead of storing it',
  );
}
