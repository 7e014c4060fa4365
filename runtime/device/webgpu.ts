/**
 * WebGPU: slabs are GPUBuffers, a call is one submit.
 *
 * Opening takes a moment that only `await` could wait for, so the device exists before its adapter does: what comes early
 * is queued in order. The same queue holds what has to wait for a number from the GPU (whether a loop of unknown length
 * has ended). Slabs are bound whole; where arrays begin is given per dispatch (immediates, or a table where those are not
 * to be had). Pipelines have explicit layouts and are found again by their text.
 * Depends on: core, compile, backend, adapter, encode, pipelines, readback, recorder, throttle, wanted.
 */
import { deviceLost } from '../core/errors.ts';
import type { Executable } from '../compile/executable.ts';
import type { Found } from './adapter.ts';
import type { Backend, Resolve, Spot } from './backend.ts';
import { encode } from './encode.ts';
import { makePipelines, type Pipelines } from './pipelines.ts';
import { makeReadback } from './readback.ts';
import { makeRecorder, type Recorder } from './recorder.ts';
import { lookOf, makeThrottle, type Throttle } from './throttle.ts';
import { paced, soon, turn } from './waiting.ts';
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

interface Opened {
  readonly device: GPUDevice;
  readonly found: Found;
  readonly pipelines: Pipelines;
  /** Makes Dawn look at its queue. */
  readonly look: (() => void) | undefined;
}

interface Open extends Opened {
  readonly recorder: Recorder;
  readonly readback: ReturnType<typeof makeReadback>;
  readonly throttle: Throttle;
  readonly mostSlabs: number;
}

/** Launches that go to the device in one submit, where it has others to run meanwhile. */
const submittedTogether = 64;
/** The largest buffer before the adapter is known: every adapter seen has more. */
const assumedSlabBytes = 2 ** 30 - 256;

export interface WebGPUBackend extends Backend {
  /** Settles when the adapter is there; rejects when there is none. */
  readonly opened: Promise<Found>;
}

export function makeWebGPU(options: WebGPUOptions): WebGPUBackend {
  const slabs = new Map<number, GPUBuffer>();
  const verdicts = new Map<number, Promise<string | undefined>>();
  let slabIds = 0;
  /** Slabs of which it isn't known yet whether they exist. */
  let undecided = 0;
  let dispatches = 0;
  let open: Open | undefined;
  let failed: unknown;
  /** Work that has to wait, in order; undefined when there is none and work is done at once. */
  let tail: Promise<void> | undefined;
  let freed = false;
  /** Programs whose pipelines were looked for before their first run. */
  const prepared = new WeakSet<Executable>();
  let lose: (reason: string) => void = () => undefined;
  const lost = new Promise<string>((resolve) => (lose = resolve));

  const opened = openDevice(options).then(
    (made) => {
      open = { ...made, ...atWork(made) };
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

  const atWork = ({ device, pipelines, look }: Opened): Omit<Open, keyof Opened> => {
    const { pause } = options;
    const throttle = makeThrottle({ device, ...(look === undefined || pause === undefined ? {} : { wait: { look, pause } }) });
    const mostSlabs = Math.min(options.mostSlabs ?? Infinity, device.limits.maxStorageBuffersPerShaderStage);
    return {
      throttle,
      mostSlabs,
      readback: makeReadback({ device, onDestroy: flushSoon, onQueue: throttle.untilNow }),
      recorder: makeRecorder({
        device,
        pipelines,
        slabOf,
        onDispatch: () => dispatches++,
        onSubmit: (submitted) => throttle.queued({ dispatches: submitted }),
        mostSlabs,
      }),
    };
  };
  const slabOf = (slab: number): GPUBuffer => slabs.get(slab)!;
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
      const { device, pipelines, readback, recorder, mostSlabs } = ready();
      const record = (): void | Promise<void> => {
        if (undecided > 0) submit();
        const rest = encode(executable, {
          device,
          pipelines,
          recorder,
          resolve,
          mostSlabs,
          readWord: async (from) =>
            new Int32Array(await quietly(readback('slab' in from ? { ...from, buffer: slabOf(from.slab) } : from, 4)))[0]!,
        });
        return rest === undefined ? submitInTime() : rest.then(submit);
      };
      if (prepared.has(executable)) return record();
      prepared.add(executable);
      const making = pipelines.prepare(wantedBy(executable.steps, resolve).filter(({ slabs: bound }) => Math.max(...bound) < mostSlabs));
      return making === undefined ? record() : quietly(making).then(record);
    });
  /** Submits what is recorded: before anything else goes to the queue. */
  const submit = (): void => ready().recorder.submit();
  let due = false;
  /**
   * While the device is at work small calls are submitted together, at the latest when the program gives way to other tasks.
   * A submit fails as a whole, so calls stay apart as long as a slab may turn out not to exist.
   */
  const submitInTime = (): void => {
    const { recorder, throttle } = ready();
    if (undecided > 0 || !throttle.busy() || recorder.pending() >= submittedTogether) return recorder.submit();
    if (due) return undefined;
    due = true;
    soon(() => {
      due = false;
      inOrder(submit);
    });
  };
  const quietly = <T>(promise: Promise<T>): Promise<T> => (options.pause === undefined ? promise : paced(promise, options.pause));
  const readNow = ({ slab, offset }: Spot, bytes: number): Promise<ArrayBuffer> => {
    submit();
    freed = false;
    return quietly(ready().readback({ buffer: slabOf(slab), offset }, bytes));
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
        const verdict = new Promise<string | undefined>((resolve) => (judged = resolve));
        verdicts.set(slab, verdict);
        undecided++;
        void verdict.then(() => undecided--);
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
          submit();
          slabs.get(slab)?.destroy();
          slabs.delete(slab);
          verdicts.delete(slab);
          ready().pipelines.forget(slab);
          flushSoon();
        });
      },
    },
    write({ slab, offset }, data) {
      // What has to wait gets a copy: the caller may change its array meanwhile.
      const bytes = new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength);
      const own = tail === undefined ? bytes : bytes.slice();
      inOrder(() => {
        const { device, throttle } = ready();
        submit();
        device.queue.writeBuffer(slabOf(slab), offset, own);
        throttle.queued({ bytes: own.byteLength });
      });
    },
    copy(from, to, bytes) {
      inOrder(() => {
        const { device } = ready();
        submit();
        const encoder = device.createCommandEncoder();
        const bounce = device.createBuffer({ size: bytes, usage: GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST });
        encoder.copyBufferToBuffer(slabOf(from.slab), from.offset, bounce, 0, bytes);
        encoder.copyBufferToBuffer(bounce, 0, slabOf(to.slab), to.offset, bytes);
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
      const { device, throttle } = ready();
      submit();
      await raced(quietly(device.queue.onSubmittedWorkDone().then(throttle.untilNow())));
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

const wishedLimits = [
  'maxBufferSize',
  'maxStorageBufferBindingSize',
  'maxStorageBuffersPerShaderStage',
  'maxComputeWorkgroupStorageSize',
  'maxComputeInvocationsPerWorkgroup',
] as const;

async function openDevice({ find, bases, variants }: WebGPUOptions): Promise<Opened> {
  const found = await find();
  const { adapter, gpu } = found;
  const { result, look } = lookOf(() =>
    adapter.requestDevice({
      label: 'tidemark',
      requiredLimits: Object.fromEntries(wishedLimits.map((name) => [name, adapter.limits[name]])),
    }),
  );
  const device = await result;
  const immediates = gpu.wgslLanguageFeatures.has('immediate_address_space');
  return {
    device,
    found,
    look,
    pipelines: makePipelines({
      device,
      bases: bases ?? (immediates ? 'immediates' : 'table'),
      adapter: variants ?? (found.software ? 'software' : 'gpu'),
    }),
  };
}
