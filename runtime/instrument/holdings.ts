/**
 * GPU objects that a program holds, whoever made them: each is *reserved*, and *in use* too when no library keeps arrays in it.
 *
 * A tensor and the buffer under it count once, and a pool's spare buffers are nobody's arrays: so what a library of
 * arrays asks for is reserved only. Depends on: events, recorder.
 */
import type { ArrayKind } from '../events/event.ts';
import type { Recorder, Watched } from './recorder.ts';

export interface HoldingOptions {
  /** Packages that have arrays of their own: what they ask for is reserved, not in use. */
  readonly arrayLibraries: (name: string) => boolean;
  /** Packages that only pass a call on (`webgpu`): the caller is looked for behind them. */
  readonly passThrough: (name: string) => boolean;
}

export interface Holding {
  readonly id: number;
  readonly inUse: boolean;
  watched: Watched | undefined;
}

export interface Holdings {
  /** Bytes are held from now on, asked for by the stack above `below`. */
  born(bytes: number, what: ArrayKind, label: string, below: (...args: never[]) => unknown): Holding;
  /** What holds them lives as long as `object` does, unless it dies before; `collected` is called when the collector took it. */
  livesIn(holding: Holding, object: object, collected: () => void): void;
  died(holding: Holding, how: 'destroy' | 'collected'): void;
}

export function createHoldings(recorder: Recorder, layer: 'webgpu' | 'webgl', { arrayLibraries, passThrough }: HoldingOptions): Holdings {
  return {
    born(bytes, what, label, below) {
      const { place, frames } = recorder.stack(below);
      const caller = frames.find((frame) => frame.library === undefined || !passThrough(frame.library))?.library;
      if (caller === 'tidemark') recorder.seeGPU();
      const id = recorder.nextId();
      const inUse = caller === undefined || !arrayLibraries(caller);
      const at = recorder.now();
      recorder.emit({ kind: 'reserve', at, id, bytes, layer, place });
      if (inUse) recorder.emit({ kind: 'allocate', at, id, bytes, place, layer, what, ...(label === '' ? {} : { label }) });
      return { id, inUse, watched: undefined };
    },
    livesIn(holding, object, collected) {
      holding.watched = recorder.watch(object, collected);
    },
    died({ id, inUse, watched }, how) {
      if (watched !== undefined) recorder.forget(watched);
      const at = recorder.now();
      if (inUse) recorder.emit({ kind: 'free', at, id, how });
      recorder.emit({ kind: 'unreserve', at, id });
    },
  };
}

/** The names of adapters that are no hardware. */
export const isSoftware = (adapter: string): boolean => /swiftshader|llvmpipe|lavapipe|softpipe|basic render/i.test(adapter);
