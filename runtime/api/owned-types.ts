/**
 * The types that functions have when their arrays are owned: an array of the runtime becomes one that is consumed.
 *
 * Derived from the functions themselves. What a derivation loses, type parameters and overloads, is written down.
 * Depends on: core (types), ops (types), functions (types), owned.
 */
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
type OwnedLike = Owned<ArrayLike>;

type Lax = typeof borrowedLax;
/** Trees of any arrays: as they are. */
type LaxOfTrees = Pick<Lax, 'associativeScan' | 'map' | 'scan'>;
interface LaxOfNumbers {
  cond<A extends unknown[], R>(condition: OwnedLike, whenTrue: (...operands: A) => R, whenFalse: (...operands: A) => R, ...operands: A): R;
  foriLoop<C>(lower: number | OwnedArray, upper: number | OwnedArray, body: (i: OwnedArray, carry: C) => C, init: C): C;
  whileLoop<C>(condition: (carry: C) => OwnedArray | boolean, body: (carry: C) => C, init: C): C;
  switch<A extends unknown[], R>(index: OwnedLike, branches: readonly ((...operands: A) => R)[], ...operands: A): R;
  switchBranch<A extends unknown[], R>(index: OwnedLike, branches: readonly ((...operands: A) => R)[], ...operands: A): R;
}
interface Svd {
  svd(a: OwnedLike, options: { readonly fullMatrices?: boolean; readonly computeUv: false }): OwnedArray;
  svd(a: OwnedLike, options?: { readonly fullMatrices?: boolean; readonly computeUv?: true }): [OwnedArray, OwnedArray, OwnedArray];
}
export type OwnedLax = Owned<Omit<Lax, keyof LaxOfTrees | keyof LaxOfNumbers | 'linalg'>> &
  LaxOfTrees &
  LaxOfNumbers & { readonly linalg: Owned<Omit<Lax['linalg'], keyof Svd>> & Svd };

type Numpy = typeof borrowedNumpy;
type Coordinates = NonNullable<Parameters<Numpy['fromfunction']>[2]>;
interface NumpyOverloads {
  fromfunction<R>(f: (...at: OwnedArray[]) => R, shape: readonly number[], options?: Coordinates): R;
  indices(shape: readonly number[], options?: Coordinates & { readonly sparse?: false }): OwnedArray;
  indices(shape: readonly number[], options: Coordinates & { readonly sparse: true }): OwnedArray[];
}
export type OwnedNumpy = Owned<Omit<Numpy, keyof NumpyOverloads | 'linalg' | 'Array'>> &
  NumpyOverloads & { readonly Array: typeof OwnedArray; readonly linalg: Owned<Omit<Numpy['linalg'], keyof Svd>> & Svd };
