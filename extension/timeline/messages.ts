/**
 * What the timeline's view and the extension say to each other, and the recording that the view draws.
 *
 * Everything that grows with the run is a typed array: a million events cross at once. Depends on: language-server/protocol.
 */
import type { ProfileReport } from '../../language-server/protocol.ts';

export interface Site {
  readonly file: string;
  /** 0 for bytes that belong to no line: what packing lost. */
  readonly line: number;
}

/** One step per change of memory, one block per array; a step's number is its place in the arrays. */
export interface Recording {
  readonly sites: readonly Site[];
  /** Shapes and kinds as people read them, interned: `f32[784,512]`. */
  readonly labels: readonly string[];
  /** Milliseconds since the start. */
  readonly at: Float64Array;
  readonly site: Uint32Array;
  readonly delta: Float64Array;
  readonly reserved: Float64Array;
  /** Alive for `born <= step < died`. */
  readonly born: Uint32Array;
  readonly died: Uint32Array;
  readonly bytes: Float64Array;
  readonly blockSite: Uint32Array;
  readonly label: Uint32Array;
  /** The slab that the array is a piece of, by position in `slabs`; `nowhere` when that isn't known. */
  readonly slab: Uint32Array;
  readonly offset: Float64Array;
  readonly slabs: readonly Slab[];
}

export const nowhere = 0xffffffff;

/** A large buffer that an allocator divides; there for `born <= step < died`. */
export interface Slab {
  readonly bytes: number;
  readonly born: number;
  readonly died: number;
}

/** Where the values of one compiled program lie in memory, over the steps of its schedule. */
export interface Arena {
  readonly name: string;
  readonly steps: number;
  readonly regions: readonly number[];
  readonly values: readonly {
    readonly region: number;
    readonly offset: number;
    readonly bytes: number;
    readonly born: number;
    readonly dies: number;
    readonly site: number;
    readonly label: string;
    readonly reuses: boolean;
  }[];
}

export type ToView =
  | {
      readonly kind: 'recording';
      readonly name: string;
      readonly report: ProfileReport;
      readonly recording: Recording;
      readonly arenas: readonly Arena[];
    }
  /** Shows where a line held most. */
  | { readonly kind: 'find'; readonly file: string; readonly line: number }
  | { readonly kind: 'failed'; readonly message: string };

export type FromView = { readonly kind: 'ready' } | { readonly kind: 'open'; readonly file: string; readonly line: number };
