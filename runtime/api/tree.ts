/**
 * `tree`: functions on nested arguments.
 *
 * Depends on: functions.
 */
import type { Array } from '../ops/value.ts';
import * as trees from '../functions/tree.ts';

export { TreeDef, all, dispose, flatten, paths, reduce, structure, unflatten } from '../functions/tree.ts';

/** Any nesting of plain objects and arrays whose leaves are arrays (or host values). */
export type Tree = unknown;

/** `f` of the leaves that stand at the same place in all trees, as a tree of that form. */
export function map<T>(f: (...leaves: Array[]) => Array, first: T, ...rest: T[]): T {
  return trees.map(f, first, ...rest) as T;
}

/** All arrays of a tree, in the order of their paths. */
export function leaves(tree: Tree): Array[] {
  return trees.leaves(tree) as Array[];
}
