/**
 * A script that is killed leaves nothing running: neither an editor nor its folder. Depends on: scripts.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { checkout } from '../../support/fixture.ts';

const script = `
import { spawn } from 'node:child_process';
import { guard } from ${JSON.stringify(path.join(checkout, 'scripts/support/run.mjs'))};
const child = spawn('sh', ['-c', 'sleep 600 & sleep 600'], { detached: true, stdio: 'ignore' });
guard(child, process.argv[1]);
console.log(child.pid);
setInterval(() => undefined, 1000);
`;

describe('a script that started an editor', function () {
  this.timeout(60_000);
  if (process.platform !== 'linux') return;
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    it(`and got ${signal} leaves no process and no folder`, async () => {
      const folder = mkdtempSync(path.join(tmpdir(), 'tidemark-guarded-'));
      const starter = spawn(process.execPath, ['--input-type=module', '-e', script, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
      const group = await new Promise<number>((resolve) =>
        starter.stdout.once('data', (chunk: Buffer) => resolve(Number(String(chunk).trim()))),
      );
      const isThere = (): boolean => {
        try {
          return process.kill(-group, 0);
        } catch {
          return false;
        }
      };
      assert.ok(isThere() && existsSync(folder));
      starter.kill(signal);
      while (isThere() || existsSync(folder)) await new Promise((resolve) => setTimeout(resolve, 50));
    });
  }
});
