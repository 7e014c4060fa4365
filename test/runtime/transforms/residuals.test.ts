/**
 * What a gradient keeps from the forward pass: after the programs with which JAX's users ask for it.
 *
 * Depends on: runtime, support/arrays.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { checkpoint, jit, memory, np, savedResiduals, type Array } from '../../../runtime/index.ts';
import { onCpu } from '../../support/arrays.ts';

const here = fileURLToPath(import.meta.url);
const lineOf = (mark: string): number => {
  const text = readFileSync(here, 'utf8');
  return text.slice(0, text.indexOf(mark)).split('\n').length;
};

const layer = (w: Array, x: Array): Array => np.sin(np.exp(x.matmul(w))); // layer line
const loss = ({ w }: { w: Array }, x: Array): Array => layer(w, layer(w, x)).sum();

describe('saved residuals', () => {
  beforeEach(onCpu);

  it('name arguments, and each stored result with bytes and line, largest first', () => {
    using w = np.ones([8, 8]);
    using x = np.ones([32, 8]);
    const found = savedResiduals(loss, { w }, x);
    const kept = found.filter(({ kind }) => kind === 'result');
    assert.deepEqual(
      found.filter(({ kind }) => kind === 'argument').map(({ of, bytes }) => [of, bytes]),
      [
        ['argument 1', 1024],
        ['argument 0.w', 256],
      ],
    );
    assert.ok(kept.length >= 3, String(found));
    for (const { bytes, shape, dtype, file, line } of kept)
      assert.deepEqual([bytes, shape, dtype, fileURLToPath(file!), line], [1024, [32, 8], 'float32', here, lineOf('// layer line')]);
    assert.deepEqual(
      found.map(({ bytes }) => bytes),
      found.map(({ bytes }) => bytes).toSorted((a, b) => b - a),
    );
    assert.match(String(found), /^1\.0 KiB {2}f32\[32,8\] {2}\w+ at .*residuals\.test\.ts:\d+:\d+$/m);
    assert.match(String(found), /^256 B {2}f32\[8,8\] {2}argument 0\.w$/m);
  });

  it('of a checkpointed block are its arguments only', () => {
    using w = np.ones([8, 8]);
    using x = np.ones([32, 8]);
    const bytesOf = (block: typeof layer): number =>
      savedResiduals((w: Array, x: Array) => block(w, block(w, x)).sum(), w, x)
        .filter(({ kind }) => kind === 'result')
        .reduce((sum, { bytes }) => sum + bytes, 0);
    assert.equal(bytesOf(checkpoint(layer)), 1024);
    assert.ok(bytesOf(layer) >= 3 * 1024);
  });

  it('compute nothing, and leave nothing', () => {
    using w = np.ones([8, 8]);
    using x = np.ones([32, 8]);
    const before = memory.stats().bytesInUse;
    memory.resetPeak();
    savedResiduals(jit(layer), w, x);
    assert.deepEqual([memory.stats().bytesInUse, memory.stats().peakBytesInUse], [before, before]);
  });
});
