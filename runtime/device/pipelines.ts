/**
 * Pipelines and bind groups, found again instead of made again.
 *
 * A pipeline is found by its kernel, by which slots share a slab, and by alignment; behind that by its text, so equal
 * kernels of different programs share one. Those of a new program are made side by side, on all cores of the machine.
 * Layouts are explicit: an automatic one would defeat the driver's own cache. Depends on: compile.
 */
import type { Kernel } from '../compile/kernel.ts';
import { slotAvals, wgsl } from '../compile/wgsl.ts';

export interface Ready {
  readonly pipeline: GPUComputePipeline;
  readonly layout: GPUBindGroupLayout;
  readonly grid: readonly [number, number];
  readonly slots: number;
}

/** What decides a pipeline. */
export interface Wanted {
  readonly kernel: Kernel;
  /** For each slot the number of its slab among those that are bound. */
  readonly slabs: readonly number[];
  readonly aligned: boolean;
}

export interface PipelineOptions {
  readonly device: GPUDevice;
  readonly bases: 'immediates' | 'table';
  readonly adapter: 'gpu' | 'software';
}

export interface Pipelines {
  readonly bases: 'immediates' | 'table';
  readonly tableLayout: GPUBindGroupLayout | undefined;
  readonly ready: (wanted: Wanted) => Ready;
  /** Makes those that are not there yet, side by side; undefined when that is one at most, which `ready` makes as fast. */
  readonly prepare: (wanted: readonly Wanted[]) => Promise<unknown> | undefined;
  /** Slabs by id in the order of their bindings. */
  readonly bindGroup: (ids: readonly number[], buffers: readonly GPUBuffer[]) => GPUBindGroup;
  /** For buffers of which one lives no longer than a call. */
  readonly looseGroup: (buffers: readonly GPUBuffer[]) => GPUBindGroup;
  /** The pipeline of a text that is no kernel's, which binds `count` buffers and is told `slots` numbers. */
  readonly own: (text: string, count: number, slots: number) => GPUComputePipeline;
  readonly forget: (slab: number) => void;
}

/** A pipeline that is not made yet. */
interface Draft {
  readonly text: string;
  readonly grid: readonly [number, number];
  /** Slabs that are bound. */
  readonly count: number;
  readonly slots: number;
  readonly descriptor: () => GPUComputePipelineDescriptor;
}

export function makePipelines({ device, bases, adapter }: PipelineOptions): Pipelines {
  const byKernel = new Map<string, Ready>();
  const byText = new Map<string, GPUComputePipeline>();
  const layouts: GPUBindGroupLayout[] = [];
  const pipelineLayouts = new Map<string, GPUPipelineLayout>();
  const groups = new Map<string, GPUBindGroup>();
  const tableLayout =
    bases === 'table'
      ? device.createBindGroupLayout({
          entries: [{ binding: 0, visibility: GPUShaderStage.COMPUTE, buffer: { type: 'uniform', hasDynamicOffset: true } }],
        })
      : undefined;
  const layoutOf = (count: number): GPUBindGroupLayout =>
    (layouts[count] ??= device.createBindGroupLayout({
      entries: Array.from({ length: count }, (_, binding) => ({
        binding,
        visibility: GPUShaderStage.COMPUTE,
        buffer: { type: 'storage' as const },
      })),
    }));
  const pipelineLayoutOf = (count: number, slots: number): GPUPipelineLayout => {
    const key = `${count} ${slots}`;
    const known = pipelineLayouts.get(key);
    if (known !== undefined) return known;
    const made = device.createPipelineLayout({
      bindGroupLayouts: tableLayout === undefined ? [layoutOf(count)] : [layoutOf(count), tableLayout],
      ...(tableLayout === undefined ? { immediateSize: 4 * slots } : {}),
    });
    pipelineLayouts.set(key, made);
    return made;
  };
  const groupOf = (buffers: readonly GPUBuffer[]): GPUBindGroup =>
    device.createBindGroup({
      layout: layoutOf(buffers.length),
      entries: buffers.map((buffer, binding) => ({ binding, resource: { buffer } })),
    });
  const keyOf = ({ kernel, slabs, aligned }: Wanted): string => `${slabs.join()} ${aligned} ${kernel.key}`;
  const draftOf = ({ kernel, slabs, aligned }: Wanted): Draft => {
    const { text, grid } = wgsl(kernel, { slabs, aligned, adapter, bases });
    const count = Math.max(-1, ...slabs) + 1;
    const slots = slotAvals(kernel).length;
    return {
      text,
      grid,
      count,
      slots,
      descriptor: () => ({
        label: kernel.name,
        layout: pipelineLayoutOf(count, slots),
        compute: { module: device.createShaderModule({ code: text, label: kernel.name }), entryPoint: 'main' },
      }),
    };
  };
  const keep = (key: string, { text, grid, count, slots }: Draft, pipeline: GPUComputePipeline): Ready => {
    const made: Ready = { pipeline, layout: layoutOf(count), grid, slots };
    byText.set(text, pipeline);
    byKernel.set(key, made);
    return made;
  };
  return {
    bases,
    tableLayout,
    ready(wanted) {
      const key = keyOf(wanted);
      const known = byKernel.get(key);
      if (known !== undefined) return known;
      const draft = draftOf(wanted);
      const pipeline = byText.get(draft.text) ?? device.createComputePipeline(draft.descriptor());
      return keep(key, draft, pipeline);
    },
    prepare(wanted) {
      const drafts = new Map<string, { readonly key: string; readonly draft: Draft }>();
      for (const one of wanted) {
        const key = keyOf(one);
        if (byKernel.has(key)) continue;
        const draft = draftOf(one);
        if (!byText.has(draft.text)) drafts.set(draft.text, { key, draft });
      }
      if (drafts.size < 2) return undefined;
      return Promise.all(
        [...drafts.values()].map(({ key, draft }) =>
          device.createComputePipelineAsync(draft.descriptor()).then(
            (pipeline) => keep(key, draft, pipeline),
            // Made again where it is needed, what is wrong with it comes out as with any other.
            () => undefined,
          ),
        ),
      );
    },
    bindGroup(ids, buffers) {
      const key = ids.join();
      const known = groups.get(key);
      if (known !== undefined) return known;
      const made = groupOf(buffers);
      groups.set(key, made);
      return made;
    },
    looseGroup: (buffers) => groupOf(buffers),
    own(text, count, slots) {
      const known = byText.get(text);
      if (known !== undefined) return known;
      const module = device.createShaderModule({ code: text });
      const made = device.createComputePipeline({ layout: pipelineLayoutOf(count, slots), compute: { module, entryPoint: 'main' } });
      byText.set(text, made);
      return made;
    },
    forget(slab) {
      for (const key of groups.keys()) if (key.split(',').includes(String(slab))) groups.delete(key);
    },
  };
}
