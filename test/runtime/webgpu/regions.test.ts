/**
 * Spike, kept: values in regions whose bases are known at call time, on WebGPU.
 *
 * Three kernels written by hand, two donated inputs at odd offsets of one slab, a weight in a second slab, and an arena in
 * two parts that lie in both. Bases are given per dispatch as immediates, and in a small table; both give the bits of a
 * plain computation. Times are printed, not asserted. Depends on: runtime/device.
 */
import { strict as assert } from 'node:assert';
import { findAdapter } from '../../../runtime/device/adapter.ts';
import { makePause, paced } from '../../../runtime/device/waiting.ts';

const elements = 4096;
const bytes = elements * 4;
const rounds = 200;
/** Bytes; multiples of 256 that are no multiple of an array's size. */
const at = { x: 256 * 3, y: 256 * 3 + bytes + 256 * 5, arenaA: 256 * 11 + 2 * bytes, weight: 256 * 7, arenaB: 256 * 9 + bytes };

type Bases = 'immediates' | 'table';

/** 1: t = x·w (into the arena's first part); 2: u = t + y (into its second part); 3: x = u - t/2 (over the donated x). */
function text(kernel: 1 | 2 | 3, bases: Bases): string {
  const body = {
    1: 'slab0[bases.b2 + i] = slab0[bases.b0 + i] * slab1[bases.b1 + i];',
    2: 'slab1[bases.b2 + i] = slab0[bases.b0 + i] + slab0[bases.b1 + i];',
    3: 'slab0[bases.b2 + i] = slab1[bases.b0 + i] - 0.5 * slab0[bases.b1 + i];',
  }[kernel];
  return [
    ...(bases === 'immediates' ? ['requires immediate_address_space;'] : []),
    'struct Bases { b0: u32, b1: u32, b2: u32 }',
    bases === 'immediates' ? 'var<immediate> bases: Bases;' : '@group(1) @binding(0) var<uniform> bases: Bases;',
    '@group(0) @binding(0) var<storage, read_write> slab0: array<f32>;',
    '@group(0) @binding(1) var<storage, read_write> slab1: array<f32>;',
    '@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {',
    `let i = id.x; if (i >= ${elements}u) { return; }`,
    body,
    '}',
  ].join('\n');
}

const basesOf: Readonly<Record<1 | 2 | 3, readonly number[]>> = {
  1: [at.x, at.weight, at.arenaA],
  2: [at.arenaA, at.y, at.arenaB],
  3: [at.arenaB, at.arenaA, at.x],
};

const initial = {
  x: Float32Array.from({ length: elements }, (_, i) => Math.sin(i)),
  y: Float32Array.from({ length: elements }, (_, i) => Math.cos(i) / 8),
  w: Float32Array.from({ length: elements }, (_, i) => 0.5 + (i % 7) / 64),
};

function expected(): Float32Array {
  const x = initial.x.slice();
  for (let round = 0; round < rounds; round++)
    for (let i = 0; i < elements; i++) {
      const t = Math.fround(x[i]! * initial.w[i]!);
      const u = Math.fround(t + initial.y[i]!);
      x[i] = Math.fround(u - Math.fround(0.5 * t));
    }
  return x;
}

async function run(device: GPUDevice, bases: Bases): Promise<{ readonly result: Float32Array; readonly ms: number }> {
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC;
  const slabs = [0, 1].map(() => device.createBuffer({ size: 1024 * 256, usage }));
  for (const [slab, offset, data] of [
    [0, at.x, initial.x],
    [0, at.y, initial.y],
    [1, at.weight, initial.w],
  ] as const)
    device.queue.writeBuffer(slabs[slab]!, offset, data);
  const storage = device.createBindGroupLayout({
    entries: [0, 1].map((binding) => ({ binding, visibility: GPUShaderStage.COMPUTE, buffer: { type: 'storage' as const } })),
  });
  const group = device.createBindGroup({ layout: storage, entries: slabs.map((buffer, binding) => ({ binding, resource: { buffer } })) });
  const tableLayout = device.createBindGroupLayout({
    entries: [{ binding: 0, visibility: GPUShaderStage.COMPUTE, buffer: { type: 'uniform', hasDynamicOffset: true } }],
  });
  const table = device.createBuffer({ size: 256 * 3, usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST });
  const tableGroup = device.createBindGroup({ layout: tableLayout, entries: [{ binding: 0, resource: { buffer: table, size: 256 } }] });
  const layout = device.createPipelineLayout({
    bindGroupLayouts: bases === 'table' ? [storage, tableLayout] : [storage],
    ...(bases === 'table' ? {} : { immediateSize: 12 }),
  });
  const kernels = ([1, 2, 3] as const).map((kernel) => ({
    kernel,
    bases: Uint32Array.from(basesOf[kernel], (offset) => offset / 4),
    pipeline: device.createComputePipeline({
      layout,
      compute: { module: device.createShaderModule({ code: text(kernel, bases) }), entryPoint: 'main' },
    }),
  }));
  const pause = makePause()!;
  const start = performance.now();
  if (bases === 'table') {
    const rows = new Uint32Array(64 * 3);
    kernels.forEach((one, i) => rows.set(one.bases, 64 * i));
    device.queue.writeBuffer(table, 0, rows);
  }
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setBindGroup(0, group);
  for (let round = 0; round < rounds; round++)
    kernels.forEach((one, i) => {
      pass.setPipeline(one.pipeline);
      if (bases === 'table') pass.setBindGroup(1, tableGroup, [256 * i]);
      else (pass as GPUComputePassEncoder & { setImmediates: (offset: number, data: Uint32Array) => void }).setImmediates(0, one.bases);
      pass.dispatchWorkgroups(elements / 64);
    });
  pass.end();
  const staging = device.createBuffer({ size: bytes, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
  encoder.copyBufferToBuffer(slabs[0]!, at.x, staging, 0, bytes);
  device.queue.submit([encoder.finish()]);
  await paced(staging.mapAsync(GPUMapMode.READ), pause);
  const ms = performance.now() - start;
  return { result: new Float32Array(staging.getMappedRange().slice(0)), ms };
}

describe('regions on WebGPU', function () {
  this.timeout(60_000);

  it('donated inputs at odd offsets, a second slab and a divided arena give the same bits by immediates and by a table', async () => {
    const { adapter } = await findAdapter();
    const device = await adapter.requestDevice();
    const plain = expected();
    const times: Record<Bases, number[]> = { immediates: [], table: [] };
    for (let turn = 0; turn < 3; turn++)
      for (const bases of ['immediates', 'table'] as const) {
        const { result, ms } = await run(device, bases);
        assert.deepEqual(new Uint32Array(result.buffer), new Uint32Array(plain.buffer), bases);
        times[bases].push(ms);
      }
    const best = (list: readonly number[]): string => Math.min(...list).toFixed(1);
    console.log(`      ${rounds * 3} dispatches: immediates ${best(times.immediates)} ms, table ${best(times.table)} ms`);
    device.destroy();
  });
});
