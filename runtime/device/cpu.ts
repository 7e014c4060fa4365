/**
 * The reference device: the same executables in plain JavaScript, with synchronous reads and no GPU.
 *
 * A slab is an ArrayBuffer; a kernel is made from its text once, or walked where functions from text are forbidden.
 * Depends on: core, compile, backend.
 */
import type { DType } from '../core/dtype.ts';
import type { Executable, Step } from '../compile/executable.ts';
import { hostKernel, interpret, type HostArray, type HostKernel } from '../compile/js.ts';
import type { Kernel } from '../compile/kernel.ts';
import type { Backend, Resolve, Spot } from './backend.ts';

type Views = Readonly<Record<DType, HostArray>>;

export interface CpuOptions {
  readonly limit: number;
  readonly adapter: string;
  /** Never make functions from text. */
  readonly interpretOnly?: boolean;
}

export function makeCpu({ limit, adapter, interpretOnly }: CpuOptions): Backend {
  const slabs = new Map<number, { readonly buffer: ArrayBuffer; readonly views: Views }>();
  const kernels = new Map<string, HostKernel>();
  let slabIds = 0;
  let dispatches = 0;
  const kernelOf = (kernel: Kernel): HostKernel => {
    const known = kernels.get(kernel.key);
    if (known !== undefined) return known;
    const made = interpretOnly ? interpret(kernel) : compiled(kernel);
    kernels.set(kernel.key, made);
    return made;
  };
  const viewsOf = (buffer: ArrayBuffer): Views => {
    const words = new Uint32Array(buffer);
    return {
      float32: new Float32Array(buffer),
      int32: new Int32Array(buffer),
      uint32: words,
      bool: words,
      float16: new Uint16Array(buffer),
    };
  };
  const bytesAt = ({ slab, offset }: Spot, bytes: number): Uint8Array => new Uint8Array(slabs.get(slab)!.buffer, offset, bytes);
  const wordAt = ({ slab, offset }: Spot): number => slabs.get(slab)!.views.int32[offset / 4]!;
  const launch = (kernel: Kernel, spots: readonly Spot[]): void => {
    if (kernel.extents.includes(0)) return;
    const avals = [...kernel.operands, ...kernel.results.map(({ aval }) => aval)];
    dispatches++;
    kernelOf(kernel)(
      avals.map(({ dtype }, i) => slabs.get(spots[i]!.slab)?.views[dtype] ?? nothing),
      avals.map(({ dtype }, i) => spots[i]!.offset / (dtype === 'float16' ? 2 : 4)),
    );
  };
  const runAll = (steps: readonly Step[], resolve: Resolve, loops: number[]): void => {
    for (const step of steps) {
      switch (step.kind) {
        case 'launch':
          launch(
            step.kernel,
            step.at.map((location) => resolve(location, loops)),
          );
          break;
        case 'loop':
          for (let i = 0; i < step.length; i++) {
            loops[step.loop] = i;
            runAll(step.body, resolve, loops);
          }
          break;
        case 'while':
          for (runAll(step.condition, resolve, loops); wordAt(resolve(step.predicate, loops)) !== 0; runAll(step.condition, resolve, loops))
            runAll(step.body, resolve, loops);
          break;
        case 'choice': {
          const wanted = wordAt(resolve(step.index, loops));
          runAll(step.branches[Math.max(0, Math.min(step.branches.length - 1, wanted))]!, resolve, loops);
        }
      }
    }
  };
  return {
    kind: 'cpu',
    adapter,
    software: true,
    target: { device: 'cpu', adapter: 'host', float16: true },
    defaultLimit: limit,
    backing: {
      maxSlabBytes: 2 ** 32 - 256,
      create(bytes) {
        const buffer = new ArrayBuffer(bytes);
        slabs.set(++slabIds, { buffer, views: viewsOf(buffer) });
        return slabIds;
      },
      destroy: (slab) => void slabs.delete(slab),
    },
    write: (spot, data) => bytesAt(spot, data.byteLength).set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength)),
    copy: (from, to, bytes) => bytesAt(to, bytes).set(bytesAt(from, bytes)),
    execute: (executable: Executable, resolve) => runAll(executable.steps, resolve, []),
    read: (spot, bytes) => Promise.resolve(bytesAt(spot, bytes).slice().buffer),
    readSync: (spot, bytes) => bytesAt(spot, bytes).slice().buffer,
    idle: () => Promise.resolve(),
    lost: new Promise(() => undefined),
    dispatches: () => dispatches,
    destroy: () => slabs.clear(),
  };
}

const nothing = new Uint32Array(0);

function compiled(kernel: Kernel): HostKernel {
  try {
    return hostKernel(kernel);
  } catch (fault) {
    if (fault instanceof EvalError) return interpret(kernel);
    throw fault;
  }
}
