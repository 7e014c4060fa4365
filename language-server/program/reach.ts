/**
 * Which files of a project a question needs, from their texts alone: so that a check of one file parses no others.
 *
 * A file is explained by what imports it, directly or not, and by all that those import; what may declare something for
 * all belongs to every answer: ambient declarations, scripts, imports of a package for its effect. It takes in too much
 * rather than too little.
 * Depends on: host.
 */
import { dirname, resolve } from 'node:path';
import type { Texts } from './host.ts';

export interface Reach {
  /** Those of `files` that `wanted` may be seen from, what those import, and what speaks to all, in the order of `files`. */
  of(files: readonly string[], wanted: ReadonlySet<string>): readonly string[];
}

interface Told {
  readonly version: string;
  /** What it imports, as `stemOf` names files. */
  readonly imports: readonly string[];
  readonly toAll: boolean;
}

const specifier = /(?:\bfrom|\bimport|\brequire)\s*\(?\s*['"`]([^'"`\n]+)['"`]/g;
const forEffect =
  /^\s*import\s*(?:type\s*)?(?:\{\s*\}\s*from\s*)?['"][^.'"]|^\s*\/\/\/\s*<reference|\bdeclare\s+global\b|\bdeclare\s+module\b/m;
const isModule = /^\s*(?:import|export)\b/m;
const isCommon = /\brequire\s*\(|\bmodule\.exports\b|\bexports\.\w/;

/** The files, with or without their extension, that a name which is no path may mean; none for a package from elsewhere. */
export type Aliases = (specifier: string, from: string) => readonly string[];

export function createReach(texts: Texts, aliases: Aliases = () => []): Reach {
  const told = new Map<string, Told>();
  const meant = (name: string, file: string): readonly string[] =>
    name.startsWith('.') ? [resolve(dirname(file), name)] : aliases(name, file);
  const tell = (file: string): Told => {
    const version = texts.version(file);
    const known = told.get(file);
    if (known?.version === version) return known;
    const text = texts.read(file) ?? '';
    const scripts = /\.(?:[cm]?js|jsx)$/.test(file) ? isCommon.test(text) : false;
    const made: Told = {
      version,
      imports: [...new Set([...text.matchAll(specifier)].flatMap(([, name]) => meant(name!, file)))].map(stemOf),
      toAll: /\.d\.[cm]?ts$/.test(file) || forEffect.test(text) || !(isModule.test(text) || scripts),
    };
    told.set(file, made);
    return made;
  };
  return {
    of(files, wanted) {
      if (files.every((file) => wanted.has(file))) return files;
      const uses = new Map<string, string[]>();
      const usedBy = new Map<string, string[]>();
      const link = (from: string, to: string): void => {
        add(uses, from, to);
        add(usedBy, to, from);
      };
      const starts: string[] = [];
      for (const file of files) {
        const { imports, toAll } = tell(file);
        // A file and its stem are one: each leads to the other.
        add(uses, stemOf(file), file);
        add(usedBy, file, stemOf(file));
        for (const target of imports) link(file, target);
        if (toAll) starts.push(file);
      }
      const reached = reachable([...starts, ...reachable(wanted, usedBy)], uses);
      return files.filter((file) => reached.has(file));
    },
  };
}

const add = (map: Map<string, string[]>, key: string, value: string): void => {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
};

/** All that can be reached. */
export function reachable(from: Iterable<string>, next: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> {
  const seen = new Set(from);
  for (const at of seen) for (const to of next.get(at) ?? []) seen.add(to);
  return seen;
}

/** Files that one import may mean have one stem: without extension, a folder's index as the folder. */
const stemOf = (path: string): string => `${path.replace(/(?:\.d)?\.(?:[cm]?[jt]s|[jt]sx)$/, '').replace(/[\\/]index$/, '')}:`;
