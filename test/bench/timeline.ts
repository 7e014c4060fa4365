/**
 * How long the timeline's script takes per frame of panning, zooming and searching, over a run of a million events.
 *
 * `node --import tsx test/bench/timeline.ts [EVENTS]`: the view in Chromium, 1280 pixels wide; prints percentiles of the
 * view's own measures.
 *
 * Why the view draws by itself: libraries on the same million changes, 1,256 pixels wide, panning over half of the run,
 * script per frame in milliseconds (median, p95 of 30), on the same two busy cores:
 *
 *     uPlot 1.6.32    the total alone      29      98      thirty stacked lines   1,051   1,644
 *     ECharts 6.1.0   the total alone     110     205      thirty, of 100,000     5,576   8,382   (of a million: over 120 s)
 *     this view                                            thirty stacked lines     1.3     5.1
 *
 * Depends on: extension/timeline, esbuild, playwright-core.
 */
import { readFileSync } from 'node:fs';
import { build } from 'esbuild';
import { chromium } from 'playwright-core';
import { createRecorder } from '../../extension/timeline/recording.ts';
import type { ProfileReport } from '../../language-server/protocol.ts';

declare global {
  interface Window {
    received: number[];
  }
}

const wanted = Number(process.argv[2] ?? 1_000_000);

/** A training loop on forty lines: arrays of a step die with it, some live on, sizes as they are in practice. */
function recordRun(events: number) {
  const recorder = createRecorder();
  const lines = 40;
  for (let line = 1; line <= lines; line += 1)
    recorder.take({ kind: 'place', id: line, frames: [{ file: `src/model-${line % 5}.ts`, line, column: 3 }] });
  let seed = 7;
  const random = (below: number): number => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) % below;
  let id = 0;
  const live: number[] = [];
  for (let event = 0; event < events; event += 1) {
    const at = event / 40;
    const burst = (event % 20_000) / 20_000;
    if (live.length > 0 && random(1000) < (burst > 0.7 ? 800 : 420))
      recorder.take({ kind: 'free', at, id: live.splice(random(live.length), 1)[0]!, how: 'dispose' });
    else {
      live.push(id);
      recorder.take({
        kind: 'allocate',
        at,
        id,
        bytes: 256 * (1 + random(4000)),
        place: 1 + random(lines),
        layer: 'tidemark',
        what: 'array',
        shape: [1 + random(8), 128],
        dtype: 'float32',
      });
      id += 1;
    }
    if (live.length > 3000) while (live.length > 100) recorder.take({ kind: 'free', at, id: live.pop()!, how: 'dispose' });
  }
  return recorder.result();
}

/** The view as the extension ships it. */
async function bundledView(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: ['extension/timeline/view/main.ts'],
    bundle: true,
    write: false,
    minify: true,
    format: 'iife',
    target: 'es2022',
  });
  return outputFiles[0]!.text;
}

const started = performance.now();
const { recording, arenas } = recordRun(wanted);
console.log(
  `${recording.at.length.toLocaleString('en')} changes, ${recording.born.length.toLocaleString('en')} arrays, recorded in ${Math.round(performance.now() - started)} ms`,
);

const report = { version: 1, entry: 'bench', device: null, peakBytes: 0, peakReservedBytes: 0, notes: [] } as unknown as ProfileReport;
const browser = await chromium.launch({ executablePath: process.env['TIDEMARK_CHROME'] ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  const skeleton = /<header>([\s\S]*)<\/main>/.exec(readFileSync('extension/timeline/panel.ts', 'utf8'))![0].replace(/\$\{[^}]*\}/g, 'x');
  await page.setContent(
    `<!DOCTYPE html><html><style>${readFileSync('extension/timeline/view/style.css', 'utf8')}</style><body>${skeleton}</body></html>`,
  );
  await page.addScriptTag({ content: 'globalThis.acquireVsCodeApi = () => ({ postMessage() {} }); globalThis.__name = (one) => one;' });
  await page.addScriptTag({ content: await bundledView() });
  const fields = ['at', 'site', 'delta', 'reserved', 'born', 'died', 'bytes', 'blockSite', 'label', 'slab', 'offset'] as const;
  for (const name of fields) {
    const bytes = Buffer.from(recording[name].buffer, recording[name].byteOffset, recording[name].byteLength).toString('base64');
    for (let from = 0; from < bytes.length; from += 8_000_000) {
      await page.evaluate(
        ([key, text]) =>
          ((globalThis as unknown as Record<string, string>)[key!] =
            ((globalThis as unknown as Record<string, string>)[key!] ?? '') + text),
        [name, bytes.slice(from, from + 8_000_000)],
      );
    }
  }
  const figures = await page.evaluate(
    async ({ small, kinds }) => {
      const all = globalThis as unknown as Record<string, string>;
      const typed = Object.fromEntries(
        Object.entries(kinds).map(([name, kind]) => {
          const { buffer } = Uint8Array.from(atob(all[name]!), (letter) => letter.charCodeAt(0));
          return [name, kind === 'f' ? new Float64Array(buffer) : new Uint32Array(buffer)];
        }),
      );
      const opened = performance.now();
      window.postMessage({
        kind: 'recording',
        name: 'bench',
        report: small.report,
        recording: { ...typed, sites: small.sites, labels: small.labels, slabs: small.slabs },
        arenas: small.arenas,
      });
      const frame = (): Promise<number> => new Promise((resolve) => requestAnimationFrame(resolve));
      while (performance.getEntriesByName('tidemark-frame').length === 0) await frame();
      const openMs = performance.now() - opened;
      const plot = document.getElementById('plot')!;
      const key = (name: string): boolean => plot.dispatchEvent(new KeyboardEvent('keydown', { key: name, bubbles: true }));
      const measure = async (act: (round: number) => void, rounds: number): Promise<number[]> => {
        performance.clearMeasures();
        for (let round = 0; round < rounds; round += 1) {
          act(round);
          await frame();
          await frame();
        }
        return performance.getEntriesByName('tidemark-frame').map(({ duration }) => duration);
      };
      const frames: Record<string, number[]> = {};
      frames['zooming in'] = await measure(() => key('+'), 25);
      frames['panning close up'] = await measure((round) => key(round % 30 < 15 ? 'ArrowRight' : 'ArrowLeft'), 90);
      frames['zooming out'] = await measure(() => key('-'), 14);
      frames['panning wide'] = await measure((round) => key(round % 30 < 15 ? 'ArrowRight' : 'ArrowLeft'), 90);
      key('Home');
      frames['whole run'] = await measure((round) => key(round % 2 === 0 ? '+' : '-'), 60);
      return { openMs, frames };
    },
    {
      small: { report, arenas, sites: recording.sites, labels: recording.labels, slabs: recording.slabs },
      kinds: Object.fromEntries(fields.map((name) => [name, recording[name] instanceof Float64Array ? 'f' : 'u'])),
    },
  );
  console.log(`first picture ${Math.round(figures.openMs)} ms after the message`);
  let worst = 0;
  for (const [what, durations] of Object.entries(figures.frames)) {
    const sorted = durations.toSorted((a, b) => a - b);
    const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
    worst = Math.max(worst, at(0.95));
    console.log(
      `${what.padEnd(18)} ${sorted.length} frames: median ${at(0.5).toFixed(1)} ms, p95 ${at(0.95).toFixed(1)} ms, most ${at(1).toFixed(1)} ms`,
    );
  }
  console.log(worst <= 8 ? 'p95 within 8 ms of script per frame' : `p95 ${worst.toFixed(1)} ms: over the 8 ms of script per frame`);
} finally {
  await browser.close();
}
