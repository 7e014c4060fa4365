/**
 * What memory is used, by whom, and how high it rose.
 *
 * `stats` has the keys of JAX's `memory_stats()`; `profile` is a file that pprof reads, of what is alive, or of what was
 * alive at the peak once `trackPeak` was called. Depends on: core, events, device, current.
 */
import type { DType } from '../core/dtype.ts';
import { typeError } from '../core/errors.ts';
import { written } from '../core/stack.ts';
import type { Frame } from '../events/event.ts';
import { createLedger } from '../events/ledger.ts';
import { peak, type Alive } from '../events/peak.ts';
import { pprof } from '../events/pprof.ts';
import type { AllocatorStats } from '../device/allocator.ts';
import type { Buffer } from '../device/device.ts';
import { listen } from '../device/memory-events.ts';
import { device } from './current.ts';

export interface MemoryStats extends AllocatorStats {
  readonly device: string;
  readonly adapter: string;
}

export interface LiveArray {
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly bytes: number;
  /** Where it was made: file, line, column, as the user wrote them. */
  readonly file: string | undefined;
  readonly line: number | undefined;
  readonly column: number | undefined;
}

export function stats(): MemoryStats {
  const { allocator, kind, adapter } = device();
  return { ...allocator.stats(), device: kind, adapter };
}

/** From now on the peak is counted anew, from what is in use. */
export function resetPeak(): void {
  device().allocator.resetPeak();
  restart?.();
}

export interface Measured<T> {
  readonly result: T;
  /** Most bytes in use while it ran. */
  readonly peakBytes: number;
  /** In use when it began. */
  readonly startBytes: number;
  readonly endBytes: number;
}

/** Runs `fn` and says how high memory rose meanwhile; an asynchronous one is waited for. */
export function measure<T>(fn: () => Promise<T>): Promise<Measured<T>>;
export function measure<T>(fn: () => T): Measured<T>;
export function measure<T>(fn: () => T | Promise<T>): Measured<T> | Promise<Measured<T>> {
  const { allocator } = device();
  const startBytes = allocator.stats().bytesInUse;
  const meter = allocator.measure();
  const ended = (result: T): Measured<T> => ({ result, peakBytes: meter.end(), startBytes, endBytes: allocator.stats().bytesInUse });
  let result: T | Promise<T>;
  try {
    result = fn();
  } catch (fault) {
    meter.end();
    throw fault;
  }
  if (!(result instanceof Promise)) return ended(result);
  return result.then(ended, (fault: unknown) => {
    meter.end();
    throw fault;
  });
}

function described({ aval, bytes, place }: Buffer): LiveArray {
  const { file, line, column } = place === undefined ? { file: undefined, line: undefined, column: undefined } : written(place);
  return { shape: aval.shape, dtype: aval.dtype, bytes, file, line, column };
}

/** Every array that is alive, largest first. */
export const liveArrays = (): readonly LiveArray[] =>
  device()
    .live()
    .map(described)
    .toSorted((a, b) => b.bytes - a.bytes);

let tracked: (() => { readonly alive: readonly Alive[]; readonly places: ReadonlyMap<number, readonly Frame[]> }) | undefined;
let restart: (() => void) | undefined;

/** Begins to remember what is alive at the peak, for `profile({ at: "peak" })`. Ends when the returned function is called. */
export function trackPeak(): () => void {
  let ledger = createLedger();
  let fold = peak();
  const seed = (): void => {
    for (const buffer of device().live()) take(buffer);
  };
  const take = ({ id, bytes, aval, place, role }: Buffer): void => {
    if (place !== undefined) ledger.take({ kind: 'place', id: -id, frames: [place] });
    const change = ledger.take({
      kind: 'allocate',
      at: 0,
      id,
      bytes,
      place: place === undefined ? 0 : -id,
      layer: 'tidemark',
      what: 'array',
      shape: aval.shape,
      dtype: aval.dtype,
      ...(role === undefined ? {} : { role }),
    });
    if (change !== undefined) fold.take(change);
  };
  restart = () => {
    ledger = createLedger();
    fold = peak();
    seed();
  };
  const stop = listen((event) => {
    const change = ledger.take(event);
    if (change !== undefined) fold.take(change);
  });
  seed();
  tracked = () => ({ alive: fold.result().alive, places: ledger.places });
  return () => {
    stop();
    [tracked, restart] = [undefined, undefined];
  };
}

/** A profile for pprof (not compressed): of what is alive now, or of the peak since `trackPeak` or `resetPeak`. */
export function profile({ at = 'now' }: { readonly at?: 'now' | 'peak' } = {}): Uint8Array {
  const { kind } = device();
  const timeNanos = BigInt(Date.now()) * 1_000_000n;
  if (at === 'peak') {
    if (tracked === undefined) throw typeError('`memory.profile({ at: "peak" })` needs `memory.trackPeak()` before the work');
    const { alive, places } = tracked();
    const asWritten = new Map([...places].map(([id, frames]) => [id, frames.map(written)]));
    return pprof(alive, { places: asWritten, device: kind, comment: 'tidemark: arrays alive at the peak', timeNanos });
  }
  const places = new Map<number, readonly Frame[]>();
  const alive = device()
    .live()
    .map(({ id, bytes, aval, place, role }, order): Alive => {
      if (place !== undefined) places.set(id, [written(place)]);
      return {
        kind: 'allocation',
        allocation: {
          id,
          bytes,
          place: place === undefined ? 0 : id,
          layer: 'tidemark',
          what: 'array',
          at: 0,
          order,
          shape: aval.shape,
          dtype: aval.dtype,
          ...(role === undefined ? {} : { role }),
        },
      };
    });
  return pprof(alive, { places, device: kind, comment: 'tidemark: arrays alive', timeNanos });
}
