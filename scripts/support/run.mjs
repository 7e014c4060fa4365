/**
 * Starting commands from the scripts: output passes through, failures stop the script with the command's own code.
 *
 * Depends on: node.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

/** Downloads that outlive a clone: the editor for end-to-end tests. */
export const cache = process.env.TIDEMARK_CACHE ?? path.join(os.homedir(), '.cache', 'tidemark');

export class CommandFailed extends Error {
  constructor(command, code) {
    super(`\`${command}\` ended with code ${code}`);
    this.code = code;
  }
}

/** Runs a command to its end and returns what it printed when `capture` is set; throws CommandFailed otherwise. */
export function run(command, args = [], options = {}) {
  const { capture = false, quiet = false, timeoutMs, ...rest } = options;
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: root,
      stdio: capture || quiet ? ['ignore', 'pipe', 'pipe'] : ['ignore', 'inherit', 'inherit'],
      detached: timeoutMs !== undefined,
      ...rest,
    });
    let text = '';
    child.stdout?.on('data', (chunk) => (text += chunk));
    child.stderr?.on('data', (chunk) => (text += chunk));
    let timedOut = false;
    const timer =
      timeoutMs === undefined
        ? undefined
        : setTimeout(() => {
            timedOut = true;
            endGroup(child);
          }, timeoutMs);
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(timer);
      if (code === 0) return resolve(text);
      if (quiet || capture) process.stderr.write(text);
      reject(new CommandFailed([command, ...args].join(' ') + (timedOut ? ` (no end within ${timeoutMs / 1000} s)` : ''), code ?? 1));
    });
  });
}

/** Ends a child started with `detached` and everything it started. */
export function endGroup(child, signal = 'SIGKILL') {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // The group has ended by itself.
  }
}

/**
 * Ends a detached child and removes its folder even when this process is killed before it can: a shell waits for a word
 * that only comes from `release`.
 */
export function guard(child, folder) {
  const script = 'read -r word || { kill -s KILL -- "-$0"; sleep 1; rm -rf -- "$1"; }';
  const shell = spawn('/bin/sh', ['-c', script, String(child.pid), folder], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  shell.on('error', () => undefined);
  shell.stdin.on('error', () => undefined);
  shell.unref();
  shell.stdin.unref();
  return { release: () => shell.stdin.end('done\n') };
}

/** Debian's or the person's own Chromium or Chrome; undefined when there is none. */
export function findChromium() {
  const named = process.env.TIDEMARK_CHROME;
  if (named !== undefined && named !== '') return existsSync(named) ? named : undefined;
  return ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome', '/usr/bin/google-chrome-stable'].find((at) =>
    existsSync(at),
  );
}

/** Says what stopped the script in one line and ends it with the right code. */
export async function main(body) {
  try {
    await body();
  } catch (error) {
    console.error(error instanceof CommandFailed ? error.message : (error?.stack ?? error));
    process.exitCode = error instanceof CommandFailed ? error.code || 1 : 1;
  }
}
