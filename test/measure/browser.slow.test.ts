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
import { main } from '../../language-server/cli/main.ts';
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
      const { pathname: path, searchParams } = new URL(request.url!, 'http://x');
      const script = searchParams.get('page') ?? 'main';
      if (path === '/')
        return void response
          .setHeader('content-type', 'text/html')
          .end(`<!doctype html><title>page</title><canvas></canvas><script type="module" src="/src/${script}.ts"></script>`);
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
      server.listen(0, () => {
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
    assert.deepEqual(
      report.functions.filter(({ name }) => name === 'make').map(({ file, calls }) => [file, calls]),
      [['src/worker.ts', 4]],
      'functions of workers are counted',
    );
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

  it('that is left for another page: each has its lines, and what the first held is free', async () => {
    written.write(
      'src/other.ts',
      `
const device: GPUDevice = await (await navigator.gpu.requestAdapter())!.requestDevice();
Object.assign(globalThis, { held: device.createBuffer({ size: 512, usage: GPUBufferUsage.STORAGE }) });
console.log('there');
`,
    );
    const { report, output } = await page(`
const device: GPUDevice = await (await navigator.gpu.requestAdapter())!.requestDevice();
Object.assign(globalThis, { held: device.createBuffer({ size: 4096, usage: GPUBufferUsage.STORAGE }) });
setTimeout(() => location.assign(location.href.replace('127.0.0.1', 'localhost') + '?page=other'), 500);
`);
    assert.match(output, /there/);
    assert.deepEqual(
      report.lines.map(({ file, line, allocatedBytes }) => [file, line, allocatedBytes]),
      [
        ['src/main.ts', 3, 4096],
        ['src/other.ts', 3, 512],
      ],
    );
    assert.equal(report.peakBytes, 4096);
    assert.equal(report.liveBytesAtExit, 512);
  });

  it('that draws with WebGL, by hand and by tfjs: bytes of both, tensors in use and their textures reserved', async () => {
    const { report, output } = await page(
      `
import * as tf from '/node_modules/.vite/deps/@tensorflow_tfjs.js';
const gl = document.createElement('canvas').getContext('webgl2')!;
const texture = gl.createTexture();
gl.bindTexture(gl.TEXTURE_2D, texture);
gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA32F, 64, 64, 0, gl.RGBA, gl.FLOAT, null);
const vertices = gl.createBuffer();
gl.bindBuffer(gl.ARRAY_BUFFER, vertices);
gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(1000), gl.STATIC_DRAW);
gl.deleteTexture(texture);
Object.assign(globalThis, { gl, vertices });
let asked: number = 4000;
const { texStorage2D, bufferData } = WebGL2RenderingContext.prototype;
Object.assign(WebGL2RenderingContext.prototype, {
  texStorage2D(this: WebGL2RenderingContext, ...args: Parameters<typeof texStorage2D>) {
    asked += args[3] * args[4] * (args[2] === this.RGBA32F ? 16 : NaN);
    return texStorage2D.apply(this, args);
  },
  bufferData(this: WebGL2RenderingContext, ...args: Parameters<typeof bufferData>) {
    asked += typeof args[1] === 'number' ? args[1] : args[1]!.byteLength;
    return bufferData.apply(this, args);
  },
});
await tf.setBackend('webgl');
const a = tf.ones([128, 128]);
const b = a.matMul(a);
await b.data();
console.log('memory', tf.memory().numBytes, asked);
`,
      { seconds: 14 },
    );
    const [, numBytes, asked] = /memory (\d+) (\d+)/.exec(output)!.map(Number);
    assert.deepEqual(
      report.lines.map(({ line, allocatedBytes }) => [line, allocatedBytes]),
      [
        [6, 64 * 64 * 16],
        [9, 4000],
        [25, 128 * 128 * 4],
        [26, 128 * 128 * 4],
      ],
    );
    assert.equal(report.liveBytesAtExit, 4000 + numBytes!);
    assert.equal(report.peakReservedBytes, asked, 'textures and buffers of the library, and those by hand');
    assert.equal(report.device?.kind, 'webgl');
  });

  it('that leaks a frame of its camera: tensors by the line, and the growth', async () => {
    const { report, output } = await page(
      `
import * as tf from '/node_modules/.vite/deps/@tensorflow_tfjs.js';
await tf.setBackend('cpu');
const video: HTMLVideoElement = document.createElement('video');
video.srcObject = await navigator.mediaDevices.getUserMedia({ video: { width: 64, height: 48 } });
await video.play();
const kept: unknown[] = [];
function frame(): void {
  const picture = tf.browser.fromPixels(video);
  kept.push(picture, tf.sum(picture));
  if (kept.length < 60) requestAnimationFrame(frame); else console.log('enough', picture.shape.join());
}
requestAnimationFrame(frame);
`,
      {
        seconds: 14,
        env: { ...process.env, TIDEMARK_CHROME_SWITCHES: '--use-fake-device-for-media-stream --use-fake-ui-for-media-stream' },
      },
    );
    const size = /enough (\d+),(\d+),3/.exec(output);
    assert.ok(size !== null, output);
    const pixels = Number(size[1]) * Number(size[2]) * 3;
    assert.deepEqual(
      report.leaks.map(({ kind, line, count, bytes }) => [kind, line, count, bytes]),
      [
        ['growing', 9, 30, 30 * pixels * 4],
        ['growing', 10, 30, 30 * 4],
      ],
    );
    assert.match(report.notes!.join(), /memory grew by .* in each of the last of \d+ rounds/);
  });

  it('that runs long: figures stay exact, and what is kept of its events is bounded', async () => {
    const { report } = await page(
      `
const device: GPUDevice = await (await navigator.gpu.requestAdapter())!.requestDevice();
const make = (size: number): GPUBuffer => device.createBuffer({ size, usage: GPUBufferUsage.STORAGE });
const held: GPUBuffer = make(256);
for (let round = 0; round < 20; round += 1) {
  for (let i = 0; i < 100; i += 1) make(1024).destroy();
  await new Promise((done) => setTimeout(done, 100));
}
Object.assign(globalThis, { held });
console.log('done');
`,
      { seconds: 7, partBytes: 1 << 14 },
    );
    assert.deepEqual(
      report.lines.map(({ file, line, allocations, allocatedBytes }) => [file, line, allocations, allocatedBytes]),
      [['src/main.ts', 3, 2001, 256 + 2000 * 1024]],
    );
    assert.equal(report.peakBytes, 256 + 1024);
    assert.equal(report.liveBytesAtExit, 256);
  });

  it('is measured from the command line, with a budget', async () => {
    written.write(
      'src/main.ts',
      `
const device: GPUDevice = await (await navigator.gpu.requestAdapter())!.requestDevice();
Object.assign(globalThis, { held: device.createBuffer({ size: 4096, usage: GPUBufferUsage.STORAGE }) });
`,
    );
    let [out, err] = ['', ''];
    const io = {
      cwd: written.folder,
      env: process.env,
      color: false,
      out: (text: string) => void (out += text),
      err: (text: string) => void (err += text),
      readFile: (path: string) => readFileSync(path, 'utf8'),
      writeFile: () => undefined,
      now: () => performance.now(),
    };
    assert.equal(await main(['profile', '--browser', address, '--seconds', '4', '--budget', '1KiB'], io, never), 4);
    assert.match(out, /peak in use +4\.0 KiB at src\/main\.ts:3/);
    assert.match(out, /4\.0 KiB +1× +4\.0 KiB ▲ +3 │ Object\.assign/);
    assert.match(err, /over budget: the peak of 4\.0 KiB is 3\.0 KiB above/);
  });

  it('whose server does not answer is refused before a browser starts', async () => {
    const result = await profilePage({ url: 'http://127.0.0.1:9/', seconds: 1 }, never);
    assert.equal(result.report, null);
    assert.match(result.message!, /nothing answers at http:\/\/127\.0\.0\.1:9\/[\s\S]*start its server first/);
  });
});
