/**
 * Records launches into one compute pass and submits them.
 *
 * Slots are told apart by the slab they lie in: each slab is bound once, in the order in which slots name it. What is
 * already set is not set again. Depends on: compile, pipelines, backend.
 */
import type { Kernel } from '../compile/kernel.ts';
import type { Spot } from './backend.ts';
import type { Pipelines } from './pipelines.ts';

export interface RecorderOptions {
  readonly device: GPUDevice;
  readonly pipelines: Pipelines;
  readonly slabOf: (slab: number) => GPUBuffer;
  readonly onDispatch: () => void;
}

/** Dynamic offsets of uniform bindings are multiples of this. */
const tableStride = 256;
const tableRows = 256;

export interface Recorder {
  readonly launch: (kernel: Kernel, spots: readonly Spot[], aligned: boolean) => void;
  readonly pending: () => number;
  readonly submit: () => void;
}

export function makeRecorder({ device, pipelines, slabOf, onDispatch }: RecorderOptions): Recorder {
  let encoder: GPUCommandEncoder | undefined;
  let pass: GPUComputePassEncoder | undefined;
  let current: GPUComputePipeline | undefined;
  let currentGroup: GPUBindGroup | undefined;
  let pending = 0;
  let tables: { readonly buffer: GPUBuffer; readonly group: GPUBindGroup; readonly rows: Int32Array<ArrayBuffer>; used: number }[] = [];
  const tableRow = (bases: Int32Array<ArrayBuffer>): { readonly group: GPUBindGroup; readonly offset: number } => {
    let table = tables.at(-1);
    if (table === undefined || table.used === tableRows) {
      const buffer = device.createBuffer({ size: tableStride * tableRows, usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST, label: 'tidemark bases' });
      const group = device.createBindGroup({ layout: pipelines.tableLayout!, entries: [{ binding: 0, resource: { buffer, size: tableStride } }] });
      table = { buffer, group, rows: new Int32Array((tableStride / 4) * tableRows), used: 0 };
      tables.push(table);
    }
    const offset = tableStride * table.used++;
    table.rows.set(bases, offset / 4);
    return { group: table.group, offset };
  };
  const launch = (kernel: Kernel, spots: readonly Spot[], aligned: boolean): void => {
    if (kernel.extents.includes(0)) return;
    const ids: number[] = [];
    const slabs = spots.map(({ slab }) => {
      // An operand without elements lies nowhere: any slab will do.
      const real = slab === 0 ? spots.find((one) => one.slab !== 0)!.slab : slab;
      const at = ids.indexOf(real);
      return at >= 0 ? at : ids.push(real) - 1;
    });
    const { pipeline, grid } = pipelines.ready(kernel, slabs, aligned);
    const group = pipelines.bindGroup(ids, ids.map(slabOf));
    encoder ??= device.createCommandEncoder();
    pass ??= encoder.beginComputePass();
    if (current !== pipeline) pass.setPipeline(pipeline);
    if (currentGroup !== group) pass.setBindGroup(0, group);
    current = pipeline;
    currentGroup = group;
    const bases = Int32Array.from(spots, ({ offset }) => offset / 4);
    if (pipelines.bases === 'immediates') setImmediates(pass, bases);
    else {
      const row = tableRow(bases);
      pass.setBindGroup(1, row.group, [row.offset]);
    }
    pass.dispatchWorkgroups(grid[0], grid[1]);
    pending++;
    onDispatch();
  };
  const submit = (): void => {
    if (encoder === undefined) return;
    pass!.end();
    for (const { buffer, rows } of tables) device.queue.writeBuffer(buffer, 0, rows);
    device.queue.submit([encoder.finish()]);
    for (const { buffer } of tables) buffer.destroy();
    [encoder, pass, current, currentGroup, pending, tables] = [undefined, undefined, undefined, undefined, 0, []];
  };
  return { launch, pending: () => pending, submit };
}

/** Newer than the type declarations. */
interface WithImmediates {
  setImmediates: (offset: number, data: Int32Array<ArrayBuffer>) => void;
}
const setImmediates = (pass: GPUComputePassEncoder, bases: Int32Array<ArrayBuffer>): void => (pass as GPUComputePassEncoder & WithImmediates).setImmediates(0, bases);
