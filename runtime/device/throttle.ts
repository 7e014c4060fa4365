/**
 * Keeps the queue short: a program that asks faster than its work is done waits for it.
 *
 * A loop without `await` never lets the event loop turn, and only there Dawn in Node looks at what has run: its queue, and
 * all that is held until then (staging of uploads, command buffers), would grow without end. So every now and then a probe
 * is queued, a buffer that can be mapped once everything before it has run, and two of them at most are under way.
 *
 *     queue   … work … | probe | … work … | probe |  the next one waits for the first
 *
 * Waiting needs no turn of the event loop: what Dawn hands to `setImmediate` when it begins to wait is the function by which it
 * looks at its queue, and that can be called at any time. Pages have no such thing, and may not sleep: there a
 * loop has to `await` for itself. Depends on: nothing.
 */

/** What one window holds, in units. */
const window = 32;
const dispatchesPerUnit = 16;
const bytesPerUnit = 2 ** 20;
/** More than this under way is work for a while. */
const busyUnits = 4;
/** Work that takes longer than this for one window is let pile up rather than waited for: it may never end. */
const longestWaitMs = 20_000;

export interface ThrottleOptions {
  readonly device: GPUDevice;
  /** Makes Dawn look at its queue, and sleeps a moment in this thread; absent in pages, where nothing is waited for. */
  readonly wait?: { readonly look: () => void; readonly pause: () => void };
}

export interface Throttle {
  /** Tells of a submit, or of an upload; waits when too much is under way. */
  readonly queued: (work: { readonly dispatches: number } | { readonly bytes: number }) => void;
  /** What was queued up to now; called once that is known to have run. */
  readonly untilNow: () => () => void;
  /** Enough was queued since anything is known to have run that the device is at work. */
  readonly busy: () => boolean;
}

interface Probe {
  readonly buffer: GPUBuffer;
  /** Units that were queued before it. */
  readonly at: number;
}

export function makeThrottle({ device, wait }: ThrottleOptions): Throttle {
  const probes: Probe[] = [];
  const idle: GPUBuffer[] = [];
  let queued = 0;
  /** Up to here all is known to have run. */
  let ran = 0;
  /** The same, or a probe is under way. */
  let seen = 0;
  const place = (): void => {
    const buffer =
      idle.pop() ?? device.createBuffer({ size: 4, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST, label: 'tidemark probe' });
    const encoder = device.createCommandEncoder();
    encoder.clearBuffer(buffer);
    device.queue.submit([encoder.finish()]);
    buffer.mapAsync(GPUMapMode.READ).catch(() => undefined);
    probes.push({ buffer, at: queued });
    seen = queued;
  };
  /** Takes back the probes that everything before them has passed, and those that a lost device left. */
  const takeBack = (): void => {
    while (probes[0] !== undefined && probes[0].buffer.mapState !== 'pending') {
      const { buffer, at } = probes.shift()!;
      ran = Math.max(ran, at);
      if (buffer.mapState !== 'mapped') continue;
      buffer.unmap();
      idle.push(buffer);
    }
  };
  const waitFor = ({ buffer }: Probe, { look, pause }: NonNullable<typeof wait>): void => {
    const end = performance.now() + longestWaitMs;
    for (look(); buffer.mapState === 'pending' && performance.now() < end; look()) pause();
    takeBack();
  };
  return {
    queued(work) {
      queued += 'bytes' in work ? work.bytes / bytesPerUnit : 1 + work.dispatches / dispatchesPerUnit;
      if (wait === undefined || queued - seen < window) return;
      takeBack();
      if (probes.length > 1) waitFor(probes[0]!, wait);
      place();
    },
    untilNow() {
      const then = queued;
      return () => {
        ran = Math.max(ran, then);
        seen = Math.max(seen, then);
      };
    },
    busy: () => queued - ran > busyUnits,
  };
}

/** Runs `ask`, which makes Dawn wait for something for the first time, and finds the function by which it looks at its queue. */
export function lookOf<T>(ask: () => T): { readonly result: T; readonly look: (() => void) | undefined } {
  if (typeof globalThis.setImmediate === 'undefined') return { result: ask(), look: undefined };
  let dawns: (() => void) | undefined;
  const result = whileCaught((callback) => {
    dawns ??= callback;
    return false;
  }, ask);
  // What it asks for while it looks is dropped: its own next look is already due.
  const look = dawns === undefined ? undefined : () => whileCaught(() => true, dawns!);
  return { result, look };
}

/** A function without a name that no JavaScript stands behind; a bound one has a name. */
const isNative = (callback: unknown): callback is () => void =>
  typeof callback === 'function' && callback.name === '' && /\[native code\]\s*\}$/.test(Function.prototype.toString.call(callback));

/** What native code hands to `setImmediate` meanwhile goes to `take` first, which says whether it keeps it. */
function whileCaught<T>(take: (callback: () => void) => boolean, run: () => T): T {
  const own = globalThis.setImmediate;
  const catching = (callback: (...args: unknown[]) => void, ...args: unknown[]): unknown =>
    isNative(callback) && take(callback) ? undefined : own(callback, ...args);
  globalThis.setImmediate = catching as typeof own;
  try {
    return run();
  } finally {
    globalThis.setImmediate = own;
  }
}
