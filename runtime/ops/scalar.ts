/**
 * How one element of a result is computed: a small expression that prints as WGSL and as JavaScript.
 *
 * An op says what the element at given coordinates is, as loads of its operands at computed coordinates and arithmetic
 * on them (the compute definitions of Halide, 2013, and TVM, 2018). So one text serves every device, and fusion is
 * substitution: a load of an intermediate becomes the expression of that intermediate at those coordinates.
 * In WGSL text an expression of dtype bool is a `bool` (loads and stores convert to and from u32); on the host it is 0 or 1.
 * Depends on: core.
 */
import type { DType } from '../core/dtype.ts';

/** A function on scalars, once for each device: WGSL text, and the same on the host (the caller rounds to the dtype). */
export interface ScalarFunction {
  readonly name: string;
  /** Text of the result; `dtype` is that of the result, `from` those of the operands. */
  readonly wgsl: (operands: readonly string[], dtype: DType, from: readonly DType[]) => string;
  readonly host: (...operands: number[]) => number;
  /** Floating-point operations of one application. */
  readonly flops: number;
  /** WGSL declarations that the text needs (helper functions), by name. */
  readonly needs?: Readonly<Record<string, string>>;
}

export type Scalar =
  | { readonly kind: 'constant'; readonly value: number; readonly dtype: DType }
  /** Coordinate of the element along `axis` of the result (int32). */
  | { readonly kind: 'coordinate'; readonly axis: number }
  /** Element of operand `operand` at `index`, one int32 per axis; must be inside. */
  | { readonly kind: 'load'; readonly operand: number; readonly index: readonly Scalar[]; readonly dtype: DType }
  | { readonly kind: 'apply'; readonly apply: ScalarFunction; readonly operands: readonly Scalar[]; readonly dtype: DType }
  /** `then` where `condition` (bool) holds, else `otherwise`; only the chosen side's loads have to be inside. */
  | { readonly kind: 'choose'; readonly condition: Scalar; readonly then: Scalar; readonly otherwise: Scalar; readonly dtype: DType }
  /** Sequential loop: `counter` runs from 0 to `extent`, `state` variables start at `initial` and become `next`; the value is `result` (over the state variables) after it. */
  | {
      readonly kind: 'loop';
      readonly counter: symbol;
      readonly extent: Scalar;
      readonly state: readonly { readonly variable: symbol; readonly dtype: DType; readonly initial: Scalar; readonly next: Scalar }[];
      readonly result: Scalar;
      readonly dtype: DType;
      /** Set when the one state is combined with an element by an associative, commutative function: parts may start from this and be combined. */
      readonly neutral?: Scalar;
    }
  /** A loop's counter (int32) or state variable. */
  | { readonly kind: 'variable'; readonly variable: symbol; readonly dtype: DType };

export const dtypeOf = (scalar: Scalar): DType => (scalar.kind === 'coordinate' ? 'int32' : scalar.dtype);

export const constant = (value: number, dtype: DType): Scalar => ({ kind: 'constant', value, dtype });
export const coordinate = (axis: number): Scalar => ({ kind: 'coordinate', axis });
