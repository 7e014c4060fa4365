/**
 * Programs that misbehave: each still gives the profile up to the point where it ended, a plain word, and no orphan.
 *
 * Depends on: support.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { measured, programs } from './support.ts';
import type { Measured } from './support.ts';

/** Makes `device` and `make(bytes)`; the buffers made are kept in `held`. */
const prelude = `
const device = await (await navigator.gpu.requestAdapter())!.requestDevice();
const held: GPUBuffer[] = [];
const make = (size: number) => held.push(device.createBuffer({ size, usage: GPUBufferUsage.STORAGE }));
`;

describe('hard days', () => {
  const written = programs();
  after(() => written.remove());

  let number = 0;
  const run = (source: string, options: Parameters<typeof measured>[0] = {}, token?: Parameters<typeof measured>[1]): Promise<Measured> =>
    measured({ entry: written.write(`program-${(number += 1)}.ts`, prelude + source), ...options }, token);

  it('a program that throws', async () => {
    const { result, report, stderr } = await run(`make(1024); throw new Error('on purpose');`);
    assert.equal(result.state, 'failed');
    assert.match(result.message!, /exit code 1/);
    assert.match(stderr, /on purpose/);
    assert.doesNotMatch(stderr, /tidemark|register\.ts/i, 'no stack of ours');
    assert.equal(report.peakBytes, 1024);
    assert.equal(report.exitCode, 1);
  });

  it('a program that throws deep within: the lines of its stack are its own', async () => {
    const { stderr } = await run(`
const alpha = (n: number): number => beta(n + 1);
function beta(n: number): number {
  make(256);
  if (n > 1) throw new Error('deep');
  return n;
}
alpha(1);`);
    // Five lines lie before the first one here.
    assert.match(stderr, /at beta \(.*:9:\d+\)\s+at alpha \(.*:6:\d+\)\s+at .*:12:1/);
  });

  it('a program that throws in a promise', async () => {
    const { report } = await run(
      `make(2048); void Promise.resolve().then(() => { throw new Error('late'); }); await new Promise((r) => setTimeout(r, 1000));`,
    );
    assert.deepEqual([report.peakBytes, report.exitCode], [2048, 1]);
  });

  it('a program that calls process.exit', async () => {
    const { result, report } = await run(`make(1024); make(1024); process.exit(7);`);
    assert.deepEqual([result.state, report.exitCode, report.peakBytes], ['failed', 7, 2048]);
  });

  it('a program that is killed', async () => {
    const { result, report } = await run(`for (let i = 0; i < 100; i += 1) make(256); process.kill(process.pid, 'SIGKILL');`);
    assert.match(result.message!, /SIGKILL/);
    assert.deepEqual([report.peakBytes, report.exitCode], [25_600, null]);
  });

  it('a program that ends by SIGTERM', async () => {
    const { result, report } = await run(`make(256); process.kill(process.pid, 'SIGTERM'); await new Promise((r) => setTimeout(r, 5000));`);
    assert.match(result.message!, /SIGTERM/);
    assert.equal(report.peakBytes, 256);
  });

  it('a program that never ends, in a loop that yields to nobody', async () => {
    const { result, report } = await run(`make(4096); for (;;);`, { timeoutMs: 4000 });
    assert.equal(result.state, 'timedOut');
    assert.match(result.message!, /still running after 4 s/);
    assert.equal(report.peakBytes, 4096);
  });

  it('a program that is cancelled leaves nothing behind', async () => {
    const alive = join(written.folder, 'alive');
    const source = `
make(512);
const { spawn } = await import('node:child_process');
spawn(process.execPath, ['-e', "setInterval(() => require('fs').writeFileSync(" + JSON.stringify(${JSON.stringify(alive)}) + ", String(Date.now())), 50)"], { stdio: 'ignore' });
setInterval(() => undefined, 1000);`;
    let cancel = (): void => undefined;
    const token = {
      isCancellationRequested: false,
      onCancellationRequested: (listener: () => void) => ((cancel = listener), { dispose: () => undefined }),
    };
    const running = run(source, {}, token);
    for (let i = 0; i < 200 && !existsSync(alive); i += 1) await pause(50);
    assert.ok(existsSync(alive), 'the grandchild runs');
    cancel();
    const { result, report } = await running;
    assert.equal(result.state, 'cancelled');
    assert.equal(report.peakBytes, 512);
    await pause(150);
    const last = readFileSync(alive, 'utf8');
    await pause(200);
    assert.equal(readFileSync(alive, 'utf8'), last, 'the grandchild is gone');
  });

  it('a program that prints a million lines', async () => {
    let bytes = 0;
    const { report } = await run(`make(1024); for (let i = 0; i < 1_000_000; i += 1) process.stdout.write('0123456789\\n');`, {
      stdout: (chunk) => void (bytes += chunk.length),
    });
    assert.equal(bytes, 11_000_000);
    assert.equal(report.peakBytes, 1024);
  });

  it('a program that writes binary to its output', async () => {
    const bytes: number[] = [];
    await run(`process.stdout.write(Uint8Array.from({ length: 256 }, (_, i) => i));`, { stdout: (chunk) => bytes.push(...chunk) });
    assert.deepEqual(
      bytes,
      Array.from({ length: 256 }, (_, i) => i),
    );
  });

  it('a program that leaves 10,000 buffers alive', async () => {
    const { report } = await run(`for (let i = 0; i < 10_000; i += 1) make(256);`);
    assert.deepEqual([report.peakBytes, report.liveBytesAtExit, report.liveAtPeak.length], [2_560_000, 2_560_000, 10_000]);
    assert.deepEqual(
      report.leaks.map(({ kind, count }) => [kind, count]),
      [['growing', 10_000]],
    );
  });

  it('a program that holds more memory than it may', async () => {
    const { result, report } = await run(
      `make(1024); const all: Uint8Array[] = []; setInterval(() => all.push(new Uint8Array(64 << 20).fill(1)), 20);`,
      { memoryLimitBytes: 600 << 20 },
    );
    assert.match(result.message!, /GiB of this machine's memory/);
    assert.equal(report.peakBytes, 1024);
  });

  it('a program that asks for more than a buffer can be', async () => {
    const { report } = await run(`make(1024); device.pushErrorScope('validation'); make(2 ** 40); await device.popErrorScope();`);
    assert.equal(report.peakBytes, 1024, 'a buffer that was refused holds nothing');
  });

  it('a program that changes its folder, and one that replaces navigator.gpu', async () => {
    const { report } = await run(`process.chdir('/'); make(1024);`);
    assert.match(report.lines[0]!.file, /^\.cache\/programs-\w+\/program-\d+\.ts$/);
    const other = await run(`make(1024); Object.defineProperty(navigator, 'gpu', { value: { fake: true } }); make(1024);`);
    assert.equal(other.report.peakBytes, 2048);
  });

  it('a program whose path has a space and letters beyond ASCII', async () => {
    const { report } = await measured({ entry: written.write('über weg/größe.ts', prelude + '\nmake(1024);') });
    assert.match(report.lines[0]!.file, /über weg\/größe\.ts$/);
    assert.equal(report.peakBytes, 1024);
  });

  it('a program with worker threads, and one that forks', async () => {
    const worker = written.write(
      'worker.mjs',
      `${prelude.replace(/!|: GPUBuffer\[\]|: number/g, '')}\nmake(4096);\nawait new Promise((r) => setTimeout(r, 300));`,
    );
    const threads = await run(
      `import { Worker } from 'node:worker_threads'; make(1024); await new Promise((r) => new Worker(new URL(${JSON.stringify(`file://${worker}`)})).once('exit', r));`,
    );
    assert.equal(threads.report.peakBytes, 1024 + 4096);
    assert.deepEqual(threads.report.lines.map(({ allocatedBytes }) => allocatedBytes).toSorted(), [1024, 4096]);
    const forks = await run(
      `import { fork } from 'node:child_process'; make(1024); await new Promise((r) => fork(${JSON.stringify(worker)}).once('exit', r));`,
    );
    assert.equal(forks.report.peakBytes, 1024 + 4096);
  });

  it('two runs at once are queued', async () => {
    const order: string[] = [];
    await Promise.all([
      run(`await new Promise((r) => setTimeout(r, 300)); make(256);`, { started: () => order.push('first starts') }).then(() =>
        order.push('first ends'),
      ),
      run(`make(256);`, { started: () => order.push('second starts') }).then(() => order.push('second ends')),
    ]);
    assert.deepEqual(order, ['first starts', 'first ends', 'second starts', 'second ends']);
  });

  it('a file that does not exist is refused with its path', async () => {
    await assert.rejects(measured({ entry: join(written.folder, 'absent.ts') }), /there is no file to run at .*absent\.ts/);
  });

  it('a program with a syntax error says so in its own words', async () => {
    const { result, stderr } = await measured({ entry: written.write('broken.ts', 'const = 3;') });
    assert.equal(result.state, 'failed');
    assert.match(stderr, /broken\.ts/);
  });
});
