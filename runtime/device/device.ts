/**
 * A device: memory, a way to fill it, to run executables in it, and to read it.
 *
 * A `Buffer` is a handle on an allocation; two handles share one only where an unchanged input was returned. Handles of
 * donated arguments are dead after `run`, whatever happened to their bytes. Everything but `read` is done, or queued, when
 * the call returns. Depends on: core, compile, allocator.
 */
import type { KnownAval } from '../core/aval.ts';
import type { OutOfMemoryError } from '../core/errors.ts';
import type { Place } from '../core/source.ts';
import type { Executable, Role, Target } from '../compile/executable.ts';
import type { Allocation, Allocator } from './allocator.ts';

export type TypedArray = Float32Array | Int32Array | Uint32Array | Uint16Array | Uint8Array;

export type FreedBy = 'dispose' | 'scope' | 'consume' | 'collected' | 'program' | 'destroy';

export interface Buffer {
  /** Names it in the stream of events. */
  readonly id: number;
  /** In use for it: rounded up to 256. */
  readonly bytes: number;
  readonly aval: KnownAval;
  /** Where the user made it. */
  readonly place: Place | undefined;
  /** Made by differentiation, or computed again. */
  readonly role?: Role;
  readonly dead: Dead | undefined;
  /** Where it lies, exposed for tests: a slab and an offset in bytes. */
  readonly address: { readonly slab: number; readonly offset: number };
  readonly allocation: Allocation;
}

export interface Dead {
  readonly how: FreedBy | 'donate' | 'lost';
  readonly place: Place | undefined;
  /** The program it was donated to. */
  readonly to: string | undefined;
  /** It never came to be: the memory that was asked for it isn't there. */
  readonly because?: OutOfMemoryError;
}

export interface RunOptions {
  /** Called once the call cannot fail any more and before anything is submitted: nothing was donated until here. */
  readonly beforeSubmit?: () => void;
  /** Donated for this call although the executable was compiled without: freed at the end (never aliased). */
  readonly consumed?: readonly number[];
}

export interface Device {
  readonly kind: 'webgpu' | 'cpu' | 'null';
  /** For people: the adapter's name, and that it is software Vulkan where it is. */
  readonly adapter: string;
  readonly software: boolean;
  readonly target: Target;
  readonly allocator: Allocator;
  /** Copies `data` (never kept, never changed). Numbers are filled in. */
  readonly put: (data: TypedArray | number, aval: KnownAval, place: Place | undefined) => Buffer;
  /** `buffers`: arguments, then captures. Throws before anything changed; afterwards donated handles are dead. */
  readonly run: (executable: Executable, buffers: readonly Buffer[], place: Place | undefined, options?: RunOptions) => Buffer[];
  /** The contents as they are at this moment of the program, also when the buffer is donated or freed before the promise settles. */
  readonly read: (buffer: Buffer) => Promise<TypedArray>;
  /** On the devices that can. */
  readonly readSync?: (buffer: Buffer) => TypedArray;
  readonly free: (buffer: Buffer, how: FreedBy, place?: Place) => void;
  /** All handles that are alive. */
  readonly live: () => readonly Buffer[];
  /** Settles when the adapter is there, rejects when there is none; absent where there is nothing to wait for. */
  readonly opened?: Promise<unknown>;
  /** Settles when everything that was queued has run. */
  readonly idle: () => Promise<void>;
  /** Settles, with the reason, when the device is lost; never otherwise. */
  readonly lost: Promise<string>;
  /** Kernels that ran on it so far. */
  readonly dispatches: () => number;
  readonly destroy: () => void;
}
