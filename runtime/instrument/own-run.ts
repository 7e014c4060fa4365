/**
 * A program that was started with `--import tidemark/register` and nothing else: it is recorded, and leaves a profile where it ran.
 *
 * The events go to a folder of their own, which the program's processes and threads share. When the program ends, the
 * command line makes a profile of them and says in one line how high memory rose; a shell that waits on a pipe sees to it
 * when the program is killed. `TIDEMARK_PROFILE` names the profile, and `off` only gives the program a GPU.
 * Depends on: node.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';

export interface OwnRun {
  readonly folder: string;
  /** Makes the profile, now that all is written; the program waits for it. */
  finish(exitCode: number): void;
}

/** Undefined when the person wants no profile, or when nothing here can make one. */
export function startOwnRun(packageRoot: string): OwnRun | undefined {
  const wish = process.env['TIDEMARK_PROFILE'];
  const line = commandLine(packageRoot);
  if (wish === 'off' || process.argv[1] === undefined || line === undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-'));
  const cwd = process.cwd();
  const start = Date.now();
  // What the program starts records into the same folder, and leaves the profile to it.
  Object.assign(process.env, { TIDEMARK_EVENTS: folder, TIDEMARK_START: String(start) });
  writeFileSync(join(folder, 'run.json'), JSON.stringify({ cwd }));
  const out = wish ?? `${basename(process.argv[1]).replace(/\.[^.]+$/, '')}-${stamp(new Date(start))}.tidemark`;
  const collect = [...line, 'collect', folder, '--out', out, '--entry', process.argv[1]];
  const guard = waitForDeath(collect, cwd);
  return {
    folder,
    finish(exitCode) {
      guard?.stdin?.write('done\n');
      const wallMs = String(Date.now() - start);
      spawnSync(process.execPath, [...collect, '--exit-code', String(exitCode), '--wall-ms', wallMs], {
        cwd,
        env: unwatched(),
        stdio: ['ignore', 'ignore', 'inherit'],
        windowsHide: true,
      });
    },
  };
}

/** The command line of this package: as built, or its sources where those are run. */
function commandLine(packageRoot: string): readonly string[] | undefined {
  const source = join(packageRoot, 'language-server', 'cli', 'main.ts');
  if (import.meta.url.includes('/.cache/') && existsSync(source))
    return ['--import', pathToFileURL(createRequire(source).resolve('tsx')).href, source];
  const built = join(packageRoot, 'dist', 'tidemark.js');
  return existsSync(built) ? [built] : undefined;
}

/** Reads a word that never comes when the program is killed, and makes the profile then. */
function waitForDeath(collect: readonly string[], cwd: string): ReturnType<typeof spawn> | undefined {
  if (process.platform === 'win32') return undefined;
  const guard = spawn('/bin/sh', ['-c', 'trap "" INT TERM HUP; read -r word || exec "$0" "$@"', process.execPath, ...collect], {
    cwd,
    env: unwatched(),
    detached: true,
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  guard.on('error', () => undefined);
  guard.stdin?.on('error', () => undefined);
  guard.unref();
  (guard.stdin as { unref?: () => void } | null)?.unref?.();
  return guard;
}

function unwatched(): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _options, TIDEMARK_EVENTS: _events, ...env } = process.env;
  return { ...env, TIDEMARK_PROFILE: 'off' };
}

/** 20261130-182035: sorts by time. */
const stamp = (date: Date): string => date.toISOString().replace(/\..*/, '').replace(/[-:]/g, '').replace('T', '-');
