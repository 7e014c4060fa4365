/**
 * One sample or more for every entry of the table: operands, parameters, and an independent formula where there is one.
 *
 * Depends on: runtime/core.
 */
import type { DType } from '../../../runtime/core/dtype.ts';
import type { Parameters } from '../../../runtime/core/program.ts';

export interface Operand {
  readonly shape: readonly number[];
  readonly dtype?: DType;
  readonly range?: readonly [number, number];
  readonly values?: readonly number[];
}
export interface Sample {
  readonly operands: readonly Operand[];
  readonly parameters?: Parameters;
  /** Element by element, for elementwise entries. */
  readonly formula?: (...elements: number[]) => number;
  /** The whole result, flat. */
  readonly expected?: readonly number[];
  /** Not smooth enough for finite differences there, or without a gradient by nature. */
  readonly rough?: boolean;
}

const a: Operand = { shape: [2, 3] };
const positive: Operand = { shape: [2, 3], range: [0.5, 2] };
const whole: Operand = { shape: [2, 3], dtype: 'int32', range: [-9, 9] };
const words: Operand = { shape: [2, 3], dtype: 'uint32', range: [0, 1000] };
const truth: Operand = { shape: [2, 3], dtype: 'bool', values: [1, 0, 1, 1, 0, 0] };
const scalar: Operand = { shape: [] };
const one = (operand: Operand, formula: (x: number) => number): readonly Sample[] => [{ operands: [operand], formula }];
const two = (x: Operand, y: Operand, formula: (x: number, y: number) => number): readonly Sample[] => [
  { operands: [x, y], formula },
  { operands: [x, { ...y, shape: [] }], formula },
];
const index = (values: readonly number[], shape: readonly number[] = [values.length]): Operand => ({ shape, dtype: 'int32', values });
const matrix: Operand = { shape: [3, 4] };

export const samples: Readonly<Record<string, readonly Sample[]>> = {
  abs: one(positive, Math.abs),
  neg: one(a, (x) => -x),
  sign: one(a, Math.sign),
  positivePart: one(a, (x) => (x > 0 ? x : 0)),
  floor: one({ shape: [2, 3], range: [-3, 3] }, Math.floor),
  ceil: one({ shape: [2, 3], range: [-3, 3] }, Math.ceil),
  trunc: one({ shape: [2, 3], range: [-3, 3] }, Math.trunc),
  round: [{ operands: [{ shape: [5], values: [0.5, 1.5, 2.5, -0.5, 1.2] }], expected: [0, 2, 2, -0, 1], rough: true }],
  exp: one(a, Math.exp),
  log: one(positive, Math.log),
  sqrt: one(positive, Math.sqrt),
  rsqrt: one(positive, (x) => 1 / Math.sqrt(x)),
  sin: one(a, Math.sin),
  cos: one(a, Math.cos),
  tan: one(a, Math.tan),
  asin: one({ shape: [2, 3], range: [-0.8, 0.8] }, Math.asin),
  acos: one({ shape: [2, 3], range: [-0.8, 0.8] }, Math.acos),
  atan: one(a, Math.atan),
  sinh: one(a, Math.sinh),
  cosh: one(a, Math.cosh),
  tanh: one(a, Math.tanh),
  logistic: one(a, (x) => 1 / (1 + Math.exp(-x))),
  asinh: one(a, Math.asinh),
  acosh: one({ shape: [2, 3], range: [1.5, 3] }, Math.acosh),
  atanh: one({ shape: [2, 3], range: [-0.8, 0.8] }, Math.atanh),
  log1p: one(positive, Math.log1p),
  expm1: one(a, Math.expm1),
  erf: [{ operands: [{ shape: [4], values: [0, 0.5, -1, 2] }], expected: [0, 0.5204998778, -0.8427007929, 0.995322265] }],
  copy: one(a, (x) => x),
  add: [...two(a, a, (x, y) => x + y), { operands: [truth, truth], formula: (x, y) => x! | y! }],
  sub: two(a, a, (x, y) => x - y),
  mul: [
    ...two(a, a, (x, y) => x * y),
    {
      operands: [
        { shape: [2], dtype: 'int32', values: [65537, -7] },
        { shape: [2], dtype: 'int32', values: [65537, 3] },
      ],
      formula: Math.imul,
    },
  ],
  div: two(a, positive, (x, y) => x / y),
  quotient: [{ operands: [whole, { ...whole, range: [1, 5] }], formula: (x, y) => Math.trunc(x! / y!) }],
  rem: two({ shape: [2, 3], range: [0.3, 0.9] }, { shape: [2, 3], range: [1.1, 2] }, (x, y) => x % y),
  pow: two(positive, a, (x, y) => x ** y),
  maximum: two(a, { shape: [2, 3], range: [-0.2, 2] }, Math.max),
  minimum: two(a, { shape: [2, 3], range: [-2, 0.2] }, Math.min),
  atan2: two(a, positive, Math.atan2),
  where: [
    { operands: [truth, a, a], formula: (c, x, y) => (c ? x! : y!) },
    { operands: [{ shape: [], dtype: 'bool', values: [1] }, a, scalar], formula: (c, x, y) => (c ? x! : y!) },
  ],
  convert: [
    { operands: [{ shape: [4], values: [1.7, -1.7, 0, 3] }], parameters: { dtype: 'int32' }, formula: (x) => Math.trunc(x!) },
    { operands: [whole], parameters: { dtype: 'float32' }, formula: (x) => x! },
    { operands: [whole], parameters: { dtype: 'bool' }, formula: (x) => (x === 0 ? 0 : 1) },
  ],
  bitcast: [{ operands: [{ shape: [2], values: [1, -2] }], parameters: { dtype: 'uint32' }, expected: [0x3f800000, 0xc0000000] }],
  equal: two(whole, whole, (x, y) => +(x === y)),
  notEqual: two(whole, whole, (x, y) => +(x !== y)),
  less: two(a, a, (x, y) => +(x < y)),
  lessEqual: two(a, a, (x, y) => +(x <= y)),
  greater: two(a, a, (x, y) => +(x > y)),
  greaterEqual: two(a, a, (x, y) => +(x >= y)),
  and: two(whole, whole, (x, y) => x & y),
  or: two(whole, whole, (x, y) => x | y),
  xor: two(whole, whole, (x, y) => x ^ y),
  not: [
    { operands: [whole], formula: (x) => ~x! },
    { operands: [truth], formula: (x) => 1 - x! },
  ],
  shiftLeft: [{ operands: [whole, { ...whole, range: [0, 5] }], formula: (x, y) => x! << y! }],
  shiftRight: [
    { operands: [whole, { ...whole, range: [0, 5] }], formula: (x, y) => x! >> y! },
    { operands: [words, { ...words, range: [0, 5] }], formula: (x, y) => x! >>> y! },
  ],
  bitCount: [{ operands: [words], formula: (x) => x!.toString(2).replaceAll('0', '').length }],
  isNan: [{ operands: [{ shape: [3], values: [NaN, 1, Infinity] }], expected: [1, 0, 0] }],
  isFinite: [{ operands: [{ shape: [3], values: [NaN, 1, Infinity] }], expected: [0, 1, 0] }],
  // Known answers of threefry2x32 with 20 rounds (Random123).
  threefry: [
    {
      operands: [0, 0, 0, 0].map((value) => ({ shape: [1], dtype: 'uint32', values: [value] })),
      parameters: { word: 'first' },
      expected: [0x6b200159],
    },
    {
      operands: [0x13198a2e, 0x03707344, 0x243f6a88, 0x85a308d3].map((value) => ({ shape: [1], dtype: 'uint32', values: [value] })),
      parameters: { word: 'second' },
      expected: [0x483df7a0],
    },
  ],
  sum: [
    { operands: [{ shape: [2, 3], values: [1, 2, 3, 4, 5, 6] }], parameters: { axes: [1] }, expected: [6, 15] },
    { operands: [a], parameters: { axes: [0, 1] } },
  ],
  max: [{ operands: [{ shape: [2, 3], values: [1, 3, 2, 9, 5, 6] }], parameters: { axes: [1] }, expected: [3, 9] }],
  min: [{ operands: [{ shape: [2, 3], values: [1, 3, 2, 9, 5, 6] }], parameters: { axes: [0] }, expected: [1, 3, 2] }],
  prod: [{ operands: [{ shape: [2, 3], values: [1, 2, 3, 4, 5, 0] }], parameters: { axes: [1] }, expected: [6, 0] }],
  any: [{ operands: [truth], parameters: { axes: [1] }, expected: [1, 1] }],
  all: [{ operands: [truth], parameters: { axes: [1] }, expected: [0, 0] }],
  argmax: [{ operands: [{ shape: [2, 3], values: [1, 3, 3, 9, 5, NaN] }], parameters: { axis: 1 }, expected: [1, 2], rough: true }],
  argmin: [{ operands: [{ shape: [2, 3], values: [1, 3, 1, 9, 5, 6] }], parameters: { axis: 1 }, expected: [0, 1], rough: true }],
  reshape: [
    { operands: [{ shape: [2, 3], values: [1, 2, 3, 4, 5, 6] }], parameters: { shape: [3, 2] }, expected: [1, 2, 3, 4, 5, 6] },
    { operands: [{ shape: [2, 6, 1] }], parameters: { shape: [4, 3] } },
  ],
  transpose: [
    { operands: [{ shape: [2, 3], values: [1, 2, 3, 4, 5, 6] }], parameters: { axes: [1, 0] }, expected: [1, 4, 2, 5, 3, 6] },
    { operands: [{ shape: [2, 3, 4] }], parameters: { axes: [2, 0, 1] } },
  ],
  broadcast: [
    {
      operands: [{ shape: [2, 1], values: [1, 2] }],
      parameters: { shape: [2, 2, 3], axes: [1, 2] },
      expected: [1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2],
    },
  ],
  slice: [
    {
      operands: [{ shape: [2, 4], values: [1, 2, 3, 4, 5, 6, 7, 8] }],
      parameters: { start: [0, 1], stop: [2, 4], stride: [1, 2] },
      expected: [2, 4, 6, 8],
    },
  ],
  flip: [{ operands: [{ shape: [2, 2], values: [1, 2, 3, 4] }], parameters: { axes: [1] }, expected: [2, 1, 4, 3] }],
  pad: [
    {
      operands: [{ shape: [2], values: [1, 2] }],
      parameters: { value: 9, low: [1], high: [2], interior: [1] },
      expected: [9, 1, 9, 2, 9, 9],
    },
    { operands: [{ shape: [4], values: [1, 2, 3, 4] }], parameters: { value: 0, low: [-1], high: [-1], interior: [0] }, expected: [2, 3] },
  ],
  windows: [
    { operands: [{ shape: [4], values: [1, 2, 3, 4] }], parameters: { window: [2], stride: [1], dilation: [2] }, expected: [1, 3, 2, 4] },
    { operands: [{ shape: [2, 4, 5] }], parameters: { window: [2, 3], stride: [1, 2], dilation: [2, 1] } },
  ],
  stopGradient: one(a, (x) => x),
  concatenate: [
    {
      operands: [
        { shape: [2, 1], values: [1, 2] },
        { shape: [2, 2], values: [3, 4, 5, 6] },
      ],
      parameters: { axis: 1 },
      expected: [1, 3, 4, 2, 5, 6],
    },
  ],
  full: [{ operands: [], parameters: { shape: [2], dtype: 'float32', value: 3 }, expected: [3, 3] }],
  iota: [{ operands: [], parameters: { shape: [2, 3], dtype: 'int32', axis: 1 }, expected: [0, 1, 2, 0, 1, 2] }],
  dot: [
    {
      operands: [
        { shape: [2, 2], values: [1, 2, 3, 4] },
        { shape: [2, 2], values: [5, 6, 7, 8] },
      ],
      parameters: { contract: [[1], [0]], batch: [[], []] },
      expected: [19, 22, 43, 50],
    },
    { operands: [{ shape: [2, 3, 4] }, { shape: [5, 2, 3] }], parameters: { contract: [[1], [2]], batch: [[0], [1]] } },
    {
      operands: [{ shape: [3, 4, 2] }, { shape: [4, 3, 5] }],
      parameters: {
        contract: [
          [0, 1],
          [1, 0],
        ],
        batch: [[], []],
      },
    },
  ],
  gather: [
    {
      operands: [{ shape: [3, 2], values: [1, 2, 3, 4, 5, 6] }, index([2, 0, 9])],
      parameters: { axes: [0], at: 0 },
      expected: [5, 6, 1, 2, 5, 6],
    },
    { operands: [matrix, index([2, 0], [2, 1]), index([3, 1], [2, 1])], parameters: { axes: [0, 1], at: 0 } },
  ],
  pick: [
    {
      operands: [{ shape: [3, 2], values: [1, 2, 3, 4, 5, 6] }, index([1, 0, 9], [3, 1])],
      parameters: { axis: 1 },
      expected: [2, 3, 6],
    },
    { operands: [{ shape: [2, 4] }, index([1, 0, 1, 1], [1, 4])], parameters: { axis: 0 } },
  ],
  scatter: [
    {
      operands: [{ shape: [4], values: [1, 2, 3, 4] }, { shape: [3], values: [7, 8, 9] }, index([2, 0, 9])],
      parameters: { axes: [0], at: 0, unique: false },
      expected: [8, 2, 7, 4],
    },
    { operands: [matrix, { shape: [2, 4] }, index([2, 0])], parameters: { axes: [0], at: 0, unique: true } },
  ],
  'scatter-add': [
    {
      operands: [{ shape: [3], values: [1, 2, 3] }, { shape: [3], values: [7, 8, 9] }, index([2, 0, 2])],
      parameters: { axes: [0], at: 0, unique: false },
      expected: [9, 2, 19],
    },
  ],
  'scatter-mul': [
    {
      operands: [{ shape: [3], values: [1, 2, 3] }, { shape: [2], values: [7, 8] }, index([2, 0])],
      parameters: { axes: [0], at: 0, unique: true },
      expected: [8, 2, 21],
    },
  ],
  'scatter-min': [
    {
      operands: [{ shape: [3], values: [1, 2, 3] }, { shape: [2], values: [0.5, 8] }, index([2, 0])],
      parameters: { axes: [0], at: 0, unique: true },
      expected: [1, 2, 0.5],
    },
  ],
  'scatter-max': [
    {
      operands: [{ shape: [3], values: [1, 2, 3] }, { shape: [2], values: [0.5, 8] }, index([2, 0])],
      parameters: { axes: [0], at: 0, unique: true },
      expected: [8, 2, 3],
    },
  ],
  dynamicSlice: [
    {
      operands: [{ shape: [2, 4], values: [1, 2, 3, 4, 5, 6, 7, 8] }, index([0], []), index([3], [])],
      parameters: { sizes: [2, 2] },
      expected: [3, 4, 7, 8],
    },
  ],
  dynamicUpdateSlice: [
    { operands: [{ shape: [4], values: [1, 2, 3, 4] }, { shape: [2], values: [8, 9] }, index([1], [])], expected: [1, 8, 9, 4] },
  ],
};

/** Entries whose meaning is a named axis or a body: tested where those are. */
export const elsewhere: readonly string[] = ['psum', 'pmax', 'pmin', 'allGather', 'axisIndex'];
