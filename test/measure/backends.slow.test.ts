/**
 * The libraries on their other backends, held against their own counters; and the collector's view of what they leave.
 *
 * Depends on: support.
 */
import assert from 'node:assert/strict';
import { measured, programs } from './support.ts';

describe('backends', () => {
  const written = programs();
  after(() => written.remove());

  it('tfjs on webgpu: tensors are in use, its pool of buffers is reserved', async () => {
    const { report, stdout } = await measured({
      entry: written.write(
        'tfjs-webgpu.ts',
        `
import * as tf from '@tensorflow/tfjs';
import '@tensorflow/tfjs-backend-webgpu';
await tf.setBackend('webgpu');
await tf.ready();
const a = tf.ones([256, 256]);
const b = tf.ones([256, 256]);
const c = tf.tidy(() => a.matMul(b).relu());
await c.data();
b.dispose();
console.log(JSON.stringify(tf.memory()));
(() => { a.add(1); })();
`,
      ),
    });
    const memory = JSON.parse(stdout.trim().split('\n').at(-1)!) as { numBytes: number; numBytesAllocatedInGPU: number };
    const array = 256 * 256 * 4;
    assert.equal(memory.numBytes, 2 * array);
    // a, b, the product and its relu; after that a, c, and the sum with, for a moment, its scalar.
    assert.equal(report.peakBytes, 4 * array);
    assert.equal(report.liveBytesAtExit, 3 * array);
    assert.ok(report.peakReservedBytes >= memory.numBytesAllocatedInGPU, 'what the pool allocated was seen being made');
    assert.equal(report.device?.kind, 'webgpu');
    assert.match(report.device!.adapter, /\S/);
    assert.deepEqual(
      report.leaks.map(({ kind, line, bytes }) => [kind, line, bytes]),
      [['unreachable', 12, array]],
    );
  });

  it('tfjs layers on wasm: what a training makes after an await belongs to the line that started it', async () => {
    const { report, stdout } = await measured({
      entry: written.write(
        'tfjs-wasm.ts',
        `
import * as tf from '@tensorflow/tfjs';
import '@tensorflow/tfjs-backend-wasm';
await tf.setBackend('wasm');
await tf.ready();
const model = tf.sequential({ layers: [tf.layers.dense({ units: 8, inputShape: [4] }), tf.layers.dense({ units: 1 })] });
model.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });
await model.fit(tf.ones([16, 4]), tf.ones([16, 1]), { epochs: 2, verbose: 0 });
const words = tf.tensor1d(['a', 'bcd']);
console.log(tf.memory().numBytes, words.size);
`,
      ),
    });
    assert.equal(report.liveBytesAtExit, Number(stdout.trim().split('\n').at(-1)!.split(' ')[0]));
    assert.deepEqual([...new Set(report.lines.map(({ file }) => file.replace(/.*\//, '')))], ['tfjs-wasm.ts']);
    const fit = report.lines.find(({ line }) => line === 8);
    assert.ok(fit !== undefined && fit.allocations > 100);
    assert.deepEqual(report.device, { kind: 'wasm', adapter: 'tfjs wasm', software: true });
  });

  for (const backend of ['webgpu', 'wasm', 'cpu'] as const) {
    it(`jax-js on ${backend}: slots live as long as arrays and pending work look at them`, async () => {
      const { report, stdout } = await measured({
        entry: written.write(
          `jax-${backend}.ts`,
          `
import { defaultDevice, init, jit, numpy as np } from '@jax-js/jax';
await init('${backend}');
defaultDevice('${backend}');
const ramp = () => np.array(new Float32Array(4096).map((_, i) => i / 4096)).reshape([64, 64]);
const weights = ramp();
const step = jit((w: np.Array, x: np.Array) => np.matmul(w, x).mul(0.5));
let x = ramp();
for (let i = 0; i < 4; i += 1) x = step(weights.ref, x);
console.log((await x.ref.data()).length, x.refCount, weights.refCount);
x.dispose();
(() => { ramp(); })();
`,
        ),
      });
      assert.match(stdout, /4096 1 1/);
      const array = 64 * 64 * 4;
      // The library submits only when values are asked for: until then every round keeps its input.
      assert.equal(report.peakBytes, 6 * array);
      assert.equal(report.liveBytesAtExit, 2 * array, 'the weights, and what nobody consumed');
      assert.deepEqual(
        report.leaks.map(({ kind, line, bytes }) => [kind, line, bytes]),
        [['unreachable', 5, array]],
      );
      assert.equal(report.device?.kind, backend);
      assert.equal(report.peakReservedBytes > 0, backend === 'webgpu');
    });
  }

  it('CommonJS, and a file that a compiler wrote with its map beside it', async () => {
    const commonJs = await measured({
      entry: written.write(
        'plain.cjs',
        `const tf = require('@tensorflow/tfjs');\nfunction make() { return tf.zeros([8]); }\nmake();\nmake();\n`,
      ),
    });
    assert.deepEqual(
      commonJs.report.lines.map(({ line, allocatedBytes }) => [line, allocatedBytes]),
      [[2, 64]],
    );
    assert.equal(commonJs.report.functions.find(({ name }) => name === 'make')?.calls, 2);
    // The map says: line 1 of the generated file, from column 0, is line 7 of source.ts.
    written.write(
      'compiled.js.map',
      JSON.stringify({ version: 3, file: 'compiled.js', sources: ['source.ts'], names: [], mappings: ';AAMA' }),
    );
    const compiled = await measured({
      entry: written.write(
        'compiled.js',
        `import * as tf from '@tensorflow/tfjs';\ntf.zeros([8]);\n//# sourceMappingURL=compiled.js.map\n`,
      ),
    });
    assert.deepEqual(
      compiled.report.lines.map(({ file, line }) => [file.replace(/.*\//, ''), line]),
      [['source.ts', 7]],
    );
  });

  it('a whole command line: a test runner that starts Node somewhere below', async () => {
    written.write('some.test.cjs', `const tf = require('@tensorflow/tfjs');\nit('allocates', () => {\n  tf.zeros([100]);\n});\n`);
    const { report, stdout, result } = await measured({ command: ['npx', 'mocha', '--no-config', `${written.folder}/some.test.cjs`] });
    assert.equal(result.state, 'done', stdout);
    assert.match(stdout, /1 passing/);
    assert.deepEqual(
      report.lines.map(({ file, line, allocatedBytes }) => [file.replace(/.*\//, ''), line, allocatedBytes]),
      [['some.test.cjs', 3, 400]],
    );
  });
});
