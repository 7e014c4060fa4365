/**
 * What a command may touch, as one value: so that every command runs in a test without a process.
 *
 * Depends on: measure/command, node (for the real one).
 */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import process from 'node:process';
import { packageRoot } from '../measure/command.ts';

export interface IO {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** True when standard output is a terminal that shows colours. */
  readonly color: boolean;
  out(text: string): void;
  err(text: string): void;
  readFile(path: string): string;
  writeFile(path: string, content: string | Uint8Array): void;
  now(): number;
}

export function processIO(): IO {
  return {
    cwd: process.cwd(),
    env: process.env,
    color: process.stdout.isTTY === true && process.env['NO_COLOR'] === undefined,
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
    readFile: (path) => readFileSync(path, 'utf8'),
    writeFile: (path, content) => writeFileSync(path, content),
    now: () => performance.now(),
  };
}

/** Of the package that this lies in. */
export function version(): string {
  const manifest: unknown = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8'));
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest && typeof manifest.version === 'string'
    ? manifest.version
    : '0.0.0';
}

/** Exit codes of the contract, by what they mean. */
export const exitCodes = { fine: 0, findings: 1, usage: 2, failed: 3, overBudget: 4 } as const;

/** What was refused says in its last line what to do. */
export function refusal(message: string | null): UsageError {
  const [what = '', fix] = (message ?? 'the program could not be run').split('\nfix: ');
  return new UsageError(what, fix ?? 'try it without tidemark first');
}

/** Where `--out FILE` lies; refused before anything is run when there is no folder to hold it. */
export function outFile(file: string | undefined, { cwd }: IO): string | undefined {
  if (file === undefined) return undefined;
  const path = resolve(cwd, file);
  const folder = dirname(path);
  if (!existsSync(folder)) throw new UsageError(`${file} cannot be written: there is no folder ${folder}`, 'make the folder first');
  if (existsSync(path) && statSync(path).isDirectory()) throw new UsageError(`${file} is a folder`, 'name a file in it');
  return path;
}

/** The sentence for what the file system refused; undefined when the fault is another. */
export function fileFault(error: unknown): UsageError | undefined {
  if (!(error instanceof Error) || !('code' in error) || !('path' in error)) return undefined;
  const why = { ENOENT: 'it is not there', EACCES: 'it is not yours', EPERM: 'it is not yours', EISDIR: 'it is a folder' }[
    String(error.code)
  ];
  const room = { ENOSPC: 'the disk is full', EROFS: 'the disk takes no changes' }[String(error.code)];
  const reason = why ?? room;
  return reason === undefined
    ? undefined
    : new UsageError(`${String(error.path)} cannot be used: ${reason}`, 'name another file, or see to this one');
}

/** Wrong usage or unreadable input: what, and what to do. The command line prints it and ends with 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly fix: string;
  constructor(what: string, fix: string) {
    super(what);
    this.fix = fix;
  }
}
