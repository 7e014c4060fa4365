/**
 * Records launches into one compute pass and submits them.
 *
 * Slots are told apart by the slab they lie in: each slab is bound once, in the order in which slots name it. What is
 * already set is not set again. Depends on: compile, pipelines, backend, gates.
 */
import { knownBytes } from '../core/aval.ts';
import type { Kernel } from '../compile/kernel.ts';
import { slotAvals } from '../compile/wgsl.ts';
import { boundFor, type Spot } from './backend.ts';
import { gateBases, gateSlots, gateText, type Gate, type Gates, type Opening } from './gates.ts';
import type { Pipelines, Ready } from './pipelines.ts';

export interface RecorderOptions {
  readonly device: GPUDevice;
  readonly pipelines: Pipelines;
  readonly slabOf: (slab: number) => GPUBuffer;
  readonly onDispatch: () => void;
  /** Called after every submit, with the dispatches in it. */
  readonly onSubmit: (dispatches: number) => void;
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

/** Where the workgroups of a launch stand that may not be wanted. */
export interface Behind {
  readonly buffer: GPUBuffer;
  readonly args: number;
}

export interface Recorder {
  readonly launch: (kernel: Kernel, spots: readonly Spot[], aligned: boolean, behind?: Behind) => void;
  /** Opens a gate or shuts it. */
  readonly decide: (gates: Gates, gate: Gate, opening: Opening) => void;
  /** A buffer that is destroyed when what was recorded is submitted. */
  readonly lastUsed: (buffer: GPUBuffer) => void;
  /** Dispatches that are recorded and not submitted. */
  readonly pending: () => number;
  readonly submit: () => void;
}

export function makeRecorder({ device, pipelines, slabOf, onDispatch, onSubmit, mostSlabs }: RecorderOptions): Recorder {
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
  let passing: GPUBuffer[] = [];
  const copyAll = (copies: readonly Copy[]): void => {
    pass?.end();
    [pass, current, currentGroup] = [undefined, undefined, undefined];
    encoder ??= device.createCommandEncoder();
    for (const { from, fromOffset, to, toOffset, bytes } of copies) encoder.copyBufferToBuffer(from, fromOffset, to, toOffset, bytes);
  };
  /** Arrays in more slabs than can be bound meet in one buffer for the length of the dispatch. */
  const launchGathered = (kernel: Kernel, spots: readonly Spot[], behind: Behind | undefined): void => {
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
    passing.push(bounce);
    const real = [...places.values()].filter(({ spot, bytes }) => spot.slab !== 0 && bytes > 0);
    copyAll(
      real.map(({ spot, offset, bytes }) => ({ from: slabOf(spot.slab), fromOffset: spot.offset, to: bounce, toOffset: offset, bytes })),
    );
    dispatch(gathered, pipelines.ready({ kernel, slabs: gathered.map(() => 0), aligned: true }), pipelines.looseGroup([bounce]), behind);
    copyAll(
      real
        .filter(({ written }) => written)
        .map(({ spot, offset, bytes }) => ({ from: bounce, fromOffset: offset, to: slabOf(spot.slab), toOffset: spot.offset, bytes })),
    );
  };
  const launch: Recorder['launch'] = (kernel, spots, aligned, behind) => {
    if (kernel.extents.includes(0)) return;
    const { ids, slabs } = boundFor(spots);
    if (ids.length > mostSlabs) launchGathered(kernel, spots, behind);
    else dispatch(spots, pipelines.ready({ kernel, slabs, aligned }), pipelines.bindGroup(ids, ids.map(slabOf)), behind);
  };
  const dispatch = (spots: readonly Spot[], { pipeline, grid }: Ready, group: GPUBindGroup, behind: Behind | undefined): void => {
    const open = set(
      pipeline,
      group,
      Int32Array.from(spots, ({ offset }) => offset / 4),
    );
    if (behind === undefined) open.dispatchWorkgroups(grid[0], grid[1]);
    else open.dispatchWorkgroupsIndirect(behind.buffer, behind.args);
    pending++;
    onDispatch();
  };
  /** The pass, with these in force. */
  const set = (pipeline: GPUComputePipeline, group: GPUBindGroup, bases: Int32Array<ArrayBuffer>): GPUComputePassEncoder => {
    encoder ??= device.createCommandEncoder();
    pass ??= encoder.beginComputePass();
    if (current !== pipeline) pass.setPipeline(pipeline);
    if (currentGroup !== group) pass.setBindGroup(0, group);
    current = pipeline;
    currentGroup = group;
    if (pipelines.bases === 'immediates') setImmediates(pass, bases);
    else {
      const row = tableRow(bases);
      pass.setBindGroup(1, row.group, [row.offset]);
    }
    return pass;
  };
  /** The kernel that opens and shuts gates: made with the first. */
  let decider: GPUComputePipeline | undefined;
  let deciding: { readonly slab: number; readonly gates: Gates; readonly group: GPUBindGroup } | undefined;
  const decide: Recorder['decide'] = (gates, gate, opening) => {
    const { slab } = opening.word;
    if (deciding?.slab !== slab || deciding.gates !== gates)
      deciding = { slab, gates, group: pipelines.looseGroup([slabOf(slab), gates.buffer]) };
    decider ??= pipelines.own(gateText(pipelines.bases), 2, gateSlots);
    set(decider, deciding.group, gateBases(opening, gate)).dispatchWorkgroups(1);
    pending++;
  };
  const submit = (): void => {
    if (encoder === undefined) return;
    pass?.end();
    for (const { buffer, rows } of tables) device.queue.writeBuffer(buffer, 0, rows);
    device.queue.submit([encoder.finish()]);
    for (const { buffer } of tables) buffer.destroy();
    for (const buffer of passing) buffer.destroy();
    const submitted = pending;
    [encoder, pass, current, currentGroup, deciding, pending, tables, passing] = [
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
      0,
      [],
      [],
    ];
    onSubmit(submitted);
  };
  return { launch, decide, lastUsed: (buffer) => void passing.push(buffer), pending: () => pending, submit };
}

/** Newer than the type declarations. */
interface WithImmediates {
  setImmediates: (offset: number, data: Int32Array<ArrayBuffer>) => void;
}
const setImmediates = (pass: GPUComputePassEncoder, bases: Int32Array<ArrayBuffer>): void =>
  (pass as GPUComputePassEncoder & WithImmediates).setImmediates(0, bases);
