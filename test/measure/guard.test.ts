/**
 * A program that is measured ends with whoever measures it, however that one ends. Depends on: language-server/measure.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import path from 'node:path';
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
