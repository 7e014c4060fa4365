/**
 * What an entry of the table of ops is.
 *
 * One op, one entry: everything that tracer, fusion, transforms, devices, analysis and documentation want to know of an
 * op stands here, and nobody asks for an op by its name. Family constructors (`unary`, `binary`, `reduction`, `view` …)
 * fill in what a family shares. Depends on: core, scalar.
 */
import type { Aval, KnownAval } from '../core/aval.ts';
import type { ControlForm } from '../core/control-form.ts';
import type { Effects } from '../core/effects.ts';
import type { HasAval, Parameters } from '../core/program.ts';
import type { Scalar, ScalarFunction } from './scalar.ts';

/** Coordinates and operands, as an op's body sees them. */
export interface ElementContext {
  /** Coordinates of the result's element (for `update`: of the element of operand `over`). */
  readonly at: readonly Scalar[];
  readonly load: (operand: number, index: readonly Scalar[]) => Scalar;
  readonly inputs: readonly KnownAval[];
  readonly output: KnownAval;
  readonly parameters: Parameters;
}

/** How the results are computed. Kinds, not names, are what the compiler groups by. All but `several` have one result. */
export type Body =
  /** Result and operands have one shape (broadcast before) or rank 0 (literals and scalars: loaded at []); element i is `scalar` of the operands' elements i. */
  | { readonly kind: 'elementwise'; readonly scalar: (operands: readonly Scalar[], context: Omit<ElementContext, 'load'>) => Scalar }
  /** Element i is the operand's element at `index(i)`: no arithmetic. `contiguous` when the result may be the operand's buffer as it lies (reshape). */
  | {
      readonly kind: 'view';
      readonly index: (context: ElementContext) => readonly Scalar[];
      readonly contiguous?: (inputs: readonly KnownAval[], parameters: Parameters) => boolean;
    }
  /** Element i folds `combine` (associative, commutative) over all elements of the operand whose coordinates on `axes` vary; kept axes keep their order. */
  | {
      readonly kind: 'reduction';
      readonly axes: (parameters: Parameters) => readonly number[];
      readonly initial: (dtype: KnownAval['dtype']) => number;
      readonly combine: ScalarFunction;
    }
  /** Sum of products over contracted dimensions (dot_general): result dims are batch, then free of lhs, then free of rhs. */
  | {
      readonly kind: 'contraction';
      readonly dimensions: (parameters: Parameters) => {
        readonly contract: readonly [readonly number[], readonly number[]];
        readonly batch: readonly [readonly number[], readonly number[]];
      };
    }
  /** The general case: element i is any expression of loads (gather, dynamic slice, convolution, random bits, iota). */
  | { readonly kind: 'element'; readonly scalar: (context: ElementContext) => Scalar }
  /**
   * The result is operand `target` with some elements replaced: for every element u of operand `over`, the element at
   * `index(u)` becomes `value` (with `combine`: combined with what is there). In place when the target dies here.
   * `disjoint` when no two u hit the same place; else the device goes through them in order.
   */
  | {
      readonly kind: 'update';
      readonly target: number;
      readonly over: number;
      readonly index: (context: ElementContext) => readonly Scalar[];
      /** Condition under which the element is written at all (out-of-range indices are dropped). */
      readonly inside?: (context: ElementContext) => Scalar;
      readonly value: (context: ElementContext) => Scalar;
      readonly combine?: ScalarFunction;
      readonly disjoint: (inputs: readonly KnownAval[], parameters: Parameters) => boolean;
    }
  /** Runs body programs (scan, while, cond, call): see `runtime/control`. */
  | { readonly kind: 'control'; readonly form: (parameters: Parameters) => ControlForm };

/** An array under any interpreter (tracer, runtime array, abstract value). The class with methods is `Value` in `ops/value.ts`. */
export type Operand = HasAval;

/** What of an equation the backward pass keeps. */
export type Saved = 'inputs' | 'output' | 'nothing' | { readonly inputs?: readonly number[]; readonly output?: boolean };

export interface GradientRule<V extends Operand = Operand> {
  /** Exactly what `rule` is given in `saved` (inputs first, in order, then the output). */
  readonly saves: Saved;
  /** Cotangent of each input, or undefined where there is none; sums over broadcast axes are done by the backward pass. `avals` are those of the inputs. */
  rule(cotangent: readonly V[], saved: readonly V[], parameters: Parameters, avals: readonly KnownAval[]): readonly (V | undefined)[];
}

export interface Batched<V> {
  readonly results: readonly V[];
  readonly axes: readonly (number | undefined)[];
}

export interface Differentiated<V> {
  readonly results: readonly V[];
  pull(cotangents: readonly (V | undefined)[]): readonly (V | undefined)[];
}

/** Rules are methods (not function properties), so that an entry over `Value` is also an entry over `Operand`. */
export interface Op<V extends Operand = Operand> {
  readonly id: string;
  /** One sentence for documentation. */
  readonly summary: string;
  /** Result types; dimensions may be symbolic. Throws a shape error that names the arrays. */
  readonly infer: (inputs: readonly Aval[], parameters: Parameters) => readonly Aval[];
  readonly body: Body;
  /** What it does to its arguments' buffers, for the analysis. */
  readonly effects: Effects;
  /** Tangents of the results from the inputs' tangents (undefined = zero). Undefined for ops without one (integer results have zero tangents). */
  tangent?(
    primals: readonly V[],
    tangents: readonly (V | undefined)[],
    outputs: readonly V[],
    parameters: Parameters,
  ): readonly (V | undefined)[];
  readonly gradient?: GradientRule<V>;
  /** For ops whose forward pass changes when it is differentiated (control flow, checkpoints): results, and what turns their cotangents into those of the operands. `active` says which operands are asked for. */
  differentiated?(operands: readonly V[], parameters: Parameters, active: readonly boolean[]): Differentiated<V>;
  /** The same for tangents: results and their tangents at once. */
  pushed?(
    operands: readonly V[],
    tangents: readonly (V | undefined)[],
    parameters: Parameters,
  ): { readonly results: readonly V[]; readonly tangents: readonly (V | undefined)[] };
  /** The op applied to batched operands: `axes[k]` is the batch axis of operand k, undefined when it has none. Returns results and their batch axes. `axisName` is the name of the mapped axis (collectives ask for it). */
  batch(operands: readonly V[], axes: readonly (number | undefined)[], parameters: Parameters, size: number, axisName?: string): Batched<V>;
  /** Floating-point operations for one element of the result. */
  readonly flops: (inputs: readonly KnownAval[], parameters: Parameters) => number;
  /** Operands whose buffer the result may overwrite while it is computed (same bytes, dying there). */
  readonly overwrites: readonly number[];
  /** Random and similar ops are never merged or folded. */
  readonly pure?: boolean;
}
