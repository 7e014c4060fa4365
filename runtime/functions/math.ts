/**
 * Elementwise functions of `numpy`, under NumPy's names.
 *
 * Most are entries of the table; the rest are composed of them. Depends on: core, ops.
 */
import { isDType, isFloat, promote, type DType, type Typed } from '../core/dtype.ts';
import { argumentWrong, describe } from '../core/errors.ts';
import { commonType, composed, floatType, lift, type ArrayLike } from '../ops/apply.ts';
import * as compare from '../ops/compare.ts';
import * as e from '../ops/elementwise.ts';
import { typed } from '../ops/family.ts';
import { listArg, optionsOf } from '../ops/options.ts';
import { Value } from '../ops/value.ts';
import { dtypeArg, type DTypeArg } from '../ops/value.ts';

export {
  abs,
  acos,
  acosh,
  asin,
  asinh,
  atan,
  atan2,
  atanh,
  ceil,
  cos,
  cosh,
  exp,
  expm1,
  floor,
  log,
  log1p,
  maximum,
  minimum,
  sin,
  sinh,
  sqrt,
  tan,
  tanh,
  trunc,
  where,
} from '../ops/elementwise.ts';
export {
  abs as absolute,
  acos as arccos,
  acosh as arccosh,
  asin as arcsin,
  asinh as arcsinh,
  atan as arctan,
  atan2 as arctan2,
  atanh as arctanh,
} from '../ops/elementwise.ts';
export {
  add,
  sub as subtract,
  mul as multiply,
  div as divide,
  div as trueDivide,
  neg as negative,
  rsqrt,
  erf,
} from '../ops/elementwise.ts';
export {
  equal,
  notEqual,
  greater,
  greaterEqual,
  lessThan as less,
  lessEqual,
  isNan as isnan,
  isFinite as isfinite,
} from '../ops/compare.ts';
export {
  bitAnd as bitwiseAnd,
  bitOr as bitwiseOr,
  bitXor as bitwiseXor,
  not as invert,
  not as bitwiseNot,
  not as bitwiseInvert,
} from '../ops/compare.ts';
export {
  shiftLeft as leftShift,
  shiftLeft as bitwiseLeftShift,
  shiftRight as rightShift,
  shiftRight as bitwiseRightShift,
} from '../ops/compare.ts';

const { add, sub, mul, div, where, sqrt, exp, log, floor, abs, maximum, minimum } = { ...e };

/** Operands in the float type in which they meet. */
const floats = (...operands: readonly ArrayLike[]): Value[] => {
  const values = operands.map(lift);
  const type = floatType(commonType(values));
  return values.map((x) => typed(x, type));
};
/** Operands in the number type in which they meet: bools count as int32. */
const counted = (...operands: readonly ArrayLike[]): Value[] => {
  const values = operands.map(lift);
  const type = commonType(values);
  return values.map((x) => typed(x, type.dtype === 'bool' ? { dtype: 'int32' } : type));
};

const asBool = (x: ArrayLike): Value => {
  const value = lift(x);
  return value.dtype === 'bool' ? value : compare.notEqual(value, 0);
};
export const logicalAnd = composed('logicalAnd', (x: ArrayLike, y: ArrayLike): Value => compare.bitAnd(asBool(x), asBool(y)));
export const logicalOr = composed('logicalOr', (x: ArrayLike, y: ArrayLike): Value => compare.bitOr(asBool(x), asBool(y)));
export const logicalXor = composed('logicalXor', (x: ArrayLike, y: ArrayLike): Value => compare.bitXor(asBool(x), asBool(y)));
export const logicalNot = composed('logicalNot', (x: ArrayLike): Value => compare.not(asBool(x)));

export const positive = composed('positive', (x: ArrayLike): Value => lift(x));
export const square = composed('square', (x: ArrayLike): Value => {
  const value = lift(x);
  return mul(value, value);
});
export const reciprocal = composed('reciprocal', (x: ArrayLike): Value => div(1, x));
export const cbrt = composed('cbrt', (x: ArrayLike): Value => mul(e.sign(x), e.pow(abs(x), lift(1 / 3))));
/** -1, 0 or 1, and NaN for NaN. */
export const sign = composed('sign', (x: ArrayLike): Value => e.sign(x));
export const exp2 = composed('exp2', (x: ArrayLike): Value => exp(mul(x, Math.LN2)));
export const log2 = composed('log2', (x: ArrayLike): Value => mul(log(x), Math.LOG2E));
export const log10 = composed('log10', (x: ArrayLike): Value => mul(log(x), Math.LOG10E));
/** To the nearest whole number, as a float; halves go to the even side. */
export const rint = composed('rint', (x: ArrayLike): Value => e.round(floats(x)[0]!));
/** x to the power y; bools count as int32. A whole number as exponent is exact. */
export const power = composed(
  'power',
  (x: ArrayLike, y: ArrayLike): Value => {
    const [a, b] = [x, y].map((own) => (typeof own !== 'number' && lift(own).dtype === 'bool' ? lift(own).astype('int32') : own));
    return e.pow(a!, b!);
  },
  'values',
);
export { power as pow };
/** How many bits are set in the absolute value of each whole number. int32. */
export const bitwiseCount = composed('bitwiseCount', (x: ArrayLike): Value => {
  const [value] = compare.wholes('bitwiseCount', [x]) as [Value];
  const whole = value.dtype === 'bool' ? value.astype('int32') : value;
  return compare.bitCount(whole.dtype === 'uint32' ? whole : abs(whole)).astype('int32');
});
/** Rounded to so many decimals; halves go to the even side. */
export const round = composed('round', (x: ArrayLike, decimals: number = 0): Value => {
  if (!Number.isInteger(decimals)) throw argumentWrong('round', `${describe(decimals)} as \`decimals\``, 'it is a whole number');
  const value = lift(x);
  const rounded = decimals === 0 ? e.round(value) : div(e.round(mul(value, 10 ** decimals)), 10 ** decimals);
  return isFloat(value.dtype) || decimals === 0 ? rounded : decimals > 0 ? value : rounded.astype(value.dtype);
});
export { round as around };
export const deg2rad = composed('deg2rad', (x: ArrayLike): Value => mul(x, Math.PI / 180));
export const rad2deg = composed('rad2deg', (x: ArrayLike): Value => mul(x, 180 / Math.PI));
export { deg2rad as radians, rad2deg as degrees };
export const hypot = composed('hypot', (x: ArrayLike, y: ArrayLike): Value => {
  const [a, b] = floats(x, y).map((part) => abs(part)) as [Value, Value];
  const [large, small] = [maximum(a, b), minimum(a, b)];
  const ratio = div(small, where(large.equal(0), 1, large));
  return mul(large, sqrt(add(mul(ratio, ratio), 1)));
});
export const sinc = composed('sinc', (x: ArrayLike): Value => {
  const angle = mul(floats(x)[0]!, Math.PI);
  const zero = angle.equal(0);
  return where(zero, 1, div(e.sin(angle), where(zero, 1, angle)));
});
export const logaddexp = composed('logaddexp', (x: ArrayLike, y: ArrayLike): Value => {
  const [a, b] = floats(x, y) as [Value, Value];
  const top = maximum(a, b);
  const distance = abs(sub(a, b));
  return where(compare.equal(a, b), add(top, Math.LN2), add(top, e.log1p(exp(e.neg(distance)))));
});
export const logaddexp2 = composed('logaddexp2', (x: ArrayLike, y: ArrayLike): Value => {
  const [a, b] = floats(x, y) as [Value, Value];
  return mul(logaddexp(mul(a, Math.LN2), mul(b, Math.LN2)), Math.LOG2E);
});
export const heaviside = composed('heaviside', (x: ArrayLike, half: ArrayLike): Value => {
  const [a, h] = floats(x, half) as [Value, Value];
  return where(
    compare.isNan(a),
    a,
    where(compare.lessThan(a, 0), typed(lift(0), a.aval), where(compare.equal(a, 0), h, typed(lift(1), a.aval))),
  );
});
export const signbit = composed('signbit', (x: ArrayLike): Value => {
  const value = lift(x);
  if (!isFloat(value.dtype)) return compare.lessThan(value, 0);
  return compare.notEqual(compare.bitAnd(e.bitcastTo(value.astype('float32'), 'uint32'), 0x80000000), 0);
});
export const copysign = composed('copysign', (x: ArrayLike, y: ArrayLike): Value => {
  const [a, b] = floats(x, y) as [Value, Value];
  const size = abs(a);
  return where(signbit(b), e.neg(size), size);
});

const isInteger = (...operands: readonly ArrayLike[]): boolean =>
  !isFloat(
    promote(
      operands.map((x) => (typeof x === 'number' && Number.isInteger(x) ? ({ dtype: 'int32', weak: true } satisfies Typed) : lift(x).aval)),
    ).dtype,
  );
/** Quotient rounded down. */
export const floorDivide = composed('floorDivide', (x: ArrayLike, y: ArrayLike): Value => {
  if (!isInteger(x, y)) return floor(div(x, y));
  const [a, b] = counted(x, y) as [Value, Value];
  const quotient = e.quotientOf(a, b);
  const left = e.rem(a, b);
  const uneven = left.notEqual(0).logicalAnd(compare.lessThan(left, 0).notEqual(compare.lessThan(b, 0)));
  return where(uneven, quotient.sub(1), quotient);
});
/** Remainder with the sign of the divisor. */
export const remainder = composed('remainder', (x: ArrayLike, y: ArrayLike): Value => {
  const [a, b] = counted(x, y) as [Value, Value];
  return e.mod(a, b);
});
export { remainder as mod };
/** Remainder with the sign of the dividend. */
export const fmod = composed('fmod', (x: ArrayLike, y: ArrayLike): Value => {
  const [a, b] = counted(x, y) as [Value, Value];
  return e.rem(a, b);
});
export const divmod = composed('divmod', (x: ArrayLike, y: ArrayLike): [Value, Value] => [floorDivide(x, y), remainder(x, y)]);
export const modf = composed('modf', (x: ArrayLike): [Value, Value] => {
  const [value] = floats(x) as [Value];
  const whole = e.trunc(value);
  const rest = where(compare.isFinite(value), sub(value, whole), where(compare.isNan(value), value, 0));
  return [copysign(rest, value), whole];
});
export const floatPower = composed('floatPower', (x: ArrayLike, y: ArrayLike): Value => {
  const [a, b] = floats(x, y) as [Value, Value];
  return e.pow(a, b);
});
export const ldexp = composed('ldexp', (x: ArrayLike, exponent: ArrayLike): Value =>
  mul(floats(x)[0]!, exp2Exact(lift(exponent).astype('int32'))),
);
/** 2 to whole powers, exactly, from the bits of a float. */
const exp2Exact = (n: Value): Value => {
  const half = compare.shiftRight(n, 1);
  const power = (k: Value): Value => e.bitcastTo(compare.shiftLeft(k.add(127).maximum(0).minimum(254), 23), 'float32');
  return power(half).mul(power(n.sub(half)));
};
export const frexp = composed('frexp', (x: ArrayLike): [Value, Value] => {
  const [given] = floats(x) as [Value];
  const value = given.astype('float32');
  const tiny = abs(value).less(2 ** -100);
  const scaled = where(tiny, value.mul(2 ** 120), value);
  const bits = e.bitcastTo(scaled, 'uint32');
  const exponent = compare.bitAnd(compare.shiftRight(bits, 23), 0xff).astype('int32').sub(126);
  const mantissa = e.bitcastTo(compare.bitOr(compare.bitAnd(bits, 0x807fffff), 0x3f000000), 'float32');
  const none = value.equal(0).logicalAnd(true);
  const special = logicalOr(none, logicalNot(compare.isFinite(value)));
  return [where(special, value, mantissa).astype(given.dtype), where(special, 0, where(tiny, exponent.sub(120), exponent)).astype('int32')];
});

export const fmax = composed('fmax', (x: ArrayLike, y: ArrayLike): Value =>
  where(compare.isNan(x), y, where(compare.isNan(y), x, maximum(x, y))),
);
export const fmin = composed('fmin', (x: ArrayLike, y: ArrayLike): Value =>
  where(compare.isNan(x), y, where(compare.isNan(y), x, minimum(x, y))),
);
/** Kept between bounds, either of which may be left out. */
export const clip = composed('clip', (x: ArrayLike, least?: ArrayLike | null, most?: ArrayLike | null): Value => {
  const above = least === undefined || least === null ? lift(x) : maximum(x, least);
  return most === undefined || most === null ? above : minimum(above, most);
});
export const isinf = composed('isinf', (x: ArrayLike): Value => compare.equal(abs(lift(x).astype('float32')), Infinity));
export const isposinf = composed('isposinf', (x: ArrayLike): Value => compare.equal(lift(x).astype('float32'), Infinity));
export const isneginf = composed('isneginf', (x: ArrayLike): Value => compare.equal(lift(x).astype('float32'), -Infinity));
export const nanToNum = composed(
  'nanToNum',
  (
    x: ArrayLike,
    options: { readonly nan?: ArrayLike; readonly posinf?: ArrayLike | null; readonly neginf?: ArrayLike | null } = {},
  ): Value => {
    const value = lift(x);
    const {
      nan: forNan,
      posinf,
      neginf,
    } = optionsOf('nanToNum', options, {
      nan: 0 as ArrayLike,
      posinf: undefined as ArrayLike | null | undefined,
      neginf: undefined as ArrayLike | null | undefined,
    });
    if (!isFloat(value.dtype)) return value;
    const most = value.dtype === 'float16' ? 65504 : 3.4028234663852886e38;
    return where(
      compare.isNan(value),
      forNan,
      where(value.equal(Infinity), posinf ?? most, where(value.equal(-Infinity), neginf ?? -most, value)),
    );
  },
);
export interface CloseOptions {
  readonly rtol?: number;
  readonly atol?: number;
  /** Two NaNs count as equal. Also under the name `equalNan`. */
  readonly equalNaN?: boolean;
  readonly equalNan?: boolean;
}
const closeDefaults = { rtol: 1e-5, atol: 1e-8, equalNaN: false, equalNan: false };
/** Is |x - y| at most atol + rtol·|y|? Infinities are close when they are equal. */
export const isclose = composed('isclose', (x: ArrayLike, y: ArrayLike, options: CloseOptions = {}): Value => {
  const { rtol, atol, equalNaN, equalNan } = optionsOf('isclose', options, closeDefaults);
  const [a, b] = floats(x, y) as [Value, Value];
  const near = abs(sub(a, b)).lessEqual(add(atol, mul(rtol, abs(b))));
  const finite = logicalAnd(compare.isFinite(a), compare.isFinite(b));
  const same = where(finite, near, compare.equal(a, b));
  return equalNaN || equalNan ? logicalOr(same, logicalAnd(compare.isNan(x), compare.isNan(y))) : same;
});
export const select = composed(
  'select',
  (conditions: readonly ArrayLike[], choices: readonly ArrayLike[], otherwise: ArrayLike = 0): Value => {
    listArg('select', conditions);
    if (listArg('select', choices).length !== conditions.length)
      throw argumentWrong(
        'select',
        `${conditions.length} conditions and ${choices.length} choices`,
        'give it one choice for each condition',
      );
    return conditions.reduceRight<Value>((rest, condition, k) => where(condition, choices[k]!, rest), lift(otherwise));
  },
);

export const astype = (x: ArrayLike, dtype: DTypeArg): Value => e.astype(x, dtypeArg(dtype, 'float32'));

/** The dtype in which arrays, numbers and dtypes meet. */
export function resultType(...operands: readonly (ArrayLike | DType)[]): DType {
  return promote(
    operands.map((x): Typed =>
      typeof x === 'string'
        ? { dtype: namedType('resultType', x) }
        : typeof x === 'number'
          ? { dtype: Number.isInteger(x) ? 'int32' : 'float32', weak: true }
          : lift(x).aval,
    ),
  ).dtype;
}
/** The dtype in which two dtypes meet. */
export const promoteTypes = (a: DType, b: DType): DType => promote([a, b].map((own) => ({ dtype: namedType('promoteTypes', own) }))).dtype;
function namedType(operation: string, dtype: unknown): DType {
  if (!isDType(dtype)) throw argumentWrong(operation, `${describe(dtype)} as a dtype`, 'use float32, float16, int32, uint32 or bool');
  return dtype;
}

export const [pi, euler, eulerGamma, inf, nan] = [Math.PI, Math.E, 0.5772156649015329, Infinity, NaN];
export { euler as e };
