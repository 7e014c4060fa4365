/**
 * What differs between devices: bytes in slabs, and a way to run steps on them.
 *
 * The device in `base.ts` does the rest once for all: handles, donation, the arena of a call, events.
 * Depends on: core, compile, allocator.
 */
import type { Executable, Location, Target } from '../compile/executable.ts';
import type { Backing } from './allocator.ts';

/** A stretch of a slab, in bytes. */
export interface Spot {
  readonly slab: number;
  readonly offset: number;
}

/** Where the regions of one call lie. `loops` holds the counter of every loop that is running. */
export type Resolve = (location: Location, loops: readonly number[]) => Spot;

export interface Backend {
  readonly kind: 'webgpu' | 'cpu' | 'null';
  readonly adapter: string;
  readonly software: boolean;
  readonly target: Target;
  readonly backing: Backing;
  /** Most bytes that may be reserved when nobody says otherwise. */
  readonly defaultLimit: number;
  readonly write: (spot: Spot, data: ArrayBufferView) => void;
  readonly copy: (from: Spot, to: Spot, bytes: number) => void;
  /** Runs the steps, or queues them after all that was queued before. */
  readonly execute: (executable: Executable, resolve: Resolve) => void;
  readonly read: (spot: Spot, bytes: number) => Promise<ArrayBuffer>;
  readonly readSync?: (spot: Spot, bytes: number) => ArrayBuffer;
  /** Settles when the adapter is known; absent where it is from the start. */
  readonly opened?: Promise<unknown>;
  readonly idle: () => Promise<void>;
  /** Settles when it is known whether a slab exists: with the reason when it doesn't. Absent where `create` knows at once. */
  readonly verdict?: (slab: number) => Promise<string | undefined>;
  readonly lost: Promise<string>;
  readonly dispatches: () => number;
  readonly destroy: () => void;
}

/** Position after the strides of the loops that are running. */
export const shifted = ({ offset, strides }: Location, loops: readonly number[]): number =>
  (strides ?? []).reduce((sum, { loop, bytes }) => sum + bytes * loops[loop]!, offset);

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
