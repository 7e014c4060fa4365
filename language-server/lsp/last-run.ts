/**
 * The last run and the one before, kept beside their profiles: numbers outlive the server, the window and the editor.
 *
 * What is kept is the report and the texts that it was measured on, so that numbers come back fresh, moved or stale exactly
 * as if nothing had ended. Depends on: measurements, protocol, node.
 */
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Figures } from '../compiled/explain.ts';
import type { KeptRun, ProfileReport } from '../protocol.ts';
import type { Measurement } from './measurements.ts';

interface Kept extends KeptRun {
  readonly version: 1;
  /** Reported files are relative to it. */
  readonly cwd: string;
  readonly texts: readonly (readonly [file: string, text: string])[];
  readonly programs: readonly Figures[];
}

const names = ['last-run.json', 'run-before.json'] as const;

/** Writes beside the target and renames, so that a server that ends meanwhile leaves the former run whole. */
export async function keepRun(
  storage: string,
  { report, endedAt, texts, programs }: Measurement,
  more: Pick<Kept, 'cwd' | 'profileFile'>,
): Promise<void> {
  const [last, before] = names.map((name) => path.join(storage, name)) as [string, string];
  const kept: Kept = { version: 1, ...more, report, endedAt, texts: [...texts], programs };
  await mkdir(storage, { recursive: true });
  await writeFile(`${last}.part`, JSON.stringify(kept));
  await rename(last, before).catch(() => undefined);
  await rename(`${last}.part`, last);
}

export async function forgetRuns(storage: string): Promise<void> {
  for (const name of names) await rm(path.join(storage, name), { force: true });
}

/** The last run first; none for files that are not there or were written by another version. */
export async function keptRuns(storage: string): Promise<readonly KeptRun[]> {
  const all = await Promise.all(names.map((name) => readKept(path.join(storage, name))));
  return all.flatMap((kept) => (kept === undefined ? [] : [{ report: kept.report, endedAt: kept.endedAt, profileFile: kept.profileFile }]));
}

export async function lastMeasurement(storage: string): Promise<Measurement | undefined> {
  const kept = await readKept(path.join(storage, names[0]));
  if (kept === undefined) return undefined;
  const { report, endedAt, texts, programs, cwd } = kept;
  return { report, endedAt, texts: new Map(texts), programs, resolve: (reported) => path.resolve(cwd, reported) };
}

async function readKept(file: string): Promise<Kept | undefined> {
  try {
    const value = JSON.parse(await readFile(file, 'utf8')) as Partial<Kept>;
    const report = value.report as Partial<ProfileReport> | undefined;
    const whole = value.version === 1 && report?.version === 1 && Array.isArray(value.texts) && Array.isArray(value.programs);
    return whole && typeof value.cwd === 'string' && typeof value.endedAt === 'number' ? (value as Kept) : undefined;
  } catch {
    return undefined;
  }
}
