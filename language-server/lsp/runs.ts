/**
 * One measured run at a time, from the person's click to numbers on lines.
 *
 * Refuses in an untrusted workspace and while another run is on. What runs: the entry that the settings name for the file,
 * else the file itself. Depends on: session, sources, measurements.
 */
import path from 'node:path';
import type { OutputParams, ProfileOutcome, ProfileParams } from '../protocol.ts';
import { outline } from '../program/outline.ts';
import { named, type Measurement } from './measurements.ts';
import type { Session } from './session.ts';
import type { CancelToken, Sources } from './sources.ts';

export interface RunContext {
  readonly session: Session;
  readonly sources: Sources;
  readonly trusted: () => boolean;
  /** Folder for `.tidemark` files; undefined keeps none. */
  readonly storage: string | undefined;
  readonly output: (line: OutputParams) => void;
}

export interface Runs {
  readonly run: (params: ProfileParams, token: CancelToken) => Promise<ProfileOutcome>;
  readonly isRunning: () => boolean;
}

export function createRuns(context: RunContext): Runs {
  let running: string | undefined;
  const run = async (params: ProfileParams, token: CancelToken): Promise<ProfileOutcome> => {
    if (!context.trusted()) return refused('this workspace is not trusted, so nothing of it is run; trust it to profile');
    if (running !== undefined) return refused(`\`${running}\` is being measured already; wait for it or cancel it`);
    const entry = entryOf(context, params);
    running = path.basename(entry);
    try {
      return await measured(context, params, entry, token);
    } finally {
      running = undefined;
    }
  };
  return { run, isRunning: () => running !== undefined };
}

async function measured(context: RunContext, params: ProfileParams, entry: string, token: CancelToken): Promise<ProfileOutcome> {
  const { session, sources, storage, output } = context;
  const settings = session.settingsFor(params.file);
  const folder = session.folderOf(params.file);
  const cwd = path.resolve(folder, settings.profile?.cwd ?? '');
  const before = await session.textsOnDisk(session.openFiles);
  const measure = await sources.measure();
  const profileFile = storage === undefined ? undefined : path.join(storage, `${path.basename(entry).replace(/\W+/g, '-')}.tidemark`);
  const outcome = await measure({ entry, cwd, args: params.args ?? settings.profile?.args ?? [], settings, profileFile, output }, token);
  const { report } = outcome;
  if (report === null) return { ...outcome, notReached: false };
  const resolve = (reported: string): string => path.resolve(cwd, reported);
  const files = new Set([...report.lines, ...report.functions, ...report.liveAtPeak, ...report.leaks].map(({ file }) => resolve(file)));
  files.add(entry).add(params.file);
  const after = await session.textsOnDisk([...files].filter((file) => !before.has(file)));
  // Files that took no part have no numbers of this run, open or not.
  const texts = new Map([...before, ...after].filter(([file]) => files.has(file)));
  const measurement: Measurement = { report, endedAt: sources.now(), texts, resolve };
  const text = measurement.texts.get(params.file) ?? '';
  const ofFile = report.functions.filter(({ file }) => resolve(file) === params.file);
  const called = named(ofFile, outline(params.file, text), text).some(({ name }) => name === params.function);
  const notReached = params.function !== undefined && !called;
  session.setMeasurement(measurement, new Set(notReached ? [params.function!] : []));
  return { ...outcome, notReached };
}

function entryOf({ session }: RunContext, { file, entry }: ProfileParams): string {
  if (entry !== undefined) return entry;
  const folder = session.folderOf(file);
  const entries = session.settingsFor(file).profile?.entries ?? {};
  const named = entries[path.relative(folder, file).split(path.sep).join('/')];
  return named === undefined || named === '' ? file : path.resolve(folder, named);
}

const refused = (message: string): ProfileOutcome => ({ state: 'refused', message, report: null, profileFile: null, notReached: false });
