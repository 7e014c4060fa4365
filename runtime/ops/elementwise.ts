/**
 * Ops on single elements: arithmetic, functions of analysis, choices and conversions.
 *
 * Each line says how the scalar is written in WGSL and computed on the host, and its slope. Comparisons, logic and bits
 * are in `compare.ts`. Depends on: core, family, arithmetic.
 * Long because: one entry per op, a table to be read by line.
 */
import type { DType } from '../core/dtype.ts';
import { apply, commonType, composed, lift, literalOf, scalarOf, type ArrayLike, type Entry } from './apply.ts';
import { applied, choose, nanText, scalarFunction } from './arithmetic.ts';
import { binary, callable, elementwise, spread, together, typed, unary, type Binary, type Gradient, type Unary } from './family.ts';
import { dtypeOf, type Scalar, type ScalarFunction } from './scalar.ts';
import type { Value } from './value.ts';

type ScalarRule = (operands: readonly Scalar[]) => Scalar;
const call = (name: string, host: (x: number) => number, flops = 1, wgsl = (x: string): string => `${name}(${x})`): ScalarRule => {
  const f = scalarFunction(
    name,
    flops,
    ([x]) => wgsl(x!),
    (x) => host(x!),
  );
  return ([x]) => applied(f, [x!], dtypeOf(x!));
};

/** One function for floats and one for integers, whose product must wrap. */
const arithmetic = (
  sign: string,
  name: string,
  float: (a: number, b: number) => number,
  whole: (a: number, b: number) => number,
): ScalarRule => {
  const text: ScalarFunction['wgsl'] = ([a, b]) => `(${a} ${sign} ${b})`;
  const onFloats = scalarFunction(name, 1, text, (a, b) => float(a!, b!));
  const onIntegers = scalarFunction(`${name}Int`, 1, text, (a, b) => whole(a!, b!));
  return ([a, b]) => applied(isFloatScalar(a!) ? onFloats : onIntegers, [a!, b!], dtypeOf(a!));
};
const isFloatScalar = (x: Scalar): boolean => dtypeOf(x) === 'float32' || dtypeOf(x) === 'float16';

/** f'(x) times the cotangent. */
const slope = (of: (x: Value) => Value): Gradient => ({ saves: 'inputs', rule: ([g], [x]) => [mul(g!, of(x!))] });
/** The same for a slope that is known from the result alone: x may be freed at once. */
const slopeByResult = (of: (y: Value) => Value): Gradient => ({ saves: 'output', rule: ([g], [y]) => [mul(g!, of(y!))] });

// A boolean sum or product is a logical one: JAX's add and mul on bool.
export const add: Binary = binary('add', {
  summary: 'Sum of two arrays, element by element.',
  scalar: ([a, b]) => (dtypeOf(a!) === 'bool' ? applied(anyOf, [a!, b!], 'bool') : plainAdd([a!, b!])),
  gradient: { saves: 'nothing', rule: ([g]) => [g, g] },
});
export const sub: Binary = binary('sub', {
  summary: 'Difference of two arrays.',
  scalar: arithmetic(
    '-',
    'sub',
    (a, b) => a - b,
    (a, b) => a - b,
  ),
  gradient: { saves: 'nothing', rule: ([g]) => [g, neg(g!)] },
});
export const mul: Binary = binary('mul', {
  summary: 'Product of two arrays, element by element.',
  scalar: ([a, b]) => (dtypeOf(a!) === 'bool' ? applied(allOf, [a!, b!], 'bool') : plainMul([a!, b!])),
  gradient: { saves: 'inputs', rule: ([g], [x, y]) => [mul(g!, y!), mul(g!, x!)] },
});
const plainAdd = arithmetic(
  '+',
  'add',
  (a, b) => a + b,
  (a, b) => a + b,
);
const plainMul = arithmetic('*', 'mul', (a, b) => a * b, Math.imul);
const anyOf = scalarFunction(
  'anyOf',
  1,
  ([a, b]) => `(${a} | ${b})`,
  (a, b) => a! | b!,
);
const allOf = scalarFunction(
  'allOf',
  1,
  ([a, b]) => `(${a} & ${b})`,
  (a, b) => a! & b!,
);

export const div: Binary = binary('div', {
  summary: 'Quotient of two arrays; integers are divided as floats.',
  operands: 'float',
  scalar: arithmetic(
    '/',
    'div',
    (a, b) => a / b,
    (a, b) => a / b,
  ),
  gradient: {
    saves: { inputs: [1], output: true },
    rule: ([g], [y, quotient]) => {
      const first = div(g!, y!);
      return [first, neg(mul(first, quotient!))];
    },
  },
});
/** Division of integers towards zero. */
export const quotientOf: Binary = binary('quotient', {
  summary: 'Quotient of integers, cut off towards zero.',
  scalar: arithmetic(
    '/',
    'quotient',
    (a, b) => Math.trunc(a / b),
    (a, b) => (b === 0 ? a : Math.trunc(a / b)), // as WGSL has it, so that devices agree
  ),
});
export const rem: Binary = binary('rem', {
  summary: 'What is left of a division towards zero; it has the sign of the first operand.',
  scalar: arithmetic(
    '%',
    'rem',
    (a, b) => a % b,
    (a, b) => (b === 0 ? 0 : a % b),
  ),
  gradient: { saves: 'inputs', rule: ([g], [x, y]) => [g, neg(mul(g!, trunc(div(x!, y!))))] },
});

/** Remainder with the sign of the divisor. */
export const mod = composed(
  'mod',
  (x: ArrayLike, y: ArrayLike): Value => {
    const left = rem(x, y);
    const wrong = left.notEqual(0).logicalAnd(left.less(0).notEqual(lift(y).less(0)));
    return where(wrong, left.add(y), left);
  },
  'values',
);

const powText = `fn tidemark_pow(x: f32, y: f32) -> f32 {
  if (y == 0.0) { return 1.0; }
  if (x >= 0.0) { return pow(x, y); }
  let odd = abs(y - 2.0 * floor(y / 2.0)) == 1.0;
  return select(bitcast<f32>(0x7fc00000u | (bitcast<u32>(x) & 0x80000000u)), select(1.0, -1.0, odd) * pow(-x, y), y == floor(y));
}`;
const powFloat = scalarFunction(
  'pow',
  8,
  ([x, y], dtype) => (dtype === 'float16' ? `f16(tidemark_pow(f32(${x}), f32(${y})))` : `tidemark_pow(${x}, ${y})`),
  (x, y) => x! ** y!,
  { tidemark_pow: powText },
);
const powIntText = `fn tidemark_powi(x: i32, y: i32) -> i32 { var r = 1; var b = x; var n = y; if (n < 0) { return select(0, x, x == 1 || x == -1); } loop { if (n == 0) { break; } if ((n & 1) == 1) { r = r * b; } b = b * b; n = n >> 1u; } return r; }`;
const powInt = scalarFunction(
  'powInt',
  8,
  ([x, y], dtype) =>
    dtype === 'uint32' ? `bitcast<u32>(tidemark_powi(bitcast<i32>(${x}), bitcast<i32>(${y})))` : `tidemark_powi(${x}, ${y})`,
  (x, y) => wholePower(x!, y!),
  { tidemark_powi: powIntText },
);

function wholePower(base: number, exponent: number): number {
  if (exponent < 0) return base === 1 || base === -1 ? base : 0;
  let result = 1;
  for (let b = base, n = exponent; n > 0; n = Math.floor(n / 2), b = Math.imul(b, b)) if (n % 2 === 1) result = Math.imul(result, b);
  return result;
}

const powEntry = elementwise('pow', {
  summary: 'First operand to the power of the second.',
  scalar: ([x, y]) => applied(isFloatScalar(x!) ? powFloat : powInt, [x!, y!], dtypeOf(x!)),
  flops: 8,
  gradient: {
    saves: { inputs: [0, 1], output: true },
    rule: ([g], [x, y, z]) => {
      const positive = where(x!.greater(0), x!, 1);
      const lower = pow(x!, where(y!.equal(0), 1, sub(y!, 1)));
      return [mul(g!, mul(y!, lower)), mul(g!, where(x!.greater(0), mul(z!, log(positive)), 0))];
    },
  },
});
/** x to the power y. A small whole exponent that is a number becomes products, which is exact for negative x and cheap to differentiate. */
export const pow: Binary = callable(
  powEntry,
  (x: ArrayLike, y: ArrayLike): Value => {
    const exponent = typeof y === 'number' ? y : undefined;
    if (exponent !== undefined && typeof x !== 'number' && typeof x !== 'boolean') {
      if (exponent === 0.5) return sqrt(x);
      if (Number.isInteger(exponent) && Math.abs(exponent) <= 8 && exponent !== 0) {
        const base = exponent < 0 && !['float32', 'float16'].includes(x.dtype) ? x.astype('float32') : x;
        const product = productOf(base, Math.abs(exponent));
        return exponent < 0 ? div(1, product) : product;
      }
    }
    return apply(pow, together('pow', [x, y]));
  },
  'values',
);
function productOf(x: Value, times: number): Value {
  if (times === 1) return x;
  const half = productOf(x, times >> 1);
  const square = mul(half, half);
  return times % 2 === 1 ? mul(square, x) : square;
}

const extremum = (name: 'max' | 'min'): Binary => {
  const host = name === 'max' ? Math.max : Math.min;
  const sign = name === 'max' ? '>' : '<';
  const onFloats = scalarFunction(
    `${name}Of`,
    1,
    ([a, b], dtype) => `select(${b}, ${a}, (${a} ${sign} ${b}) | ${nanText(a!, dtype)})`,
    (a, b) => host(a!, b!),
  );
  const onIntegers = scalarFunction(
    `${name}OfInt`,
    1,
    ([a, b]) => `${name}(${a}, ${b})`,
    (a, b) => host(a!, b!),
  );
  const onBools = name === 'max' ? anyOf : allOf;
  return binary(name === 'max' ? 'maximum' : 'minimum', {
    summary: `The ${name === 'max' ? 'larger' : 'smaller'} of two elements; NaN when either is.`,
    scalar: ([a, b]) => applied(dtypeOf(a!) === 'bool' ? onBools : isFloatScalar(a!) ? onFloats : onIntegers, [a!, b!], dtypeOf(a!)),
    gradient: {
      saves: 'inputs',
      rule: ([g], [x, y]) => {
        const tie = mul(g!, where(x!.equal(y!), 0.5, 1));
        const first = name === 'max' ? x!.greaterEqual(y!) : x!.lessEqual(y!);
        const second = name === 'max' ? y!.greaterEqual(x!) : y!.lessEqual(x!);
        return [where(first, tie, 0), where(second, tie, 0)];
      },
    },
  });
};
export const maximum = extremum('max');
export const minimum = extremum('min');

const atan2Function = scalarFunction(
  'atan2',
  8,
  ([y, x]) => `atan2(${y}, ${x})`,
  (y, x) => Math.atan2(y!, x!),
);
export const atan2: Binary = binary('atan2', {
  summary: 'Angle of the point (x, y), given as y and x.',
  operands: 'float',
  scalar: ([y, x]) => applied(atan2Function, [y!, x!], dtypeOf(y!)),
  gradient: {
    saves: 'inputs',
    rule: ([g], [y, x]) => {
      const squares = add(mul(x!, x!), mul(y!, y!));
      return [mul(g!, div(x!, squares)), neg(mul(g!, div(y!, squares)))];
    },
  },
});

export const neg: Unary = unary('neg', {
  summary: 'Negative of each element.',
  scalar: ([x]) => (dtypeOf(x!) === 'uint32' ? applied(negUnsigned, [x!], 'uint32') : applied(negFunction, [x!], dtypeOf(x!))),
  gradient: { saves: 'nothing', rule: ([g]) => [neg(g!)] },
});
const negFunction = scalarFunction(
  'neg',
  1,
  ([x]) => `(-${x})`,
  (x) => -x!,
);
const negUnsigned = scalarFunction(
  'negUnsigned',
  1,
  ([x]) => `(0u - ${x})`,
  (x) => (0 - x!) >>> 0,
);

export const abs: Unary = unary('abs', { summary: 'Absolute value.', scalar: call('abs', Math.abs), gradient: slope((x) => sign(x)) });
/** Its gradient needs the result only, which what follows keeps anyway. */
export const positivePart: Unary = unary('positivePart', {
  summary: 'The element where it is positive, else 0; NaN stays NaN.',
  scalar: ([x]) => applied(positivePartFunction, [x!], dtypeOf(x!)),
  gradient: { saves: 'output', rule: ([g], [y]) => [where(y!.greater(0), g!, 0)] },
});
const positivePartFunction = scalarFunction(
  'positivePart',
  1,
  ([x]) => `select(${x}, 0, ${x} <= 0)`,
  (x) => (x! <= 0 ? 0 : x!),
);
export const sign: Unary = unary('sign', {
  summary: '-1, 0 or 1.',
  scalar: ([x]) => (dtypeOf(x!) === 'uint32' ? applied(signUnsigned, [x!], 'uint32') : applied(signFunction, [x!], dtypeOf(x!))),
  gradient: { saves: 'nothing', rule: () => [undefined] },
});
const signFunction = scalarFunction(
  'sign',
  1,
  ([x]) => `sign(${x})`,
  (x) => Math.sign(x!),
);
const signUnsigned = scalarFunction(
  'signUnsigned',
  1,
  ([x]) => `min(${x}, 1u)`,
  (x) => Math.min(x!, 1),
);

const rounding = (id: string, summary: string, host: (x: number) => number, name = id): Unary =>
  unary(id, {
    summary,
    scalar: ([x]) => (isFloatScalar(x!) ? call(name, host)([x!]) : x!),
    gradient: { saves: 'nothing', rule: () => [undefined] },
  });
export const floor = rounding('floor', 'The largest whole number not above.', Math.floor);
export const ceil = rounding('ceil', 'The smallest whole number not below.', Math.ceil);
export const trunc = rounding('trunc', 'The whole part.', Math.trunc);
export const round = rounding('round', 'The nearest whole number; halves go to the even one.', roundToEven);
function roundToEven(x: number): number {
  const below = Math.floor(x);
  const excess = x - below;
  if (excess !== 0.5) return Math.round(x);
  return below % 2 === 0 ? below : below + 1;
}

const analytic = (id: string, summary: string, scalar: ScalarRule, gradient: Gradient, flops = 4): Unary =>
  unary(id, { summary, operands: 'float', scalar, gradient, flops });
export const exp = analytic(
  'exp',
  'e to the power of each element.',
  call('exp', Math.exp, 4),
  slopeByResult((y) => y),
);
export const log = analytic('log', 'Natural logarithm.', call('log', Math.log, 4), { saves: 'inputs', rule: ([g], [x]) => [div(g!, x!)] });
export const sqrt = analytic('sqrt', 'Square root.', call('sqrt', Math.sqrt, 2), {
  saves: 'output',
  rule: ([g], [y]) => [div(mul(g!, 0.5), y!)],
});
export const rsqrt = analytic(
  'rsqrt',
  'One over the square root.',
  call('inverseSqrt', (x) => 1 / Math.sqrt(x), 2),
  slopeByResult((y) => mul(mul(y, mul(y, y)), -0.5)),
  2,
);
export const sin = analytic(
  'sin',
  'Sine.',
  call('sin', Math.sin, 4),
  slope((x) => cos(x)),
);
export const cos = analytic(
  'cos',
  'Cosine.',
  call('cos', Math.cos, 4),
  slope((x) => neg(sin(x))),
);
export const tan = analytic(
  'tan',
  'Tangent.',
  call('tan', Math.tan, 6),
  slopeByResult((y) => add(mul(y, y), 1)),
);
export const asin = analytic(
  'asin',
  'Inverse sine.',
  call('asin', Math.asin, 6),
  slope((x) => rsqrt(sub(1, mul(x, x)))),
);
export const acos = analytic(
  'acos',
  'Inverse cosine.',
  call('acos', Math.acos, 6),
  slope((x) => neg(rsqrt(sub(1, mul(x, x))))),
);
export const atan = analytic(
  'atan',
  'Inverse tangent.',
  call('atan', Math.atan, 6),
  slope((x) => div(1, add(1, mul(x, x)))),
);
export const sinh = analytic(
  'sinh',
  'Hyperbolic sine.',
  call('sinh', Math.sinh, 8),
  slope((x) => cosh(x)),
);
export const cosh = analytic(
  'cosh',
  'Hyperbolic cosine.',
  call('cosh', Math.cosh, 8),
  slope((x) => sinh(x)),
);
/** Its gradient follows from the result, so neither exponential nor denominator is kept. */
export const logistic: Unary = unary('logistic', {
  summary: '1 / (1 + exp(-x)) of each element.',
  operands: 'float',
  scalar: call(
    'logistic',
    (x) => 1 / (Math.exp(-x) + 1),
    6,
    (x) => `(1.0 / (exp(-(${x})) + 1.0))`,
  ),
  gradient: slopeByResult((y) => mul(y, sub(1, y))),
  flops: 6,
});
// Its slope is 1 - y², so the backward pass keeps the result and x may be freed at once. WGSL's tanh may overflow far out, where it is ±1 anyway.
export const tanh = analytic(
  'tanh',
  'Hyperbolic tangent.',
  call('tanh', Math.tanh, 6, (x) => `tanh(clamp(${x}, -20.0, 20.0))`),
  slopeByResult((y) => sub(1, mul(y, y))),
  6,
);
export const asinh = analytic(
  'asinh',
  'Inverse hyperbolic sine.',
  call('asinh', Math.asinh, 8),
  slope((x) => rsqrt(add(mul(x, x), 1))),
);
export const acosh = analytic(
  'acosh',
  'Inverse hyperbolic cosine.',
  call('acosh', Math.acosh, 8),
  slope((x) => mul(rsqrt(sub(x, 1)), rsqrt(add(x, 1)))),
);
export const atanh = analytic(
  'atanh',
  'Inverse hyperbolic tangent.',
  call('atanh', Math.atanh, 8),
  slope((x) => div(1, sub(1, mul(x, x)))),
);

const log1pText =
  'fn tidemark_log1p(x: f32) -> f32 { let u = 1.0 + x; if (u == 1.0) { return x; } if (abs(x) > 1e10) { return log(u); } return log(u) * (x / (u - 1.0)); }';
const expm1Text =
  'fn tidemark_expm1(x: f32) -> f32 { if (abs(x) < 0.35) { return x * (1.0 + x * (0.5 + x * (0.16666667 + x * (0.041666668 + x * (0.008333334 + x * (0.0013888889 + x * 0.0001984127)))))); } return exp(x) - 1.0; }';
// Eigen's rational form of erf on [-4, 4], accurate to a few ulp in float32.
const erfUp = [
  -2.72614225801306e-10, 2.77068142495902e-8, -2.10102402082508e-6, -5.69250639462346e-5, -7.34990630326855e-4, -2.95459980854025e-3,
  -1.60960333262415e-2,
];
const erfDown = [-1.45660718464996e-5, -2.13374055278905e-4, -1.68282697438203e-3, -7.37332916720468e-3, -1.42647390514189e-2];
const hornerText = (factors: readonly number[]): string =>
  factors.slice(1).reduce((text, factor) => `(${text} * s + ${factor.toExponential()})`, factors[0]!.toExponential());
const erfText = `fn tidemark_erf(v: f32) -> f32 { let x = clamp(v, -4.0, 4.0); let s = x * x; return x * ${hornerText(erfUp)} / ${hornerText(erfDown)}; }`;
function erfHost(v: number): number {
  const x = Math.min(4, Math.max(-4, v));
  const horner = (factors: readonly number[]): number => factors.reduce((sum, factor) => sum * x * x + factor, 0);
  return (x * horner(erfUp)) / horner(erfDown);
}
const own = (name: string, text: string, host: (x: number) => number, flops: number): ScalarRule => {
  const f = scalarFunction(
    name,
    flops,
    ([x], dtype) => (dtype === 'float16' ? `f16(tidemark_${name}(f32(${x})))` : `tidemark_${name}(${x})`),
    (x) => host(x!),
    { [`tidemark_${name}`]: text },
  );
  return ([x]) => applied(f, [x!], dtypeOf(x!));
};
export const log1p = analytic(
  'log1p',
  'log(1 + x), accurate near zero.',
  own('log1p', log1pText, Math.log1p, 6),
  slope((x) => div(1, add(x, 1))),
);
export const expm1 = analytic(
  'expm1',
  'exp(x) - 1, accurate near zero.',
  own('expm1', expm1Text, Math.expm1, 6),
  slopeByResult((y) => add(y, 1)),
);
export const erf = analytic(
  'erf',
  'The error function.',
  own('erf', erfText, erfHost, 24),
  slope((x) => mul(exp(neg(mul(x, x))), 2 / Math.sqrt(Math.PI))),
  24,
);

export const copy: Unary = unary('copy', {
  summary: 'The same elements in a buffer of their own.',
  scalar: ([x]) => x!,
  flops: 0,
  gradient: { saves: 'nothing', rule: ([g]) => [g] },
});

// The condition has no slope; which side an element came from decides where its cotangent goes.
const whereEntry = elementwise(
  'where',
  {
    summary: 'Elements of the second operand where the first holds, of the third elsewhere.',
    scalar: ([condition, x, y]) => choose(condition!, x!, y!),
    gradient: { saves: { inputs: [0] }, rule: ([g], [condition]) => [undefined, where(condition!, g!, 0), where(condition!, 0, g!)] },
  },
  (inputs) => inputs.slice(1),
);
export const where: Entry & ((condition: ArrayLike, x: ArrayLike, y: ArrayLike) => Value) = callable(
  whereEntry,
  (condition: ArrayLike, x: ArrayLike, y: ArrayLike): Value => {
    const sides = [x, y].map(lift);
    const type = commonType(sides);
    return apply(
      where,
      spread('where', [typed(toCondition(lift(condition)), { dtype: 'bool' }), ...sides.map((side) => typed(side, type))]),
    );
  },
  'values',
);
const toCondition = (x: Value): Value => (x.dtype === 'bool' ? x : x.notEqual(0));

const conversionTo: Readonly<Record<DType, ScalarFunction>> = {
  float32: scalarFunction(
    'toFloat32',
    0,
    ([x]) => `f32(${x})`,
    (x) => x!,
  ),
  float16: scalarFunction(
    'toFloat16',
    0,
    ([x]) => `f16(${x})`,
    (x) => x!,
  ),
  int32: scalarFunction(
    'toInt32',
    0,
    ([x]) => `i32(${x})`,
    (x) => wholeWithin(x!, -(2 ** 31), 2 ** 31 - 1),
  ),
  uint32: scalarFunction(
    'toUint32',
    0,
    ([x]) => `u32(${x})`,
    (x) => wholeWithin(x!, 0, 2 ** 32 - 1),
  ),
  bool: scalarFunction(
    'toBool',
    0,
    ([x]) => `bool(${x})`,
    (x) => (x === 0 ? 0 : 1),
  ),
};
/** A float is cut off at the ends of the range, as WGSL and XLA have it; NaN becomes 0. */
const wholeWithin = (x: number, least: number, most: number): number =>
  Number.isNaN(x) ? 0 : Math.min(most, Math.max(least, Math.trunc(x)));
/** Integers keep their bits. */
const sameBits: Readonly<Record<'int32' | 'uint32', ScalarFunction>> = {
  int32: scalarFunction(
    'bitsToInt32',
    0,
    ([x]) => `i32(${x})`,
    (x) => x! | 0,
  ),
  uint32: scalarFunction(
    'bitsToUint32',
    0,
    ([x]) => `u32(${x})`,
    (x) => x! >>> 0,
  ),
};
/** What makes an element of one dtype one of another. */
export const conversion = (from: DType, to: DType): ScalarFunction =>
  (to === 'int32' || to === 'uint32') && from !== 'float32' && from !== 'float16' ? sameBits[to] : conversionTo[to];

/** Parameters: { dtype, weak }. */
export const convert: Entry = {
  ...elementwise('convert', {
    summary: 'The elements in another dtype.',
    scalar: ([x], { output }) => (dtypeOf(x!) === output.dtype ? x! : applied(conversion(dtypeOf(x!), output.dtype), [x!], output.dtype)),
    gradient: {
      saves: 'nothing',
      rule: ([g], _saved, _parameters, [from]) => [
        from!.dtype === 'float32' || from!.dtype === 'float16' ? g!.astype(from!.dtype) : undefined,
      ],
    },
    flops: 0,
  }),
  infer: ([x], { dtype, weak }) => [{ shape: x!.shape, dtype: dtype as DType, ...(weak === true ? { weak } : {}) }],
  tangent: (_primals, [tangent], _outputs, { dtype }) => [dtype === 'float32' || dtype === 'float16' ? tangent?.astype(dtype) : undefined],
  batch: ([x], [axis], parameters) => ({ results: [apply(convert, [x!], parameters)], axes: [axis] }),
  overwrites: [0],
};

const bitcastFunction = new Map<string, ScalarFunction>();
const bits = new DataView(new ArrayBuffer(4));
function reinterpretation(from: DType, to: DType): ScalarFunction {
  const key = `bitcast_${from}_${to}`;
  const known = bitcastFunction.get(key);
  if (known !== undefined) return known;
  const wgslType: Readonly<Record<DType, string>> = { float32: 'f32', float16: 'f16', int32: 'i32', uint32: 'u32', bool: 'u32' };
  const write = (x: number): void => (from === 'float32' ? bits.setFloat32(0, x) : bits.setUint32(0, x >>> 0));
  const read = (): number => (to === 'float32' ? bits.getFloat32(0) : to === 'int32' ? bits.getInt32(0) : bits.getUint32(0));
  const made = scalarFunction(
    key,
    0,
    ([x]) => `bitcast<${wgslType[to]}>(${x})`,
    (x) => {
      write(x!);
      return read();
    },
  );
  bitcastFunction.set(key, made);
  return made;
}
/** Parameters: { dtype }, of the same width. */
export const bitcast: Entry = {
  ...elementwise('bitcast', {
    summary: 'The same bits, read as another dtype.',
    scalar: ([x], { output }) => applied(reinterpretation(dtypeOf(x!), output.dtype), [x!], output.dtype),
    flops: 0,
  }),
  infer: ([x], { dtype }) => [{ shape: x!.shape, dtype: dtype as DType }],
  batch: ([x], [axis], parameters) => ({ results: [apply(bitcast, [x!], parameters)], axes: [axis] }),
  overwrites: [0],
};

export const bitcastTo = composed('bitcast', (x: Value, dtype: DType): Value => (x.dtype === dtype ? x : apply(bitcast, [x], { dtype })));

/** `x` in `dtype`; a number becomes a number of that dtype. */
export function astype(x: ArrayLike, dtype: DType, weak = false): Value {
  const value = lift(x);
  const literal = literalOf(value);
  return literal === undefined ? converted(value, dtype, weak) : scalarOf(literal, { dtype });
}
/** Composed, so that an array that has the dtype already comes as an array of its own on a device. */
const converted = composed('astype', (x: Value, dtype: DType, weak: boolean): Value =>
  x.dtype === dtype && x.aval.weak !== true ? x : apply(convert, [x], weak ? { dtype, weak } : { dtype }),
);
