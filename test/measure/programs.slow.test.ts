/**
 * Kinds of programs: each brings its own way to be loaded, started or split, and its arrays still land on its lines.
 *
 * Depends on: support.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildSync } from 'esbuild';
import { childCommand, typescriptLoader } from '../../language-server/measure/command.ts';
import type { ProfileReport } from '../../language-server/protocol.ts';
import { measured, programs, root } from './support.ts';

const typed = `
interface Box { readonly bytes: number }

const device: GPUDevice = await (await navigator.gpu.requestAdapter())!.requestDevice();
function make(box: Box): GPUBuffer {
  return device.createBuffer({ size: box.bytes, usage: 128 });
}
class Ring { readonly held = [1024, 256].map((bytes) => make({ bytes })); }
export const ring: Ring = new Ring();
`;
const plain = (bytes: number): string =>
  `const device = await (await navigator.gpu.requestAdapter()).requestDevice();\nglobalThis.held = device.createBuffer({ size: ${bytes}, usage: 128 });\n`;

const lines = (report: ProfileReport): unknown[] =>
  report.lines.map(({ file, line, allocations, allocatedBytes }) => [file.replace(/.*\//, ''), line, allocations, allocatedBytes]);
const calls = (report: ProfileReport, name: string): unknown => report.functions.find((one) => one.name === name)?.calls;

describe('kinds of programs', function () {
  this.timeout(120_000);
  const written = programs();
  after(() => written.remove());

  const tsx = pathToFileURL(join(root, 'node_modules/tsx/dist/loader.mjs')).href;
  /** The arguments with which a profile starts the file, with another loader for TypeScript. */
  function start(entry: string, loader: string): { args: readonly string[]; environment: Readonly<Record<string, string | undefined>> } {
    const { args, environment } = childCommand({ entry, node: process.execPath, env: process.env, events: '', start: 0 });
    return { args: args.map((word, i) => (i === 1 ? loader : word)), environment };
  }

  for (const [name, command] of [
    ['node --import tsx', [process.execPath, '--import', tsx]],
    ['the command of tsx', [process.execPath, join(root, 'node_modules/tsx/dist/cli.mjs')]],
  ] as const) {
    it(`TypeScript that ${name} loads after the instrument: lines, calls, and what a module holds`, async () => {
      const { report } = await measured({ command: [...command, written.write('typed.ts', typed)] });
      assert.deepEqual(lines(report), [['typed.ts', 6, 2, 1280]]);
      assert.equal(calls(report, 'make'), 2);
      assert.deepEqual(report.leaks, []);
    });
  }

  it('TypeScript without native code', async () => {
    const entry = written.write('typed.ts', typed);
    const { args } = start(entry, pathToFileURL(typescriptLoader()).href);
    const imports = args.slice(0, -1).join(' ');
    const { report } = await measured({ command: [process.execPath, entry], env: { NODE_OPTIONS: imports } });
    assert.deepEqual(lines(report), [['typed.ts', 6, 2, 1280]]);
    assert.equal(calls(report, 'make'), 2);
  });

  it('a cluster: every worker counts, and the profile is one', async () => {
    const { report } = await measured({
      entry: written.write(
        'cluster.mjs',
        `import cluster from 'node:cluster';
if (cluster.isPrimary) {
  for (const _ of [1, 2]) cluster.fork();
  let left = 2;
  await new Promise((done) => cluster.on('exit', () => --left === 0 && done()));
} else {
  ${plain(4096).replace('\n', '\n  ')}  await new Promise((done) => setTimeout(done, 500));
  process.exit(0);
}
`,
      ),
    });
    assert.deepEqual(lines(report), [['cluster.mjs', 8, 2, 8192]]);
  });

  it('a child in another folder, with a name beyond ASCII', async () => {
    const child = written.write('käfig/kind.mjs', plain(512));
    const entry = written.write(
      'parent.mjs',
      `import { fork } from 'node:child_process';\nprocess.chdir('/');\nawait new Promise((done) => fork(${JSON.stringify(child)}).once('exit', done));\n`,
    );
    assert.deepEqual(lines((await measured({ entry })).report), [['kind.mjs', 2, 1, 512]]);
  });

  it('arguments, environment and working directory are those that were asked for', async () => {
    const entry = written.write('asks.mjs', `console.log(JSON.stringify([process.argv.slice(2), process.env.MINE, process.cwd()]));`);
    const { stdout } = await measured({ entry, args: ['--a', 'b c'], env: { MINE: 'ü' }, cwd: written.folder });
    assert.deepEqual(JSON.parse(stdout), [['--a', 'b c'], 'ü', written.folder]);
  });

  it('a program that holds 2 GiB of its own beside its arrays', async () => {
    const { report, result } = await measured({
      entry: written.write('large.mjs', `${plain(1024)}globalThis.large = new Uint8Array(2 ** 31);\nlarge[2 ** 31 - 1] = 1;\n`),
    });
    assert.equal(result.state, 'done');
    assert.equal(report.peakBytes, 1024);
  });

  it('our runtime, linked into the project: the slab under an array is not counted beside it', async () => {
    written.write('linked/package.json', '{ "name": "tidemark", "type": "module" }');
    buildSync({
      entryPoints: [join(root, 'runtime/index.ts')],
      outfile: join(written.folder, 'linked/dist/runtime/index.js'),
      bundle: true,
      format: 'esm',
      platform: 'node',
      external: ['webgpu'],
      logLevel: 'silent',
    });
    const { report } = await measured({
      device: 'webgpu',
      entry: written.write(
        'linked.ts',
        `import { init, numpy as np } from './linked/dist/runtime/index.js';\nawait init();\nexport const x = np.ones([64, 64]);\nawait x.data();\n`,
      ),
    });
    assert.equal(report.device?.kind, 'webgpu');
    assert.equal(report.peakBytes, 64 * 64 * 4);
    assert.ok(report.peakReservedBytes > report.peakBytes, 'the slab is reserved');
    assert.deepEqual(lines(report), [['linked.ts', 3, 1, 64 * 64 * 4]]);
  });

  it('all libraries in one program: each array once, on its line, and the peak is that of all together', async () => {
    const { report, stdout } = await measured({
      timeoutMs: 110_000,
      entry: written.write(
        'mixed.ts',
        `import * as tf from '@tensorflow/tfjs';
import { numpy as jnp, init as initJax, defaultDevice } from '@jax-js/jax';
import { init, np } from '${join(root, 'runtime/index.ts')}';
await tf.setBackend('cpu');
await initJax('cpu');
defaultDevice('cpu');
await init('cpu');
const device: GPUDevice = await (await navigator.gpu.requestAdapter())!.requestDevice();
const kept: unknown[] = [];
function round(): void {
  const t = tf.ones([256, 256]);
  const j = jnp.array(new Float32Array(128 * 128).fill(2));
  using a = np.ones([64, 64]);
  kept.push(device.createBuffer({ size: 4096, usage: GPUBufferUsage.STORAGE }), a.shape);
  t.dispose();
  j.dispose();
}
for (let i = 0; i < 3; i += 1) round();
console.log(tf.memory().numBytes);
`,
      ),
    });
    assert.deepEqual(lines(report), [
      ['mixed.ts', 11, 3, 3 * 256 * 256 * 4],
      ['mixed.ts', 12, 3, 3 * 128 * 128 * 4],
      ['mixed.ts', 13, 3, 3 * 64 * 64 * 4],
      ['mixed.ts', 14, 3, 3 * 4096],
    ]);
    assert.equal(report.peakBytes, (256 * 256 + 128 * 128 + 64 * 64) * 4 + 3 * 4096);
    assert.equal(report.liveBytesAtExit, 3 * 4096);
    assert.match(stdout, /^0$/m, 'and the library counts nothing as alive');
  });

  it('a library in a global object of its own, as a test runner loads it', async () => {
    const library = join(root, 'node_modules/@tensorflow/tfjs/dist/tf.min.js');
    const inner = join(written.folder, 'inner.js');
    const { report } = await measured({
      entry: written.write(
        'runner.mjs',
        `import { readFileSync } from 'node:fs';
import { createContext, runInContext } from 'node:vm';
const context = createContext({ console, setTimeout, performance });
runInContext('var global = globalThis, self = globalThis;', context);
runInContext(readFileSync(${JSON.stringify(library)}, 'utf8'), context, { filename: ${JSON.stringify(library)} });
runInContext('globalThis.x = tf.zeros([16]);', context, { filename: ${JSON.stringify(inner)} });
`,
      ),
    });
    assert.deepEqual(lines(report), [['inner.js', 1, 1, 64]]);
  });

  it('workers one after the other: what one held at its end is alive at exit, and no part of the peak of the next', async () => {
    written.write(
      'one.mjs',
      `import { workerData } from 'node:worker_threads';
const device = await (await navigator.gpu.requestAdapter()).requestDevice();
globalThis.kept = device.createBuffer({ size: 4096 * workerData, usage: 128 });
device.createBuffer({ size: 1024, usage: 128 }).destroy();
`,
    );
    const { report } = await measured({
      entry: written.write(
        'row.mjs',
        `import { Worker } from 'node:worker_threads';
for (const n of [3, 1, 2]) await new Promise((done) => new Worker(new URL('one.mjs', import.meta.url), { workerData: n }).once('exit', done));
`,
      ),
    });
    assert.deepEqual(lines(report), [
      ['one.mjs', 3, 3, 4096 * 6],
      ['one.mjs', 4, 3, 3 * 1024],
    ]);
    assert.equal(report.peakBytes, 4096 * 3 + 1024);
    assert.equal(report.liveBytesAtExit, 4096 * 6);
  });

  it('workers side by side that free all they made leave nothing alive', async () => {
    written.write(
      'side.mjs',
      `import { workerData } from 'node:worker_threads';
import { setTimeout } from 'node:timers/promises';
const device = await (await navigator.gpu.requestAdapter()).requestDevice();
const buffer = device.createBuffer({ size: 4096, usage: 128 });
await setTimeout(300 * workerData);
buffer.destroy();
`,
    );
    const { report } = await measured({
      entry: written.write(
        'sides.mjs',
        `import { Worker } from 'node:worker_threads';
for (const n of [1, 2, 3]) new Worker(new URL('side.mjs', import.meta.url), { workerData: n });
`,
      ),
    });
    assert.deepEqual(lines(report), [['side.mjs', 4, 3, 3 * 4096]]);
    assert.equal(report.liveBytesAtExit, 0);
  });

  it('a file keeps its extension, and functions of CommonJS are counted too', async () => {
    for (const [name, take] of [
      ['typed.mts', "import * as tf from '@tensorflow/tfjs';"],
      ['typed.cts', "import tf = require('@tensorflow/tfjs');"],
    ] as const) {
      const { report } = await measured({
        entry: written.write(
          name,
          `${take}
interface Sized {
  readonly rows: number;
}

function make({ rows }: Sized): number {
  return tf.zeros([rows, 4]).size;
}
for (const rows of [1, 2]) make({ rows });
`,
        ),
      });
      assert.deepEqual(lines(report), [[name, 7, 2, 48]]);
      const [make] = report.functions.filter((one) => one.name === 'make');
      assert.deepEqual([make?.calls, make?.line], [2, 6], name);
    }
  });

  it('TypeScript that a test runner translates and evaluates by itself lands on its own lines', async () => {
    // Types and empty lines are gone from what is evaluated, so that every line of it has another number.
    const path = written.write(
      'evaluated.ts',
      `import { size } from './size.ts';

interface Sized {
  readonly bytes: number;
}

/** Four of them. */
export function four({ bytes }: Sized): void {
  for (let i = 0; i < 4; i += 1) {
    device.createBuffer({ size: bytes, usage: 128 });
  }
}
declare const device: GPUDevice;

four({ bytes: size });
`,
    );
    const ways: Readonly<Record<string, string>> = {
      'a script in the own context':
        'vm.runInThisContext(head + code + tail, { filename, columnOffset: -head.length })({ size: 64 }, device)',
      'a script in another': `const context = vm.createContext({});
new vm.Script(head + code + tail, { filename, columnOffset: -head.length }).runInContext(context)({ size: 64 }, device)`,
      'a function': "vm.compileFunction(code, ['named', 'device'], { filename })({ size: 64 }, device)",
    };
    for (const [way, evaluate] of Object.entries(ways)) {
      const { report } = await measured({
        entry: written.write(
          'evaluates.mjs',
          `import { readFileSync } from 'node:fs';
import * as vm from 'node:vm';
import { transformSync } from 'esbuild';
const device = await (await navigator.gpu.requestAdapter()).requestDevice();
const filename = ${JSON.stringify(path)};
const source = readFileSync(filename, 'utf8').replace(/^import .*$/m, 'const { size } = named;').replace('export ', '');
const { code } = transformSync(source, { loader: 'ts', sourcefile: filename, sourcemap: 'inline' });
const [head, tail] = ["'use strict';(function (named, device) {{", '\\n}})'];
${evaluate};
`,
        ),
      });
      assert.deepEqual(lines(report), [['evaluated.ts', 10, 4, 256]], way);
      assert.deepEqual(
        report.functions.filter(({ file }) => file.endsWith('evaluated.ts')).map(({ name, line }) => [name, line]),
        [['four', 8]],
        way,
      );
    }
  });

  describe('with `--import tidemark/register` and nothing else', () => {
    const own = programs();
    after(() => own.remove());

    /** Runs a program as a person would, and gives what it left in its folder once that is there. */
    async function left(source: string): Promise<{ report: ProfileReport; stderr: string; code: number | null }> {
      const entry = own.write('app.ts', source);
      const { args, environment } = start(entry, tsx);
      // Nor does anybody tell the program where a Vulkan loader lies.
      const { TIDEMARK_EVENTS: _events, TIDEMARK_START: _start, TIDEMARK_ENTRY: _entry, LD_LIBRARY_PATH: _path, ...env } = environment;
      const child = spawn(process.execPath, args, { cwd: own.folder, env: { ...env, TIDEMARK_PROFILE: 'app.tidemark' }, stdio: 'pipe' });
      let stderr = '';
      child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString('utf8')));
      // The stream ends when all who may write to it are gone, the one that makes the profile included.
      const [code] = await Promise.all([
        new Promise<number | null>((done) => child.once('exit', done)),
        new Promise((done) => child.stderr.once('close', done)),
      ]);
      const text = readFileSync(join(own.folder, 'app.tidemark'), 'utf8');
      return { report: JSON.parse(text.slice(0, text.indexOf('\n'))) as ProfileReport, stderr, code };
    }

    it('a program leaves a profile and a line about it', async () => {
      const { report, stderr, code } = await left(typed);
      assert.equal(code, 0);
      assert.match(stderr, /^tidemark: memory rose to 1\.3 KiB at app\.ts:6; saved as app\.tidemark \(/m);
      assert.deepEqual([report.entry, report.exitCode, report.peakBytes], ['app.ts', 0, 1280]);
      assert.deepEqual(lines(report), [['app.ts', 6, 2, 1280]]);
    });

    it('a program that is killed leaves one too', async () => {
      const { report, code } = await left(
        `${typed}\nprocess.kill(process.pid, 'SIGKILL');\nawait new Promise(() => setInterval(() => undefined, 1000));`,
      );
      assert.equal(code, null);
      assert.deepEqual([report.exitCode, report.peakBytes], [null, 1280]);
    });

    it('`off` only gives the GPU', async () => {
      const entry = own.write('off.ts', 'console.log(typeof navigator.gpu);');
      const { args, environment } = start(entry, tsx);
      const { TIDEMARK_EVENTS: _events, ...env } = environment;
      const before = readdirSync(own.folder).length;
      const child = spawn(process.execPath, args, { cwd: own.folder, env: { ...env, TIDEMARK_PROFILE: 'off' }, stdio: 'pipe' });
      let stdout = '';
      child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString('utf8')));
      await new Promise((done) => child.once('close', done));
      assert.equal(stdout, 'object\n');
      assert.equal(readdirSync(own.folder).length, before);
      assert.ok(!existsSync(join(own.folder, 'off.tidemark')));
    });
  });
});

describe('a long run', function () {
  this.timeout(120_000);
  const written = programs();
  after(() => written.remove());

  const source = `
import { Worker, isMainThread } from 'node:worker_threads';
const device = await (await navigator.gpu.requestAdapter()).requestDevice();
const held = [];
function make(size) { return device.createBuffer({ size, usage: 128 }); }
async function steps(rounds) {
  for (let i = 0; i < rounds; i += 1) {
    const made = [256, 512, 1024].map(make);
    if (i % 5000 === 0) held.push(make(64));
    if (i === 7000) held.push(make(1 << 20), make(1 << 20));
    if (i === 7001) held.splice(-2).forEach((buffer) => buffer.destroy());
    for (const buffer of made) buffer.destroy();
    if (i % 500 === 0) await new Promise((done) => setTimeout(done, 5));
  }
}
if (isMainThread && process.env.THREADS) {
  const worker = new Worker(new URL(import.meta.url));
  const over = new Promise((done) => worker.once('exit', done));
  await steps(20_000);
  await over;
} else await steps(20_000);
`;
  const figures = ({ wallMs: _wall, notes: _notes, peakAt, ...report }: ProfileReport): unknown => ({ ...report, peakAt });

  it('has the figures of one that is kept whole, in files that do not grow with it', async () => {
    const entry = written.write('long.mjs', source);
    const whole = await measured({ entry });
    const thinned = await measured({ entry, env: { TIDEMARK_PART_BYTES: '100000' } });
    assert.deepEqual(figures(thinned.report), figures(whole.report));
    assert.equal(whole.report.peakBytes, 2 * 2 ** 20 + 1792 + 128);
    assert.match(thinned.report.notes!.join(), /timeline lacks [\d,]+ events/);
  });

  it('of several threads has every allocation of each', async () => {
    const entry = written.write('threads.mjs', source);
    const { report } = await measured({ entry, env: { THREADS: '1', TIDEMARK_PART_BYTES: '100000' } });
    const total = report.lines.reduce((sum, { allocations }) => sum + allocations, 0);
    assert.equal(total, 2 * (3 * 20_000 + 4 + 2));
    assert.equal(report.liveBytesAtExit, 2 * 4 * 64);
  });
});
