/**
 * Products and convolutions of shapes that fit no tile, on WebGPU against the reference.
 *
 * Depends on: support/gpu, support/programs.
 */
import { strict as assert } from 'node:assert';
import type { KnownAval } from '../../../runtime/core/aval.ts';
import type { Program } from '../../../runtime/core/program.ts';
import { compile } from '../../../runtime/compile/pipeline.ts';
import type { Device } from '../../../runtime/device/device.ts';
import { conv, convGeneralDilated } from '../../../runtime/functions/conv.ts';
import { relu } from '../../../runtime/functions/nn.ts';
import { grad, lax, np, type Array as Traced } from '../../../runtime/index.ts';
import type { Op } from '../../../runtime/ops/op.ts';
import type { Value } from '../../../runtime/ops/value.ts';
import { trace } from '../../../runtime/trace/trace.ts';
import { cpuDevice, sharedWebGPU, webgpuDevice } from '../../support/gpu.ts';
import { f32, numbersFor } from '../../support/programs.ts';

interface Case {
  readonly name: string;
  readonly avals: readonly KnownAval[];
  readonly f: (operands: readonly Value[]) => Value;
}

const product = (rows: number, depth: number, columns: number): Case => ({
  name: `${rows}x${depth} · ${depth}x${columns}`,
  avals: [f32(rows, depth), f32(depth, columns)],
  f: ([a, b]) => a!.matmul(b!),
});

const cases: readonly Case[] = [
  ...[1, 3, 8, 13, 64].flatMap((rows) => [1, 5, 7, 10, 12, 49].map((columns) => product(rows, 9, columns))),
  product(64, 32, 49),
  product(17, 12, 64),
  {
    name: 'both factors transposed, something added',
    avals: [f32(12, 20), f32(7, 12), f32(20, 7)],
    f: ([a, b, c]) => a!.transpose().matmul(b!.transpose()).add(c!),
  },
  {
    name: 'a factor in runs of four: heads side by side',
    avals: [f32(4, 8, 16), f32(64, 24), f32(8, 24)],
    f: ([a, b, c]) => c!.add(a!.transpose([1, 0, 2]).reshape([8, 64]).matmul(b!)),
  },
  {
    name: 'convolution, 5 to 6 channels, strides 2 and 1',
    avals: [f32(3, 5, 9, 10), f32(6, 5, 3, 2), f32(6, 1, 1)],
    f: ([x, w, b]) =>
      relu(
        conv(
          x!,
          w!,
          [2, 1],
          [
            [1, 1],
            [0, 1],
          ],
        ).add(b!),
      ),
  },
];

const gradientOf = (which: 0 | 1, strides: readonly number[], padding: 'SAME' | readonly (readonly [number, number])[]): Case['f'] => {
  const loss = (x: Traced, w: Traced): Traced => np.square(lax.conv(x, w, strides, padding) as Traced).sum();
  return ([x, w]) => grad(loss, { argnums: which })(x as Traced, w as Traced) as Value;
};
/** Neither borders nor gaps are stored: they are conditions in the kernels. Large enough for tiles that workgroups share. */
const bordered: readonly Case[] = [
  { name: 'convolution with a border', avals: [f32(2, 3, 6, 7), f32(33, 3, 3, 3)], f: ([x, w]) => conv(x!, w!, [1, 1], 'SAME') },
  { name: 'of an input with gaps', avals: [f32(1, 2, 5, 7), f32(32, 2, 3, 2)], f: ([x, w]) => convGeneralDilated(x!, w!, [1, 1], 'SAME', { lhsDilation: [3, 2], rhsDilation: [1, 2] }) }, // prettier-ignore
  { name: 'cut and widened', avals: [f32(1, 2, 9, 8), f32(4, 2, 3, 3)], f: ([x, w]) => conv(x!, w!, [1, 2], [[-1, 2], [3, -2]]) }, // prettier-ignore
  { name: 'gradient by the input, strides 2 and 3', avals: [f32(2, 32, 8, 9), f32(5, 32, 3, 3)], f: gradientOf(0, [2, 3], 'SAME') },
  { name: 'gradient by the kernel, stride 2', avals: [f32(3, 5, 7, 8), f32(34, 5, 3, 3)], f: gradientOf(1, [2, 2], [[1, 1], [2, 0]]) }, // prettier-ignore
  { name: 'of one axis, stride 4', avals: [f32(2, 3, 37), f32(4, 3, 9)], f: gradientOf(0, [4], [[4, 4]]) },
];

async function run(device: Device, { avals, f, name }: Case): Promise<readonly number[]> {
  const program = trace(name, (operands) => [f(operands)], avals) as Program<Op>;
  const executable = compile(program, { donated: avals.map(() => false), target: device.target });
  const buffers = avals.map((aval, i) => device.put(numbersFor(aval, i), aval, undefined));
  const outputs = device.run(executable, buffers, undefined);
  const contents = await device.read(outputs[0]!);
  for (const buffer of [...buffers, ...outputs]) device.free(buffer, 'dispose');
  return [...contents];
}

describe('products on WebGPU', function () {
  this.timeout(120_000);
  let webgpu: Device;
  before(async () => {
    webgpu = await sharedWebGPU();
  });

  async function agrees(one: Case, expected: readonly number[], device: Device): Promise<void> {
    const found = await run(device, one);
    assert.equal(found.length, expected.length);
    found.forEach((value, i) =>
      assert.ok(Math.abs(value - expected[i]!) < 1e-4 * Math.max(1, Math.abs(value)), `element ${i} is ${value}, expected ${expected[i]!}`),
    );
  }

  for (const one of cases) it(one.name, async () => agrees(one, await run(cpuDevice(), one), webgpu));

  for (const one of bordered) it(one.name, async () => agrees(one, await run(cpuDevice(), one), webgpu));

  it('borders and gaps in tiles that workgroups share', async () => {
    const shared = webgpuDevice({}, { variants: 'gpu' });
    await shared.opened;
    for (const one of bordered.slice(0, 2)) await agrees(one, await run(cpuDevice(), one), shared);
  });

  it('borders and gaps by walking expressions', async () => {
    const one = bordered.at(-1)!;
    await agrees(one, await run(cpuDevice(), one), cpuDevice({}, true));
  });
});
