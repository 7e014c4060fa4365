/**
 * `devicePut`: contents from the host as an array.
 *
 * Depends on: core, ops, functions.
 */
import type { DType } from '../core/dtype.ts';
import type { HostArray } from '../core/interpreter.ts';
import { flatten, rebuild } from '../core/tree.ts';
import { Array } from '../ops/value.ts';
import { array, type Nested } from '../functions/creation.ts';

export interface PutOptions {
  readonly shape?: readonly number[];
  readonly dtype?: DType;
}

/**
 * An array with a copy of the given contents: a typed array, numbers in nested lists, or a tree of those; arrays stay as
 * they are. The caller's typed array is never kept or changed.
 */
export function devicePut(contents: HostArray | number | readonly number[], options?: PutOptions): Array;
export function devicePut<T>(contents: T, options?: PutOptions): T;
export function devicePut(contents: unknown, options: PutOptions = {}): unknown {
  if (contents instanceof Array) return contents;
  if (ArrayBuffer.isView(contents) || typeof contents === 'number' || typeof contents === 'boolean' || isNumbers(contents))
    return array(contents as HostArray | Nested, options);
  const flat = flatten(contents);
  return rebuild(
    flat.structure,
    flat.leaves.map((leaf) => (leaf instanceof Array ? leaf : array(leaf as HostArray | Nested, options))),
  );
}
const isNumbers = (value: unknown): boolean =>
  globalThis.Array.isArray(value) && value.every((item) => typeof item === 'number' || typeof item === 'boolean' || isNumbers(item));
