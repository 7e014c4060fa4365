/**
 * A page in a real Chromium: its buffers, its tensors, its functions, on the lines of the files that its server translated.
 *
 * The server translates TypeScript as development servers do, with the map inside. Without a browser on the machine the
 * tests are left out, and say so. Depends on: measure, esbuild.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buildSync, transformSync } from 'esbuild';
import { findBrowser } from '../../language-server/measure/browser-path.ts';
import { profilePage } from '../../language-server/measure/browser.ts';
import type { PageOptions } from '../../language-server/measure/browser.ts';
import { never } from '../../language-server/measure/run.ts';
import type { ProfileReport } from '../../language-server/protocol.ts';
import { marked, programs, root } from './support.ts';

const browser = findBrowser({ chosen: undefined, env: process.env, platform: process.platform, exists: existsSync });

describe('a page', function () {
  this.timeout(120_000);
  const written = programs();
  let server: Server;
  let address: string;

  before(function () {
    if (browser.kind === 'missing') {
      console.log(`    left out: ${browser.message.split('\n')[0]}`);
      this.skip();
    }
    server = createServer((request, response) => {
      const path = new URL(request.url!, 'http://x').pathname;
      if (path === '/')
        return void response
          .setHeader('content-type', 'text/html')
          .end('<!doctype html><title>page</title><canvas></canvas><script type="module" src="/src/main.ts"></script>');
      const dependency = /^\/node_modules\/\.vite\/deps\/(.+)\.js$/.exec(path)?.[1];
      response.setHeader('content-type', 'text/javascript');
      if (dependency !== undefined) {
        const entry = dependency.replace(/^(@[^_]+)_/, '$1/');
        const { outputFiles } = buildSync({
          stdin: { contents: `export * from ${JSON.stringify(entry)}`, resolveDir: root },
          bundle: true,
          format: 'esm',
          write: false,
          platform: 'browser',
          logLevel: 'silent',
        });
        return void response.end(outputFiles[0]!.text);
      }
      const file = join(written.folder, path);
      if (!existsSync(file)) return void response.writeHead(404).end();
      const { code } = transformSync(readFileSync(file, 'utf8'), {
        loader: 'ts',
        sourcemap: 'inline',
        sourcefile: file.replace(/.*\//, ''),
        minifyWhitespace: true,
      });
      response.end(code);
    });
    return new Promise<void>((ready) => {
      server.listen(0, '127.0.0.1', () => {
        address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
        ready();
      });
    });
  });
  after(() => {
    server?.close();
    server?.closeAllConnections();
    written.remove();
  });

  async function page(
    source: string,
    options: Partial<PageOptions> = {},
  ): Promise<{ report: ProfileReport; output: string; file: string }> {
    const file = written.write('src/main.ts', source);
    let output = '';
    const result = await profilePage(
      { url: address, cwd: written.folder, seconds: 5, output: (text) => void (output += text), ...options },
      never,
    );
    result.release();
    assert.ok(result.report !== null, result.message ?? '');
    return { report: result.report, output, file };
  }

  it('that leaks a buffer per frame: the line, the function, the growth', async () => {
    const { report, output, file } = await page(`
interface Kept { readonly buffers: GPUBuffer[] }
const device: GPUDevice = await (await navigator.gpu.requestAdapter())!.requestDevice();
const kept: Kept = { buffers: [] };
let frames: number = 0;
function frame(): void {
  kept.buffers.push(device.createBuffer({ size: 1024, usage: GPUBufferUsage.STORAGE })); // allocates 40 x 1024
  const scratch: GPUBuffer = device.createBuffer({ size: 4096, usage: GPUBufferUsage.STORAGE }); // allocates 40 x 4096
  scratch.destroy();
  if ((frames += 1) < 40) requestAnimationFrame(frame);
}
requestAnimationFrame(frame);
console.log('started', 1);
`);
    assert.match(output, /log: started 1/);
    assert.deepEqual(
      report.lines.map(({ file: name, line, allocations, allocatedBytes }) => [name, line, allocations, allocatedBytes]),
      [...marked(file)].map(([line, { count, bytes }]) => ['src/main.ts', line, count, bytes]),
    );
    assert.equal(report.peakBytes, 40 * 1024 + 4096);
    assert.equal(report.liveBytesAtExit, 40 * 1024);
    assert.deepEqual(
      report.leaks.map(({ kind, line, count }) => [kind, line, count]),
      [['growing', 7, 40]],
    );
    const frame = report.functions.find(({ name }) => name === 'frame');
    assert.deepEqual([frame?.line, frame?.calls, frame?.file], [6, 40, 'src/main.ts']);
    assert.match(report.notes!.join(), /memory grew by 1\.0 KiB in each of the last of \d+ rounds/);
    assert.equal(report.device?.kind, 'webgpu');
  });

  it("that uses tfjs and jax-js out of bundled packages: tensors by the page's line", async () => {
    const { report, output } = await page(
      `
import * as tf from '/node_modules/.vite/deps/@tensorflow_tfjs.js';
import { defaultDevice, init, numpy as np } from '/node_modules/.vite/deps/@jax-js_jax.js';
await tf.setBackend('cpu');
const a = tf.zeros([256]);
const b = a.add(tf.ones([256]));
await init('cpu');
defaultDevice('cpu');
const c = np.array(new Float32Array(512).map((_, i) => i));
console.log(b.size, c.refCount, tf.memory().numBytes);
`,
      { seconds: 12 },
    );
    assert.match(output, /256 1 3072/);
    assert.deepEqual(
      report.lines.map(({ file, line, allocatedBytes }) => [file, line, allocatedBytes]),
      [
        ['src/main.ts', 5, 1024],
        ['src/main.ts', 6, 2048],
        ['src/main.ts', 9, 2048],
      ],
    );
    assert.equal(report.liveBytesAtExit, 3072 + 2048);
  });

  it('with a worker of its own: its buffers are on its lines, and free when it ends', async () => {
    written.write(
      'src/worker.ts',
      `
const device: GPUDevice = await (await navigator.gpu.requestAdapter())!.requestDevice();
function make(size: number): GPUBuffer { return device.createBuffer({ size, usage: GPUBufferUsage.STORAGE }); }
const held: GPUBuffer[] = [make(4096), make(4096)];
Object.assign(globalThis, { held });
postMessage(held.length);
`,
    );
    const { report, output } = await page(
      `
const held: unknown[] = [];
const device: GPUDevice = await (await navigator.gpu.requestAdapter())!.requestDevice();
for (const name of ['./worker.ts', './worker.ts?again']) {
  const worker: Worker = new Worker(new URL(name, import.meta.url), { type: 'module' });
  console.log('made', await new Promise((done) => (worker.onmessage = ({ data }) => done(data))));
  await new Promise((done) => setTimeout(done, 500));
  if (name.endsWith('again')) held.push(worker); else worker.terminate();
  await new Promise((done) => setTimeout(done, 500));
  held.push(device.createBuffer({ size: 1024, usage: GPUBufferUsage.STORAGE }));
}
`,
      { seconds: 8 },
    );
    assert.match(output, /made 2[\s\S]*made 2/);
    assert.deepEqual(
      report.lines.map(({ file, line, allocations }) => [file, line, allocations]),
      [
        ['src/main.ts', 10, 2],
        ['src/worker.ts', 3, 4],
      ],
    );
    assert.equal(report.peakBytes, 8192 + 2 * 1024);
    assert.equal(report.liveBytesAtExit, 8192 + 2 * 1024, 'what the first worker held ended with it');
  });

  it('that is loaded again begins anew: what it held is free, and no id is taken for another', async () => {
    const { report } = await page(`
const device: GPUDevice = await (await navigator.gpu.requestAdapter())!.requestDevice();
const again: boolean = sessionStorage.getItem('again') !== null;
const held: GPUBuffer[] = [];
for (let i = 0; i < (again ? 2 : 3); i += 1) held.push(device.createBuffer({ size: 1024, usage: GPUBufferUsage.STORAGE }));
sessionStorage.setItem('again', 'yes');
if (!again) setTimeout(() => location.reload(), 500);
`);
    assert.equal(report.lines[0]?.allocations, 5);
    assert.equal(report.peakBytes, 3 * 1024);
    assert.equal(report.liveBytesAtExit, 2 * 1024);
  });

  it('whose server does not answer is refused before a browser starts', async () => {
    const result = await profilePage({ url: 'http://127.0.0.1:9/', seconds: 1 }, never);
    assert.equal(result.report, null);
    assert.match(result.message!, /nothing answers at http:\/\/127\.0\.0\.1:9\/[\s\S]*start its server first/);
  });
});
