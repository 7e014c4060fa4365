/**
 * What TensorFlow.js leaves behind, and how it is freed: `tidy`, `keep`, `dispose`, and one of each mistake.
 *
 * Only `brightest` is right; `tidemark check examples/leaks-in-tfjs.ts` finds the others.
 * Depends on: @tensorflow/tfjs.
 */
import * as tf from '@tensorflow/tfjs';

/** Everything but the result is freed by the tidy, and the result by the caller. */
function brightest(image: tf.Tensor): number {
  return tf.tidy(() => image.max().dataSync()[0]!);
}

/** The squares are never freed. */
function energy(image: tf.Tensor): number {
  const squares = image.square();
  const sum = squares.sum();
  const value = sum.dataSync()[0]!;
  sum.dispose();
  return value;
}

/** The tensor is read after the tidy has freed it. */
function centre(image: tf.Tensor): number {
  let shifted: tf.Tensor = image;
  tf.tidy(() => {
    shifted = image.sub(image.mean());
  });
  return shifted.size;
}

/** Every round keeps one more tensor. */
const history: tf.Tensor[] = [];
function remember(image: tf.Tensor): void {
  for (let i = 0; i < 3; i++) history.push(image.mul(i));
}

await tf.setBackend('cpu');
const image = tf.ones([64, 64]);
console.log(brightest(image), energy(image), centre(image));
remember(image);
image.dispose();
console.log(`tensors left: ${tf.memory().numTensors}`);
