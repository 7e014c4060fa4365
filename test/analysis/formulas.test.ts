/**
 * Peaks of known sizes as formulas of the names that the text gives the sizes: beside the bytes, and only where they come
 * to the same. Depends on: support.
 */
import assert from 'node:assert/strict';
import { checkFolder } from '../support/check.ts';
import { lay, type Fixture } from '../support/fixture.ts';

const text = `
import { jit, np } from 'tidemark';
import * as tf from '@tensorflow/tfjs';

const n = 1024;
export function cube(): void {
  using a = np.ones([n, n]);
  using b = a.add(1);
  using c = b.mul(a);
  console.log(c.shape);
}
export function gram(n: number): void {
  using x = np.ones([n, 4 * n]);
  using y = x.mul(2);
  console.log(y.shape);
}
const size = 256;
const batch = 64;
const blend = jit((w: np.Array, x: np.Array) => w.mul(0.5).add(x.mul(0.5)));
const given = jit((w: np.Array, x: np.Array) => w.mul(0.5).add(x.mul(0.5)), { donateArgnums: [0] });
const project = jit((w: np.Array, x: np.Array) => w.sub(x.transpose().matmul(np.tanh(x.matmul(w))).mul(0.1)));
export function fit(): void {
  using w = np.ones([batch, size]);
  using x = np.ones([batch, size]);
  using next = blend(w, x);
  console.log(next.shape);
}
export function inPlace(): void {
  const w = np.ones([batch, size]);
  using x = np.ones([batch, size]);
  using next = given(w, x);
  console.log(next.shape);
}
export function temporaries(): void {
  using w = np.ones([size, size]);
  using x = np.ones([batch, size]);
  using next = project(w, x);
  console.log(next.shape);
}
export function rounds(): void {
  const steps = 3;
  const kept: tf.Tensor[] = [];
  for (let i = 0; i < steps; i++) kept.push(tf.zeros([batch, size / 2]));
  tf.dispose(kept);
}
export function plain(): void {
  using a = np.ones([32, 32]);
  console.log(a.shape);
}
cube();
gram(512);
gram(128);
fit();
inPlace();
temporaries();
rounds();
plain();
`;

describe('peaks as formulas of named sizes', function () {
  this.timeout(120_000);
  let fixture: Fixture;
  before(() => void (fixture = lay([{ name: 'sizes.ts', text }])));
  after(() => fixture.remove());

  it('stand beside the bytes that they come to', async () => {
    const { functions } = await checkFolder(fixture.folder);
    const found = (name: string): readonly unknown[] => {
      const fn = functions.find((one) => one.name === name);
      return [fn?.staticPeakBytes, fn?.staticPeak];
    };
    assert.deepEqual(found('cube'), [3 * 4 * 1024 ** 2, '12·n·n']);
    assert.deepEqual(found('gram'), [2 * 16 * 512 ** 2, '32·n·n'], 'of the largest call');
    assert.deepEqual(found('fit'), [3 * 4 * 64 * 256, '12·batch·size']);
    assert.deepEqual(found('inPlace'), [2 * 4 * 64 * 256, '8·batch·size'], 'the result takes the buffer of the donated array');
    assert.deepEqual(found('plain'), [4 * 32 * 32, null], 'numbers without a name have no formula');
    // What a call needs for a while is the planner's affair.
    const [bytes, formula] = found('temporaries');
    assert.ok((bytes as number) > 4 * (2 * 256 ** 2 + 64 * 256));
    assert.equal(formula, null);
    assert.deepEqual(found('rounds'), [3 * 4 * 64 * 128, `${3 * 4 * 128}·batch`], 'half of a size is a number');
  });

  it('of sizes that nobody gives have the bytes of those that the configuration assumes', async () => {
    const free =
      "import { np } from 'tidemark';\nexport function table(rows: number): void {\n  using a = np.ones([rows, 256]);\n  console.log(a.shape);\n}\n";
    const assumed = lay([
      { name: 'free.ts', text: free },
      { name: 'tidemark.json', text: JSON.stringify({ assume: { rows: 4096 } }) },
    ]);
    try {
      const [fact] = (await checkFolder(assumed.folder)).functions;
      assert.deepEqual([fact?.staticPeakBytes, fact?.staticPeak, fact?.peakLine], [4 * 4096 * 256, '1024·rows', 3]);
    } finally {
      assumed.remove();
    }
  });
});
