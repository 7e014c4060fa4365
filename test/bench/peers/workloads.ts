/**
 * The same work for each library, written as its own documentation would: what it is, its data, and what a program written by
 * hand would need.
 *
 * A workload prepares its state and gives a step; the step resolves when its result was read (four numbers at most).
 * Depends on: `mnist`.
 */
import { createRequire } from 'node:module';

export type Step = () => Promise<number>;
export type Workload = 'a' | 'b' | 'c' | 'd' | 'e' | 'f' | 'g' | 'h';
export type Library = 'tidemark' | 'jax-js' | 'tfjs';

export const titles: Readonly<Record<Workload, string>> = {
  a: 'MLP 784-512-512-10, batch 128, SGD with momentum',
  b: 'AdamW on 2048x2048',
  c: 'transformer block forward, 128x256, 4 heads',
  d: '50 x (x = (x + 1/x) / 2) on 1024x1024',
  e: 'running mean of 20 arrays of 1024x1024',
  f: 'transformer block forward and backward with AdamW, 128x256, 4 heads',
  g: 'conv net on 64 digits of 28x28, SGD with momentum',
  h: 'attention of 4 heads over 1024 tokens of 64',
};

export const sizes = [784, 512, 512, 10] as const;
export const batch = 128;
export const [tokens, width, heads] = [128, 256, 4] as const;
/** Queries and keys of (h). */
export const attended = 1024;
/** Kernels of the conv net as [out, in, height, width]; strides 2, 2, 1, a border of one zero on each side. */
export const kernels = [
  [16, 1, 3, 3],
  [32, 16, 3, 3],
  [64, 32, 3, 3],
] as const;
export const strides = [2, 2, 1] as const;
export const digitsInBatch = 64;
/** Not 0: on blank paper the first sums would be 0 exactly, where libraries differ in what they take for relu's slope. */
export const startBias = 0.05;

const mebi = 2 ** 20;
const bytesOf = (...shape: readonly number[]): number => 4 * shape.reduce((product, extent) => product * extent, 1);

/**
 * Bytes that a program written by hand needs at its peak, when what is given to a step may be written over and everything
 * elementwise happens where a product or a sum is stored. (a) to (e) are those of programs that were written and run.
 */
export const floors: Readonly<Record<Workload, number>> = {
  a: 6.28 * mebi,
  b: 64 * mebi,
  c: 4.01 * mebi,
  d: 4 * mebi,
  e: 8 * mebi,
  f: transformerStepFloor(),
  g: convNetFloor(),
  h: attentionFloor(),
};

/**
 * Parameters with both moments are updated where each gradient is summed; x and the target are arguments. The peak is in
 * the backward pass of the two wide products, when the gradient of the wide layer has been written over its input:
 *
 *     x, target                    2 units of 128 x 256 numbers
 *     q, k, v; weights of attention; what they sum to    3 + 2 + 1, read by the backward pass of attention
 *     h, after attention           1
 *     wide layer's gradient (over the input of gelu), result of gelu   4 + 4
 *     gradient of the result       1
 *
 * The two normalised inputs are not in it: each is one elementwise kernel from x or h, made again when its product's turn comes
 * and the result of gelu is gone.
 */
function transformerStepFloor(): number {
  const weights = bytesOf(width, 3 * width) + bytesOf(width, width) + 2 * bytesOf(width, 4 * width);
  return 3 * weights + (2 + 6 + 1 + 8 + 1) * bytesOf(tokens, width);
}

/**
 * Parameters and momentum, the digits, and the results of the three layers, which the backward pass reads. Each layer's
 * gradient is written over its result, once the gradient of the next kernel has been added to its momentum; kernels are
 * updated from their momentum after the last layer that reads them. Padded arrays are read where the arrays themselves lie.
 */
function convNetFloor(): number {
  const weights = kernels.reduce((sum, shape) => sum + bytesOf(...shape) + bytesOf(shape[0]), bytesOf(64, 10) + bytesOf(10));
  const results = bytesOf(digitsInBatch, 16, 14, 14) + bytesOf(digitsInBatch, 32, 7, 7) + bytesOf(digitsInBatch, 64, 7, 7);
  return 2 * weights + bytesOf(digitsInBatch, 28, 28) + bytesOf(digitsInBatch, 10) + results;
}

/**
 * q, k, v and the result, and all weights of attention once: their exponentials are written over the scores, and divided by
 * their sums where the second product is stored. (A kernel that goes through the keys in blocks and keeps running maxima
 * would not store them at all, and need the first four only.)
 */
function attentionFloor(): number {
  return 4 * bytesOf(4, attended, 64) + bytesOf(4, attended, attended) + 2 * bytesOf(4, attended);
}

export const wave = (count: number, scale: number, shift = 0): Float32Array =>
  Float32Array.from({ length: count }, (_, i) => Math.sin(i * 0.37 + shift) * scale);
/** Row i is all 0 but for a 1 at i % 10. */
export const labelsOf = (rows: number): Float32Array =>
  Float32Array.from({ length: rows * 10 }, (_, i) => (i % 10 === Math.floor(i / 10) % 10 ? 1 : 0));

/** Handwritten digits, 0 to 9 in turn, one channel: [64, 28, 28]. */
export function digits(): Float32Array {
  const mnist = createRequire(import.meta.url)('mnist') as readonly { readonly raw: readonly number[] }[];
  const pixels = new Float32Array(digitsInBatch * 784);
  for (let i = 0; i < digitsInBatch; i++) {
    const image = Math.floor(i / 10);
    pixels.set(mnist[i % 10]!.raw.slice(image * 784, (image + 1) * 784), i * 784);
  }
  return pixels;
}

/** The same kernel as [height, width, in, out]. */
export function channelsLast(kernel: Float32Array, [out, channels, height, wide]: readonly number[]): Float32Array {
  const turned = new Float32Array(kernel.length);
  kernel.forEach((value, i) => {
    const x = i % wide!;
    const y = Math.floor(i / wide!) % height!;
    const c = Math.floor(i / (wide! * height!)) % channels!;
    const o = Math.floor(i / (wide! * height! * channels!));
    turned[((y * wide! + x) * channels! + c) * out! + o] = value;
  });
  return turned;
}
