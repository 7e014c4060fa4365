/**
 * A profile that was written before: a JSON report, or the first line of a saved one.
 *
 * Depends on: io, protocol.
 */
import { resolve } from 'node:path';
import type { ProfileReport } from '../protocol.ts';
import { UsageError } from './io.ts';
import type { IO } from './io.ts';

/** The report in a file: a JSON profile, or the first line of a saved one. */
export function readProfile(file: string, io: IO): ProfileReport {
  let text: string;
  try {
    text = io.readFile(resolve(io.cwd, file));
  } catch {
    throw new UsageError(`the profile ${file} cannot be read`, 'give a file that `tidemark profile --format json --out FILE` wrote');
  }
  for (const candidate of [text, text.split('\n', 1)[0]!]) {
    try {
      const value: unknown = JSON.parse(candidate);
      if (isReport(value)) return value;
    } catch {
      // Not this form; the other may be it.
    }
  }
  throw new UsageError(
    `${file} is no profile of this version`,
    'give a file that `tidemark profile --format json` or `--format tidemark` wrote',
  );
}

const isReport = (value: unknown): value is ProfileReport =>
  typeof value === 'object' &&
  value !== null &&
  'version' in value &&
  value.version === 1 &&
  'peakBytes' in value &&
  typeof value.peakBytes === 'number' &&
  'lines' in value &&
  Array.isArray(value.lines);
