/**
 * Comparisons, logic and bits: ops whose results have no slope.
 *
 * Depends on: core, family, arithmetic.
 */
import { printAval } from '../core/aval.ts';
import { isFloat } from '../core/dtype.ts';
import { wrongDType } from '../core/errors.ts';
import type { ArrayLike, Entry } from './apply.ts';
import { apply, scalarOf } from './apply.ts';
import { applied, nanText, scalarFunction } from './arithmetic.ts';
import { binary, callable, toBool, together, typed, unary, elementwise, spread, type Binary, type Unary } from './family.ts';
import { lift } from './apply.ts';
import { dtypeOf, type Scalar } from './scalar.ts';
import type { Value } from './value.ts';

const comparison = (id: string, sign: string, host: (a: number, b: number) => boolean, summary: string): Binary => {
  const onNumbers = scalarFunction(
    id,
    1,
    ([a, b]) => `(${a} ${sign} ${b})`,
    (a, b) => (host(a!, b!) ? 1 : 0),
  );
  const onBools = scalarFunction(
    `${id}Bool`,
    1,
    ([a, b]) => `(u32(${a}) ${sign} u32(${b}))`,
    (a, b) => (host(a!, b!) ? 1 : 0),
  );
  return binary(id, {
    summary,
    result: toBool,
    scalar: ([a, b]) => applied(dtypeOf(a!) === 'bool' ? onBools : onNumbers, [a!, b!], 'bool'),
  });
};
export const equal = comparison('equal', '==', (a, b) => a === b, 'Are two elements equal?');
export const notEqual = comparison('notEqual', '!=', (a, b) => a !== b, 'Are two elements different?');
export const lessThan = comparison('less', '<', (a, b) => a < b, 'Is the first below the second?');
export const lessEqual = comparison('lessEqual', '<=', (a, b) => a <= b, 'Is the first at most the second?');
export const greater = comparison('greater', '>', (a, b) => a > b, 'Is the first above the second?');
export const greaterEqual = comparison('greaterEqual', '>=', (a, b) => a >= b, 'Is the first at least the second?');

/** Bits of integers; on bools the same in logic. */
const bitwise = (id: string, sign: string, logic: string, host: (a: number, b: number) => number, summary: string): Binary => {
  const onIntegers = scalarFunction(
    id,
    1,
    ([a, b]) => `(${a} ${sign} ${b})`,
    (a, b) => host(a!, b!),
  );
  const onBools = scalarFunction(
    `${id}Bool`,
    1,
    ([a, b]) => `(${a} ${logic} ${b})`,
    (a, b) => host(a!, b!),
  );
  const entry = binary(id, { summary, scalar: ([a, b]) => applied(dtypeOf(a!) === 'bool' ? onBools : onIntegers, [a!, b!], dtypeOf(a!)) });
  return callable(entry, (x: ArrayLike, y: ArrayLike): Value => apply(entry, together(id, wholes(id, [x, y]))), 'values');
};

/** Operands as they are when all are whole numbers or bools; a number stands for an int32. */
function wholes(operation: string, operands: readonly ArrayLike[]): readonly Value[] {
  return operands.map((x) => {
    if (typeof x === 'number' && Number.isInteger(x)) return scalarOf(x, { dtype: 'int32', weak: true });
    const value = lift(x);
    if (isFloat(value.dtype)) throw wrongDType(operation, printAval(value.aval), 'whole numbers or bools');
    return value;
  });
}
export const bitAnd = bitwise('and', '&', '&', (a, b) => a & b, 'Bits that both have.');
export const bitOr = bitwise('or', '|', '|', (a, b) => a | b, 'Bits that either has.');
export const bitXor = bitwise('xor', '^', '!=', (a, b) => a ^ b, 'Bits that one has and the other has not.');

const shift = (
  id: string,
  sign: string,
  signed: (a: number, b: number) => number,
  unsigned: (a: number, b: number) => number,
  summary: string,
): Binary => {
  const text = ([a, b]: readonly string[]): string => `(${a} ${sign} u32(${b}))`;
  const onSigned = scalarFunction(id, 1, text, (a, b) => (b! > 31 || b! < 0 ? (sign === '>>' && a! < 0 ? -1 : 0) : signed(a!, b!)));
  const onUnsigned = scalarFunction(`${id}Unsigned`, 1, text, (a, b) => (b! > 31 ? 0 : unsigned(a!, b!)));
  const entry = binary(id, {
    summary,
    scalar: ([a, b]) => applied(dtypeOf(a!) === 'uint32' ? onUnsigned : onSigned, [a!, b!], dtypeOf(a!)),
  });
  return callable(entry, (x: ArrayLike, y: ArrayLike): Value => apply(entry, together(id, wholes(id, [x, y]))), 'values');
};
export const shiftLeft = shift(
  'shiftLeft',
  '<<',
  (a, b) => a << b,
  (a, b) => (a << b) >>> 0,
  'Bits moved to the left.',
);
export const shiftRight = shift(
  'shiftRight',
  '>>',
  (a, b) => a >> b,
  (a, b) => a >>> b,
  'Bits moved to the right; signed integers keep their sign.',
);

const complement = scalarFunction(
  'not',
  1,
  ([x]) => `(~${x})`,
  (x) => ~x!,
);
const negation = scalarFunction(
  'notBool',
  1,
  ([x]) => `(!${x})`,
  (x) => 1 - x!,
);
const notEntry = unary('not', {
  summary: 'All bits turned; on bools the opposite.',
  scalar: ([x]) => applied(dtypeOf(x!) === 'bool' ? negation : complement, [x!], dtypeOf(x!)),
});
export const not: Unary = callable(notEntry, (x: ArrayLike): Value => apply(notEntry, wholes('not', [x])), 'values');

const populationCount = scalarFunction(
  'bitCount',
  1,
  ([x]) => `countOneBits(${x})`,
  (x) => {
    let count = 0;
    for (let rest = x! >>> 0; rest !== 0; rest &= rest - 1) count++;
    return count;
  },
);
export const bitCount: Unary = unary('bitCount', {
  summary: 'How many bits are set.',
  scalar: ([x]) => applied(populationCount, [x!], dtypeOf(x!)),
});
export { wholes };

const nanTest = scalarFunction(
  'isNan',
  1,
  ([x], _dtype, [from]) => nanText(x!, from!),
  (x) => (Number.isNaN(x) ? 1 : 0),
);
const finiteTest = scalarFunction(
  'isFinite',
  1,
  ([x], _dtype, [from]) => (from === 'float16' ? `(abs(${x}) <= 65504.0h)` : `((bitcast<u32>(${x}) & 0x7f800000u) != 0x7f800000u)`),
  (x) => (Number.isFinite(x) ? 1 : 0),
);
export const isNan: Unary = unary('isNan', {
  summary: 'Is it not a number?',
  operands: 'float',
  result: toBool,
  scalar: ([x]) => applied(nanTest, [x!], 'bool'),
});
export const isFinite: Unary = unary('isFinite', {
  summary: 'Is it neither infinite nor NaN?',
  operands: 'float',
  result: toBool,
  scalar: ([x]) => applied(finiteTest, [x!], 'bool'),
});

// Threefry-2x32 with 20 rounds (Salmon et al. 2011), the generator of JAX's default keys.
const rotations = [
  [13, 15, 26, 6],
  [17, 29, 16, 24],
] as const;
const threefryText = `fn tidemark_threefry(k0: u32, k1: u32, c0: u32, c1: u32) -> vec2<u32> {
  let k2 = k0 ^ k1 ^ 0x1BD11BDAu;
  var x = vec2<u32>(c0 + k0, c1 + k1);
${Array.from({ length: 5 }, (_, group) =>
  [
    ...rotations[group % 2]!.map((r) => `  x.x += x.y; x.y = ((x.y << ${r}u) | (x.y >> ${32 - r}u)) ^ x.x;`),
    `  x.x += k${(group + 1) % 3}; x.y += k${(group + 2) % 3} + ${group + 1}u;`,
  ].join('\n'),
).join('\n')}
  return x;
}`;
function threefryHost(k0: number, k1: number, c0: number, c1: number): readonly [number, number] {
  const keys = [k0, k1, k0 ^ k1 ^ 0x1bd11bda];
  let x = (c0 + k0) | 0;
  let y = (c1 + k1) | 0;
  for (let group = 0; group < 5; group++) {
    for (const r of rotations[group % 2]!) {
      x = (x + y) | 0;
      y = ((y << r) | (y >>> (32 - r))) ^ x;
    }
    x = (x + keys[(group + 1) % 3]!) | 0;
    y = (y + keys[(group + 2) % 3]! + group + 1) | 0;
  }
  return [x >>> 0, y >>> 0];
}
const needs = { tidemark_threefry: threefryText };
const words = {
  first: scalarFunction(
    'threefryFirst',
    100,
    (o) => `tidemark_threefry(${o.join(', ')}).x`,
    (a, b, c, d) => threefryHost(a!, b!, c!, d!)[0],
    needs,
  ),
  second: scalarFunction(
    'threefrySecond',
    100,
    (o) => `tidemark_threefry(${o.join(', ')}).y`,
    (a, b, c, d) => threefryHost(a!, b!, c!, d!)[1],
    needs,
  ),
  both: scalarFunction(
    'threefryBoth',
    101,
    (o) => {
      const call = `tidemark_threefry(${o.join(', ')})`;
      return `(${call}.x ^ ${call}.y)`;
    },
    (a, b, c, d) => {
      const [x, y] = threefryHost(a!, b!, c!, d!);
      return (x ^ y) >>> 0;
    },
    needs,
  ),
};
export type Word = keyof typeof words;
const threefryEntry = elementwise('threefry', {
  summary: 'Counter-based random bits: a word of threefry2x32 under a key.',
  scalar: (operands: readonly Scalar[], { parameters }) => applied(words[parameters['word'] as Word], operands, 'uint32'),
  flops: 100,
});
/** Bits for counters (high, low) under the key (k0, k1); `both` is the exclusive or of the two words. */
export const threefry: Entry & ((word: Word, key: readonly [Value, Value], counter: readonly [ArrayLike, ArrayLike]) => Value) = callable(
  threefryEntry,
  (word: Word, key: readonly [Value, Value], counter: readonly [ArrayLike, ArrayLike]): Value =>
    apply(
      threefry,
      spread(
        'threefry',
        [...key, ...counter].map((x) => typed(lift(x), { dtype: 'uint32' })),
      ),
      { word },
    ),
);
export { together };
