/**
 * Positions along an axis, as people give them: negative ones count from the end.
 *
 * Depends on: apply, elementwise.
 */
import { lift, type ArrayLike } from './apply.ts';
import { where } from './elementwise.ts';
import type { Value } from './value.ts';

/** The same positions counted from the front, as int32. */
export const fromFront = (index: Value, extent: number): Value => {
  const whole = index.astype('int32');
  return index.dtype === 'uint32' ? whole : where(whole.less(0), whole.add(extent), whole);
};

/** One position, which may be a number. */
export const startFromFront = (start: ArrayLike, extent: number): Value =>
  typeof start === 'number' ? lift(start < 0 ? start + extent : start).astype('int32') : fromFront(lift(start), extent).reshape([]);
