/**
 * Quotients of whole numbers by constants as products and shifts.
 *
 * A processor divides vectors one number at a time, and shaders on software Vulkan do so in every turn of a loop. For
 * 0 <= x <= high and a divisor d, x / d is x · m >> s where m = ceil(2^s / d), as long as x · (m · d - 2^s) < 2^s
 * (Granlund and Montgomery 1994). A divisor that is a power of two needs no bound: only where x is negative do the results
 * differ, and places are asked for a quotient of a negative number only where nothing is read. Depends on: ops, affine.
 */
import { applied, int, intDiv, intMod, less, scalarFunction, scaled } from '../ops/arithmetic.ts';
import type { Scalar } from '../ops/scalar.ts';
import { affineOf, rangeOf, type Bounds } from './affine.ts';

const shift = scalarFunction(
  'shiftRight',
  1,
  ([x, by]) => `(${x} >> u32(${by}))`,
  (x, by) => x! >> by!,
);
const lowBits = scalarFunction(
  'lowBits',
  1,
  ([x, mask]) => `(${x} & ${mask})`,
  (x, mask) => x! & mask!,
);
const productShifted = scalarFunction(
  'productShifted',
  2,
  ([x, by, bits]) => `i32((u32(${x}) * u32(${by})) >> u32(${bits}))`,
  (x, by, bits) => Math.imul(x!, by!) >>> bits!,
);

/** Rewrites an index of a factor: sums, products, quotients and comparisons of coordinates. */
export function withoutDivision(bounds: Bounds): (scalar: Scalar) => Scalar {
  const memo = new Map<Scalar, Scalar>();
  const quotients = new Map<string, Scalar>();
  const rewritten = (scalar: Scalar): Scalar => {
    if (scalar.kind !== 'apply') return scalar;
    const known = memo.get(scalar);
    if (known !== undefined) return known;
    const made = fresh(scalar);
    memo.set(scalar, made);
    return made;
  };
  const fresh = (scalar: Extract<Scalar, { kind: 'apply' }>): Scalar => {
    const operands = scalar.operands.map(rewritten);
    const [of, by] = scalar.operands;
    if ((scalar.apply !== intDiv && scalar.apply !== intMod) || by!.kind !== 'constant') return { ...scalar, operands };
    const quotient = quotientOf(of!, operands[0]!, by!.value);
    if (quotient === undefined) return { ...scalar, operands };
    if (scalar.apply === intDiv) return quotient;
    return isPowerOfTwo(by!.value)
      ? applied(lowBits, [operands[0]!, int(by!.value - 1)], 'int32')
      : less(operands[0]!, scaled(quotient, by!));
  };
  const quotientOf = (former: Scalar, of: Scalar, by: number): Scalar | undefined => {
    const key = `${bounds.keys.of(former)} ${by}`;
    const known = quotients.get(key);
    if (known !== undefined) return known;
    const { low, high } = rangeOf(affineOf(former, bounds), bounds);
    const made = isPowerOfTwo(by)
      ? applied(shift, [of, int(Math.log2(by))], 'int32')
      : low >= 0 && high < 2 ** 31
        ? productOf(of, by, high)
        : undefined;
    if (made !== undefined) quotients.set(key, made);
    return made;
  };
  return rewritten;
}

const isPowerOfTwo = (n: number): boolean => n > 0 && Number.isInteger(Math.log2(n));

/** The least shift that serves; undefined when the product could need more than 32 bits. */
function productOf(of: Scalar, by: number, high: number): Scalar | undefined {
  for (let bits = 1; bits < 32; bits++) {
    const factor = Math.ceil(2 ** bits / by);
    if (high * factor >= 2 ** 32) return undefined;
    if (high * (factor * by - 2 ** bits) < 2 ** bits) return applied(productShifted, [of, int(factor), int(bits)], 'int32');
  }
  return undefined;
}
