/**
 * Static peaks of tensor programs against what the library itself counts while they run, byte for byte; of programs whose
 * operations consume and of raw buffers against the sum by hand. Depends on: support, @tensorflow/tfjs.
 */
import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';
import type { CheckReport } from '../../language-server/protocol.ts';
import { checkFolder } from '../support/check.ts';
import { lay, type Fixture } from '../support/fixture.ts';

const tensors = `
import * as tf from '@tensorflow/tfjs';
export function chain(n: number): number {
  const x = tf.ones([n, 128]);
  const w = tf.zeros([128, 256]);
  const y = x.matMul(w as tf.Tensor2D);
  const z = y.relu();
  const v = z.reshape([n * 256]);
  const s = v.sum();
  const value = s.dataSync()[0]!;
  tf.dispose([x, w, y, z, v, s]);
  return value;
}
export function masked(n: number): void {
  tf.tidy(() => {
    const x = tf.randomNormal([n, n]);
    const mask = x.greater(0);
    return x.mul(mask.toFloat()).add(tf.zerosLike(x));
  }).dispose();
}
export function images(n: number): number {
  let sum = 0;
  for (let i = 0; i < 3; i++) {
    const image = tf.fill([1, 32, 32, n], i) as tf.Tensor4D;
    const small = tf.image.resizeBilinear(image, [16, 16]);
    const [left, right] = tf.split(small, 2, 2) as [tf.Tensor4D, tf.Tensor4D];
    const both = tf.concat([left, right], 1);
    sum += both.dataSync()[0]!;
    tf.dispose([image, small, left, right, both]);
  }
  return sum;
}
export function views(n: number): number {
  const weights = tf.variable(tf.zeros([n, 4]));
  const turned = tf.transpose(weights);
  const flat = turned.flatten();
  turned.dispose();
  const labels = tf.oneHot(tf.tensor1d([0, 1, 2], 'int32'), n);
  const value = flat.dataSync()[0]! + labels.size;
  tf.dispose([weights, flat, labels]);
  return value;
}
`;
const others = `
import { numpy as np } from '@jax-js/jax';
export function consumed(): number {
  const x = np.ones([64, 128]);
  const w = np.ones([128, 256]);
  const z = np.tanh(np.matmul(x, w));
  return z.sum().item();
}
export function held(): number {
  const x = np.ones([1024]);
  const y = x.ref.mul(2);
  return x.add(y).sum().item();
}
export function buffers(device: GPUDevice, n: number): void {
  const first = device.createBuffer({ size: n * 4, usage: 1 });
  const second = device.createBuffer({ size: 1024, usage: 1 });
  first.destroy();
  const image = device.createTexture({ size: [4, 4], format: 'rgba8unorm', usage: 1 });
  second.destroy();
  image.destroy();
}
`;

describe('static peaks of other libraries', function () {
  this.timeout(120_000);
  let fixture: Fixture;
  let report: CheckReport;
  const peakOf = (name: string): ((n: number) => number) => {
    const found = report.functions.find((fn) => fn.name === name);
    if (found === undefined) throw new Error(`no function ${name}`);
    if (found.staticPeakBytes !== null) return () => found.staticPeakBytes!;
    assert.notEqual(found.staticPeak, null, `${name} has a peak`);
    // `4·n·n + 1024`: sums of products.
    return (n) =>
      found
        .staticPeak!.split(' + ')
        .reduce(
          (sum, term) => sum + term.split('·').reduce((product, factor) => product * (/^\d+$/.test(factor) ? Number(factor) : n), 1),
          0,
        );
  };

  before(async () => {
    fixture = lay([
      { name: 'tensors.ts', text: tensors },
      { name: 'others.ts', text: others },
    ]);
    report = await checkFolder(fixture.folder);
  });
  after(() => fixture.remove());

  for (const name of ['chain', 'masked', 'images', 'views'])
    it(`${name}: as many bytes as tensors take at most while it runs`, async () => {
      const tf = await import('@tensorflow/tfjs');
      const program = (await import(pathToFileURL(fixture.files[0]!).href)) as Record<string, (n: number) => unknown>;
      await tf.setBackend('cpu');
      for (const n of [4, 12]) {
        const before = tf.memory().numBytes;
        const { peakBytes } = await tf.profile(() => {
          program[name]!(n);
          return [];
        });
        assert.equal(peakOf(name)(n), peakBytes - before, `n = ${n}`);
      }
    });

  it('an operation that consumes frees its operands; a reference keeps them', () => {
    assert.equal(peakOf('consumed')(0), 4 * (64 * 128 + 128 * 256 + 64 * 256));
    assert.equal(peakOf('held')(0), 4 * 1024 * 3);
  });

  it('buffers have the size that they are made with', () => {
    assert.equal(peakOf('buffers')(1000), 4 * 1000 + 1024);
  });
});
