/**
 * A kernel: one launch, as scalar expressions over its slots.
 *
 * Slots are arrays: those that are read first, then those that are written. A result may lie where one of the operands
 * lies only where `inPlace` says so. The text for each device is made from this and from nothing else, so it is the
 * same whatever is donated. Depends on: core, ops.
 */
import type { KnownAval } from '../core/aval.ts';
import type { Place } from '../core/source.ts';
import type { Scalar } from '../ops/scalar.ts';

export interface Kernel {
  /** Content in one string: two kernels with the same key are one. */
  readonly key: string;
  readonly name: string;
  /** The extents that are iterated over, one invocation per element (or per tile of them). */
  readonly extents: readonly number[];
  readonly operands: readonly KnownAval[];
  /** Each with the expression of its element at the iteration's coordinates; a load's `operand` is a slot. */
  readonly results: readonly Result[];
  readonly form: Form;
  /** Pairs (result, operand) that may be one buffer: every load of the operand is at the element that is written. */
  readonly inPlace: readonly { readonly result: number; readonly operand: number }[];
  readonly flops: number;
}

export interface Result {
  readonly aval: KnownAval;
  readonly value: Scalar;
  /** Where it is stored, when that isn't the iteration's own element (`update`). */
  readonly index?: readonly Scalar[];
  readonly inside?: Scalar;
  readonly place: Place | undefined;
  readonly role?: 'gradient' | 'again';
}

export type Form =
  /** One invocation per element (or per four of them). */
  | { readonly kind: 'element' }
  /** A matrix product under the results: `variable` stands for its sum in their expressions. */
  | { readonly kind: 'contraction'; readonly contraction: Contraction }
  /** The iteration goes over updates; not `disjoint`: one after the other. */
  | {
      readonly kind: 'update';
      readonly disjoint: boolean;
      /** Axes of the iteration along which updates never meet: these may run side by side even when not disjoint. */
      readonly apart: readonly number[];
    };

export interface Contraction {
  readonly sum: symbol;
  /** The position along the contracted dimension, in `depth` of the factors. */
  readonly k: symbol;
  /** Extents: batch, rows, columns, depth. */
  readonly batch: number;
  readonly rows: number;
  readonly columns: number;
  readonly depth: number;
  readonly left: Factor;
  readonly right: Factor;
}

/**
 * Where the elements of a factor lie, in elements from the operand's start: start(batch) + free(row or column) + depth(k),
 * and `mixed` when it is there.
 */
export interface Factor {
  readonly operand: number;
  /** Depends on coordinate 0 (the batch) only. */
  readonly start: Scalar;
  /** Depends on coordinate 1 (rows of the left factor) or 2 (columns of the right one) only. */
  readonly free: Scalar;
  /** The stride, when `free` is that times the coordinate. */
  readonly freeStride?: number;
  /** Depends on the variable `k` of the contraction only. */
  readonly depth: Scalar;
  readonly depthStride?: number;
  /** Depends on several of these at once: the quotients by which an array with gaps is read. */
  readonly mixed?: Scalar;
  /** Where `inside` doesn't hold the element is `value`, and nothing is read: the border of a padded array, and gaps. */
  readonly border?: { readonly inside: Scalar; readonly value: number };
}
