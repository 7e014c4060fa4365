/**
 * Functions on nested arguments: plain objects and arrays with arrays as leaves.
 *
 * Depends on: core.
 */
import { argumentWrong, describe, functionArg } from '../core/errors.ts';
import { flatten as flattenTree, leafCount, leafPaths, printStructure, rebuild, type Structure } from '../core/tree.ts';

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
/** The tree of a form with these leaves. */
export function unflatten(form: TreeDef, values: Iterable<unknown>): unknown {
  if (!(form instanceof TreeDef) || typeof values !== 'object' || values === null || !(Symbol.iterator in values))
    throw argumentWrong(
      'tree.unflatten',
      `(${describe(form)}, ${describe(values)})`,
      'give it a form from flatten or structure, then a list of leaves',
    );
  const list = [...values];
  const wanted = leafCount(form.structure);
  if (list.length !== wanted)
    throw argumentWrong('tree.unflatten', `${list.length} leaves for a form with ${wanted}`, 'give it as many leaves as the form has');
  return rebuild(form.structure, list);
}

/** `f` of the leaves that stand at the same place in all trees, as a tree of that form. */
export function map(f: (...values: never[]) => unknown, first: unknown, ...rest: readonly unknown[]): unknown {
  functionArg('tree.map', 'its function', f);
  const flat = flattenTree(first);
  const form = printStructure(flat.structure);
  const others = rest.map((tree, k) => {
    const other = flattenTree(tree);
    if (printStructure(other.structure) !== form)
      throw argumentWrong(
        'tree.map',
        `trees of different forms: ${form}, and ${printStructure(other.structure)} as argument ${k + 2}`,
        'give it trees of one form',
      );
    return other.leaves;
  });
  return rebuild(
    flat.structure,
    flat.leaves.map((leaf, k) => f(...([leaf, ...others.map((list) => list[k])] as never[]))),
  );
}

/** All leaves folded into one value, in the order of their paths. */
export function reduce<R>(f: (sum: R, leaf: never) => R, tree: unknown, initial: R): R {
  functionArg('tree.reduce', 'its function', f);
  return flattenTree(tree).leaves.reduce<R>((sum, leaf) => f(sum, leaf as never), initial);
}
/** Do all leaves count as true? */
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
