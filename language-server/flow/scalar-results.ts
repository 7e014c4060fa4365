/**
 * Functions that yield a single number whatever their arguments are: all they return is a reduction over everything.
 *
 * Depends on: known-calls, libraries, lower/ir.
 */
import { isElementwise, isReduction } from '../libraries/kinds.ts';
import type { Local, LoweredFunction } from '../lower/ir.ts';
import { placesOf, writerOf, type Place } from './known-calls.ts';

/** Does every `return` hand out a reduction that names no axis, or something that is computed of such alone? */
export function yieldsScalar(fn: LoweredFunction): boolean {
  const places = placesOf(fn);
  const ends = fn.blocks.flatMap(({ end }) => (end.kind === 'return' && end.value !== undefined ? [end.value] : []));
  return ends.length > 0 && ends.every((local) => isScalar(places, local, 8));
}

function isScalar(places: readonly Place[], local: Local, depth: number): boolean {
  const made = writerOf(places, local);
  if (depth === 0) return false;
  if (made?.kind === 'copy') return isScalar(places, made.from, depth - 1);
  if (made?.kind === 'literal') return typeof made.value === 'number';
  if (made?.kind !== 'call' || made.callee.kind !== 'library' || made.callee.library === 'standard') return false;
  const given = made.arguments.map((argument) => argument.local);
  if (isReduction(made.callee.name)) return given.length === (made.receiver === undefined || made.callee.name.startsWith('numpy.') ? 1 : 0);
  if (!isElementwise(made.callee.name)) return false;
  const operands = made.receiver === undefined || made.callee.name.startsWith('numpy.') ? given : [made.receiver, ...given];
  return operands.length > 0 && operands.every((operand) => isScalar(places, operand, depth - 1));
}
