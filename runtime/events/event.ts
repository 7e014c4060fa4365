/**
 * What happened to memory: the one stream that plan, device and instrumented foreign programs all yield.
 *
 * Peak, timeline, per-line totals and pprof are folds over it. Places and stacks are interned: a `place` event defines
 * a number once, the others name the number, so a million allocations stay small. Depends on: core.
 */
import type { DType } from '../core/dtype.ts';
import type { Place } from '../core/source.ts';

export type ArrayKind = 'array' | 'temp' | 'buffer' | 'texture' | 'staging';

/** Who counts the bytes: our allocator, a library's tensors, or raw GPU objects. A tensor and the GPU buffer under it count once. */
export type Layer = 'tidemark' | 'tfjs' | 'jax-js' | 'webgpu' | 'webgl' | string;

/** A frame of a stack, innermost first; `library` is the package when the frame isn't the user's. */
export interface Frame extends Place {
  readonly library?: string;
  /** Where the function of this frame begins, when known: two functions of one name are told apart by it. */
  readonly functionLine?: number;
  readonly functionColumn?: number;
  /** Its function is what a compiler of functions was given: `jit((x) => …)`. */
  readonly compiled?: true;
}

export type Event =
  /** First event of a stream. `at` in all events is milliseconds since the program's start. */
  | {
      readonly kind: 'start';
      readonly at: number;
      readonly version: 1;
      readonly pid: number;
      readonly cwd: string;
      readonly entry?: string;
    }
  /** The device that runs the program. */
  | {
      readonly kind: 'device';
      readonly at: number;
      readonly device: 'webgpu' | 'cpu' | 'null' | 'webgl' | 'wasm';
      readonly adapter: string;
      readonly software: boolean;
      readonly layer: Layer;
    }
  /** Defines `id` as a stack of the program as run (not yet mapped to sources), innermost user frame first. */
  | { readonly kind: 'place'; readonly id: number; readonly frames: readonly Frame[] }
  /** `bytes` are in use from now on under `id`. */
  | {
      readonly kind: 'allocate';
      readonly at: number;
      readonly id: number;
      readonly bytes: number;
      readonly place: number;
      readonly layer: Layer;
      readonly what: ArrayKind;
      readonly shape?: readonly number[];
      readonly dtype?: DType | string;
      /** Made by differentiation of the equation at `place`, or recomputed. */
      readonly role?: 'gradient' | 'again';
      readonly label?: string;
      /** The reservation (`reserve.id`) that it is a piece of, and at which byte; absent where nobody knows. */
      readonly slab?: number;
      readonly offset?: number;
    }
  /** `id` is free again; `how` says by what means. */
  | {
      readonly kind: 'free';
      readonly at: number;
      readonly id: number;
      readonly how: 'dispose' | 'scope' | 'consume' | 'collected' | 'program' | 'destroy';
    }
  /** The buffer of `from` now belongs to `to` (donated and taken over, or updated in place): bytes in use don't change. */
  | {
      readonly kind: 'reuse';
      readonly at: number;
      readonly from: number;
      readonly to: number;
      readonly place: number;
      readonly shape?: readonly number[];
      readonly dtype?: DType | string;
      readonly role?: 'gradient' | 'again';
    }
  /** `id` was donated at `place`: dead for the user from now on. */
  | {
      readonly kind: 'donate';
      readonly at: number;
      readonly id: number;
      readonly place: number;
      readonly path: string;
      readonly outcome: 'aliased' | 'freedEarly' | 'unusable';
      readonly reason?: string;
    }
  /** GPU memory reserved (a slab, a buffer of whoever) and given back: for `peakReservedBytes`. */
  | {
      readonly kind: 'reserve';
      readonly at: number;
      readonly id: number;
      readonly bytes: number;
      readonly layer: Layer;
      readonly place?: number;
    }
  | { readonly kind: 'unreserve'; readonly at: number; readonly id: number }
  /** A compiled program was made; its own allocations in program order are in `profile`, folded in at every `run`. */
  | {
      readonly kind: 'program';
      readonly at: number;
      readonly program: number;
      readonly name: string;
      readonly place: number;
      /** The program that this one is a better plan of: the same trace, found while others were running. */
      readonly improves?: number;
      readonly profile: ProgramProfile;
    }
  /** One call of `program`; between this event and the end of the call its `peakBytes` are in use on top of its arguments. */
  | { readonly kind: 'run'; readonly at: number; readonly program: number; readonly place: number; readonly ms?: number }
  /** Function entered and left (for per-function peaks where the stack of allocations is not enough). */
  | { readonly kind: 'enter'; readonly at: number; readonly name: string; readonly place: number }
  | { readonly kind: 'leave'; readonly at: number; readonly name: string; readonly place: number }
  /** How often the function that begins at `place` was called so far; a later one replaces it. Functions that never allocate are counted too. */
  | { readonly kind: 'count'; readonly at: number; readonly place: number; readonly calls: number }
  /**
   * Anything worth a note in the report: a warning, a retrace, a leak found by the collector. `exit` stands where the
   * program had nothing left to do: what the collector finds after it was alive at exit and out of reach. Its `id`, if any, is
   * that of nothing, and tells of several threads which one.
   */
  | {
      readonly kind: 'mark';
      readonly at: number;
      readonly name: 'warning' | 'retrace' | 'leak' | 'resetPeak' | 'round' | 'lost' | 'exit';
      readonly text: string;
      readonly place?: number;
      readonly id?: number;
    }
  /** Last event: how the program ended. */
  | { readonly kind: 'end'; readonly at: number; readonly exitCode: number };

/** Ids of different threads and processes are so far apart; within a stream of several, each has a range of its own. */
export const idsPerThread = 2 ** 42;

export const threadOf = (id: number): number => Math.floor(id / idsPerThread);

/** What one compiled program does to memory, by line: the same figures for every call. All in bytes. */
export interface ProgramProfile {
  readonly argumentBytes: number;
  readonly outputBytes: number;
  /** Sum of the outputs that took over the buffer of a donated argument. */
  readonly aliasBytes: number;
  readonly tempBytes: number;
  /** The most in use during a call: arguments (donated or not), outputs and temporaries, packing losses included. */
  readonly peakBytes: number;
  /** The most alive at one step of the chosen order: no plan for this order can need less. */
  readonly lowerBoundBytes: number;
  readonly orderLowerBoundBytes: number | null;
  readonly gap: { readonly packing: number; readonly outputs: number; readonly copies: number };
  readonly copies: readonly { readonly bytes: number; readonly place: number; readonly reason: string }[];
  readonly donated: readonly {
    readonly path: string;
    readonly bytes: number;
    readonly outcome: 'aliased' | 'freedEarly' | 'unusable';
    readonly reason: string | null;
  }[];
  readonly whatIf: readonly { readonly donateArgnums: readonly number[]; readonly peakBytes: number }[];
  /** Values the program stores, in order of birth: `born` and `dies` are steps of the schedule, half-open. `reuses` names the value whose bytes it overwrites. */
  readonly values: readonly {
    readonly place: number;
    readonly bytes: number;
    readonly shape: readonly number[];
    readonly dtype: DType;
    readonly born: number;
    readonly dies: number;
    readonly what: 'argument' | 'temp' | 'output';
    readonly role?: 'gradient' | 'again';
    readonly reuses?: number;
    /** Where it lies: region index (0 = arena, then one per donated argument) and offset in bytes. */
    readonly region?: number;
    readonly offset?: number;
  }[];
  readonly steps: number;
  /** Arrays this call takes (ids are not known here): for every argument leaf its path. */
  readonly argumentPaths: readonly string[];
}

/** Where the runtime writes: `globalThis[Symbol.for('tidemark.events.1')]`. */
export interface Sink {
  (event: Event): void;
}
export const sinkKey: unique symbol = Symbol.for('tidemark.events.1') as never;
