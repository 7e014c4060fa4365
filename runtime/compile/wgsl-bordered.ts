/**
 * How elements of a bordered factor are read: where a condition holds, and the border's number elsewhere.
 *
 * Places and conditions are sums of a part for the row or column and a part for the depth. What belongs to one of them is
 * computed once for it; in the loop over the depth stand the sums, the comparisons and one selection for each element.
 * Depends on: ops, code, factor, wgsl-language, kernel.
 */
import { constant, type Scalar } from '../ops/scalar.ts';
import type { Writer } from './code.ts';
import { placeOf } from './factor.ts';
import type { Factor } from './kernel.ts';
import { mapScalar } from './scalar-walk.ts';
import { loaded, type Slabs } from './wgsl-language.ts';

/** Names of rows or columns, and of depths, as text that stands before the lines that are made. */
export interface Points {
  readonly axis: 1 | 2;
  readonly frees: readonly string[];
  readonly k: symbol;
  readonly depths: readonly string[];
}

export interface BorderedLines {
  /** Lines for each free coordinate, outside the loop over the depth. */
  readonly before: readonly string[];
  /** Lines for each depth, with `NAMEd_f` as the element at depth d and free coordinate f. */
  readonly inside: readonly string[];
}

export const isBordered = ({ border, mixed }: Factor): boolean => border !== undefined || mixed !== undefined;

export function borderedLines(factor: Factor, name: string, { axis, frees, k, depths }: Points, slabs: Slabs, code: Writer): BorderedLines {
  const symbolFor = (text: string): symbol => {
    const symbol = Symbol(text);
    code.bind(symbol, text);
    return symbol;
  };
  const freeSymbols = frees.map(symbolFor);
  const depthSymbols = depths.map(symbolFor);
  const atFree = freeSymbols.map((symbol) => replacing((one) => one.kind === 'coordinate' && one.axis === axis, symbol));
  const atDepth = depthSymbols.map((symbol) => replacing((one) => one.kind === 'variable' && one.variable === k, symbol));
  const place = placeOf(factor);
  code.open(freeSymbols);
  code.open(depthSymbols);
  depths.forEach((_, d) =>
    frees.forEach((_text, f) => {
      const valueAt = (scalar: Scalar): string => code.value(atDepth[d]!(atFree[f]!(scalar)));
      const element = loaded(factor.operand, valueAt(place), 'float32', false, slabs);
      code.line(`let ${name}${d}_${f} = ${bordered(factor, element, valueAt)};`);
    }),
  );
  const inside = code.close();
  return { before: code.close(), inside };
}

const bordered = ({ border }: Factor, element: string, textOf: (scalar: Scalar) => string): string =>
  border === undefined ? element : `select(${textOf(constant(border.value, 'float32'))}, ${element}, ${textOf(border.inside)})`;

/** Puts a variable in the place of a leaf; what has no such leaf stays the node that it was, and is written once. */
function replacing(isLeaf: (one: Scalar) => boolean, symbol: symbol): (scalar: Scalar) => Scalar {
  const memo = new Map<Scalar, Scalar>();
  const leaf: Scalar = { kind: 'variable', variable: symbol, dtype: 'int32' };
  return (scalar) => mapScalar(scalar, (one) => (isLeaf(one) ? leaf : one), memo);
}
