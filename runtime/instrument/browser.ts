/**
 * What is injected into a page, or a worker of it, before its own scripts: records what the page does to memory, and hands the events out in batches.
 *
 * The page's tools give it a function to call with text (a binding); lines go out through it every few moments, so a tab
 * that is closed loses little. Packages are told from the person's files by their address. `finish` is called from
 * outside, after a forced collection. Depends on: the other modules here.
 */
import type { Event, Sink } from '../events/event.ts';
import { sinkKey } from '../events/event.ts';
import { watchJaxJs } from './jax-js.ts';
import { createRecorder } from './recorder.ts';
import type { Context } from './recorder.ts';
import { packageOf } from './stack.ts';
import type { Owner, Stack } from './stack.ts';
import { watchTfjs } from './tfjs.ts';
import { watchWebGL } from './webgl.ts';
import type { GLClasses } from './webgl.ts';
import { watchWebGPU } from './webgpu.ts';
import type { GPUClasses } from './webgpu.ts';
import { createEncoder } from './wire.ts';

/** Names on the global object that the profiler uses from outside. */
export const pageNames = { send: '$tidemarkSend', finish: '$tidemarkFinish', start: '$tidemarkStart' } as const;

const sendEveryMs = 100;
const longestBatch = 1 << 18;

type Page = typeof globalThis & { [pageNames.send]?: (text: string) => void; [pageNames.start]?: number } & Record<string, unknown>;

function watchPage(page: Page): void {
  const send = page[pageNames.send];
  if (typeof send !== 'function' || pageNames.finish in page) return;
  const encoder = createEncoder();
  let gathered = '';
  // The clock of a document or worker begins with it; the run's began before.
  const shift = performance.timeOrigin - (page[pageNames.start] ?? performance.timeOrigin);
  const now = (): number => Math.round((performance.now() + shift) * 1000) / 1000;

  function flush(): void {
    if (gathered === '') return;
    const text = gathered;
    gathered = '';
    send!(text);
  }

  function emit(event: Event): void {
    gathered += encoder.line(event);
    if (gathered.length > longestBatch) flush();
  }

  const recorder = createRecorder({ emit, now, owner: ownerOf, context: lastKnown(), target: page });
  recorder.emit({ kind: 'start', at: now(), version: 1, pid: 0, cwd: '', entry: location.href });
  const sink: Sink = (event) => recorder.relay(event.kind === 'place' ? event : { ...event, at: event.at + shift });
  Object.defineProperty(page, sinkKey, { value: sink, configurable: true, writable: true });
  watchTfjs(recorder, page);
  const flushSlots = watchJaxJs(recorder, page);
  watchWebGPU(recorder, page as unknown as GPUClasses, { arrayLibraries, passThrough: () => false });
  watchWebGL(recorder, page as unknown as GLClasses, { arrayLibraries, passThrough: () => false });
  watchFrames(page, () => recorder.emit({ kind: 'mark', at: now(), name: 'round', text: 'animation frame' }));

  setInterval(() => {
    recorder.settle();
    flushSlots();
    recorder.calls.flush();
    flush();
  }, sendEveryMs);
  addEventListener('pagehide', () => {
    flushSlots();
    recorder.calls.flush();
    flush();
  });
  Object.defineProperty(page, pageNames.finish, {
    value: () => {
      flushSlots();
      // The collection was forced from outside, before this was called.
      recorder.exit(() => undefined);
      recorder.emit({ kind: 'end', at: now(), exitCode: 0 });
      flush();
    },
  });
}

/** Each animation frame in which the page does something is a round. */
function watchFrames(page: Page, round: () => void): void {
  const { requestAnimationFrame: request } = page;
  if (typeof request !== 'function') return;
  let last = -1;
  page.requestAnimationFrame = (callback) =>
    request.call(page, (time) => {
      if (time !== last) round();
      last = time;
      callback(time);
    });
}

/** A page has nothing that follows an await; a frame without a user's line is charged to nobody. */
const lastKnown = (): Context => ({ get: (): Stack | undefined => undefined, set: () => undefined });

const arrayLibraries = (name: string): boolean =>
  name === 'tidemark' || name === '@jax-js/jax' || name.startsWith('@tensorflow/') || name === bundledName;

/** What a development server calls a package that it put together of several. */
const bundledName = '(dependencies)';

export function ownerOf(file: string): Owner {
  if (!/^(https?|blob|file|webpack-internal):/.test(file)) return { kind: 'hidden' };
  const path = file.replace(/[?#].*$/, '');
  const optimized = /\/\.vite\/deps\/([^/]+)\.m?js$/.exec(path)?.[1];
  if (optimized !== undefined)
    return {
      kind: 'library',
      name: optimized.startsWith('chunk-') ? bundledName : optimized.replace(/^(@[^_]+)_/, '$1/').replace(/___.*|_dist_.*/, ''),
    };
  if (/\/@vite\/|\/@react-refresh/.test(path)) return { kind: 'hidden' };
  const name = packageOf(path);
  return name === undefined ? { kind: 'user' } : { kind: 'library', name };
}

watchPage(globalThis as Page);
