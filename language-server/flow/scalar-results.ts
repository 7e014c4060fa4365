/**
 * Functions that yield a single number whatever their arguments are: all they return is a reduction over everything.
 *
 * Depends on: known-calls, lower/ir.
 */
import type { LoweredFunction } from '../lower/ir.ts';
import { placesOf, writerOf } from './known-calls.ts';

const reductions = /\.(mean|sum|prod|max|min|argmax|argmin)$/;

/** Does every `return` hand out a reduction that names no axis? */
export function yieldsScalar(fn: LoweredFunction): boolean {
  const places = placesOf(fn);
  const ends = fn.blocks.flatMap(({ end }) => (end.kind === 'return' && end.value !== undefined ? [end.value] : []));
  return (
    ends.length > 0 &&
    ends.every((local) => {
      const made = writerOf(places, local);
      return (
        made?.kind === 'call' &&
        made.callee.kind === 'library' &&
        made.callee.library !== 'standard' &&
        reductions.test(made.callee.name) &&
        made.arguments.length === (made.receiver === undefined || made.callee.name.startsWith('numpy.') ? 1 : 0)
      );
    })
  );
}
