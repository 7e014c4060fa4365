/**
 * Runs a program with the instrument and brings its profile home, however the program ends.
 *
 * One run at a time: two at once would share the cores and the GPU, and both figures would be wrong. The events lie in a
 * folder of their own, which becomes the saved profile or is removed. Depends on: child, node-path, stream, report,
 * node.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { freemem, tmpdir, totalmem } from 'node:os';
import { join, relative, resolve } from 'node:path';
import type { ProfileReport } from '../protocol.ts';
import { runChild } from './child.ts';
import type { Cancellation, Destination, Ending } from './child.ts';
import { childCommand } from './command.ts';
import { findNode } from './node-path.ts';
import { createReporter } from './report.ts';
import type { RunFacts } from './report.ts';
import { watchLongRun } from './long-run.ts';
import { nameRun, readRun } from './stream.ts';

export type { Cancellation, Destination } from './child.ts';

export interface ProfileOptions {
  /** The file to run; or `command`, a whole command line that starts a Node. */
  readonly entry?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly nodePath?: string;
  readonly device?: 'webgpu' | 'cpu';
  readonly timeoutMs?: number;
  readonly memoryLimitBytes?: number;
  readonly stdin?: 'inherit' | 'ignore';
  readonly stdout?: Destination;
  readonly stderr?: Destination;
  /** Called when the run leaves the queue and starts. */
  readonly started?: () => void;
}

export interface ProfileResult {
  readonly state: 'done' | 'failed' | 'timedOut' | 'cancelled' | 'refused';
  /** One plain sentence when the state is not `done`. */
  readonly message: string | null;
  /** The profile up to the point where the program ended; null when it never started. */
  readonly report: ProfileReport | null;
  /** The folder of the run's events, to be given back with `release`. */
  readonly events: string | null;
  release(): void;
}

export const never: Cancellation = { isCancellationRequested: false, onCancellationRequested: () => ({ dispose: () => undefined }) };

/** The end of the queue. The one state of this module: a machine has one set of cores to measure with. */
let queue: Promise<unknown> = Promise.resolve();

export const profile = (options: ProfileOptions, token: Cancellation = never): Promise<ProfileResult> => queued(() => run(options, token));

/** Waits for its turn to measure. */
export function queued<Result>(work: () => Promise<Result>): Promise<Result> {
  const turn = queue.then(work);
  queue = turn.catch(() => undefined);
  return turn;
}

async function run(options: ProfileOptions, token: Cancellation): Promise<ProfileResult> {
  const cwd = resolve(options.cwd ?? process.cwd());
  const entry = options.entry === undefined ? undefined : resolve(cwd, options.entry);
  if (!existsSync(cwd)) return refused(`the working directory ${cwd} does not exist\nfix: name one that does`);
  const unfit = entry === undefined ? undefined : whyUnfit(entry, cwd);
  if (unfit !== undefined) return refused(unfit);
  const env = withoutElectron({ ...process.env, ...options.env });
  const node = await findNode({
    setting: options.nodePath,
    env,
    platform: process.platform,
    self: { path: process.execPath, electron: process.versions['electron'] !== undefined },
    exists: existsSync,
    ask,
  });
  if (node.kind === 'missing') return refused(node.message);
  const events = mkdtempSync(join(tmpdir(), 'tidemark-'));
  nameRun(events, cwd);
  const release = (): void => rmSync(events, { recursive: true, force: true });
  const start = Date.now();
  const { command, args, environment } = childCommand({ ...options, entry, node: node.path, env, events, start });
  options.started?.();
  const long = watchLongRun(events, start);
  const ending = await runChild(
    {
      command,
      args,
      cwd,
      env: environment,
      timeoutMs: options.timeoutMs,
      memoryLimitBytes: options.memoryLimitBytes ?? Math.max(totalmem() * 0.85, freemem() * 0.95),
      stdin: options.stdin ?? 'ignore',
      stdout: options.stdout ?? 1,
      stderr: options.stderr ?? 2,
    },
    token,
  );
  const wallMs = Date.now() - start;
  await long.stop();
  if (ending.kind === 'notStarted') {
    release();
    return refused(`${command} could not be started: ${ending.reason}\nfix: name a program that is on the PATH, or its whole path`);
  }
  const verdict = judge(ending, options.timeoutMs);
  const name = entry === undefined ? (options.command ?? []).join(' ') : relative(cwd, entry).replaceAll('\\', '/');
  const facts: RunFacts = {
    entry: name,
    wallMs,
    exitCode: ending.kind === 'exited' ? ending.exitCode : null,
    notes: verdict.message === null ? [] : [verdict.message],
  };
  const report = long.report(facts) ?? (await readReport(events, facts));
  return { ...verdict, report, events, release };
}

/** The report of a folder of events. */
export async function readReport(events: string, facts: RunFacts): Promise<ProfileReport> {
  const reporter = createReporter();
  for await (const event of readRun(events)) reporter.take(event);
  return reporter.report(facts);
}

function judge(ending: Exclude<Ending, { kind: 'notStarted' }>, timeoutMs: number | undefined): Pick<ProfileResult, 'state' | 'message'> {
  switch (ending.kind) {
    case 'exited':
      return ending.exitCode === 0
        ? { state: 'done', message: null }
        : { state: 'failed', message: `the program ended with exit code ${ending.exitCode}; the profile reaches up to that point` };
    case 'signalled':
      return { state: 'failed', message: `the program was ended by ${ending.signal}; the profile reaches up to that point` };
    case 'timedOut':
      return {
        state: 'timedOut',
        message: `the program was still running after ${(timeoutMs ?? 0) / 1000} s and was stopped; the profile reaches up to that point`,
      };
    case 'cancelled':
      return { state: 'cancelled', message: 'the run was cancelled; the profile reaches up to that point' };
    case 'outOfMemory':
      return {
        state: 'failed',
        message: `the program was stopped when it held ${(ending.bytes / 2 ** 30).toFixed(1)} GiB of this machine's memory, before the machine ran out; the profile reaches up to that point`,
      };
  }
}

export const refused = (message: string): ProfileResult => ({
  state: 'refused',
  message,
  report: null,
  events: null,
  release: () => undefined,
});

/** Why a path is nothing that Node runs, and what to name instead. */
function whyUnfit(entry: string, cwd: string): string | undefined {
  if (!existsSync(entry)) return `there is no file to run at ${entry}\nfix: name a file as seen from ${cwd}`;
  if (!statSync(entry).isFile()) return `${entry} is a folder\nfix: name the file in it that starts the program`;
  if (/\.html?$/i.test(entry))
    return `${entry} is a page, not a program\nfix: serve it, and profile its address: tidemark profile --browser URL`;
  if (/\.(json|jsonc|txt|md|css|csv|tidemark)$/i.test(entry))
    return `${entry} is no program\nfix: name a file of TypeScript or JavaScript, or any command after \`--command --\``;
  return undefined;
}

/** A child that inherits these would be an Electron that plays Node, or debug itself on the editor's port. */
function withoutElectron(env: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> {
  const left = { ...env };
  for (const name of ['ELECTRON_RUN_AS_NODE', 'VSCODE_INSPECTOR_OPTIONS', 'ELECTRON_NO_ATTACH_CONSOLE']) delete left[name];
  return left;
}

function ask(path: string, args: readonly string[]): Promise<string | undefined> {
  return new Promise((answer) => {
    execFile(path, [...args], { timeout: 10_000, windowsHide: true }, (error, stdout) => answer(error === null ? stdout : undefined));
  });
}
