/**
 * The timeline in its webview: memory over the run, the arrays alive at the chosen moment, the allocator, the arenas.
 *
 * Mouse and keyboard do the same: wheel or +/- zoom, drag or arrows pan, click or shift-arrows choose the moment, / finds. The
 * table says in words what the chart says in colour. Depends on: chart, series, raster, table, slabs, arena, texts, messages, core/bytes.
 */
import { writeBytes } from '../../../runtime/core/bytes.ts';
import type { FromView, Recording, Site, ToView } from '../messages.ts';
import { showArenas } from './arena.ts';
import { createChart, padding, topOf, type Theme, type Viewport } from './chart.ts';
import { bandAt, packed, palette } from './raster.ts';
import { aliveAt, highestOf, series, type Series } from './series.ts';
import { showSlabs } from './slabs.ts';
import { fillRows, walkRows } from './table.ts';
import { t } from './texts.ts';

declare function acquireVsCodeApi(): { postMessage(message: FromView): void };

const vscode = acquireVsCodeApi();
const element = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;
const plot = element('plot');
const chart = createChart(plot, element<HTMLCanvasElement>('chart'), element<HTMLCanvasElement>('over'));

interface Shown extends Viewport {
  readonly name: string;
  readonly recording: Recording;
  range: { from: number; to: number };
  axis: 'steps' | 'time';
  chosen: number;
  search: string;
}

let shown: Shown | undefined;
let theme: Theme = { colours: new Uint32Array(0), line: 0, text: '#888', peak: '#e08a3c', font: '11px sans-serif' };
let frame = 0;

window.addEventListener('message', ({ data }: MessageEvent<ToView>) => {
  switch (data.kind) {
    case 'failed':
      element('status').textContent = data.message;
      document.body.classList.add('failed');
      return;
    case 'find':
      return find(data);
    case 'recording':
      return show(data);
  }
});

function show({ name, report, recording, arenas }: Extract<ToView, { kind: 'recording' }>): void {
  const all = series(recording);
  document.body.classList.remove('failed');
  document.body.classList.toggle('empty', all.steps === 0);
  shown = { name, recording, all, range: { from: 0, to: Math.max(1, all.steps) }, axis: 'steps', chosen: all.peak.step, search: '' };
  element<HTMLInputElement>('search').value = '';
  const device =
    report.device === null
      ? ''
      : ` · ${report.device.kind}${report.device.software && report.device.kind !== 'cpu' ? ` ${t('in software')}` : ''}`;
  element('status').textContent =
    `${report.entry}${device} · ${t('peak {0} · reserved {1} · {2} changes', writeBytes(report.peakBytes), writeBytes(report.peakReservedBytes), all.steps.toLocaleString())}`;
  element('notes').replaceChildren(
    ...(report.notes ?? []).map((note) => Object.assign(document.createElement('p'), { textContent: note })),
  );
  showArenas(element('arenas'), arenas, recording.sites, open);
  chart.resize();
  restyle();
  warmUp(shown);
  choose(all.peak.step);
}

/** The first touch finds compiled code: both ways of filling columns, and the painting, are gone a few times before. */
function warmUp(now: Shown): void {
  const { all } = now;
  if (all.steps < 10_000) return;
  for (let round = 0; round < 4; round += 1)
    for (const span of [all.steps, 2000]) chart.draw({ ...now, range: { from: 0, to: span } }, theme);
}

new ResizeObserver(() => {
  chart.resize();
  draw();
}).observe(plot);
new MutationObserver(restyle).observe(document.body, { attributes: true, attributeFilter: ['class'] });

function open(site: Site): void {
  if (site.line > 0) vscode.postMessage({ kind: 'open', file: site.file, line: site.line });
}

const isDark = (): boolean =>
  !document.body.classList.contains('vscode-light') && !document.body.classList.contains('vscode-high-contrast-light');

function restyle(): void {
  if (shown === undefined) return;
  const { all, recording, search } = shown;
  const found = (site: number): boolean => search === '' || site < 0 || words(recording.sites[site]!).toLowerCase().includes(search);
  const style = getComputedStyle(document.body);
  const contrast =
    document.body.classList.contains('vscode-high-contrast') || document.body.classList.contains('vscode-high-contrast-light');
  theme = {
    colours: Uint32Array.from(palette(all.bands, isDark()), (colour, band) =>
      packed(all.sites[band] === -1 ? [128, 128, 128] : colour, found(all.sites[band] ?? -1) ? 255 : 50),
    ),
    line: packed(isDark() ? [16, 16, 16] : [255, 255, 255], contrast ? 255 : 190),
    text: style.getPropertyValue('--vscode-foreground') || '#888',
    peak: style.getPropertyValue('--vscode-tidemark-peak') || '#e08a3c',
    font: `11px ${style.getPropertyValue('--vscode-font-family') || 'sans-serif'}`,
  };
  draw();
}

const words = ({ file, line }: Site): string => (line > 0 ? `${file}:${line}` : file === '' ? t('unknown') : file);
const bandWords = (band: number): string => {
  const site = shown!.all.sites[band] ?? -1;
  return site === -1 ? t('all other lines') : words(shown!.recording.sites[site]!);
};

/** Draws once per frame, however many events ask for it. */
function draw(): void {
  if (frame === 0) frame = requestAnimationFrame(drawFrame);
}

function drawFrame(): void {
  frame = 0;
  if (shown === undefined) return;
  performance.mark('tidemark-start');
  chart.draw(shown, theme);
  performance.measure('tidemark-frame', 'tidemark-start');
  performance.clearMarks('tidemark-start');
}

/* Choosing a moment, and what was there then. */

function choose(step: number): void {
  if (shown === undefined) return;
  shown.chosen = Math.max(0, Math.min(shown.all.steps - 1, step));
  draw();
  tell(shown);
}

let telling: ReturnType<typeof setTimeout> | undefined;
/** Table and allocator follow once the moment rests. */
function tell(now: Shown): void {
  clearTimeout(telling);
  telling = setTimeout(() => {
    const { recording, chosen, search, all } = now;
    const rows = aliveAt(recording, chosen).filter(
      ({ site, label }) => search === '' || `${words(recording.sites[site]!)} ${recording.labels[label]}`.toLowerCase().includes(search),
    );
    const bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
    const count = rows.reduce((sum, row) => sum + row.count, 0);
    const atPeak = chosen === all.peak.step ? ` (${t('the peak')})` : '';
    element('moment').textContent = t(
      '{0} arrays, {1} alive at change {2}, {3} s after the start',
      count.toLocaleString(),
      writeBytes(bytes),
      `${chosen.toLocaleString()}${atPeak}`,
      ((all.at[chosen] ?? 0) / 1000).toFixed(3),
    );
    const context = { recording, colour: (site: number) => colourOf(all, site), words, open };
    fillRows(element('rows'), rows, context);
    showSlabs(element('slabs'), chosen, context);
  }, 30);
}
walkRows(element('rows'));

function colourOf(all: Series, site: number): string {
  const band = all.sites.indexOf(site);
  const pixel = theme.colours[band >= 0 ? band : all.bands - 1] ?? 0;
  return `rgb(${pixel & 255} ${(pixel >> 8) & 255} ${(pixel >> 16) & 255})`;
}

/** From a line of source: its bands stand out, at the moment when they held most. */
function find({ file, line }: { readonly file: string; readonly line: number }): void {
  if (shown === undefined) return;
  const { recording } = shown;
  const own = recording.sites.flatMap((site, i) =>
    site.line === line && (file === site.file || file.endsWith(`/${site.file}`)) ? [i] : [],
  );
  const site = own[0] === undefined ? undefined : recording.sites[own[0]];
  seek(site === undefined ? `${file.split('/').at(-1)}:${line}` : words(site));
}

function seek(text: string): void {
  if (shown === undefined) return;
  element<HTMLInputElement>('search').value = text;
  shown.search = text.trim().toLowerCase();
  restyle();
  toFound();
}

/** To the moment at which what is searched for held most. */
function toFound(): void {
  if (shown === undefined || shown.search === '') return;
  const { recording, search } = shown;
  const found = new Set(recording.sites.flatMap((site, i) => (words(site).toLowerCase().includes(search) ? [i] : [])));
  const step = highestOf(recording, found);
  if (step === undefined) return tell(shown);
  reveal(step);
  choose(step);
}

/* Moving about. */

function zoom(by: number, around: number): void {
  if (shown === undefined) return;
  const { range } = shown;
  const [least, most] = [shown.axis === 'steps' ? 4 : 0.05, end(shown)];
  const span = Math.max(least, Math.min(most, (range.to - range.from) * by));
  const at = range.from + (range.to - range.from) * around;
  const from = Math.max(0, Math.min(most - span, at - span * around));
  shown.range = { from, to: from + span };
  draw();
}

function pan(by: number): void {
  if (shown === undefined) return;
  const { from, to } = shown.range;
  const moved = Math.max(-from, Math.min(end(shown) - to, (to - from) * by));
  shown.range = { from: from + moved, to: to + moved };
  draw();
}

const end = ({ all, axis }: Shown): number => Math.max(1, axis === 'steps' ? all.steps : (all.at[all.steps - 1] ?? 0));

function reset(): void {
  if (shown === undefined) return;
  shown.range = { from: 0, to: end(shown) };
  draw();
}

/** Pans so that a step is in sight. */
function reveal(step: number): void {
  if (shown === undefined) return;
  const { all, axis, range } = shown;
  const where = axis === 'steps' ? step : all.at[step]!;
  if (range.from <= where && where < range.to) return;
  const span = range.to - range.from;
  const from = Math.max(0, Math.min(end(shown) - span, where - span / 2));
  shown.range = { from, to: from + span };
}

function toPeak(): void {
  if (shown === undefined) return;
  const { all } = shown;
  const at = shown.axis === 'steps' ? all.peak.step : all.at[all.peak.step]!;
  const span = Math.min(end(shown), Math.max(end(shown) / 50, shown.axis === 'steps' ? 60 : 1));
  const from = Math.max(0, Math.min(end(shown) - span, at - span / 2));
  shown.range = { from, to: from + span };
  choose(all.peak.step);
}

const at = (event: MouseEvent): number => (event.offsetX - padding.left) / chart.width();
plot.addEventListener(
  'wheel',
  (event) => {
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan(event.deltaX / chart.width());
    else zoom(1.0015 ** event.deltaY, Math.max(0, Math.min(1, at(event))));
  },
  { passive: false },
);
let dragged: { x: number; moved: boolean } | undefined;
plot.addEventListener('pointerdown', (event) => {
  dragged = { x: event.clientX, moved: false };
  plot.setPointerCapture(event.pointerId);
});
plot.addEventListener('pointermove', (event) => {
  if (dragged !== undefined) {
    const by = event.clientX - dragged.x;
    if (!dragged.moved && Math.abs(by) < 4) return;
    dragged = { x: event.clientX, moved: true };
    pan(-by / chart.width());
  } else point(event);
});
plot.addEventListener('pointerup', (event) => {
  if (dragged?.moved === false) pick(event);
  dragged = undefined;
});
plot.addEventListener('dblclick', (event) => {
  const site = under(event);
  if (site !== undefined) open(site);
});

function columnUnder(event: MouseEvent): number | undefined {
  const x = Math.floor(at(event) * chart.width());
  return shown === undefined || x < 0 || x >= chart.width() ? undefined : x;
}

function bandUnder(event: MouseEvent): number | undefined {
  const x = columnUnder(event);
  if (x === undefined) return undefined;
  const bytes = (1 - (event.offsetY - padding.top) / chart.height()) * topOf(shown!.all);
  return bandAt(chart.shown()!, shown!.all.bands, x, bytes);
}

function under(event: MouseEvent): Site | undefined {
  const band = bandUnder(event);
  const site = band === undefined ? -1 : (shown!.all.sites[band] ?? -1);
  return site < 0 ? undefined : shown!.recording.sites[site];
}

function point(event: MouseEvent): void {
  const [x, band] = [columnUnder(event), bandUnder(event)];
  const tip = element('tip');
  tip.hidden = x === undefined;
  if (x === undefined) return;
  const { all } = shown!;
  const last = chart.shown()!;
  const inUse = writeBytes(last.total[x]!);
  tip.textContent =
    band === undefined
      ? t('{0} in use', inUse)
      : t('{0}: {1} of {2} in use', bandWords(band), writeBytes(last.bands[x * all.bands + band]!), inUse);
  tip.style.left = `${Math.min(event.offsetX + 14, plot.clientWidth - tip.offsetWidth - 8)}px`;
  tip.style.top = `${Math.max(0, event.offsetY - 30)}px`;
}
plot.addEventListener('pointerleave', () => (element('tip').hidden = true));

function pick(event: MouseEvent): void {
  const x = columnUnder(event);
  if (x !== undefined) choose(chart.shown()!.step[x]!);
}

const keys: Readonly<Record<string, () => void>> = {
  '+': () => zoom(0.7, 0.5),
  '=': () => zoom(0.7, 0.5),
  '-': () => zoom(1 / 0.7, 0.5),
  ArrowLeft: () => pan(-0.1),
  ArrowRight: () => pan(0.1),
  Home: reset,
  p: toPeak,
  P: toPeak,
  t: () => element('axis').click(),
  T: () => element('axis').click(),
  '/': () => element('search').focus(),
};
plot.addEventListener('keydown', (event) => {
  if (shown === undefined) return;
  const moved = event.shiftKey && event.key.startsWith('Arrow') ? (event.key === 'ArrowLeft' ? -1 : 1) : 0;
  const action = moved !== 0 ? () => choose(shown!.chosen + moved) : keys[event.key];
  if (action === undefined) return;
  event.preventDefault();
  action();
});
element('fit').addEventListener('click', reset);
element('to-peak').addEventListener('click', toPeak);
element('axis').addEventListener('click', () => {
  if (shown === undefined) return;
  shown.axis = shown.axis === 'steps' ? 'time' : 'steps';
  element('axis').textContent = shown.axis === 'steps' ? t('By time') : t('By change');
  reset();
});
element<HTMLInputElement>('search').addEventListener('input', ({ target }) => {
  if (shown === undefined) return;
  shown.search = (target as HTMLInputElement).value.trim().toLowerCase();
  restyle();
  tell(shown);
});
element('search').addEventListener('keydown', (event) => {
  if (event.key === 'Enter') toFound();
  if (event.key !== 'Escape') return;
  seek('');
  plot.focus();
});

vscode.postMessage({ kind: 'ready' });
