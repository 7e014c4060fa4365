/**
 * Files that imports connect: what is worked out on one group depends on no other.
 *
 * Depends on: lower/ir.
 */
import { fileOf, type FunctionId, type LoweredClass, type LoweredFunction, type Project, type Unit } from '../lower/ir.ts';

/** What was worked out by going through functions. */
export interface Reaching {
  readonly reached: ReadonlySet<FunctionId>;
}

/** Files connected by imports: nothing outside can see into them. */
export interface Part {
  readonly project: Project;
  shared<T>(key: symbol, make: () => T): T;
  /** By function from which it starts: kept over edits of functions that it didn't reach. */
  lasting<T extends Reaching>(key: symbol): Map<FunctionId, T>;
}

export function newPart(project: Project, lasting: Part['lasting']): Part {
  const kept = new Map<symbol, unknown>();
  return {
    project,
    lasting,
    shared: <T>(key: symbol, make: () => T): T => {
      if (!kept.has(key)) kept.set(key, make());
      return kept.get(key) as T;
    },
  };
}

/** Groups of files that imports connect. */
export function connected(files: readonly string[], imports: ReadonlyMap<string, readonly string[]>): readonly (readonly string[])[] {
  const leader = new Map(files.map((file) => [file, file] as const));
  const find = (file: string): string => {
    let at = file;
    while (leader.get(at) !== at) at = leader.get(at)!;
    leader.set(file, at);
    return at;
  };
  for (const [file, targets] of imports)
    for (const target of targets) if (leader.has(file) && leader.has(target)) leader.set(find(file), find(target));
  const groups = new Map<string, string[]>();
  for (const file of files) groups.set(find(file), [...(groups.get(find(file)) ?? []), file]);
  return [...groups.values()];
}

export function projectOf(units: ReadonlyMap<string, Unit>): Project {
  // Asked for at every call of a walk.
  const functions = new Map<FunctionId, LoweredFunction>();
  for (const unit of units.values()) for (const [id, fn] of unit.functions) functions.set(id, fn);
  return {
    units,
    function: (id): LoweredFunction | undefined => functions.get(id),
    class: (id): LoweredClass | undefined => units.get(fileOf(id))?.classes.get(id),
  };
}
