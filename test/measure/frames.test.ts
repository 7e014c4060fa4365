/**
 * Each allocation of a program lands on its line: through `await`, closures, methods and source maps, for every library.
 *
 * The programs say in comments what their lines allocate; lines without a comment must allocate nothing. The totals are
 * held against the library's own counters. Depends on: support.
 */
import assert from 'node:assert/strict';
import { join, relative } from 'node:path';
import { fixtures, marked, measured, programs, root } from './support.ts';
import type { Measured } from './support.ts';

function assertLines({ report }: Measured, path: string): void {
  const file = relative(root, path);
  const found = report.lines
    .filter((line) => line.file === file)
    .map(({ line, allocations, allocatedBytes }) => `${line}: ${allocations} allocations, ${allocatedBytes} bytes`);
  const expected = [...marked(path)].map(([line, { count, bytes }]) => `${line}: ${count} allocations, ${bytes} bytes`);
  assert.deepEqual(found, expected);
  assert.deepEqual(
    report.lines.filter((line) => line.file !== file),
    [],
    'nothing is attributed to other files',
  );
}

describe('frames', () => {
  it('tensors of tfjs land on their lines, and their bytes are those of tf.memory()', async () => {
    const path = join(fixtures, 'tfjs.ts');
    const run = await measured({ entry: path });
    assertLines(run, path);
    const own = JSON.parse(run.stdout.trim().split('\n').at(-1)!) as { bytes: number; tensors: number };
    assert.equal(run.report.liveBytesAtExit, own.bytes);
    // Both layers, x, and in the second round: h of the first, the product, and the sum.
    assert.equal(run.report.peakBytes, 2 * (4096 + 128) + 1024 + 3 * 1024);
    assert.equal(run.report.peakReservedBytes, 0, 'the cpu backend makes no GPU memory');
    assert.deepEqual(run.report.device, { kind: 'cpu', adapter: 'tfjs cpu', software: true });
    const dense = run.report.functions.find(({ name }) => name === 'dense');
    assert.deepEqual([dense?.calls, dense?.line], [2, 8]);
  });

  it("tensors of a backward pass lie on the line that asked for it, those of a gradient of one's own on its lines", async () => {
    const written = programs();
    try {
      const { report } = await measured({
        entry: written.write(
          'gradient.ts',
          `import * as tf from '@tensorflow/tfjs';
const w = tf.variable(tf.ones<tf.Rank.R2>([8, 8]));
const x = tf.ones<tf.Rank.R2>([4, 8]);
const optimizer = tf.train.sgd(0.1);
const doubled = tf.customGrad((a) => ({
  value: (a as tf.Tensor).mul(2),
  gradFunc: (dy: tf.Tensor) => {
    const half = dy.mul(1);
    return half.mul(2);
  },
}));
function loss(): tf.Scalar {
  const y = x.matMul(w);
  return doubled(y)
    .square()
    .mean();
}
for (let i = 0; i < 3; i += 1) optimizer.minimize(loss);
`,
        ),
      });
      // Each line in words: what it makes in three rounds, its constants and the bytes that are cast on the way included.
      assert.deepEqual(
        report.lines.map(({ line, allocations, allocatedBytes }) => [line, allocations, allocatedBytes]),
        [
          [2, 2, 2 * 256],
          [3, 1, 128],
          [4, 1, 4],
          [6, 6, 3 * (128 + 4)],
          [8, 6, 3 * (128 + 4)],
          [9, 6, 3 * (128 + 4)],
          [13, 9, 3 * 4 * 128],
          [15, 6, 3 * 2 * 128],
          [16, 6, 3 * (128 + 4)],
          [18, 42, 5424],
        ],
      );
    } finally {
      written.remove();
    }
  });

  it('arrays of jax-js land on their lines, and what is alive at exit is what was never consumed', async () => {
    const path = join(fixtures, 'jax-js.ts');
    const run = await measured({ entry: path });
    assertLines(run, path);
    assert.equal(run.report.liveBytesAtExit, 4096, 'only `kept` was not consumed');
    assert.equal(run.report.functions.find(({ name }) => name === 'ramp')?.calls, 3);
    assert.deepEqual(run.report.leaks, [], 'a name at module level holds it');
  });

  it('arrays of ours land on their lines, inside a compiled call and after it', async () => {
    const path = join(fixtures, 'tidemark.ts');
    const run = await measured({ entry: path, device: 'cpu' });
    assertLines(run, path);
    // Two layers, x, both results, and the output of the compiled call on top.
    assert.equal(run.report.peakBytes, 2 * 4096 + 1024 + 2 * 1024 + 1024);
    assert.equal(run.report.liveBytesAtExit, run.report.peakBytes);
    assert.ok(run.report.peakReservedBytes >= run.report.peakBytes);
    assert.equal(run.report.device?.kind, 'cpu');
    const called = new Map(run.report.functions.map(({ name, calls, line }) => [name, [calls, line]]));
    assert.deepEqual(
      ['scale', 'forward', 'Layer.constructor'].map((name) => called.get(name)),
      [
        [1, 28],
        [1, 15],
        [2, 8],
      ],
    );
    const { jit } = run.report.functions.find(({ name }) => name === 'scale')!;
    assert.deepEqual([jit?.traces, jit?.argumentBytes, jit?.outputBytes], [1, 1024, 1024]);
    // What names at module level hold is no leak; the first result was overwritten, and the layers were only passed on.
    assert.deepEqual(
      run.report.leaks.map(({ kind, line, count }) => [kind, line, count]),
      [
        ['unreachable', 9, 2],
        ['unreachable', 20, 1],
      ],
    );
  });

  it('buffers and textures of raw WebGPU land on their lines, staging told apart', async () => {
    const path = join(fixtures, 'webgpu.ts');
    const run = await measured({ entry: path });
    assertLines(run, path);
    assert.equal(run.report.peakBytes, 3 * 1024 + 2048 + 64);
    assert.equal(run.report.peakReservedBytes, run.report.peakBytes);
    assert.equal(run.report.liveBytesAtExit, 64);
    assert.equal(run.report.device?.kind, 'webgpu');
    const grow = run.report.functions.find(({ name }) => name === 'Ring.grow');
    assert.deepEqual([grow?.calls, grow?.line], [3, 7]);
    assert.deepEqual(run.report.liveAtPeak.map(({ kind }) => kind).toSorted(), ['buffer', 'buffer', 'buffer', 'buffer', 'texture']);
  });
});
