/**
 * A program that is measured ends with whoever measures it, however that one ends. Depends on: language-server/measure.
 */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { guardCommand } from '../../language-server/measure/child.ts';
import { root } from './support.ts';

const runner = `
import { runChild } from ${JSON.stringify(path.join(root, 'language-server/measure/child.ts'))};
const never = { isCancellationRequested: false, onCancellationRequested: () => ({ dispose() {} }) };
const program = 'console.log(process.pid); setInterval(() => undefined, 1000);';
void runChild(
  { command: process.execPath, args: ['-e', program], cwd: '.', env: process.env, timeoutMs: undefined, memoryLimitBytes: undefined, stdin: 'ignore', stdout: 1, stderr: 2 },
  never,
);
setInterval(() => undefined, 1000);
`;

const isThere = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

describe('a program whose measurer ends', function () {
  this.timeout(60_000);
  if (process.platform === 'win32') return;
  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    it(`ends too, after ${signal}`, async () => {
      const measurer = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', runner], {
        cwd: root,
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const program = await new Promise<number>((resolve) =>
        measurer.stdout.once('data', (chunk: Buffer) => resolve(Number(String(chunk).trim()))),
      );
      assert.ok(isThere(program));
      measurer.kill(signal);
      while (isThere(program)) await new Promise((resolve) => setTimeout(resolve, 50));
    });
  }
});

describe('the guard on Windows', function () {
  this.timeout(60_000);
  if (process.platform === 'win32') return;
  const folder = mkdtempSync(path.join(tmpdir(), 'tidemark-guard-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  // Stands for Windows' own, and ends what it is told to.
  writeFileSync(path.join(folder, 'taskkill'), '#!/bin/sh\n[ "$1 $3 $4" = "/PID /T /F" ] && kill -9 "$2"\n', { mode: 0o755 });
  const env = { ...process.env, PATH: `${folder}${path.delimiter}${process.env['PATH']}` };

  async function guarded(last: (guard: ChildProcess) => void): Promise<boolean> {
    const program = spawn(process.execPath, ['-e', 'setInterval(() => undefined, 1000)'], { stdio: 'ignore' });
    const { command, args } = guardCommand(program.pid!, 'win32', process.execPath);
    const guard = spawn(command, [...args], { env, stdio: ['pipe', 'ignore', 'inherit'] });
    const ended = new Promise((resolve) => guard.once('close', resolve));
    last(guard);
    await ended;
    // What was told to end is gone when the one who told it is.
    const isLeft = program.exitCode === null && program.signalCode === null && isThere(program.pid!);
    const gone = new Promise((resolve) => program.once('exit', resolve));
    program.kill('SIGKILL');
    if (program.signalCode === null) await gone;
    return isLeft;
  }

  it('ends the program when nobody is there any more to give it a word', async () => {
    assert.equal(await guarded((guard) => guard.stdin!.end()), false);
  });

  it('leaves it alone after the word', async () => {
    assert.equal(await guarded((guard) => guard.stdin!.end('done\n')), true);
  });
});
