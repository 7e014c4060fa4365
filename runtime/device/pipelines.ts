/**
 * Pipelines and bind groups, found again instead of made again.
 *
 * A pipeline is found by its kernel, by which slots share a slab, and by alignment; behind that by its text, so equal
 * kernels of different programs share one. Layouts are explicit: an automatic one would defeat the driver's own cache.
 * Depends on: compile.
 */
import type { Kernel } from '../compile/kernel.ts';
import { slotAvals, wgsl } from '../compile/wgsl.ts';

export interface Ready {
  readonly pipeline: GPUComputePipeline;
  readonly layout: GPUBindGroupLayout;
  readonly grid: readonly [number, number];
  readonly slots: number;
}

export interface PipelineOptions {
  readonly device: GPUDevice;
  readonly bases: 'immediates' | 'table';
  readonly adapter: 'gpu' | 'software';
}

export interface Pipelines {
  readonly bases: 'immediates' | 'table';
  readonly tableLayout: GPUBindGroupLayout | undefined;
  readonly ready: (kernel: Kernel, slabs: readonly number[], aligned: boolean) => Ready;
  /** Slabs by id in the order of their bindings. */
  readonly bindGroup: (ids: readonly number[], buffers: readonly GPUBuffer[]) => GPUBindGroup;
  /** For a buffer that lives as long as one submit. */
  readonly looseGroup: (buffer: GPUBuffer) => GPUBindGroup;
  readonly forget: (slab: number) => void;
  readonly texts: () => readonly string[];
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
  return {
    bases,
    tableLayout,
    ready(kernel, slabs, aligned) {
      const key = `${slabs.join()} ${aligned} ${kernel.key}`;
      const known = byKernel.get(key);
      if (known !== undefined) return known;
      const { text, grid } = wgsl(kernel, { slabs, aligned, adapter, bases });
      const count = Math.max(-1, ...slabs) + 1;
      const slots = slotAvals(kernel).length;
      let pipeline = byText.get(text);
      if (pipeline === undefined) {
        pipeline = device.createComputePipeline({
          label: kernel.name,
          layout: pipelineLayoutOf(count, slots),
          compute: { module: device.createShaderModule({ code: text, label: kernel.name }), entryPoint: 'main' },
        });
        byText.set(text, pipeline);
      }
      const made: Ready = { pipeline, layout: layoutOf(count), grid, slots };
      byKernel.set(key, made);
      return made;
    },
    bindGroup(ids, buffers) {
      const key = ids.join();
      const known = groups.get(key);
      if (known !== undefined) return known;
      const made = device.createBindGroup({
        layout: layoutOf(ids.length),
        entries: buffers.map((buffer, binding) => ({ binding, resource: { buffer } })),
      });
      groups.set(key, made);
      return made;
    },
    looseGroup: (buffer) => device.createBindGroup({ layout: layoutOf(1), entries: [{ binding: 0, resource: { buffer } }] }),
    forget(slab) {
      for (const key of groups.keys()) if (key.split(',').includes(String(slab))) groups.delete(key);
    },
    texts: () => [...byText.keys()],
  };
}
