/**
 * The value of a scalar expression at given coordinates, by walking it: the reference for printed kernels, and what runs
 * where making functions from text is forbidden.
 *
 * Every node is rounded to its dtype, so the walk gives the bits that the printed text gives. Depends on: core, ops.
 */
import type { DType } from '../core/dtype.ts';
import type { Scalar } from '../ops/scalar.ts';

export interface Surroundings {
  readonly coordinates: readonly number[];
  readonly load: (operand: number, index: readonly number[]) => number;
}

export const rounded = (value: number, dtype: DType): number => {
  switch (dtype) {
    case 'float32':
      return Math.fround(value);
    case 'float16':
      return roundToHalf(value);
    case 'int32':
      return value | 0;
    case 'uint32':
      return value >>> 0;
    case 'bool':
      return value ? 1 : 0;
  }
};

export function evaluate(scalar: Scalar, around: Surroundings): number {
  const variables = new Map<symbol, number>();
  const memo = new Map<Scalar, number>();
  const walk = (one: Scalar): number => {
    switch (one.kind) {
      case 'constant':
        return rounded(one.value, one.dtype);
      case 'coordinate':
        return around.coordinates[one.axis]!;
      case 'variable':
        return variables.get(one.variable)!;
      case 'load':
        return around.load(one.operand, one.index.map(walk));
      case 'choose':
        return walk(one.condition) ? walk(one.then) : walk(one.otherwise);
      case 'apply': {
        // Memo only outside of loops: inside, the same node has many values.
        const known = variables.size === 0 ? memo.get(one) : undefined;
        if (known !== undefined) return known;
        const value = rounded(one.apply.host(...one.operands.map(walk)), one.dtype);
        if (variables.size === 0) memo.set(one, value);
        return value;
      }
      case 'loop': {
        const extent = walk(one.extent);
        const former = one.state.map(({ variable }) => variables.get(variable));
        const start = one.state.map(({ initial }) => walk(initial));
        one.state.forEach(({ variable }, i) => variables.set(variable, start[i]!));
        for (let counter = 0; counter < extent; counter++) {
          variables.set(one.counter, counter);
          const next = one.state.map(({ next: expression }) => walk(expression));
          one.state.forEach(({ variable }, i) => variables.set(variable, next[i]!));
        }
        const value = walk(one.result);
        variables.delete(one.counter);
        one.state.forEach(({ variable }, i) => (former[i] === undefined ? variables.delete(variable) : variables.set(variable, former[i])));
        return value;
      }
    }
  };
  return walk(scalar);
}

const halfBuffer = new DataView(new ArrayBuffer(4));

/** The nearest value of two bytes, ties to even. */
export function roundToHalf(value: number): number {
  return halfToNumber(numberToHalf(value));
}

export function numberToHalf(value: number): number {
  halfBuffer.setFloat32(0, value);
  const bits = halfBuffer.getUint32(0);
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x477ff000) return sign | 0x7c00;
  if (magnitude >= 0x38800000) {
    const rest = magnitude - 0x38000000;
    return sign | ((rest + 0x0fff + ((rest >>> 13) & 1)) >>> 13);
  }
  if (magnitude < 0x33000000) return sign;
  const shift = 126 - (magnitude >>> 23);
  const mantissa = (magnitude & 0x7fffff) | 0x800000;
  const half = mantissa >>> shift;
  const left = mantissa & ((1 << shift) - 1);
  const tie = 1 << (shift - 1);
  return sign | (left > tie || (left === tie && (half & 1) === 1) ? half + 1 : half);
}

export function halfToNumber(half: number): number {
  const exponent = (half >>> 10) & 0x1f;
  const fraction = half & 0x3ff;
  const magnitude =
    exponent === 0x1f
      ? fraction === 0
        ? Infinity
        : NaN
      : exponent === 0
        ? fraction * 2 ** -24
        : (1 + fraction / 1024) * 2 ** (exponent - 15);
  return half & 0x8000 ? -magnitude : magnitude;
}
