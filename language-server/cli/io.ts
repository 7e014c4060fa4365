/**
 * What a command may touch, as one value: so that every command runs in a test without a process.
 *
 * Depends on: node (for the real one).
 */
import { readFileSync, writeFileSync } from 'node:fs';
import process from 'node:process';

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

/** Exit codes of the contract, by what they mean. */
export const exitCodes = { fine: 0, findings: 1, usage: 2, failed: 3, overBudget: 4 } as const;

/** Wrong usage or unreadable input: what, and what to do. The command line prints it and ends with 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly fix: string;
  constructor(what: string, fix: string) {
    super(what);
    this.fix = fix;
  }
}
