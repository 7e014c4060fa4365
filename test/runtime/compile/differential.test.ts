/**
 * The same random programs on every device, with every kind of kernel, donating and not.
 *
 * Depends on: support/gpu, support/programs.
 */
import { strict as assert } from 'node:assert';
import { knownBytes } from '../../../runtime/core/aval.ts';
import type { Executable } from '../../../runtime/compile/executable.ts';
import { arrange, compile, fuseOnce } from '../../../runtime/compile/pipeline.ts';
import { slotAvals, wgsl } from '../../../runtime/compile/wgsl.ts';
import type { Device, TypedArray } from '../../../runtime/device/device.ts';
import { cpuDevice, nullDevice, sharedWebGPU, webgpuDevice } from '../../support/gpu.ts';
import { draws, numbersFor, randomProgram, type RandomProgram } from '../../support/programs.ts';

const count = Number(process.env['TIDEMARK_FUZZ'] ?? 40);
const seeds = Array.from({ length: count }, (_, i) => i + Number(process.env['TIDEMARK_SEED'] ?? 1));

async function results(device: Device, executable: Executable, { avals, seed }: RandomProgram): Promise<readonly TypedArray[]> {
  const buffers = avals.map((aval, i) => device.put(numbersFor(aval, seed + i), aval, undefined));
  const before = device.allocator.stats().bytesInUse;
  device.allocator.resetPeak();
  const outputs = device.run(executable, buffers, undefined);
  const used = device.allocator.stats().peakBytesInUse - before;
  const planned = executable.analysis.peakBytes - executable.analysis.argumentBytes;
  assert.equal(used, planned, `seed ${seed}: planned and measured peak differ`);
  const contents = await Promise.all(outputs.map((output) => device.read(output)));
  for (const buffer of [...buffers, ...outputs]) device.free(buffer, 'dispose');
  return contents;
}

function assertClose(found: readonly TypedArray[], expected: readonly TypedArray[], tolerance: number, what: string): void {
  expected.forEach((array, i) => {
    const scale = Math.max(1, ...Array.from(array, Math.abs).filter(Number.isFinite));
    array.forEach((value, k) => {
      const other = found[i]![k]!;
      if (Object.is(value, other) || Math.abs(value - other) <= tolerance * scale) return;
      assert.fail(`${what}: result ${i}[${k}] is ${other}, expected ${value}`);
    });
  });
}

const assertSame = (found: readonly TypedArray[], expected: readonly TypedArray[], what: string): void =>
  expected.forEach((array, i) =>
    assert.deepEqual(new Uint32Array(found[i]!.slice().buffer), new Uint32Array(array.slice().buffer), `${what}: result ${i}`),
  );

const donations = (program: RandomProgram): boolean[] => {
  const draw = draws(program.seed + 77);
  return program.avals.map(() => draw(2) === 1);
};

describe('random programs', function () {
  this.timeout(120_000);

  it('give the bits of the walked expressions on cpu, whatever is fused, donated or stored', async () => {
    const cpu = cpuDevice();
    const walked = cpuDevice({}, true);
    for (const seed of seeds) {
      const random = randomProgram(seed);
      const fused = fuseOnce(random.program);
      const none = random.avals.map(() => false);
      const plain = arrange(fused, { donated: none, target: cpu.target });
      const expected = await results(walked, plain, random);
      assertSame(await results(cpu, plain, random), expected, `seed ${seed}, printed kernels`);
      for (const donated of [donations(random), random.avals.map(() => true)]) {
        const donating = arrange(fused, { donated, target: cpu.target });
        assertSame(await results(cpu, donating, random), expected, `seed ${seed}, donating ${donated.join()}`);
        assert.ok(donating.analysis.peakBytes <= plain.analysis.peakBytes, `seed ${seed}: donation raises the peak`);
        assert.equal(plain.peakWith(donated), donating.analysis.peakBytes, `seed ${seed}: the promised peak is the planned one`);
      }
      assert.equal(cpu.live().length + cpu.allocator.stats().bytesInUse, 0);
    }
  });

  it('give the same numbers on WebGPU, and the same bits with and without donation', async () => {
    const cpu = cpuDevice();
    const gpu = await sharedWebGPU();
    const before = gpu.dispatches();
    for (const seed of seeds.slice(0, Math.max(12, count / 3))) {
      const random = randomProgram(seed);
      const plain = compile(random.program, { donated: random.avals.map(() => false), target: gpu.target });
      const donating = compile(random.program, { donated: donations(random), target: gpu.target });
      const expected = await results(cpu, plain, random);
      const found = await results(gpu, plain, random);
      assertClose(found, expected, 2e-5, `seed ${seed}`);
      assertSame(await results(gpu, donating, random), found, `seed ${seed}, donating`);
    }
    assert.ok(gpu.dispatches() > before, 'no kernel was dispatched on WebGPU');
  });

  it('give the same numbers with the kernels for GPUs, with bases in a table, and when slabs are more than can be bound', async () => {
    const cpu = cpuDevice();
    for (const [variant, kind] of [
      [{ variants: 'gpu' }, 'bfc'],
      [{ bases: 'table' }, 'bfc'],
      [{ mostSlabs: 1 }, 'platform'],
    ] as const) {
      const gpu = webgpuDevice({ kind }, variant);
      for (const seed of seeds.slice(0, 4)) {
        const random = randomProgram(seed, 8);
        const plain = compile(random.program, { donated: random.avals.map(() => false), target: gpu.target });
        assertClose(await results(gpu, plain, random), await results(cpu, plain, random), 2e-5, `seed ${seed}`);
      }
      gpu.destroy();
    }
  });

  it('have one WGSL text for all donation choices', () => {
    const device = nullDevice();
    for (const seed of seeds) {
      const random = randomProgram(seed);
      const texts = [random.avals.map(() => false), donations(random), random.avals.map(() => true)].map((donated) =>
        compile(random.program, { donated, target: device.target })
          // Copies of an argument onto itself are left out where it is donated; nothing else may differ.
          .kernels.filter(({ operands, results: [only] }) => operands.length !== 1 || only!.value.kind !== 'load')
          .map(
            (kernel) =>
              wgsl(kernel, { slabs: slotAvals(kernel).map(() => 0), aligned: true, adapter: 'software', bases: 'immediates' }).text,
          )
          .toSorted(),
      );
      assert.deepEqual(texts[1], texts[0], `seed ${seed}`);
      assert.deepEqual(texts[2], texts[0], `seed ${seed}`);
    }
  });

  it('have no plan below their bound', () => {
    const device = nullDevice();
    for (const seed of seeds) {
      const random = randomProgram(seed, 20);
      const { analysis } = compile(random.program, { donated: donations(random), target: device.target });
      const { argumentBytes, outputBytes, aliasBytes, tempBytes, peakBytes, lowerBoundBytes } = analysis;
      assert.equal(peakBytes, argumentBytes + outputBytes - aliasBytes + tempBytes);
      assert.ok(lowerBoundBytes <= peakBytes);
      assert.ok(random.avals.every((aval) => knownBytes(aval) <= argumentBytes));
    }
  });
});
