/**
 * Every sample of the table on WebGPU against the cpu device.
 *
 * Depends on: runtime, test/support.
 */
import assert from 'node:assert/strict';
import { useDevice } from '../../../runtime/api/current.ts';
import { isFloat } from '../../../runtime/core/dtype.ts';
import { array } from '../../../runtime/functions/creation.ts';
import { apply } from '../../../runtime/ops/apply.ts';
import { table } from '../../../runtime/ops/table.ts';
import { near, numbers, numbersOf, onCpu } from '../../support/arrays.ts';
import { sharedWebGPU } from '../../support/gpu.ts';
import { samples, type Operand, type Sample } from './samples.ts';

const contents = (operand: Operand, seed: number): readonly number[] => {
  if (operand.values !== undefined) return operand.values;
  const raw = numbers(
    operand.shape.reduce((product, extent) => product * extent, 1),
    seed,
    ...(operand.range ?? [-1, 1]),
  );
  return isFloat(operand.dtype ?? 'float32') ? raw : raw.map(Math.floor);
};
const made = (sample: Sample) =>
  sample.operands.map((operand, k) => array([...contents(operand, k + 1)], { shape: operand.shape, dtype: operand.dtype ?? 'float32' }));

describe('table of ops on webgpu', function () {
  this.timeout(300_000);

  it('gives what the cpu device gives, for every sample', async () => {
    const gpu = await sharedWebGPU();
    const before = gpu.dispatches();
    const faults: string[] = [];
    for (const [id, list] of Object.entries(samples))
      for (const sample of list) {
        const entry = table.get(id)!;
        onCpu();
        const expected = numbersOf(apply(entry, made(sample), sample.parameters ?? {}));
        useDevice(gpu);
        try {
          const found = [...(await apply(entry, made(sample), sample.parameters ?? {}).data())];
          // Software Vulkan's sine and cosine are good to about 2e-4.
          near(found, expected, 3e-4, id);
        } catch (fault) {
          faults.push(`${id}: ${String(fault instanceof Error ? fault.message : fault).slice(0, 300)}`);
        }
      }
    assert.deepEqual(faults, []);
    assert.ok(gpu.dispatches() - before >= Object.keys(samples).length - 5, 'kernels ran on webgpu');
  });
});
