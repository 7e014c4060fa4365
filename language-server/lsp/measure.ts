/**
 * The editor's runs as the measuring part starts them: settings become its options, output comes in bounded pieces.
 *
 * Depends on: measure/run, measure/browser, sources, core/bytes.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { readBytes } from '../../runtime/core/bytes.ts';
import { profile, type Cancellation, type ProfileResult } from '../measure/run.ts';
import type { ServerSettings } from '../protocol.ts';
import { boundedOutput } from './output.ts';
import { saveProfile } from './profile-file.ts';
import type { CancelToken, Measure, RunOptions } from './sources.ts';

export const measure: Measure = async (options, token) => {
  const say = boundedOutput(options.output);
  const result = await (options.isPage ? page : program)(options, say, cancellation(token));
  say.end();
  const { cwd, profileFile } = options;
  const { state, message, report, events } = result;
  try {
    if (report === null || events === null || profileFile === undefined) return { state, message, report, profileFile: null };
    const programs = await saveProfile(profileFile, report, { events, cwd });
    return { state, message, report, profileFile, programs };
  } finally {
    result.release();
  }
};

type Started = (options: RunOptions, say: ReturnType<typeof boundedOutput>, token: Cancellation) => Promise<ProfileResult>;

const program: Started = ({ entry, cwd, args, settings }, say, token) => {
  const device = settings.profile?.device;
  return profile(
    {
      entry,
      args,
      cwd,
      env: { ...userNode(settings), ...settings.profile?.environment, ...memoryEnvironment(settings) },
      ...(settings.nodePath === undefined || settings.nodePath === '' ? {} : { nodePath: settings.nodePath }),
      ...(device === undefined ? {} : { device }),
      timeoutMs: (settings.profile?.timeoutSeconds ?? 300) * 1000,
      stdout: (chunk) => say.write('stdout', chunk),
      stderr: (chunk) => say.write('stderr', chunk),
    },
    token,
  );
};

const page: Started = async ({ entry, cwd, settings }, say, token) => {
  // Loaded on first use: few programs are pages.
  const { profilePage } = await import('../measure/browser.ts');
  const chrome = settings.profile?.chromePath;
  return profilePage(
    {
      url: entry,
      cwd,
      env: { ...process.env, ...settings.profile?.environment },
      ...(chrome === undefined || chrome === '' ? {} : { chrome }),
      output: (text) => say.write('stdout', Buffer.from(text)),
    },
    token,
  );
};

const cancellation = (token: CancelToken): Cancellation => ({
  get isCancellationRequested() {
    return token.isCancelled;
  },
  onCancellationRequested(listener) {
    let listening = true;
    token.onCancel(() => {
      if (listening) listener();
    });
    return { dispose: () => (listening = false) };
  },
});

/** A server that the editor started runs on the editor's Node; the person's own goes first, as in a terminal. */
function userNode({ nodePath }: ServerSettings): Readonly<Record<string, string>> {
  if ((nodePath !== undefined && nodePath !== '') || process.env['TIDEMARK_NODE'] !== undefined) return {};
  const windows = process.platform === 'win32';
  const found = (process.env['PATH'] ?? process.env['Path'] ?? '')
    .split(path.delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => path.join(folder, windows ? 'node.exe' : 'node'))
    .find((file) => existsSync(file));
  return found === undefined ? {} : { TIDEMARK_NODE: found };
}

function memoryEnvironment({ memory }: ServerSettings): Readonly<Record<string, string>> {
  if (memory === undefined) return {};
  const { allocator, preallocate, fraction, limit } = memory;
  const limitBytes = limit === undefined ? undefined : readBytes(limit);
  return {
    ...(allocator === undefined || allocator === 'bfc' ? {} : { TIDEMARK_ALLOCATOR: allocator }),
    ...(preallocate === true
      ? { TIDEMARK_PREALLOCATE: 'true', ...(fraction === undefined ? {} : { TIDEMARK_MEM_FRACTION: String(fraction) }) }
      : {}),
    ...(limitBytes === undefined ? {} : { TIDEMARK_MEM_LIMIT: String(limitBytes) }),
  };
}
