/**
 * Functions of neural networks: activations, normalisation, attention.
 *
 * Depends on: core, ops.
 */
import { printAval } from '../core/aval.ts';
import { isFloat, type DType } from '../core/dtype.ts';
import { argumentWrong, describe, shapesDisagree } from '../core/errors.ts';
import { composed, lift, type ArrayLike } from '../ops/apply.ts';
import {
  abs,
  div,
  erf,
  exp,
  expm1,
  log,
  log1p,
  logistic,
  maximum,
  minimum,
  mul,
  neg,
  positivePart,
  sqrt,
  sub,
  tanh,
  where,
  add,
} from '../ops/elementwise.ts';
import { axisOf } from '../ops/family.ts';
import { optionsOf, sizeArg } from '../ops/options.ts';
import { axesOf, max, mean, sum, type Axis, type ReduceOptions } from '../ops/reduce.ts';
import { iota, sliceAlong } from '../ops/shape.ts';
import { stopGradient } from './basic.ts';
import { dtypeArg, type DTypeArg, type Value } from '../ops/value.ts';
import { square } from './math.ts';
import { variance } from './reductions.ts';
import { softmax } from './softmax.ts';

export { softmax };

/** x where it is positive, else 0. The slope at 0 is 0. */
export const relu = composed('relu', (x: ArrayLike): Value => {
  const value = lift(x);
  return value.dtype === 'bool' ? where(value, value, 0) : positivePart(value);
});
/** x kept between 0 and 6. */
export const relu6 = composed('relu6', (x: ArrayLike): Value => minimum(maximum(x, 0), 6));
/** 1 / (1 + exp(-x)). */
export const sigmoid = composed('sigmoid', (x: ArrayLike): Value => logistic(float(x)));
/** log(1 + exp(x)), without overflow. */
export const softplus = composed('softplus', (x: ArrayLike): Value => {
  const value = float(x);
  return add(maximum(value, 0), log1p(exp(neg(abs(value)))));
});
/** x · sigmoid(x). */
export const silu = composed('silu', (x: ArrayLike): Value => mul(x, sigmoid(x)));
export { silu as swish };
/** log(sigmoid(x)), without overflow. */
export const logSigmoid = composed('logSigmoid', (x: ArrayLike): Value => neg(softplus(neg(float(x)))));
/** x / (1 + |x|). */
export const softSign = composed('softSign', (x: ArrayLike): Value => div(x, add(abs(x), 1)));
/** x where it is positive, else x times a small slope. */
export const leakyRelu = composed('leakyRelu', (x: ArrayLike, slope: ArrayLike = 0.01): Value => {
  const value = lift(x);
  return where(value.greaterEqual(0), value, mul(value, slope));
});
/** relu6(x + 3) / 6. */
export const hardSigmoid = composed('hardSigmoid', (x: ArrayLike): Value => relu6(add(x, 3)).div(6));
/** x · hardSigmoid(x). */
export const hardSilu = composed('hardSilu', (x: ArrayLike): Value => mul(x, hardSigmoid(x)));
export { hardSilu as hardSwish };
/** x kept between -1 and 1. */
export const hardTanh = composed('hardTanh', (x: ArrayLike): Value => minimum(maximum(x, -1), 1));
/** The exponential side only where it is used, so that far positive values don't overflow in the gradient. */
const negativeSide = (x: Value): Value => where(x.greater(0), 0, x);
/** x where it is positive, else alpha · (exp(x) - 1). */
export const elu = composed('elu', (x: ArrayLike, alpha: ArrayLike = 1): Value => {
  const value = lift(x);
  return where(value.greater(0), value, mul(alpha, expm1(negativeSide(value))));
});
/** x where it is positive, else alpha · (exp(x / alpha) - 1). */
export const celu = composed('celu', (x: ArrayLike, alpha: ArrayLike = 1): Value => {
  const value = lift(x);
  return maximum(value, 0).add(mul(alpha, expm1(div(negativeSide(value), alpha))));
});
/** elu with the two constants under which activations keep mean 0 and variance 1. */
export const selu = composed('selu', (x: ArrayLike): Value => mul(elu(x, 1.6732632423543772), 1.0507009873554805));
/** Gaussian error linear unit; by tanh unless `approximate` is false. */
export const gelu = composed('gelu', (x: ArrayLike, options: { readonly approximate?: boolean } = {}): Value => {
  const value = float(x);
  const { approximate } = optionsOf('gelu', options, { approximate: true });
  if (!approximate) return mul(mul(value, 0.5), erf(mul(value, Math.SQRT1_2)).add(1));
  const inner = mul(value.add(mul(mul(mul(value, value), value), 0.044715)), Math.sqrt(2 / Math.PI));
  return mul(mul(value, 0.5), tanh(inner).add(1));
});
/** The first half of an axis, times the sigmoid of the second. */
export const glu = composed('glu', (x: ArrayLike, axis: number = -1): Value => {
  const value = lift(x);
  const along = axisOf('glu', axis, value.aval);
  const half = value.shape[along]! / 2;
  if (!Number.isInteger(half)) throw shapesDisagree('glu', [printAval(value.aval)], `axis ${along} has to be even`);
  return mul(sliceAlong(value, along, 0, half), sigmoid(sliceAlong(value, along, half, 2 * half)));
});
/** (x + sqrt(x² + b)) / 2. */
export const squareplus = composed('squareplus', (x: ArrayLike, b: ArrayLike = 4): Value => {
  const value = float(x);
  return mul(add(value, sqrt(add(square(value), b))), 0.5);
});
/** x · tanh(softplus(x)). */
export const mish = composed('mish', (x: ArrayLike): Value => mul(x, tanh(softplus(x))));
/** 0 up to -1, x from 1, and a parabola between. */
export const sparsePlus = composed('sparsePlus', (x: ArrayLike): Value => {
  const value = float(x);
  return where(value.lessEqual(-1), 0, where(value.greaterEqual(1), value, mul(square(add(value, 1)), 0.25)));
});
/** The slope of sparsePlus: a straight line from 0 at -1 to 1 at 1. */
export const sparseSigmoid = composed('sparseSigmoid', (x: ArrayLike): Value => minimum(maximum(mul(add(x, 1), 0.5), 0), 1));
/** x as it is. */
export const identity = composed('identity', (x: ArrayLike): Value => lift(x));
/** log(1 - exp(-x)) for positive x, accurate at both ends. */
export const log1mexp = composed('log1mexp', (x: ArrayLike): Value => {
  const value = float(x);
  return where(value.lessEqual(Math.LN2), log(neg(expm1(neg(value)))), log1p(neg(exp(neg(value)))));
});

function float(x: ArrayLike): Value {
  const value = lift(x);
  return isFloat(value.dtype) ? value : value.astype('float32');
}
/** Shifted by the largest, which has no slope of its own. */
const centredAt = (x: Value, axis: Axis): Value => sub(x, stopGradient(max(x, axis, { keepdims: true })));
const shifted = (x: Value, axis: Axis): { readonly centred: Value; readonly top: Value } => {
  const highest = stopGradient(max(x, axis, { keepdims: true }));
  const top = where(abs(highest).equal(Infinity), 0, highest);
  return { centred: sub(x, top), top };
};
/** The logarithm of softmax along an axis (the last). */
export const logSoftmax = composed('logSoftmax', (x: ArrayLike, axis: Axis = -1): Value => {
  const value = float(x);
  if (value.size === 0) return value;
  const centred = centredAt(value, axis);
  return sub(centred, log(sum(exp(centred), axis, { keepdims: true })));
});
/** log of the sum of exponentials over axes (all), without overflow. */
export const logsumexp = composed('logsumexp', (x: ArrayLike, axis?: Axis, options?: ReduceOptions): Value => {
  const value = float(x);
  if (value.size === 0) return log(sum(value, axis, options));
  const { centred, top } = shifted(value, axis);
  const total = log(sum(exp(centred), axis, options));
  return total.add(top.reshape(total.shape));
});
/** log of the mean of exponentials over axes (all). */
export const logmeanexp = composed('logmeanexp', (x: ArrayLike, axis?: Axis, options?: ReduceOptions): Value => {
  const value = float(x);
  const count = axesOf('logmeanexp', axis, value).reduce((product, k) => product * value.shape[k]!, 1);
  return logsumexp(value, axis, options).sub(Math.log(count));
});
/** Mean 0 and variance 1 along an axis (the last). */
export const standardize = composed(
  'standardize',
  (
    x: ArrayLike,
    axis: Axis = -1,
    options: { readonly mean?: ArrayLike; readonly variance?: ArrayLike; readonly epsilon?: ArrayLike } = {},
  ): Value => {
    const given = optionsOf('standardize', options, {
      mean: undefined as ArrayLike | undefined,
      variance: undefined as ArrayLike | undefined,
      epsilon: 1e-5 as ArrayLike,
    });
    const value = float(x);
    const centre = given.mean ?? mean(value, axis, { keepdims: true });
    const spread = given.variance ?? variance(value, axis, { keepdims: true, mean: centre });
    return value.sub(centre).div(sqrt(add(spread, given.epsilon)));
  },
);
/** A row of zeros with a 1 at the index, per element; all zeros for an index outside. */
export const oneHot = composed('oneHot', (x: ArrayLike, classes: number, dtype?: DTypeArg): Value => {
  const value = lift(x);
  sizeArg('oneHot', 'classes', classes);
  const type: DType = dtypeArg(dtype, 'float32');
  const shape = [...value.shape, classes];
  return value
    .astype('int32')
    .reshape([...value.shape, 1])
    .equal(iota(shape, shape.length - 1, 'int32'))
    .astype(type);
});

export interface AttentionOptions {
  /** Added to the scores before softmax; [B, N, T, S] or what broadcasts to it. */
  readonly bias?: ArrayLike;
  /** Where it is false there is no attention. */
  readonly mask?: ArrayLike;
  /** What scores are multiplied with; one over the root of the head's width unless given. */
  readonly scale?: number;
  readonly isCausal?: boolean;
  readonly querySeqLengths?: ArrayLike;
  readonly keyValueSeqLengths?: ArrayLike;
  readonly localWindowSize?: number | readonly [number, number];
}
const attentionDefaults = {
  bias: undefined,
  mask: undefined,
  scale: undefined,
  isCausal: false,
  querySeqLengths: undefined,
  keyValueSeqLengths: undefined,
  localWindowSize: undefined,
} as unknown as AttentionOptions;

/**
 * Attention of query [B, T, N, H] on key and value [B, S, K, H] (B may be absent), N a multiple of K.
 * The scores take 4·B·N·T·S bytes.
 */
export const dotProductAttention = composed(
  'dotProductAttention',
  (query: ArrayLike, key: ArrayLike, value: ArrayLike, given: AttentionOptions = {}): Value => {
    const options = optionsOf<AttentionOptions>('dotProductAttention', given, attentionDefaults);
    const [q, k, v] = [lift(query), lift(key), lift(value)];
    const fits =
      (q.ndim === 3 || q.ndim === 4) &&
      k.ndim === q.ndim &&
      v.ndim === q.ndim &&
      q.shape[q.ndim - 1] === k.shape[k.ndim - 1] &&
      k.shape.slice(0, -1).every((extent, axis) => extent === v.shape[axis]) &&
      (q.ndim === 3 || q.shape[0] === k.shape[0]);
    if (!fits)
      throw shapesDisagree(
        'dotProductAttention',
        [q, k, v].map((x) => printAval(x.aval)),
        'a query [B, T, N, H] needs a key [B, S, K, H] and a value [B, S, K, D]',
      );
    if (q.ndim === 3)
      return dotProductAttention(q.reshape([1, ...q.shape]), k.reshape([1, ...k.shape]), v.reshape([1, ...v.shape]), options).reshape(
        q.shape.slice(0, 2).concat(v.shape[2]!),
      );
    const [b, t, n, h] = q.shape as [number, number, number, number];
    const [, s, heads] = k.shape as [number, number, number, number];
    if (n % heads !== 0)
      throw shapesDisagree(
        'dotProductAttention',
        [printAval(q.aval), printAval(k.aval)],
        `${n} query heads aren't a multiple of ${heads} key heads`,
      );
    const group = n / heads;
    const queries = q
      .reshape([b, t, heads, group, h])
      .transpose([0, 2, 3, 1, 4])
      .reshape([b, heads, group * t, h]);
    const scores = queries
      .matmul(k.transpose([0, 2, 3, 1]))
      .mul(options.scale ?? 1 / Math.sqrt(h))
      .reshape([b, n, t, s]);
    const biased = options.bias === undefined ? scores : scores.add(options.bias);
    const allowed = attentionMask(options, b, t, s);
    const masked = allowed.reduce<Value>((own, mask) => where(mask, own, q.dtype === 'float16' ? -45000 : -2.3e38), biased);
    const weights = softmax(masked, -1).reshape([b, heads, group * t, s]);
    const out = weights
      .matmul(v.transpose([0, 2, 1, 3]))
      .reshape([b, heads, group, t, v.shape[3]!])
      .transpose([0, 3, 1, 2, 4])
      .reshape([b, t, n, v.shape[3]!]);
    if (options.querySeqLengths === undefined) return out;
    // Queries that are padding have no result.
    const real = iota([1, t, 1, 1], 1, 'int32').less(lift(options.querySeqLengths).reshape([b, 1, 1, 1]));
    return where(real.broadcastTo(out.shape), out, 0);
  },
);
function attentionMask(options: AttentionOptions, batch: number, t: number, s: number): readonly Value[] {
  const row = iota([t, s], 0, 'int32');
  const column = iota([t, s], 1, 'int32');
  const masks: Value[] = [];
  if (options.mask !== undefined) masks.push(lift(options.mask));
  if (options.isCausal) masks.push(row.greaterEqual(column));
  if (options.localWindowSize !== undefined) {
    if (typeof options.localWindowSize !== 'number' && !Array.isArray(options.localWindowSize))
      throw argumentWrong(
        'dotProductAttention',
        `${describe(options.localWindowSize)} as localWindowSize`,
        'give it a number, or [left, right]',
      );
    const [left, right] =
      typeof options.localWindowSize === 'number' ? [options.localWindowSize, options.localWindowSize] : options.localWindowSize;
    masks.push(column.greaterEqual(row.sub(left)).logicalAnd(column.lessEqual(row.add(right))));
  }
  if (options.querySeqLengths !== undefined)
    masks.push(row.reshape([1, 1, t, s]).less(lift(options.querySeqLengths).reshape([batch, 1, 1, 1])));
  if (options.keyValueSeqLengths !== undefined)
    masks.push(column.reshape([1, 1, t, s]).less(lift(options.keyValueSeqLengths).reshape([batch, 1, 1, 1])));
  return masks;
}
