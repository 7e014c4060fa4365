/**
 * WebGPU: slabs are GPUBuffers, a call is one submit.
 *
 * Opening takes a moment that only `await` could wait for, so the device exists before its adapter does: what comes early
 * is queued in order. The same queue holds what has to wait for a number from the GPU (the predicate of a loop of unknown
 * length). Slabs are bound whole; where arrays begin is given per dispatch (immediates, or a table where those are not
 * to be had). Pipelines have explicit layouts and are found again by their text.
 * Depends on: core, compile, backend, adapter, pipelines, recorder, wanted.
 */
import { deviceLost } from '../core/errors.ts';
import type { Executable, Step } from '../compile/executable.ts';
import type { Found } from './adapter.ts';
import type { Backend, Resolve, Spot } from './backend.ts';
import { makePipelines, type Pipelines } from './pipelines.ts';
import { makeRecorder } from './recorder.ts';
import { paced, turn } from './waiting.ts';
import { wantedBy } from './wanted.ts';

export interface WebGPUOptions {
  readonly find: () => Promise<Found>;
  /** Most bytes to reserve when the adapter is software, which has no budget of its own. */
  readonly softwareLimit: number;
  readonly bases?: 'immediates' | 'table';
  /** Kernels of this class of adapter whatever the adapter is: to test the other class's. */
  readonly variants?: 'gpu' | 'software';
  /** Slabs that one dispatch binds, when fewer than the adapter could: to test what happens beyond. */
  readonly mostSlabs?: number;
  /** Blocks between looks at the queue, so that software Vulkan has the cores; absent in browsers. */
  readonly pause?: () => void;
}

interface Open {
  readonly device: GPUDevice;
  readonly found: Found;
  readonly pipelines: Pipelines;
}

/** The largest buffer before the adapter is known: every adapter seen has more. */
const assumedSlabBytes = 2 ** 30 - 256;
/** Bytes of the buffers that are kept for reading. */
const smallRead = 256;
/** Iterations of a loop between looks at its predicate. */
const encodedAtOnce = 4096;

export interface WebGPUBackend extends Backend {
  /** Settles when the adapter is there; rejects when there is none. */
  readonly opened: Promise<Found>;
}

export function makeWebGPU(options: WebGPUOptions): WebGPUBackend {
  const slabs = new Map<number, GPUBuffer>();
  const verdicts = new Map<number, Promise<string | undefined>>();
  let slabIds = 0;
  let dispatches = 0;
  let open: Open | undefined;
  let failed: unknown;
  /** Work that has to wait, in order; undefined when there is none and work is done at once. */
  let tail: Promise<void> | undefined;
  let freed = false;
  /** Buffers for reading single numbers, kept: destroying one would cost a submit. */
  const idleStaging: GPUBuffer[] = [];
  /** Programs whose pipelines were looked for before their first run. */
  const prepared = new WeakSet<Executable>();
  let lose: (reason: string) => void = () => undefined;
  const lost = new Promise<string>((resolve) => (lose = resolve));

  const opened = openDevice(options).then(
    (made) => {
      open = made;
      void made.device.lost.then(({ message, reason }) => lose(message || reason));
      return made.found;
    },
    (fault: unknown) => {
      failed = fault;
      throw fault;
    },
  );
  opened.catch(() => undefined);
  tail = opened.then(() => undefined).catch(() => undefined);
  const opening = tail;
  void opening.then(() => {
    if (tail === opening) tail = undefined;
  });

  const ready = (): Open => {
    if (open === undefined) throw failed ?? new Error('internal: runtime/device: the device is not open');
    return open;
  };
  /** Does `work` now, or after what is waiting. Work that has to wait for the GPU returns a promise. */
  const inOrder = (work: () => void | Promise<void>): void => {
    if (tail === undefined) {
      const rest = work();
      if (rest !== undefined) hold(rest);
      return;
    }
    hold(tail.then(() => (failed === undefined ? work() : undefined)));
  };
  const hold = (rest: Promise<void>): void => {
    const mine: Promise<void> = rest
      .catch((fault: unknown) => lose(fault instanceof Error ? fault.message : String(fault)))
      .then(() => {
        if (tail === mine) tail = undefined;
      });
    tail = mine;
  };
  const settled = async (): Promise<void> => {
    while (tail !== undefined) await tail;
    if (failed !== undefined) throw failed;
  };

  const execute = (executable: Executable, resolve: Resolve): void =>
    inOrder(() => {
      const { device, pipelines } = ready();
      const mostSlabs = Math.min(options.mostSlabs ?? Infinity, device.limits.maxStorageBuffersPerShaderStage);
      const recorder = makeRecorder({
        device,
        pipelines,
        slabOf: (slab) => slabs.get(slab)!,
        onDispatch: () => dispatches++,
        mostSlabs,
      });
      const record = (): void | Promise<void> => {
        if (executable.steps.some(waits)) return runWaiting(executable.steps, resolve, [], recorder);
        recordAll(executable.steps, resolve, [], recorder);
        recorder.submit();
      };
      if (prepared.has(executable)) return record();
      prepared.add(executable);
      const making = pipelines.prepare(wantedBy(executable.steps, resolve).filter(({ slabs: bound }) => Math.max(...bound) < mostSlabs));
      return making === undefined ? record() : quietly(making).then(record);
    });
  const quietly = <T>(promise: Promise<T>): Promise<T> => (options.pause === undefined ? promise : paced(promise, options.pause));
  type Recorder = ReturnType<typeof makeRecorder>;
  const recordAll = (steps: readonly Step[], resolve: Resolve, loops: number[], recorder: Recorder): void => {
    for (const step of steps) {
      if (step.kind === 'launch')
        recorder.launch(
          step.kernel,
          step.at.map((location) => resolve(location, loops)),
          step.aligned,
        );
      else if (step.kind === 'loop') {
        for (let i = 0; i < step.length; i++) {
          loops[step.loop] = i;
          recordAll(step.body, resolve, loops, recorder);
          if (recorder.pending() >= encodedAtOnce) recorder.submit();
        }
      }
    }
  };
  const runWaiting = async (steps: readonly Step[], resolve: Resolve, loops: number[], recorder: Recorder): Promise<void> => {
    const wordAt = async (spot: Spot): Promise<number> => {
      recorder.submit();
      return new Int32Array(await readNow(spot, 4))[0]!;
    };
    for (const step of steps) {
      switch (step.kind) {
        case 'launch':
          recorder.launch(
            step.kernel,
            step.at.map((location) => resolve(location, loops)),
            step.aligned,
          );
          break;
        case 'loop':
          if (!step.body.some(waits)) {
            recordAll([step], resolve, loops, recorder);
            break;
          }
          for (let i = 0; i < step.length; i++) {
            loops[step.loop] = i;
            await runWaiting(step.body, resolve, loops, recorder);
          }
          break;
        case 'while':
          for (;;) {
            await runWaiting(step.condition, resolve, loops, recorder);
            if ((await wordAt(resolve(step.predicate, loops))) === 0) break;
            await runWaiting(step.body, resolve, loops, recorder);
          }
          break;
        case 'choice': {
          const wanted = await wordAt(resolve(step.index, loops));
          await runWaiting(step.branches[Math.max(0, Math.min(step.branches.length - 1, wanted))]!, resolve, loops, recorder);
        }
      }
    }
    recorder.submit();
  };

  /** A staging buffer is filled in the queue's order; waiting for it to be mapped is what `read` waits for. */
  const readNow = (spot: Spot, bytes: number): Promise<ArrayBuffer> => {
    const { device } = ready();
    const padded = Math.ceil(bytes / 4) * 4;
    const small = padded <= smallRead;
    const staging =
      (small ? idleStaging.pop() : undefined) ??
      device.createBuffer({
        size: small ? smallRead : padded,
        usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
        label: 'tidemark readback',
      });
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(slabs.get(spot.slab)!, spot.offset, staging, 0, padded);
    device.queue.submit([encoder.finish()]);
    freed = false;
    const mapped = staging.mapAsync(GPUMapMode.READ, 0, padded).then(() => {
      const copy = staging.getMappedRange(0, padded).slice(0);
      staging.unmap();
      if (small) idleStaging.push(staging);
      else {
        staging.destroy();
        flushSoon();
      }
      return copy;
    });
    return quietly(mapped);
  };
  const read = (spot: Spot, bytes: number): Promise<ArrayBuffer> => {
    if (tail === undefined) return raced(readNow(spot, bytes));
    return new Promise<ArrayBuffer>((resolve, reject) => {
      inOrder(() => {
        readNow(spot, bytes).then(resolve, reject);
      });
      void settled().catch(reject);
      void lost.then((reason) => reject(deviceLost(reason)));
    });
  };
  /** Never waits for a device that is gone: what it was to do comes to nothing, or fails with words of its own. */
  const raced = <T>(work: Promise<T>): Promise<T> => {
    const gone = lost.then((reason): never => {
      throw deviceLost(reason);
    });
    gone.catch(() => undefined);
    return Promise.race([
      work.catch(async (fault: unknown) => {
        // A buffer that is unmapped by a loss says so before the loss itself is known.
        await Promise.race([gone, turn()]);
        throw fault;
      }),
      gone,
    ]);
  };
  /** `destroy()` returns memory only with a later submit: if none comes by itself, an empty one does. */
  const flushSoon = (): void => {
    if (freed) return;
    freed = true;
    queueMicrotask(() => {
      if (!freed || open === undefined) return;
      freed = false;
      inOrder(() => ready().device.queue.submit([]));
    });
  };

  return {
    kind: 'webgpu',
    get adapter() {
      return open?.found.name ?? 'WebGPU (opening)';
    },
    get software() {
      return open?.found.software ?? true;
    },
    target: { device: 'webgpu', adapter: 'software', float16: false },
    /** A GPU says itself when it is full. */
    get defaultLimit() {
      return open !== undefined && !open.found.software ? Number.MAX_SAFE_INTEGER : options.softwareLimit;
    },
    opened,
    backing: {
      get maxSlabBytes() {
        return open === undefined
          ? assumedSlabBytes
          : Math.min(open.device.limits.maxBufferSize, open.device.limits.maxStorageBufferBindingSize) & ~255;
      },
      create(bytes) {
        const slab = ++slabIds;
        let judged: (fault: string | undefined) => void = () => undefined;
        verdicts.set(slab, new Promise((resolve) => (judged = resolve)));
        opened.catch(() => judged(undefined));
        void lost.then(() => judged(undefined));
        inOrder(() => {
          const { device } = ready();
          device.pushErrorScope('validation');
          device.pushErrorScope('out-of-memory');
          slabs.set(
            slab,
            device.createBuffer({
              size: bytes,
              usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST,
              label: 'tidemark slab',
            }),
          );
          const faults = [device.popErrorScope(), device.popErrorScope()];
          Promise.all(faults).then(
            ([noRoom, invalid]) => judged((noRoom ?? invalid)?.message),
            () => judged(undefined),
          );
        });
        return slab;
      },
      destroy(slab) {
        inOrder(() => {
          slabs.get(slab)?.destroy();
          slabs.delete(slab);
          verdicts.delete(slab);
          ready().pipelines.forget(slab);
          flushSoon();
        });
      },
    },
    write({ slab, offset }, data) {
      if (tail === undefined)
        ready().device.queue.writeBuffer(slabs.get(slab)!, offset, data.buffer as ArrayBuffer, data.byteOffset, data.byteLength);
      else {
        const copy = new Uint8Array(data.buffer, data.byteOffset, data.byteLength).slice();
        inOrder(() => ready().device.queue.writeBuffer(slabs.get(slab)!, offset, copy));
      }
    },
    copy(from, to, bytes) {
      inOrder(() => {
        const { device } = ready();
        const encoder = device.createCommandEncoder();
        const bounce = device.createBuffer({ size: bytes, usage: GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST });
        encoder.copyBufferToBuffer(slabs.get(from.slab)!, from.offset, bounce, 0, bytes);
        encoder.copyBufferToBuffer(bounce, 0, slabs.get(to.slab)!, to.offset, bytes);
        device.queue.submit([encoder.finish()]);
        bounce.destroy();
        flushSoon();
      });
    },
    execute,
    read,
    verdict: (slab) => verdicts.get(slab) ?? Promise.resolve(undefined),
    async idle() {
      await settled();
      const { device } = ready();
      await raced(quietly(device.queue.onSubmittedWorkDone().then(() => undefined)));
    },
    lost,
    dispatches: () => dispatches,
    destroy() {
      // Never while work that may not end is queued: that would block for ever.
      void settled().then(
        () =>
          ready()
            .device.queue.onSubmittedWorkDone()
            .then(() => ready().device.destroy()),
        () => undefined,
      );
    },
  };
}

const waits = (step: Step): boolean => step.kind === 'while' || step.kind === 'choice' || (step.kind === 'loop' && step.body.some(waits));

const wishedLimits = [
  'maxBufferSize',
  'maxStorageBufferBindingSize',
  'maxStorageBuffersPerShaderStage',
  'maxComputeWorkgroupStorageSize',
  'maxComputeInvocationsPerWorkgroup',
] as const;

async function openDevice({ find, bases, variants }: WebGPUOptions): Promise<Open> {
  const found = await find();
  const { adapter, gpu } = found;
  const device = await adapter.requestDevice({
    label: 'tidemark',
    requiredLimits: Object.fromEntries(wishedLimits.map((name) => [name, adapter.limits[name]])),
  });
  const immediates = gpu.wgslLanguageFeatures.has('immediate_address_space');
  return {
    device,
    found,
    pipelines: makePipelines({
      device,
      bases: bases ?? (immediates ? 'immediates' : 'table'),
      adapter: variants ?? (found.software ? 'software' : 'gpu'),
    }),
  };
}
