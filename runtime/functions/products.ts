/**
 * Products of vectors and of chains of matrices.
 *
 * Depends on: core, ops, functions.
 */
import { printAval } from '../core/aval.ts';
import { argumentWrong, shapesDisagree } from '../core/errors.ts';
import { composed, lift, type ArrayLike } from '../ops/apply.ts';
import { axisOf } from '../ops/family.ts';
import { matmul } from '../ops/matmul.ts';
import { listArg, optionsOf } from '../ops/options.ts';
import type { Value } from '../ops/value.ts';
import { stack } from './shaping.ts';

/** The product of matrices, in the order that needs the fewest multiplications. */
export const multiDot = composed('multiDot', (arrays: readonly ArrayLike[]): Value => {
  const given = listArg('multiDot', arrays).map(lift);
  if (given.length < 2) throw argumentWrong('multiDot', `${given.length} arrays`, 'it takes two or more');
  return chainProduct(given);
});
/** The cheapest bracketing by the textbook's table (Godbole 1973). Vectors stand at the ends only. */
function chainProduct(given: readonly Value[]): Value {
  const n = given.length;
  given.forEach((x, k) => {
    if (x.ndim !== 2 && !(x.ndim === 1 && (k === 0 || k === n - 1)))
      throw shapesDisagree(
        'multiDot',
        given.map((own) => printAval(own.aval)),
        'it takes matrices, and vectors at the ends',
      );
  });
  const sides = [
    given[0]!.ndim === 1 ? 1 : given[0]!.shape[0]!,
    ...given.map((x, k) => (x.ndim === 2 ? x.shape[1]! : k === 0 ? x.shape[0]! : 1)),
  ];
  const costs = new Map<string, { readonly cost: number; readonly cut: number }>();
  const best = (from: number, to: number): { readonly cost: number; readonly cut: number } => {
    if (from === to) return { cost: 0, cut: from };
    const key = `${from} ${to}`;
    const known = costs.get(key);
    if (known !== undefined) return known;
    const options = Array.from({ length: to - from }, (_, k) => ({
      cut: from + k,
      cost: best(from, from + k).cost + best(from + k + 1, to).cost + sides[from]! * sides[from + k + 1]! * sides[to + 1]!,
    }));
    const found = options.reduce((a, b) => (b.cost < a.cost ? b : a));
    costs.set(key, found);
    return found;
  };
  const product = (from: number, to: number): Value => {
    if (from === to) return given[from]!;
    const { cut } = best(from, to);
    return matmul(product(from, cut), product(cut + 1, to));
  };
  return product(0, n - 1);
}

export interface CrossOptions {
  /** The axis of vectors in x, y and the result; `axis` is all three at once. */
  readonly axisa?: number;
  readonly axisb?: number;
  readonly axisc?: number;
  readonly axis?: number;
}
/** The cross product of vectors of three elements, or of two (a plane: the result is a number). */
export const crossProduct = composed('cross', (x: ArrayLike, y: ArrayLike, options: CrossOptions = {}): Value => {
  const given = optionsOf('cross', options, { axisa: -1, axisb: -1, axisc: -1, axis: undefined as number | undefined });
  const inLast = (v: Value, axis: number): Value => v.moveAxis(axisOf('cross', axis, v.aval), v.ndim - 1);
  const [a, b] = [inLast(lift(x), given.axis ?? given.axisa), inLast(lift(y), given.axis ?? given.axisb)];
  const [n, m] = [a.shape[a.ndim - 1]!, b.shape[b.ndim - 1]!];
  if (n < 2 || n > 3 || m < 2 || m > 3)
    throw shapesDisagree('cross', [printAval(a.aval), printAval(b.aval)], 'vectors have two or three elements');
  const part = (v: Value, k: number): Value => v.takeSlice(v.ndim - 1, k);
  const term = (i: number, j: number): Value => {
    const terms = [...(i < n && j < m ? [part(a, i).mul(part(b, j))] : []), ...(j < n && i < m ? [part(a, j).mul(part(b, i)).neg()] : [])];
    return terms.reduce((sumOf, own) => sumOf.add(own));
  };
  if (n === 2 && m === 2) return term(0, 1);
  const result = stack([term(1, 2), term(2, 0), term(0, 1)], -1);
  return result.moveAxis(result.ndim - 1, axisOf('cross', given.axis ?? given.axisc, result.aval));
});
/** `linalg.cross`: of vectors with three elements along one axis. */
export const cross = composed('cross', (x: ArrayLike, y: ArrayLike, axis: number = -1): Value => {
  const [a, b] = [lift(x), lift(y)];
  if (a.shape[axisOf('cross', axis, a.aval)] !== 3 || b.shape[axisOf('cross', axis, b.aval)] !== 3)
    throw shapesDisagree('cross', [printAval(a.aval), printAval(b.aval)], `axis ${axis} needs three elements in both`);
  return crossProduct(a, b, { axis });
});
