/**
 * Names for things that have no function: `newaxis`.
 *
 * Depends on: nothing.
 */
/** In an index: a new axis of extent 1. */
export const newaxis = null;
