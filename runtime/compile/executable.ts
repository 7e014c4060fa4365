/**
 * What compiling a program gives: kernels, the steps that launch them, where every value lies, and what it costs.
 *
 * Memory is a list of regions whose bases are known at call time only: region 0 is the arena of the call, region 1 + i is
 * the buffer of input i (captures after arguments). A step says for each slot of its kernel in which region and at
 * which byte the array lies. Nothing here depends on a device except the class of kernel variants (`Target`).
 * Depends on: core, ops, kernel, layout (types).
 */
import type { KnownAval } from '../core/aval.ts';
import type { DType } from '../core/dtype.ts';
import type { Program } from '../core/program.ts';
import type { Place } from '../core/source.ts';
import type { Op } from '../ops/op.ts';
import type { Kernel } from './kernel.ts';
import type { Choice } from './layout.ts';

/** For what kind of machine kernels are chosen: `software` is Vulkan on the processor, `host` is JavaScript. */
export interface Target {
  readonly device: 'webgpu' | 'cpu' | 'null';
  readonly adapter: 'gpu' | 'software' | 'host';
  /** Elements of two bytes can be computed with. */
  readonly float16: boolean;
}

export interface Location {
  readonly region: number;
  /** In bytes from the region's base. */
  readonly offset: number;
  /** In a loop: bytes to add per iteration of the loop at depth `loop` (slices of sequences). */
  readonly strides?: readonly { readonly loop: number; readonly bytes: number }[];
}

export type Step =
  /** `aligned`: every location is a multiple of 16 bytes in every iteration. */
  | { readonly kind: 'launch'; readonly kernel: Kernel; readonly at: readonly Location[]; readonly aligned: boolean }
  /** Runs `body` `length` times; `loop` names its counter in `Location.strides`. Reversed slices have negative strides. */
  | { readonly kind: 'loop'; readonly loop: number; readonly length: number; readonly body: readonly Step[] }
  /** Runs `condition`, reads the bool at `predicate`, runs `body`, until it is false. */
  | { readonly kind: 'while'; readonly condition: readonly Step[]; readonly predicate: Location; readonly body: readonly Step[] }
  | { readonly kind: 'choice'; readonly index: Location; readonly branches: readonly (readonly Step[])[] };

/** Made by differentiation, or computed a second time. */
export type Role = 'gradient' | 'again';

export type OutputPlan =
  /** Cut out of its region when the call ends. `alias`: it has the whole buffer of that donated input. */
  | {
      readonly kind: 'stored';
      readonly aval: KnownAval;
      readonly at: Location;
      readonly bytes: number;
      readonly alias?: number;
      readonly role?: Role;
    }
  /** Input `input` unchanged: nothing is copied. */
  | { readonly kind: 'forwarded'; readonly aval: KnownAval; readonly input: number };

/** `ProgramProfile` of the event stream, with places as positions in `places`. */
export interface Analysis {
  readonly argumentBytes: number;
  readonly outputBytes: number;
  readonly aliasBytes: number;
  readonly tempBytes: number;
  readonly peakBytes: number;
  readonly lowerBoundBytes: number;
  readonly orderLowerBoundBytes: number | null;
  readonly gap: { readonly packing: number; readonly outputs: number; readonly copies: number };
  readonly copies: readonly { readonly bytes: number; readonly place: number; readonly reason: string }[];
  readonly donated: readonly DonationOutcome[];
  readonly whatIf: readonly { readonly donateArgnums: readonly number[]; readonly peakBytes: number }[];
  readonly values: readonly StoredValue[];
  /** What `memoryBudget` had computed a second time instead of kept. */
  readonly recomputed: readonly RecomputedValue[];
  readonly steps: number;
  readonly argumentPaths: readonly string[];
  /** What `place` numbers stand for; 0 is "no place known". */
  readonly places: readonly (Place | undefined)[];
}

export interface Recomputed {
  /** Bytes that are free between its two lives. */
  readonly bytes: number;
  /** Floating-point operations that computing it again takes. */
  readonly flops: number;
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly place: Place | undefined;
}

export interface RecomputedValue extends Omit<Recomputed, 'place'> {
  readonly place: number;
}

export interface DonationOutcome {
  /** Position among the program's inputs. */
  readonly input: number;
  readonly path: string;
  readonly bytes: number;
  readonly outcome: 'aliased' | 'freedEarly' | 'unusable';
  readonly reason: string | null;
  /** The output that took the buffer over, by position. */
  readonly output?: number;
}

export interface StoredValue {
  readonly place: number;
  readonly bytes: number;
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly born: number;
  readonly dies: number;
  readonly what: 'argument' | 'temp' | 'output';
  readonly role?: Role;
  readonly reuses?: number;
  readonly region?: number;
  readonly offset?: number;
}

export interface Executable {
  readonly name: string;
  /** The program as it was given: inputs, captures, outputs in its order. */
  readonly program: Program<Op>;
  readonly target: Target;
  readonly inputs: readonly KnownAval[];
  /** How many of the inputs are arguments; the rest are captures. */
  readonly arguments: number;
  readonly donated: readonly boolean[];
  readonly kernels: readonly Kernel[];
  readonly steps: readonly Step[];
  readonly arenaBytes: number;
  /** Cuts at which the arena may be divided when no hole takes it whole, ascending offsets in bytes. */
  readonly cuts: readonly number[];
  /** Bytes of the pieces that the arena consists of, in order, when it was planned for holes; each may lie anywhere. */
  readonly pieces?: readonly number[];
  /** The same kernels in the same order with an arena in pieces no larger than these holes; undefined when something fits into none. */
  readonly inPieces: (holes: readonly number[]) => Executable | undefined;
  readonly outputs: readonly OutputPlan[];
  readonly analysis: Analysis;
  /** The planned peak if exactly these arguments were donated; the same kernels, planned again, remembered. */
  readonly peakWith: (donated: readonly boolean[]) => number;
  /** The executable of the same trace that this one is a better plan of: the first of all. */
  readonly improves?: Executable;
  /** Where everything lies, for another trace of the same program. */
  readonly choice: Choice;
  /** Searches for a plan with a lower peak, a few milliseconds at a time, until it is proven that there is none. */
  readonly better: () => Generator<Better | undefined, void>;
  readonly print: () => string;
}

export interface Better {
  readonly choice: Choice;
  readonly executable: () => Executable;
}

export interface CompileOptions {
  /** For each argument leaf. */
  readonly donated: readonly boolean[];
  readonly target: Target;
  /** `min`: waits for the exact search. */
  readonly memory?: 'fast' | 'min';
  /** Most bytes that the plan may need, arguments included: values are recomputed until it fits, or compiling fails. */
  readonly memoryBudget?: number;
  /** What the program is called in messages; absent: its own name. */
  readonly name?: string;
  /** How people write each argument leaf: `params.w`. */
  readonly paths?: readonly string[];
  /** For each argument leaf the position of its argument, for `whatIf`; absent: each leaf is an argument of its own. */
  readonly argnums?: readonly number[];
  /** Where the text of a place that ran was written, for reasons that people read; absent: where it ran. */
  readonly written?: (place: Place) => Place;
  /** The order and places of an executable of the same program with the same donations. */
  readonly choice?: Choice;
}
