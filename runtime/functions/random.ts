/**
 * Random numbers from keys: the same seeds give JAX's numbers (threefry2x32, the partitionable layout).
 *
 * A key is two words, uint32[2]. Nothing here has state: a key used twice gives the same numbers twice.
 * Depends on: core, ops.
 */
import { printAval } from '../core/aval.ts';
import type { DType } from '../core/dtype.ts';
import { argumentWrong, describe, shapesDisagree } from '../core/errors.ts';
import { composed, lift, type ArrayLike } from '../ops/apply.ts';
import { bitAnd, bitOr, shiftRight, threefry, type Word } from '../ops/compare.ts';
import {
  bitcastTo,
  div,
  exp,
  floor,
  log,
  log1p,
  maximum,
  mul,
  neg,
  pow,
  rem,
  sqrt,
  sub,
  tan,
  where,
  abs,
  sign,
} from '../ops/elementwise.ts';
import { axisOf } from '../ops/family.ts';
import { countArg, optionsOf, shapeArg } from '../ops/options.ts';
import { argmax, sum } from '../ops/reduce.ts';
import { iota } from '../ops/shape.ts';
import { dtypeArg, type DTypeArg, type Value } from '../ops/value.ts';
import { erfInv } from './basic.ts';
import { argsort } from './sorting.ts';
import { full } from './creation.ts';
import { cholesky } from './linalg.ts';
import { cumsum } from './reductions.ts';
import { stack } from './shaping.ts';

type Shape = readonly number[];
const countOf = (shape: Shape): number => shape.reduce((product, extent) => product * extent, 1);

/** A key from a seed, or from a scalar array of one. */
export const key = composed('key', (seed: ArrayLike): Value => {
  if (typeof seed === 'number') {
    if (!Number.isInteger(seed)) throw argumentWrong('key', `${describe(seed)} as seed`, 'a seed is a whole number');
    return stack([full([], 0, 'uint32'), full([], seed >>> 0, 'uint32')]);
  }
  const value = lift(seed);
  if (value.size !== 1) throw shapesDisagree('key', [printAval(value.aval)], 'a seed is a single number');
  return stack([full([], 0, 'uint32'), value.astype('uint32').reshape([])]);
});
export { key as PRNGKey };

const wordsOf = (k: Value): readonly [Value, Value] => {
  if (k.shape.length !== 1 || k.shape[0] !== 2 || k.dtype !== 'uint32')
    throw shapesDisagree('random', [printAval(k.aval)], 'a key is u32[2]: make it with random.key(seed)');
  return [k.takeSlice(0, 0), k.takeSlice(0, 1)];
};
/** The words for counters 0, 1, 2 … in the given shape. */
const generated = (k: Value, shape: Shape, word: Word): Value =>
  threefry(word, wordsOf(k), [0, iota([countOf(shape)], 0, 'uint32')]).reshape(shape);

/** 32 random bits per element. */
export const bits = composed('bits', (k: ArrayLike, shape: Shape = []): Value => generated(lift(k), shapeArg('random', shape), 'both'));

/** New keys: [...shape, 2] in one array. */
export const splitKeys = composed('split', (k: ArrayLike, count: number | Shape = 2): Value => {
  const shape = shapeArg('split', count);
  return stack([generated(lift(k), shape, 'first'), generated(lift(k), shape, 'second')], -1);
});
const keyList = composed('split', (k: ArrayLike, count: number): Value[] => {
  const keys = splitKeys(k, count);
  return Array.from({ length: count }, (_, n) => keys.takeSlice(0, n));
});
/** New keys: as many as `count`, one array each; or for a shape one array of keys, [...shape, 2]. */
export function split(k: ArrayLike, count?: number): Value[];
export function split(k: ArrayLike, shape: Shape): Value;
export function split(k: ArrayLike, count: number | Shape = 2): Value | Value[] {
  return Array.isArray(count) ? splitKeys(k, count as Shape) : keyList(k, countArg('split', 'count', count));
}
/** A key for a number: for loops that need one per round. */
export const foldIn = composed('foldIn', (k: ArrayLike, data: ArrayLike): Value => {
  const words = wordsOf(lift(k));
  const seed = typeof data === 'number' ? full([], data >>> 0, 'uint32') : lift(data).astype('uint32').reshape([]);
  return stack([threefry('first', words, [0, seed]), threefry('second', words, [0, seed])]);
});

/** 23 random bits as the fraction of a float in [1, 2), less 1; for a float16 the upper 10 of the lower 16, as JAX has it. */
const unit = (k: Value, shape: Shape, dtype: DType = 'float32'): Value =>
  dtype === 'float16'
    ? mul(bitAnd(shiftRight(bits(k, shape), 6), 0x3ff).astype('float16'), 2 ** -10)
    : sub(bitcastTo(bitOr(shiftRight(bits(k, shape), 9), 0x3f800000), 'float32'), 1);

export interface Range {
  readonly minval?: ArrayLike;
  readonly maxval?: ArrayLike;
}
/** Evenly distributed from minval (0) to below maxval (1). */
export const uniform = composed(
  'uniform',
  (k: ArrayLike, shape: Shape = [], options?: DTypeArg | (Range & { readonly dtype?: DType })): Value => {
    const range: Range =
      typeof options === 'string'
        ? {}
        : optionsOf<Range>('uniform', options, { minval: undefined, maxval: undefined, dtype: undefined } as unknown as Range);
    const [least, most] = [range.minval ?? 0, range.maxval ?? 1];
    const dtype = dtypeArg(options as DTypeArg | undefined, 'float32');
    const unitValues = unit(lift(k), shape, dtype);
    const scaled =
      typeof least === 'number' && typeof most === 'number' && least === 0 && most === 1
        ? unitValues
        : maximum(mul(unitValues, sub(most, least).astype(dtype)).add(least), least);
    return scaled.astype(dtype);
  },
);
/** Normally distributed, mean 0 and variance 1. */
export const normal = composed('normal', (k: ArrayLike, shape: Shape = [], dtype?: DTypeArg): Value => {
  const own = dtypeArg(dtype, 'float32');
  // The number next to -1.
  const least = own === 'float16' ? -0.99951171875 : -0.9999999403953552;
  const spread = maximum(mul(unit(lift(k), shape, own), 1 - least).add(least), least);
  return mul(erfInv(spread), Math.SQRT2).astype(own);
});
/** Normally distributed between two bounds. */
export const truncatedNormal = composed('truncatedNormal', (k: ArrayLike, lower: number, upper: number, shape: Shape = []): Value => {
  const edge = (x: number): number => erfOf(x / Math.SQRT2);
  return mul(erfInv(uniform(k, shape, { minval: edge(lower), maxval: edge(upper) })), Math.SQRT2)
    .maximum(lower)
    .minimum(upper);
});
function erfOf(x: number): number {
  // A series that converges for the bounds that people give.
  let [term, total] = [x, x];
  for (let n = 1; n < 200; n++) {
    term *= (-x * x) / n;
    total += term / (2 * n + 1);
  }
  return Math.max(-1, Math.min(1, (2 / Math.sqrt(Math.PI)) * total));
}
/** True with probability p. */
export const bernoulli = composed('bernoulli', (k: ArrayLike, p: ArrayLike = 0.5, shape?: Shape): Value =>
  uniform(k, shape ?? lift(p).shape).less(p),
);
/** Whole numbers from minval to below maxval. */
export const randint = composed(
  'randint',
  (
    k: ArrayLike,
    shapeOrOptions: Shape | { readonly minval: number; readonly maxval: number; readonly shape?: Shape; readonly dtype?: DType },
    minval?: number,
    maxval?: number,
    dtype?: DTypeArg,
  ): Value => {
    if (typeof shapeOrOptions !== 'object' || shapeOrOptions === null || 'aval' in shapeOrOptions)
      throw argumentWrong('randint', describe(shapeOrOptions), 'pass { minval, maxval, shape }, or a shape, minval and maxval');
    if (!Array.isArray(shapeOrOptions))
      optionsOf('randint', shapeOrOptions, { minval: 0, maxval: 0, shape: undefined, dtype: undefined } as object);
    const options = Array.isArray(shapeOrOptions)
      ? { shape: shapeOrOptions as Shape, minval: minval ?? 0, maxval: maxval ?? 2, dtype: dtypeArg(dtype, 'int32') }
      : (shapeOrOptions as { readonly minval: number; readonly maxval: number; readonly shape?: Shape; readonly dtype?: DType });
    const shape = shapeArg('randint', options.shape ?? []);
    for (const bound of [options.minval, options.maxval])
      if (typeof bound !== 'number' || !Number.isInteger(bound))
        throw argumentWrong('randint', `${describe(bound)} as a bound`, 'bounds are whole numbers: { minval: 0, maxval: 10 }');
    const span = Math.max(1, options.maxval - options.minval) >>> 0;
    // Two draws make a 64-bit number whose rest by the span is even but for 2^-32; as JAX does.
    const [first, second] = split(k, 2) as [Value, Value];
    const [high, low] = [bits(first, shape), bits(second, shape)];
    const root = 2 ** 16 % span;
    const factor = ((root * root) % 2 ** 32) % span;
    const spread = rem(rem(high, span).mul(factor).add(rem(low, span)), span);
    return spread
      .astype('int32')
      .add(options.minval)
      .astype(options.dtype ?? 'int32');
  },
);

const open = (k: ArrayLike, shape: Shape): Value => uniform(k, shape, { minval: 1.1754943508222875e-38, maxval: 1 });
/** Exponentially distributed with rate 1. */
export const exponential = composed('exponential', (k: ArrayLike, shape: Shape = []): Value => neg(log1p(neg(uniform(k, shape)))));
/** Gumbel distributed: location 0, scale 1. */
export const gumbel = composed('gumbel', (k: ArrayLike, shape: Shape = []): Value => neg(log(neg(log(open(k, shape))))));
/** Logistically distributed: location 0, scale 1. */
export const logistic = composed('logistic', (k: ArrayLike, shape: Shape = []): Value => {
  const u = open(k, shape);
  return log(div(u, sub(1, u)));
});
/** Laplace distributed: location 0, scale 1. */
export const laplace = composed('laplace', (k: ArrayLike, shape: Shape = []): Value => {
  const u = uniform(k, shape, { minval: -0.9999999403953552, maxval: 1 });
  return mul(sign(u), log1p(neg(abs(u))));
});
/** Cauchy distributed: location 0, scale 1. */
export const cauchy = composed('cauchy', (k: ArrayLike, shape: Shape = []): Value =>
  tan(mul(sub(uniform(k, shape, { minval: 1.1920928955078125e-7, maxval: 1 }), 0.5), Math.PI)),
);
/** Pareto distributed on [1, ∞) with shape b. */
export const pareto = composed('pareto', (k: ArrayLike, b: ArrayLike, shape?: Shape): Value =>
  exp(div(exponential(k, shape ?? lift(b).shape), b)),
);
/** Rayleigh distributed with the given scale. */
export const rayleigh = composed('rayleigh', (k: ArrayLike, scale: ArrayLike = 1, shape?: Shape): Value =>
  mul(scale, sqrt(mul(log(open(k, shape ?? lift(scale).shape)), -2))),
);
/** Weibull distributed. */
export const weibullMin = composed('weibullMin', (k: ArrayLike, scale: ArrayLike, concentration: ArrayLike, shape?: Shape): Value =>
  mul(pow(neg(log1p(neg(uniform(k, shape ?? lift(scale).shape)))), div(1, concentration)), scale),
);
/** exp(sigma · normal). */
export const lognormal = composed('lognormal', (k: ArrayLike, sigma: ArrayLike = 1, shape?: Shape): Value =>
  exp(mul(normal(k, shape ?? lift(sigma).shape), sigma)),
);
/** How many trials of probability p until the first success. */
export const geometric = composed(
  'geometric',
  (k: ArrayLike, p: ArrayLike, options: { readonly shape?: Shape; readonly dtype?: DType } = {}): Value =>
    floor(div(log(open(k, options.shape ?? lift(p).shape)), log1p(neg(p))))
      .add(1)
      .astype(options.dtype ?? 'int32'),
);
/** Maxwell distributed: lengths of normal vectors in space. */
export const maxwell = composed('maxwell', (k: ArrayLike, shape: Shape = []): Value => {
  const n = normal(k, [...shape, 3]);
  return sqrt(sum(mul(n, n), -1));
});
/** Maxwell distributed with a random sign, scaled and moved. */
export const doubleSidedMaxwell = composed(
  'doubleSidedMaxwell',
  (k: ArrayLike, loc: ArrayLike, scale: ArrayLike, shape: Shape = []): Value => {
    const [a, b] = split(k, 2) as [Value, Value];
    return mul(mul(maxwell(a, shape), rademacher(b, { shape }).astype('float32')), scale).add(loc);
  },
);
/** -1 or 1, evenly. */
export const rademacher = composed('rademacher', (k: ArrayLike, options: { readonly shape?: Shape; readonly dtype?: DType } = {}): Value =>
  where(bernoulli(k, 0.5, options.shape ?? []), 1, -1).astype(options.dtype ?? 'int32'),
);
/** Distributed as a triangle from left to right with its peak at mode. */
export const triangular = composed(
  'triangular',
  (k: ArrayLike, left: ArrayLike, mode: ArrayLike, right: ArrayLike, shape?: Shape): Value => {
    const u = uniform(k, shape ?? lift(mode).shape);
    const whole = sub(right, left);
    const turn = div(sub(mode, left), whole);
    const below = sqrt(mul(mul(u, whole), sub(mode, left))).add(left);
    const above = sub(right, sqrt(mul(mul(sub(1, u), whole), sub(right, mode))));
    return where(u.less(turn), below, above);
  },
);
/** Points in a ball of the p-norm in d dimensions. */
export const ball = composed('ball', (k: ArrayLike, d: number, options: { readonly p?: number; readonly shape?: Shape } = {}): Value => {
  optionsOf('ball', options, { p: 2, shape: [] } as object);
  const shape = shapeArg('ball', options.shape ?? []);
  countArg('ball', 'd', d, 1);
  const [a, b] = split(k, 2) as [Value, Value];
  const g = normal(a, [...shape, d]);
  const p = options.p ?? 2;
  const length = p === 2 ? sqrt(sum(mul(g, g), -1, true)) : pow(sum(pow(abs(g), p), -1, true), 1 / p);
  return mul(div(g, length), pow(uniform(b, [...shape, 1]), 1 / d));
});
/** Normally distributed vectors of the given mean and covariance. */
export const multivariateNormal = composed('multivariateNormal', (k: ArrayLike, mean: ArrayLike, cov: ArrayLike, shape?: Shape): Value => {
  const centre = lift(mean);
  const n = centre.shape[centre.ndim - 1]!;
  const draws = normal(k, [...(shape ?? centre.shape.slice(0, -1)), n]);
  return draws.matmul(cholesky(cov).transpose()).add(centre);
});
/** Positions drawn with probabilities exp(logits), by the largest of logits with Gumbel noise. */
export const categorical = composed(
  'categorical',
  (
    k: ArrayLike,
    logits: ArrayLike,
    options: { readonly axis?: number; readonly shape?: Shape; readonly replace?: boolean } = {},
  ): Value => {
    optionsOf('categorical', options, { axis: -1, shape: undefined, replace: true } as object);
    const own = lift(logits);
    axisOf('categorical', options.axis ?? -1, own.aval);
    const along = (options.axis ?? -1) < 0 ? (options.axis ?? -1) + own.ndim : options.axis!;
    const rest = own.shape.filter((_, axis) => axis !== along);
    const shape = options.shape ?? rest;
    const lead = shape.slice(0, shape.length - rest.length);
    if (options.replace === false) {
      const noisy = neg(own.add(gumbel(k, own.shape)));
      return argsort(noisy, along)
        .slice(...Array.from({ length: along }, (): readonly [] => []), [0, countOf(lead)])
        .moveAxis(along, 0)
        .reshape(shape);
    }
    return argmax(gumbel(k, [...lead, ...own.shape]).add(own), lead.length + along);
  },
);
/** The numbers below x, or the parts of an array along an axis, in random order. */
export const permutation = composed('permutation', (k: ArrayLike, x: number | ArrayLike, axis: number = 0): Value => {
  const own = typeof x === 'number' ? iota([countArg('permutation', 'x', x)], 0, 'int32') : lift(x);
  const along = axisOf('permutation', axis, own.aval);
  return own.take(shuffled(lift(k), own.shape[along]!), along);
});
/** Places in random order: sorted by random bits, in as many rounds as make equal bits harmless; as JAX does. */
function shuffled(k: Value, n: number): Value {
  const rounds = Math.ceil((3 * Math.log(Math.max(1, n))) / Math.log(2 ** 32 - 1));
  let [key, order] = [k, iota([n], 0, 'int32')];
  for (let round = 0; round < rounds; round++) {
    const [next, own] = split(key, 2) as [Value, Value];
    order = order.take(argsort(bits(own, [n])), 0);
    key = next;
  }
  return order;
}
/** Draws from the numbers below a, or from the parts of an array along an axis; with or without replacement, evenly or with probabilities. */
export const choice = composed(
  'choice',
  (
    k: ArrayLike,
    a: number | ArrayLike,
    options: { readonly shape?: Shape; readonly replace?: boolean; readonly p?: ArrayLike; readonly axis?: number } = {},
  ): Value => {
    optionsOf('choice', options, { shape: [], replace: true, p: undefined, axis: 0 } as object);
    const own = typeof a === 'number' ? iota([countArg('choice', 'a', a, 1)], 0, 'int32') : lift(a);
    const axis = axisOf('choice', options.axis ?? 0, own.aval);
    const n = own.shape[axis]!;
    const shape = shapeArg('choice', options.shape ?? []);
    const count = countOf(shape);
    if (options.replace === false && count > n)
      throw argumentWrong('choice', `${count} draws from ${n} without replacement`, 'draw fewer, or with { replace: true }');
    if (options.p !== undefined && lift(options.p).shape.join() !== String(n))
      throw shapesDisagree('choice', [printAval(lift(options.p).aval)], `it needs a probability for each of the ${n}`);
    let positions: Value;
    if (options.replace === false)
      positions =
        options.p === undefined ? permutation(k, n).slice([0, count]) : argsort(neg(gumbel(k, [n]).add(log(options.p)))).slice([0, count]);
    else if (options.p === undefined) positions = randint(k, { minval: 0, maxval: n, shape: [count] });
    else {
      const steps = cumsum(lift(options.p));
      const draws = mul(sub(1, uniform(k, [count])), steps.takeSlice(0, n - 1));
      positions = sum(
        draws
          .reshape([count, 1])
          .greater(steps.reshape([1, n]))
          .astype('int32'),
        1,
      ).minimum(n - 1);
    }
    return own.take(positions.reshape(shape), axis);
  },
);
