/**
 * The editor's runs as the measuring part starts them: settings become its options, output comes in bounded pieces.
 *
 * Depends on: measure/run, sources, core/bytes.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { readBytes } from '../../runtime/core/bytes.ts';
import { profile, type Cancellation } from '../measure/run.ts';
import type { ServerSettings } from '../protocol.ts';
import { boundedOutput } from './output.ts';
import { saveProfile } from './profile-file.ts';
import type { CancelToken, Measure } from './sources.ts';

export const measure: Measure = async ({ entry, cwd, args, settings, profileFile, output }, token) => {
  const say = boundedOutput(output);
  const device = settings.profile?.device;
  const result = await profile(
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
    cancellation(token),
  );
  say.end();
  const { state, message, report, events } = result;
  try {
    const kept =
      report === null || events === null || profileFile === undefined ? null : await saveProfile(profileFile, report, { events, cwd });
    return { state, message, report, profileFile: kept };
  } finally {
    result.release();
  }
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
