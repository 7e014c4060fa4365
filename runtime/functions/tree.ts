/**
 * Functions on nested arguments: plain objects and arrays with arrays as leaves.
 *
 * Depends on: core.
 */
import { flatten as flattenTree, leafPaths, printStructure, rebuild, type Structure } from '../core/tree.ts';

/** The form of a tree without its leaves. */
export class TreeDef {
  readonly structure: Structure;
  constructor(structure: Structure) {
    this.structure = structure;
  }
  equals(other: TreeDef): boolean {
    return printStructure(this.structure) === printStructure(other.structure);
  }
  toString(): string {
    return printStructure(this.structure);
  }
}

export function flatten(tree: unknown): [unknown[], TreeDef] {
  const flat = flattenTree(tree);
  return [[...flat.leaves], new TreeDef(flat.structure)];
}
export const leaves = (tree: unknown): unknown[] => [...flattenTree(tree).leaves];
export const structure = (tree: unknown): TreeDef => new TreeDef(flattenTree(tree).structure);
export const unflatten = (form: TreeDef, values: Iterable<unknown>): unknown => rebuild(form.structure, [...values]);

/** `f` of the leaves that stand at the same place in all trees, as a tree of that form. */
export function map(f: (...values: never[]) => unknown, first: unknown, ...rest: readonly unknown[]): unknown {
  const flat = flattenTree(first);
  const form = printStructure(flat.structure);
  const others = rest.map((tree, k) => {
    const other = flattenTree(tree);
    if (printStructure(other.structure) !== form)
      throw new TypeError(`tree.map got trees of different forms: ${form}, and ${printStructure(other.structure)} as argument ${k + 2}`);
    return other.leaves;
  });
  return rebuild(
    flat.structure,
    flat.leaves.map((leaf, k) => f(...([leaf, ...others.map((list) => list[k])] as never[]))),
  );
}

export const reduce = <R>(f: (sum: R, leaf: never) => R, tree: unknown, initial: R): R =>
  flattenTree(tree).leaves.reduce<R>((sum, leaf) => f(sum, leaf as never), initial);
export const all = (tree: unknown): boolean => flattenTree(tree).leaves.every(Boolean);
/** Where each leaf stands: `layers[0].w`. */
export const paths = (tree: unknown): readonly string[] => leafPaths(flattenTree(tree).structure, '');

interface Disposable {
  dispose(): void;
}
const isDisposable = (leaf: unknown): leaf is Disposable =>
  typeof leaf === 'object' && leaf !== null && 'dispose' in leaf && typeof leaf.dispose === 'function';
/** Frees every array in the tree; those that are dead already are left as they are. */
export function dispose(tree: unknown): void {
  for (const leaf of flattenTree(tree).leaves) if (isDisposable(leaf)) leaf.dispose();
}
