/**
 * Flattens nested arguments (plain objects and arrays) to leaves, and rebuilds them.
 *
 * Keys of objects are taken in sorted order, as JAX does for dicts, so that two objects with the same keys are one
 * structure. What counts as a leaf is anything that isn't a plain object or an array. Depends on: nothing.
 */
export type Structure =
  | { readonly kind: 'leaf' }
  /** `null` and `undefined` are nodes without leaves. */
  | { readonly kind: 'nothing'; readonly value: null | undefined }
  | { readonly kind: 'list'; readonly items: readonly Structure[] }
  | { readonly kind: 'record'; readonly keys: readonly string[]; readonly items: readonly Structure[] };

export interface Flat {
  readonly leaves: readonly unknown[];
  readonly structure: Structure;
}

const leaf: Structure = { kind: 'leaf' };

export function flatten(value: unknown): Flat {
  const leaves: unknown[] = [];
  return { structure: walk(value, leaves), leaves };
}

function walk(value: unknown, leaves: unknown[]): Structure {
  if (value === null || value === undefined) return { kind: 'nothing', value };
  if (Array.isArray(value)) return { kind: 'list', items: value.map((item) => walk(item, leaves)) };
  if (isPlain(value)) {
    const keys = Object.keys(value).sort();
    return { kind: 'record', keys, items: keys.map((key) => walk(value[key], leaves)) };
  }
  leaves.push(value);
  return leaf;
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

export function rebuild(structure: Structure, leaves: readonly unknown[]): unknown {
  let next = 0;
  const build = (node: Structure): unknown => {
    switch (node.kind) {
      case 'leaf':
        return leaves[next++];
      case 'nothing':
        return node.value;
      case 'list':
        return node.items.map(build);
      case 'record':
        return Object.fromEntries(node.keys.map((key, index) => [key, build(node.items[index]!)]));
    }
  };
  return build(structure);
}

/** Where each leaf stands: `params.layers[0].w`, starting with `root`. */
export function leafPaths(structure: Structure, root: string): readonly string[] {
  switch (structure.kind) {
    case 'leaf':
      return [root];
    case 'nothing':
      return [];
    case 'list':
      return structure.items.flatMap((item, index) => leafPaths(item, `${root}[${index}]`));
    case 'record':
      return structure.items.flatMap((item, index) =>
        leafPaths(item, root === '' ? structure.keys[index]! : `${root}.${structure.keys[index]!}`),
      );
  }
}

export const leafCount = (structure: Structure): number =>
  structure.kind === 'leaf' ? 1 : structure.kind === 'nothing' ? 0 : structure.items.reduce((sum, item) => sum + leafCount(item), 0);

/** A text that is equal for equal structures. */
export function printStructure(structure: Structure): string {
  switch (structure.kind) {
    case 'leaf':
      return '*';
    case 'nothing':
      return String(structure.value);
    case 'list':
      return `[${structure.items.map(printStructure).join(',')}]`;
    case 'record':
      return `{${structure.keys.map((key, index) => `${JSON.stringify(key)}:${printStructure(structure.items[index]!)}`).join(',')}}`;
  }
}
