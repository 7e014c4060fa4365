/**
 * Runs a program under the instrument and gives its report, its output and how it ended.
 *
 * Programs lie in test/fixtures/measure or are written to a folder of their own. Depends on: measure.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { never, profile } from '../../language-server/measure/run.ts';
import type { Cancellation, ProfileOptions, ProfileResult } from '../../language-server/measure/run.ts';
import type { ProfileReport } from '../../language-server/protocol.ts';

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
export const fixtures = join(root, 'test/fixtures/measure');

export interface Measured {
  readonly result: ProfileResult;
  readonly report: ProfileReport;
  readonly stdout: string;
  readonly stderr: string;
}

export async function measured(options: ProfileOptions, token: Cancellation = never): Promise<Measured> {
  const stdout: Uint8Array[] = [];
  const stderr: Uint8Array[] = [];
  const result = await profile(
    { cwd: root, stdout: (chunk) => stdout.push(chunk), stderr: (chunk) => stderr.push(chunk), timeoutMs: 50_000, ...options },
    token,
  );
  result.release();
  if (result.report === null) throw new Error(`no report: ${result.message}`);
  return { result, report: result.report, stdout: Buffer.concat(stdout).toString('utf8'), stderr: Buffer.concat(stderr).toString('utf8') };
}

/** Programs written for one test, inside the checkout so that they find its packages. */
export interface Programs {
  readonly folder: string;
  /** Writes a file and returns its path. */
  write(name: string, source: string): string;
  remove(): void;
}

export function programs(): Programs {
  mkdirSync(join(root, '.cache'), { recursive: true });
  const folder = mkdtempSync(join(root, '.cache', 'programs-'));
  return {
    folder,
    write(name, source) {
      const path = join(folder, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, source);
      return path;
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** What the comments `// allocates N x BYTES` of a file say, by line. */
export function marked(path: string): ReadonlyMap<number, { count: number; bytes: number }> {
  const lines = readFileSync(path, 'utf8').split('\n');
  return new Map(
    lines.flatMap((text, i) => {
      const found = /\/\/ allocates (\d+) x (\d+)/.exec(text);
      return found === null ? [] : [[i + 1, { count: Number(found[1]), bytes: Number(found[1]) * Number(found[2]) }] as const];
    }),
  );
}
