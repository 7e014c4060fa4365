/**
 * One measured run at a time, from the person's click to numbers on lines.
 *
 * Refuses in an untrusted workspace and while another run is on. What runs: the entry that the settings name for the file,
 * else the file itself. Depends on: session, sources, measurements, measure/allocators.
 */
import path from 'node:path';
import type { AllocatorComparison, AllocatorRun, OutputParams, ProfileOutcome, ProfileParams } from '../protocol.ts';
import { allocatorChoices, allocatorRun, tradeOff } from '../measure/allocators.ts';
import { outline } from '../program/outline.ts';
import { keepRun } from './last-run.ts';
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
  readonly compareAllocators: (params: ProfileParams, token: CancelToken) => Promise<AllocatorComparison>;
  readonly isRunning: () => boolean;
}

export function createRuns(context: RunContext): Runs {
  let running: string | undefined;
  /** One at a time, and never unasked for. */
  const alone = async <T>(entry: string, otherwise: (why: string) => T, body: () => Promise<T>): Promise<T> => {
    if (!context.trusted()) return otherwise('this workspace is not trusted, so nothing of it is run; trust it to profile');
    if (running !== undefined) return otherwise(`\`${running}\` is being measured already; wait for it or cancel it`);
    running = path.basename(entry);
    try {
      return await body();
    } finally {
      running = undefined;
    }
  };
  return {
    run: (params, token) => {
      const entry = params.url ?? entryOf(context, params);
      return alone(entry, refused, () => measured(context, params, entry, token));
    },
    compareAllocators: (params, token) => {
      const entry = entryOf(context, params);
      const otherwise = (message: string): AllocatorComparison => ({ state: 'refused', message, entry, runs: [], tradeOff });
      return alone(entry, otherwise, () => withEachAllocator(context, params, entry, token));
    },
    isRunning: () => running !== undefined,
  };
}

async function withEachAllocator(
  { session, sources, output }: RunContext,
  { file, args }: ProfileParams,
  entry: string,
  token: CancelToken,
): Promise<AllocatorComparison> {
  const settings = session.settingsFor(file);
  const cwd = path.resolve(session.folderOf(file), settings.profile?.cwd ?? '');
  const measure = await sources.measure();
  const runs: AllocatorRun[] = [];
  for (const choice of allocatorChoices) {
    output({ stream: 'tidemark', text: `with ${choice.name}` });
    const { allocator, preallocate } = choice;
    const chosen = { ...settings, memory: { ...settings.memory, allocator, preallocate } };
    const options = {
      entry,
      isPage: false,
      cwd,
      args: args ?? settings.profile?.args ?? [],
      settings: chosen,
      profileFile: undefined,
      output,
    };
    const { state, message, report } = await measure(options, token);
    if (report !== null) runs.push(allocatorRun(choice, report));
    if (state !== 'done') return { state, message: message === null ? null : `with ${choice.name}: ${message}`, entry, runs, tradeOff };
  }
  return { state: 'done', message: null, entry, runs, tradeOff };
}

async function measured(context: RunContext, params: ProfileParams, entry: string, token: CancelToken): Promise<ProfileOutcome> {
  const { session, sources, storage, output } = context;
  const settings = session.settingsFor(params.file);
  const folder = session.folderOf(params.file);
  const cwd = path.resolve(folder, settings.profile?.cwd ?? '');
  const before = await session.textsOnDisk(session.openFiles);
  const measure = await sources.measure();
  const profileFile = storage === undefined ? undefined : path.join(storage, `${path.basename(entry).replace(/\W+/g, '-')}.tidemark`);
  const isPage = isAddress(entry);
  const { programs = [], ...outcome } = await measure(
    { entry, isPage, cwd, args: params.args ?? settings.profile?.args ?? [], settings, profileFile, output },
    token,
  );
  const { report } = outcome;
  if (report === null) return { ...outcome, notReached: false };
  const resolve = (reported: string): string => path.resolve(cwd, reported);
  const files = new Set([...report.lines, ...report.functions, ...report.liveAtPeak, ...report.leaks].map(({ file }) => resolve(file)));
  if (!isPage) files.add(entry).add(params.file);
  const after = await session.textsOnDisk([...files].filter((file) => !before.has(file)));
  // Files that took no part have no numbers of this run, open or not.
  const texts = new Map([...before, ...after].filter(([file]) => files.has(file)));
  const measurement: Measurement = { report, endedAt: sources.now(), texts, programs, resolve };
  const text = measurement.texts.get(params.file) ?? '';
  const ofFile = report.functions.filter(({ file }) => resolve(file) === params.file);
  const called = named(ofFile, outline(params.file, text), text).some(({ name }) => name === params.function);
  const notReached = params.function !== undefined && !called;
  session.setMeasurement(measurement, new Set(notReached ? [params.function!] : []));
  // A disk that is full takes nothing from the numbers on the screen.
  if (storage !== undefined) await keepRun(storage, measurement, { cwd, profileFile: outcome.profileFile }).catch(() => undefined);
  return { ...outcome, notReached };
}

function entryOf({ session }: RunContext, { file, entry }: ProfileParams): string {
  if (entry !== undefined) return entry;
  const folder = session.folderOf(file);
  const entries = session.settingsFor(file).profile?.entries ?? {};
  const named = entries[path.relative(folder, file).split(path.sep).join('/')];
  if (named === undefined || named === '') return file;
  return isAddress(named) ? named : path.resolve(folder, named);
}

/** The entry of a file may be a page. */
const isAddress = (entry: string): boolean => /^https?:\/\//.test(entry);

const refused = (message: string): ProfileOutcome => ({ state: 'refused', message, report: null, profileFile: null, notReached: false });
