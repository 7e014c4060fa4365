/**
 * What products of every shape have in common: indices as text, and what follows a sum.
 *
 * Depends on: core, ops, code, lanes, wgsl-language, wgsl, kernel.
 */
import { linear } from '../ops/arithmetic.ts';
import { coordinate, type Scalar } from '../ops/scalar.ts';
import { makeCode, type Writer } from './code.ts';
import type { Contraction, Kernel } from './kernel.ts';
import { fourLanes, makeVectors } from './lanes.ts';
import { mapScalar } from './scalar-walk.ts';
import { boundsOf } from './wgsl.ts';
import { stored, wgslLanguage, type Slabs } from './wgsl-language.ts';

/** Components of a vector. */
export const lettersOf = 'xyzw';

/** An index with one leaf replaced by text. */
export function textAt(scalar: Scalar, isLeaf: (one: Scalar) => boolean, text: string, code: Writer): string {
  const symbol = Symbol('leaf');
  code.bind(symbol, text);
  const replaced = mapScalar(scalar, (one) => (isLeaf(one) ? { kind: 'variable', variable: symbol, dtype: 'int32' } : one));
  return plainText(replaced, (symbol_) => (symbol_ === symbol ? text : undefined)) ?? code.value(replaced);
}

/** Sums and products as one expression: nothing is defined for it, so it can stand anywhere. */
function plainText(scalar: Scalar, nameOf: (symbol: symbol) => string | undefined): string | undefined {
  switch (scalar.kind) {
    case 'constant':
      return `${scalar.value}`;
    case 'variable':
      return nameOf(scalar.variable);
    case 'apply': {
      const operands = scalar.operands.map((one) => plainText(one, nameOf));
      return operands.some((one) => one === undefined)
        ? undefined
        : scalar.apply.wgsl(operands as string[], scalar.dtype, ['int32', 'int32']);
    }
    case 'coordinate':
      return `c${scalar.axis}`;
    case 'load':
    case 'choose':
    case 'loop':
      return undefined;
  }
}

/** `finish(c0, c1, c2, sum)`: what follows the product, and the stores; c2 counts fours when results are vectors. */
export function finishText(kernel: Kernel, { sum }: Contraction, slabs: Slabs, needs: Map<string, string>, fours: boolean): string[] {
  const { extents, results, operands } = kernel;
  const code = makeCode(wgslLanguage(slabs, needs));
  code.open([0, 1, 2, sum]);
  code.bind(sum, 'sum');
  const vectors = makeVectors(boundsOf(kernel));
  const positionIn = fours ? [extents[0]!, extents[1]!, extents[2]! / 4] : extents;
  const at = code.value(linear([coordinate(0), coordinate(1), coordinate(2)], positionIn));
  const whole = results.map(({ value }) => value);
  const lanes = fours ? fourLanes(whole, 2, vectors, sum) : undefined;
  if (fours && lanes === undefined) throw new Error('internal: runtime/compile: an epilogue with loops of different lengths');
  const values = lanes === undefined ? whole.map(code.value) : lanes.map((four) => four.map(code.value));
  results.forEach(({ aval }, i) => code.line(stored(operands.length + i, at, values[i]!, aval.dtype, slabs)));
  const lines = code.close();
  return [`fn finish(c0: i32, c1: i32, c2: i32, sum: ${fours ? 'vec4f' : 'f32'}) {`, ...code.scopes[0]!.lines, ...lines, '}'];
}
