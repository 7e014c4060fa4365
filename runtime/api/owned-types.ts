/**
 * The types that functions have when their arrays are owned: an array of the runtime becomes one that is consumed.
 *
 * Derived from the functions themselves. What a derivation loses, type parameters and overloads, is written down.
 * Depends on: core (types), ops (types), functions (types), owned.
 */
import type { DType } from '../core/dtype.ts';
import type { CloseOptions } from '../functions/math.ts';
import type { ArrayLike } from '../ops/apply.ts';
import type { Value } from '../ops/value.ts';
import type * as borrowedLax from './lax.ts';
import type * as borrowedNumpy from './numpy.ts';
import type { Array as OwnedArray } from './owned.ts';

/** Every function of a namespace on owned arrays. */
export type Owned<T> = T extends Value
  ? OwnedArray
  : T extends ArrayBufferView | ArrayBuffer
    ? T
    : T extends (...args: infer A) => infer R
      ? (...args: OwnedList<A>) => Owned<R>
      : T extends readonly (infer E)[]
        ? number extends T['length']
          ? Owned<E>[]
          : { [K in keyof T]: Owned<T[K]> }
        : T extends object
          ? { [K in keyof T]: Owned<T[K]> }
          : T;
type OwnedList<A extends readonly unknown[]> = { [K in keyof A]: Owned<A[K]> };
export type OwnedLike = Owned<ArrayLike>;

type Lax = typeof borrowedLax;
/** Trees of any arrays: as they are. */
export type LaxOfTrees = Pick<Lax, 'associativeScan' | 'map' | 'scan'>;
export interface LaxOfNumbers {
  cond<A extends unknown[], R>(condition: OwnedLike, whenTrue: (...operands: A) => R, whenFalse: (...operands: A) => R, ...operands: A): R;
  foriLoop<C>(lower: number | OwnedArray, upper: number | OwnedArray, body: (i: OwnedArray, carry: C) => C, init: C): C;
  whileLoop<C>(condition: (carry: C) => OwnedArray | boolean, body: (carry: C) => C, init: C): C;
  switch<A extends unknown[], R>(index: OwnedLike, branches: readonly ((...operands: A) => R)[], ...operands: A): R;
  switchBranch<A extends unknown[], R>(index: OwnedLike, branches: readonly ((...operands: A) => R)[], ...operands: A): R;
}
export interface Svd {
  svd(a: OwnedLike, options: { readonly fullMatrices?: boolean; readonly computeUv: false }): OwnedArray;
  svd(a: OwnedLike, options?: { readonly fullMatrices?: boolean; readonly computeUv?: true }): [OwnedArray, OwnedArray, OwnedArray];
}
export interface EighOptions {
  readonly lower?: boolean;
  readonly symmetrizeInput?: boolean;
  readonly sortEigenvalues?: boolean;
}
export interface Eigen {
  eigh(a: OwnedLike, options?: EighOptions): [OwnedArray, OwnedArray];
}
export interface EigenValues {
  eigvalsh(a: OwnedLike, options?: EighOptions): OwnedArray;
}
/** Lists of numbers, of truths, of arrays, and of such lists. */
export type OwnedContents = OwnedLike | Float32Array | Int32Array | Uint32Array | Uint16Array | Uint8Array | readonly OwnedContents[];
export interface Arrays {
  readonly Array: typeof OwnedArray;
  readonly DType: Readonly<Record<'Float32' | 'Int32' | 'Uint32' | 'Bool' | 'Float16', DType>>;
  /** At once: on the `cpu` device. Lists and typed arrays are taken too. */
  allclose(actual: OwnedContents, expected: OwnedContents, options?: CloseOptions): boolean;
  array(contents: OwnedContents, options?: Owned<NonNullable<Parameters<Numpy['array']>[1]>>): OwnedArray;
}
export type OwnedLax = Owned<Omit<Lax, keyof LaxOfTrees | keyof LaxOfNumbers | 'linalg'>> &
  LaxOfTrees &
  LaxOfNumbers & { readonly linalg: Owned<Omit<Lax['linalg'], keyof Svd | keyof Eigen>> & Svd & Eigen };

type Numpy = typeof borrowedNumpy;
type Coordinates = NonNullable<Parameters<Numpy['fromfunction']>[2]>;
export interface NumpyOverloads {
  fromfunction<R>(f: (...at: OwnedArray[]) => R, shape: readonly number[], options?: Coordinates): R;
  indices(shape: readonly number[], options?: Coordinates & { readonly sparse?: false }): OwnedArray;
  indices(shape: readonly number[], options: Coordinates & { readonly sparse: true }): OwnedArray[];
}
export type NumpyLinalg = Owned<Omit<Numpy['linalg'], keyof Svd | keyof Eigen | keyof EigenValues>> & Svd & Eigen & EigenValues;
export type OwnedNumpy = Owned<Omit<Numpy, keyof NumpyOverloads | keyof Arrays | 'linalg'>> &
  NumpyOverloads &
  Arrays & { readonly linalg: NumpyLinalg };
