/**
 * Records launches into one compute pass and submits them.
 *
 * Slots are told apart by the slab they lie in: each slab is bound once, in the order in which slots name it. What is
 * already set is not set again. Depends on: compile, pipelines, backend.
 */
import { knownBytes } from '../core/aval.ts';
import type { Kernel } from '../compile/kernel.ts';
import { slotAvals } from '../compile/wgsl.ts';
import type { Spot } from './backend.ts';
import type { Pipelines } from './pipelines.ts';

export interface RecorderOptions {
  readonly device: GPUDevice;
  readonly pipelines: Pipelines;
  readonly slabOf: (slab: number) => GPUBuffer;
  readonly onDispatch: () => void;
  /** Slabs that one dispatch may bind. */
  readonly mostSlabs: number;
}

/** Dynamic offsets of uniform bindings are multiples of this. */
const tableStride = 256;
const tableRows = 256;

interface Copy {
  readonly from: GPUBuffer;
  readonly fromOffset: number;
  readonly to: GPUBuffer;
  readonly toOffset: number;
  readonly bytes: number;
}

export interface Recorder {
  readonly launch: (kernel: Kernel, spots: readonly Spot[], aligned: boolean) => void;
  readonly pending: () => number;
  readonly submit: () => void;
}

/** The slabs that a launch binds, in the order in which its slots name them, and for each slot which of them it is. */
export function boundFor(spots: readonly Spot[]): { readonly ids: readonly number[]; readonly slabs: readonly number[] } {
  const ids: number[] = [];
  const slabs = spots.map(({ slab }) => {
    // An operand without elements lies nowhere: any slab will do.
    const real = slab === 0 ? spots.find((one) => one.slab !== 0)!.slab : slab;
    const at = ids.indexOf(real);
    return at >= 0 ? at : ids.push(real) - 1;
  });
  return { ids, slabs };
}

export function makeRecorder({ device, pipelines, slabOf, onDispatch, mostSlabs }: RecorderOptions): Recorder {
  let encoder: GPUCommandEncoder | undefined;
  let pass: GPUComputePassEncoder | undefined;
  let current: GPUComputePipeline | undefined;
  let currentGroup: GPUBindGroup | undefined;
  let pending = 0;
  let tables: { readonly buffer: GPUBuffer; readonly group: GPUBindGroup; readonly rows: Int32Array<ArrayBuffer>; used: number }[] = [];
  const tableRow = (bases: Int32Array<ArrayBuffer>): { readonly group: GPUBindGroup; readonly offset: number } => {
    let table = tables.at(-1);
    if (table === undefined || table.used === tableRows) {
      const buffer = device.createBuffer({
        size: tableStride * tableRows,
        usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST,
        label: 'tidemark bases',
      });
      const group = device.createBindGroup({
        layout: pipelines.tableLayout!,
        entries: [{ binding: 0, resource: { buffer, size: tableStride } }],
      });
      table = { buffer, group, rows: new Int32Array((tableStride / 4) * tableRows), used: 0 };
      tables.push(table);
    }
    const offset = tableStride * table.used++;
    table.rows.set(bases, offset / 4);
    return { group: table.group, offset };
  };
  let bounces: GPUBuffer[] = [];
  const copyAll = (copies: readonly Copy[]): void => {
    pass?.end();
    [pass, current, currentGroup] = [undefined, undefined, undefined];
    encoder ??= device.createCommandEncoder();
    for (const { from, fromOffset, to, toOffset, bytes } of copies) encoder.copyBufferToBuffer(from, fromOffset, to, toOffset, bytes);
  };
  /** Arrays in more slabs than can be bound meet in one buffer for the length of the dispatch. */
  const launchGathered = (kernel: Kernel, spots: readonly Spot[]): void => {
    const places = new Map<string, { readonly spot: Spot; readonly offset: number; readonly bytes: number; written: boolean }>();
    let size = 0;
    const gathered = slotAvals(kernel).map((aval, slot): Spot => {
      const spot = spots[slot]!;
      const key = `${spot.slab} ${spot.offset}`;
      const written = slot >= kernel.operands.length;
      const known = places.get(key);
      if (known !== undefined) {
        known.written ||= written;
        return { slab: 0, offset: known.offset };
      }
      const bytes = Math.ceil(knownBytes(aval) / 4) * 4;
      places.set(key, { spot, offset: size, bytes, written });
      size += Math.ceil(bytes / 256) * 256;
      return { slab: 0, offset: size - Math.ceil(bytes / 256) * 256 };
    });
    const bounce = device.createBuffer({
      size: Math.max(256, size),
      usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST,
      label: 'tidemark gathered',
    });
    bounces.push(bounce);
    const real = [...places.values()].filter(({ spot, bytes }) => spot.slab !== 0 && bytes > 0);
    copyAll(
      real.map(({ spot, offset, bytes }) => ({ from: slabOf(spot.slab), fromOffset: spot.offset, to: bounce, toOffset: offset, bytes })),
    );
    dispatch(
      kernel,
      gathered,
      gathered.map(() => 0),
      pipelines.looseGroup(bounce),
      true,
    );
    copyAll(
      real
        .filter(({ written }) => written)
        .map(({ spot, offset, bytes }) => ({ from: bounce, fromOffset: offset, to: slabOf(spot.slab), toOffset: spot.offset, bytes })),
    );
  };
  const launch = (kernel: Kernel, spots: readonly Spot[], aligned: boolean): void => {
    if (kernel.extents.includes(0)) return;
    const { ids, slabs } = boundFor(spots);
    if (ids.length > mostSlabs) launchGathered(kernel, spots);
    else dispatch(kernel, spots, slabs, pipelines.bindGroup(ids, ids.map(slabOf)), aligned);
  };
  const dispatch = (kernel: Kernel, spots: readonly Spot[], slabs: readonly number[], group: GPUBindGroup, aligned: boolean): void => {
    const { pipeline, grid } = pipelines.ready({ kernel, slabs, aligned });
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
    pass?.end();
    for (const { buffer, rows } of tables) device.queue.writeBuffer(buffer, 0, rows);
    device.queue.submit([encoder.finish()]);
    for (const { buffer } of tables) buffer.destroy();
    for (const buffer of bounces) buffer.destroy();
    [encoder, pass, current, currentGroup, pending, tables, bounces] = [undefined, undefined, undefined, undefined, 0, [], []];
  };
  return { launch, pending: () => pending, submit };
}

/** Newer than the type declarations. */
interface WithImmediates {
  setImmediates: (offset: number, data: Int32Array<ArrayBuffer>) => void;
}
const setImmediates = (pass: GPUComputePassEncoder, bases: Int32Array<ArrayBuffer>): void =>
  (pass as GPUComputePassEncoder & WithImmediates).setImmediates(0, bases);
