/**
 * Bytes of WebGL's objects, call by call, on a context that does nothing but know what is bound.
 *
 * In a real browser the same is tried with a program and with a library on top (browser.slow). Depends on: instrument, events.
 */
import assert from 'node:assert/strict';
import { createLedger } from '../../runtime/events/ledger.ts';
import type { Event } from '../../runtime/events/event.ts';
import { createRecorder } from '../../runtime/instrument/recorder.ts';
import { watchWebGL } from '../../runtime/instrument/webgl.ts';

const bindingOf: Readonly<Record<number, number>> = {
  0x0de1: 0x8069,
  0x8513: 0x8514,
  0x806f: 0x806a,
  0x8892: 0x8894,
  0x8d41: 0x8ca7,
  0x88eb: 0x88ed,
};
const texture2D = 0x0de1;
const cube = 0x8513;
const texture3D = 0x806f;

/** A context whose calls do nothing; `bind` says what the next ones mean. */
function watchedContext() {
  class Context {
    readonly bound = new Map<number, object | null>();
    bind(target: number, object: object | null): void {
      this.bound.set(bindingOf[target]!, object);
    }
    getParameter(name: number): unknown {
      return name === 0x9246 ? 'ANGLE (Google, Vulkan (SwiftShader Device))' : (this.bound.get(name) ?? null);
    }
    getExtension(): object {
      return {};
    }
    texImage2D(..._args: unknown[]): void {}
    texImage3D(..._args: unknown[]): void {}
    texStorage2D(..._args: unknown[]): void {}
    compressedTexImage2D(..._args: unknown[]): void {}
    generateMipmap(_target: number): void {}
    renderbufferStorageMultisample(..._args: unknown[]): void {}
    bufferData(..._args: unknown[]): void {}
    deleteTexture(_texture: object | null): void {}
    deleteBuffer(_buffer: object | null): void {}
    deleteRenderbuffer(_buffer: object | null): void {}
  }
  const events: Event[] = [];
  const recorder = createRecorder({
    emit: (event) => void events.push(event),
    now: () => events.length,
    owner: (file) => (file.includes('node_modules') || file.startsWith('node:') ? { kind: 'hidden' } : { kind: 'user' }),
    context: { get: () => undefined, set: () => undefined },
    target: {},
  });
  watchWebGL(recorder, { WebGL2RenderingContext: Context }, { arrayLibraries: () => false, passThrough: () => false });
  const context = new Context();
  /** Bytes in use and bytes reserved by all that was recorded. */
  const bytes = (): readonly [number, number] => {
    const ledger = createLedger();
    for (const event of events) ledger.take(event);
    return [ledger.inUse, ledger.reserved];
  };
  return { context, events, bytes };
}

describe('the memory of WebGL', () => {
  it('is held level by level; other room for a level takes the place of what it had', () => {
    const { context, bytes } = watchedContext();
    const texture = {};
    context.bind(texture2D, texture);
    context.texImage2D(texture2D, 0, 0x8814, 64, 32, 0, 0x1908, 0x1406, null); // RGBA32F
    assert.deepEqual(bytes(), [64 * 32 * 16, 64 * 32 * 16]);
    context.texImage2D(texture2D, 0, 0x1908, 64, 32, 0, 0x1908, 0x1401, null); // RGBA of bytes
    context.texImage2D(texture2D, 1, 0x1908, 32, 16, 0, 0x1908, 0x1401, null);
    assert.deepEqual(bytes(), [(64 * 32 + 32 * 16) * 4, (64 * 32 + 32 * 16) * 4]);
    context.deleteTexture(texture);
    context.deleteTexture(texture);
    context.deleteTexture(null);
    assert.deepEqual(bytes(), [0, 0]);
  });

  it('counts all levels and faces that are asked for at once, and those that are made from the largest', () => {
    const { context, bytes } = watchedContext();
    const [sky, volume, picture] = [{}, {}, {}];
    context.bind(cube, sky);
    context.texStorage2D(cube, 3, 0x8058, 16, 16); // RGBA8
    assert.equal(bytes()[0], 6 * (256 + 64 + 16) * 4);
    context.generateMipmap(cube);
    assert.equal(bytes()[0], 6 * (256 + 64 + 16) * 4, 'room for them was there');
    context.deleteTexture(sky);
    context.bind(texture3D, volume);
    context.texImage3D(texture3D, 0, 0x822e, 8, 8, 8, 0, 0x1903, 0x1406, null); // R32F
    context.generateMipmap(texture3D);
    assert.equal(bytes()[0], (512 + 64 + 8 + 1) * 4);
    context.deleteTexture(volume);
    context.bind(texture2D, picture);
    context.texImage2D(texture2D, 0, 0x1908, 0x1908, 0x1401, { videoWidth: 640, videoHeight: 480, width: 1 });
    context.compressedTexImage2D(texture2D, 1, 0x83f0, 10, 6, 0, new Uint8Array(48)); // DXT1
    assert.equal(bytes()[0], 640 * 480 * 4 + 3 * 2 * 8);
  });

  it('of buffers and renderbuffers: by size, by values, by a part of them; by samples', () => {
    const { context, bytes, events } = watchedContext();
    const [vertices, packed, depth] = [{}, {}, {}];
    context.bind(0x8892, vertices);
    context.bufferData(0x8892, new Float32Array(100), 0x88e4);
    assert.equal(bytes()[0], 400);
    context.bufferData(0x8892, new Float32Array(100), 0x88e4, 10, 20);
    assert.equal(bytes()[0], 80);
    context.bind(0x88eb, packed);
    context.bufferData(0x88eb, 1024, 0x88e1);
    assert.equal(bytes()[0], 80 + 1024);
    assert.equal(events.findLast((event) => event.kind === 'allocate')?.what, 'staging');
    context.bind(0x8d41, depth);
    context.renderbufferStorageMultisample(0x8d41, 4, 0x81a5, 10, 10); // DEPTH_COMPONENT16
    assert.equal(bytes()[0], 80 + 1024 + 4 * 200);
    for (const buffer of [vertices, packed]) context.deleteBuffer(buffer);
    context.deleteRenderbuffer(depth);
    assert.deepEqual(bytes(), [0, 0]);
    context.bind(0x8892, null);
    context.bufferData(0x8892, 64, 0x88e4);
    assert.deepEqual(bytes(), [0, 0], 'nothing is bound, so nothing is made');
  });

  it('lies on the line of the call, and the adapter is told once', () => {
    const { context, events } = watchedContext();
    context.bind(texture2D, {});
    context.texImage2D(texture2D, 0, 0x8814, 4, 4, 0, 0x1908, 0x1406, null);
    context.texImage2D(texture2D, 0, 0x8814, 8, 8, 0, 0x1908, 0x1406, null);
    const devices = events.filter((event) => event.kind === 'device');
    assert.deepEqual(
      devices.map(({ device, software }) => [device, software]),
      [['webgl', true]],
    );
    const files = events.flatMap((event) => (event.kind === 'place' ? [event.frames[0]?.file ?? ''] : []));
    assert.equal(files.length, 2);
    for (const file of files) assert.match(file, /webgl\.test\.ts/);
  });
});
