/**
 * Texts of files by version: the editor's where a file is open, else the disk's.
 *
 * A text from the disk is read once and kept until somebody says that it changed, so a check sees one state of the
 * world. Nothing is written, and no code of the workspace is loaded. Depends on: typescript (its file system), node:path.
 */
import { createHash } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import ts from 'typescript';

export interface Texts {
  read(file: string): string | undefined;
  /** Changes whenever the text does. */
  version(file: string): string;
  exists(file: string): boolean;
  /** Puts the editor's text over the disk's. */
  open(file: string, text: string): void;
  close(file: string): void;
  isOpen(file: string): boolean;
  /** The disk has changed under these files. */
  forget(files: readonly string[]): void;
  /** Counts changes of any kind. */
  readonly revision: number;
}

export function createTexts(): Texts {
  const open = new Map<string, { text: string; version: string }>();
  const disk = new Map<string, { text: string; version: string } | undefined>();
  let revision = 0;
  const digest = (text: string): string => createHash('sha1').update(text).digest('base64').slice(0, 16);
  const entry = (file: string): { text: string; version: string } | undefined => {
    const over = open.get(file);
    if (over !== undefined) return over;
    if (!disk.has(file)) {
      const text = ts.sys.readFile(file);
      disk.set(file, text === undefined ? undefined : { text, version: digest(text) });
    }
    return disk.get(file);
  };
  return {
    read: (file) => entry(file)?.text,
    version: (file) => entry(file)?.version ?? '',
    exists: (file) => open.has(file) || (disk.has(file) ? disk.get(file) !== undefined : ts.sys.fileExists(file)),
    open(file, text) {
      open.set(file, { text, version: digest(text) });
      revision++;
    },
    close(file) {
      if (open.delete(file)) {
        disk.delete(file);
        revision++;
      }
    },
    isOpen: (file) => open.has(file),
    forget(files) {
      for (const file of files) disk.delete(file);
      revision++;
    },
    get revision() {
      return revision;
    },
  };
}

export const sourceExtensions = ['.ts', '.tsx', '.js', '.jsx', '.mjs', '.cjs', '.mts', '.cts'] as const;
export const isSource = (file: string): boolean => sourceExtensions.some((extension) => file.endsWith(extension));

/** The nearest tsconfig.json above a file, if any. */
export function configOf(file: string): string | undefined {
  return (
    ts.findConfigFile(dirname(file), ts.sys.fileExists, 'tsconfig.json') ??
    ts.findConfigFile(dirname(file), ts.sys.fileExists, 'jsconfig.json')
  );
}

/** Source files under a folder (or the file itself), without node_modules, build output and hidden folders. */
export function sourcesUnder(path: string): readonly string[] {
  const full = resolve(path);
  if (ts.sys.fileExists(full)) return isSource(full) ? [full] : [];
  return ts.sys
    .readDirectory(full, [...sourceExtensions], ['**/node_modules', '**/.*', '**/dist'], ['**/*'])
    .filter((file) => !/\.d\.[cm]?ts$/.test(file))
    .map((file) => resolve(file));
}
