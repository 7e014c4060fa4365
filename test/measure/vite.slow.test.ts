/**
 * A page as people write it, on the server that they write it with: Vite's dev server, its modules, its maps, its bundled packages.
 *
 * Two modules of TypeScript take a picture of the camera at every frame and keep something of each. Without a browser on
 * the machine the tests are left out, and say so. Depends on: measure, vite.
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { createServer as createListener } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { createServer } from 'vite';
import type { ViteDevServer } from 'vite';
import { findBrowser } from '../../language-server/measure/browser-path.ts';
import { profilePage } from '../../language-server/measure/browser.ts';
import type { ProfileReport } from '../../language-server/protocol.ts';
import { marked, programs } from './support.ts';

const browser = findBrowser({ chosen: undefined, env: process.env, platform: process.platform, exists: existsSync });

const files: Readonly<Record<string, string>> = {
  'package.json': '{ "name": "camera", "private": true, "type": "module" }',
  'index.html': '<!doctype html><title>camera</title><video muted></video><script type="module" src="/src/main.ts"></script>',
  'src/settings.ts': `
/** Types and comments, so that lines of the served text are not those of the file. */
export interface Settings { readonly width: number; readonly frames: number }

export enum Backend { Cpu = 'cpu' }

export const settings: Settings = { width: 64, frames: 40 };
`,
  'src/camera.ts': `
import type { Settings } from './settings';

type Opened = Promise<HTMLVideoElement>;

export async function open({ width }: Settings): Opened {
  const video = document.querySelector('video')!;
  video.srcObject = await navigator.mediaDevices.getUserMedia({ video: { width, height: 48 } });
  await video.play();
  return video;
}
`,
  'src/main.ts': `
import * as tf from '@tensorflow/tfjs';
import { open } from './camera';
import { Backend, settings } from './settings';

interface Kept { readonly tensors: tf.Tensor[] }

const kept: Kept = { tensors: [] };
const device: GPUDevice = await (await navigator.gpu.requestAdapter())!.requestDevice();
await tf.setBackend(Backend.Cpu);
const video: HTMLVideoElement = await open(settings);

class Frames {
  private taken = 0;

  take(): void {
    const uniforms: GPUBuffer = device.createBuffer({ size: 1024, usage: GPUBufferUsage.UNIFORM }); // allocates 40 x 1024
    const scratch: GPUBuffer = device.createBuffer({ size: 4096, usage: GPUBufferUsage.STORAGE }); // allocates 40 x 4096
    const picture = tf.browser.fromPixels(video);
    kept.tensors.push(tf.sum(picture)); // allocates 40 x 4
    picture.dispose();
    scratch.destroy();
    Object.assign(globalThis, { ['uniforms ' + this.taken]: uniforms });
    if ((this.taken += 1) < settings.frames) requestAnimationFrame(() => this.take());
    else console.log('enough', kept.tensors.length, tf.memory().numBytes);
  }
}
new Frames().take();
`,
};

/** What a browser asks of hosts that are not this machine arrives here, and nowhere else. */
async function outside(): Promise<{ readonly server: Server; readonly asked: string[] }> {
  const asked: string[] = [];
  const server = createListener((socket) => {
    socket.once('data', (data) => asked.push(data.toString('latin1').split('\r\n')[0]!));
    socket.once('data', () => socket.destroy());
    socket.on('error', () => undefined);
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  return { server, asked };
}

const browserFolders = (): readonly string[] => readdirSync(tmpdir()).filter((name) => name.startsWith('tidemark-browser-'));

describe('a page of a Vite project', function () {
  this.timeout(240_000);
  const written = programs();
  let vite: ViteDevServer;
  let net: Awaited<ReturnType<typeof outside>>;

  before(async function () {
    if (browser.kind === 'missing') {
      console.log(`    left out: ${browser.message.split('\n')[0]}`);
      this.skip();
    }
    for (const [name, text] of Object.entries(files)) written.write(name, text);
    net = await outside();
    vite = await createServer({
      configFile: false,
      root: written.folder,
      logLevel: 'silent',
      clearScreen: false,
      server: { host: '127.0.0.1', port: 0 },
      // As on every start but the first: a page is loaded anew when a package was bundled while it ran.
      optimizeDeps: { include: ['@tensorflow/tfjs'] },
    });
    await vite.listen();
  });
  after(async () => {
    await vite?.close();
    net?.server.close();
    written.remove();
  });

  it('that keeps something of every frame of its camera: lines, growth, functions, and nothing else', async () => {
    const { port } = vite.httpServer!.address() as AddressInfo;
    const proxy = `--proxy-server=127.0.0.1:${(net.server.address() as AddressInfo).port}`;
    const before = browserFolders();
    let output = '';
    let stop = (): void => undefined;
    const untilEnough = {
      isCancellationRequested: false,
      onCancellationRequested: (listener: () => void) => ((stop = listener), { dispose: () => undefined }),
    };
    const result = await profilePage(
      {
        url: `http://127.0.0.1:${port}/`,
        cwd: written.folder,
        seconds: 120,
        output(text) {
          output += text;
          if (text.includes('enough')) stop();
        },
        env: {
          ...process.env,
          TIDEMARK_CHROME_SWITCHES: `--use-fake-device-for-media-stream --use-fake-ui-for-media-stream ${proxy}`,
        },
      },
      untilEnough,
    );
    result.release();
    const report: ProfileReport = result.report!;
    assert.match(output, /log: enough 40 160/, 'the page came to its end');

    const main = `${written.folder}/src/main.ts`;
    const exact = report.lines.filter(({ line }) => line !== pictureLine);
    const pictures = report.lines.filter(({ line }) => line === pictureLine);
    assert.deepEqual(
      exact.map(({ file, line, allocations, allocatedBytes }) => [file, line, allocations, allocatedBytes]),
      [...marked(main)].map(([line, { count, bytes }]) => ['src/main.ts', line, count, bytes]),
    );
    assert.deepEqual(
      pictures.map(({ file, allocations }) => [file, allocations]),
      [['src/main.ts', 40]],
    );
    assert.equal(report.liveBytesAtExit, 40 * (1024 + 4));
    assert.deepEqual(
      report.leaks.map(({ kind, file, line, count, bytes }) => [kind, file, line, count, bytes]),
      [
        ['growing', 'src/main.ts', 17, 40, 40 * 1024],
        ['growing', 'src/main.ts', 20, 40, 40 * 4],
      ],
    );
    assert.match(report.notes!.join(), /memory grew by 1\.0 KiB in each of the last of \d+ rounds/);
    const take = report.functions.find(({ name }) => name.endsWith('take'));
    assert.deepEqual([take?.name, take?.file, take?.line, take?.calls], ['Frames.take', 'src/main.ts', 16, 40]);
    assert.deepEqual(
      report.functions.filter(({ file }) => !file.startsWith('src/')).map(({ file, name }) => `${file} ${name}`),
      [],
      'neither the server nor a package is shown as code of the person',
    );
    assert.deepEqual(net.asked, [], 'nothing but this machine was asked for anything');
    assert.deepEqual(browserFolders(), before, 'the browser left nothing behind');
  });
});

const pictureLine = 19;
