/**
 * What is known about an array without its contents, and how that is written: f32[B,784].
 *
 * Depends on: dtype, dim.
 */
import { isKnown, printDim, productOf, times, type Dim } from './dim.ts';
import { bytesOf, shortName, type DType } from './dtype.ts';

export interface Aval {
  readonly shape: readonly Dim[];
  readonly dtype: DType;
  /** True for what came from a JavaScript number: it takes the other operand's dtype (JAX's weak types). */
  readonly weak?: boolean;
}

/** An aval whose dimensions are all numbers: everything that runs has one. */
export interface KnownAval extends Aval {
  readonly shape: readonly number[];
}

export const isKnownAval = (aval: Aval): aval is KnownAval => aval.shape.every(isKnown);

export const elementsOf = (aval: Aval): Dim => productOf(aval.shape);

/** Bytes of the contents, without the allocator's rounding. */
export const avalBytes = (aval: Aval): Dim => times(bytesOf[aval.dtype], elementsOf(aval));

export const knownBytes = (aval: KnownAval): number => aval.shape.reduce((product, dim) => product * dim, bytesOf[aval.dtype]);

export const printAval = (aval: Aval): string => `${shortName[aval.dtype]}[${aval.shape.map(printDim).join(',')}]`;
