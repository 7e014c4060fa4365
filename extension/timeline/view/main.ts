/**
 * The timeline in its webview: memory over the run, the arrays alive at the chosen moment, the arenas of compiled calls.
 *
 * Mouse and keyboard do the same: wheel or +/- zoom, drag or arrows pan, click or shift-arrows choose the moment. The
 * table says in words what the chart says in colour. Depends on: series, raster, axis, arena, messages, core/bytes.
 */
import { writeBytes } from '../../../runtime/core/bytes.ts';
import type { FromView, Recording, Site, ToView } from '../messages.ts';
import { ticks } from './axis.ts';
import { showArenas } from './arena.ts';
import { bandAt, packed, paint, palette } from './raster.ts';
import { aliveAt, columns, series, stepAt, type Columns, type Series } from './series.ts';

declare function acquireVsCodeApi(): { postMessage(message: FromView): void };

const vscode = acquireVsCodeApi();
const element = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;
const [chart, over] = [element<HTMLCanvasElement>('chart'), element<HTMLCanvasElement>('over')];
const padding = { left: 76, right: 12, top: 14, bottom: 24 };

interface Shown {
  readonly name: string;
  readonly recording: Recording;
  readonly all: Series;
  /** Visible part of the axis: steps, or milliseconds. */
  range: { from: number; to: number };
  axis: 'steps' | 'time';
  chosen: number;
  search: string;
  last: Columns | undefined;
}

let shown: Shown | undefined;
let colours = new Uint32Array(0);
let frame = 0;

window.addEventListener('message', ({ data }: MessageEvent<ToView>) => {
  if (data.kind === 'failed') {
    element('status').textContent = data.message;
    document.body.classList.add('failed');
    return;
  }
  const all = series(data.recording);
  shown = {
    name: data.name,
    recording: data.recording,
    all,
    range: { from: 0, to: all.steps },
    axis: 'steps',
    chosen: all.peak.step,
    search: '',
    last: undefined,
  };
  const { report } = data;
  const device =
    report.device === null ? '' : ` · ${report.device.kind}${report.device.software && report.device.kind !== 'cpu' ? ' in software' : ''}`;
  element('status').textContent =
    `${report.entry}${device} · peak ${writeBytes(report.peakBytes)} · reserved ${writeBytes(report.peakReservedBytes)} · ${all.steps.toLocaleString()} changes`;
  for (const note of report.notes ?? []) element('notes').append(Object.assign(document.createElement('p'), { textContent: note }));
  showArenas(element('arenas'), data.arenas, data.recording.sites, open);
  restyle();
  choose(all.peak.step);
});
new ResizeObserver(() => draw()).observe(element('plot'));
new MutationObserver(restyle).observe(document.body, { attributes: true, attributeFilter: ['class'] });

function open(site: Site): void {
  if (site.line > 0) vscode.postMessage({ kind: 'open', file: site.file, line: site.line });
}

function restyle(): void {
  if (shown === undefined) return;
  const dark = !document.body.classList.contains('vscode-light') && !document.body.classList.contains('vscode-high-contrast-light');
  const { all, recording, search } = shown;
  const found = (site: number): boolean => search === '' || site < 0 || words(recording.sites[site]!).toLowerCase().includes(search);
  colours = Uint32Array.from(palette(all.bands, dark), (colour, band) =>
    packed(all.sites[band] === -1 ? [128, 128, 128] : colour, found(all.sites[band] ?? -1) ? 255 : 50),
  );
  draw();
}

const words = ({ file, line }: Site): string => (line > 0 ? `${file}:${line}` : file === '' ? 'unknown' : file);
const bandWords = (band: number): string => {
  const site = shown!.all.sites[band] ?? -1;
  return site === -1 ? 'all other lines' : words(shown!.recording.sites[site]!);
};

/** Draws once per frame, however many events ask for it. */
function draw(): void {
  if (frame !== 0) return;
  frame = requestAnimationFrame(() => {
    frame = 0;
    if (shown === undefined) return;
    performance.mark('tidemark-start');
    drawChart(shown);
    drawOver(shown);
    performance.measure('tidemark-frame', 'tidemark-start');
    performance.clearMarks('tidemark-start');
  });
}

function size(): { width: number; height: number } {
  const { clientWidth, clientHeight } = element('plot');
  return {
    width: Math.max(50, clientWidth - padding.left - padding.right),
    height: Math.max(50, clientHeight - padding.top - padding.bottom),
  };
}

function edges({ all, range, axis }: Shown, width: number): Float64Array {
  const result = new Float64Array(width + 1);
  for (let x = 0; x <= width; x += 1) {
    const at = range.from + ((range.to - range.from) * x) / width;
    result[x] = axis === 'steps' ? at : stepAt(all, at);
  }
  return result;
}

const top = ({ all }: Shown): number => all.peak.bytes * 1.06 || 1;

let image: ImageData | undefined;
function drawChart(now: Shown): void {
  const { width, height } = size();
  if (chart.width !== width || chart.height !== height || image === undefined) {
    chart.width = width;
    chart.height = height;
    Object.assign(chart.style, { left: `${padding.left}px`, top: `${padding.top}px`, width: `${width}px`, height: `${height}px` });
    image = new ImageData(width, height);
  }
  now.last = columns(now.all, edges(now, width));
  paint({ width, height, pixels: new Uint32Array(image.data.buffer) }, now.last, now.all.bands, colours, top(now));
  chart.getContext('2d')!.putImageData(image, 0, 0);
}

function drawOver(now: Shown): void {
  const { width, height } = size();
  const density = window.devicePixelRatio;
  const [fullWidth, fullHeight] = [width + padding.left + padding.right, height + padding.top + padding.bottom];
  over.width = fullWidth * density;
  over.height = fullHeight * density;
  const pen = over.getContext('2d')!;
  pen.scale(density, density);
  const style = getComputedStyle(document.body);
  const ink = style.getPropertyValue('--vscode-foreground') || '#888';
  const peakInk = style.getPropertyValue('--vscode-tidemark-peak') || '#e08a3c';
  pen.font = `11px ${style.getPropertyValue('--vscode-font-family') || 'sans-serif'}`;
  pen.fillStyle = pen.strokeStyle = ink;
  pen.textBaseline = 'middle';
  pen.textAlign = 'right';
  for (const bytes of ticks(top(now))) {
    const y = padding.top + height - (bytes / top(now)) * height;
    pen.globalAlpha = 0.18;
    pen.fillRect(padding.left, Math.round(y), width, 1);
    pen.globalAlpha = 1;
    pen.fillText(writeBytes(bytes), padding.left - 6, y);
  }
  pen.textAlign = 'left';
  pen.textBaseline = 'alphabetic';
  pen.fillText(axisWords(now, now.range.from), padding.left, fullHeight - 8);
  pen.textAlign = 'right';
  pen.fillText(axisWords(now, now.range.to), padding.left + width, fullHeight - 8);
  const peakX = toX(now, now.all.peak.step, width);
  const peakY = padding.top + height - (now.all.peak.bytes / top(now)) * height;
  pen.strokeStyle = pen.fillStyle = peakInk;
  pen.setLineDash([6, 4]);
  line(pen, [padding.left, peakY], [padding.left + width, peakY]);
  pen.setLineDash([]);
  if (peakX >= 0 && peakX <= width) {
    const x = padding.left + peakX;
    pen.beginPath();
    pen.moveTo(x, peakY);
    pen.lineTo(x - 5, peakY - 9);
    pen.lineTo(x + 5, peakY - 9);
    pen.fill();
  }
  pen.textAlign = peakX > width / 2 ? 'left' : 'right';
  pen.fillText(`peak ${writeBytes(now.all.peak.bytes)}`, peakX > width / 2 ? padding.left + 4 : padding.left + width - 4, peakY + 13);
  const chosenX = toX(now, now.chosen, width);
  if (chosenX >= 0 && chosenX <= width) {
    pen.strokeStyle = ink;
    line(pen, [padding.left + chosenX, padding.top], [padding.left + chosenX, padding.top + height]);
  }
}

function line(pen: CanvasRenderingContext2D, [x, y]: readonly [number, number], [toX_, toY]: readonly [number, number]): void {
  pen.beginPath();
  pen.moveTo(x, y);
  pen.lineTo(toX_, toY);
  pen.stroke();
}

const toX = ({ all, range, axis }: Shown, step: number, width: number): number =>
  (((axis === 'steps' ? step + 0.5 : (all.at[step] ?? 0)) - range.from) / (range.to - range.from)) * width;

function axisWords({ axis }: Shown, at: number): string {
  return axis === 'steps' ? `change ${Math.round(at).toLocaleString()}` : `${(at / 1000).toFixed(2)} s`;
}

/* Choosing a moment, and the table of what was alive then. */

function choose(step: number): void {
  if (shown === undefined) return;
  shown.chosen = Math.max(0, Math.min(shown.all.steps - 1, step));
  draw();
  fillTable(shown);
}

let filling: ReturnType<typeof setTimeout> | undefined;
function fillTable(now: Shown): void {
  clearTimeout(filling);
  filling = setTimeout(() => {
    const { recording, chosen, search, all } = now;
    const rows = aliveAt(recording, chosen).filter(
      ({ site, label }) => search === '' || `${words(recording.sites[site]!)} ${recording.labels[label]}`.toLowerCase().includes(search),
    );
    const bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
    const count = rows.reduce((sum, row) => sum + row.count, 0);
    const atPeak = chosen === all.peak.step ? ' (the peak)' : '';
    element('moment').textContent =
      `${count.toLocaleString()} arrays, ${writeBytes(bytes)} alive at change ${chosen.toLocaleString()}${atPeak}, ${((all.at[chosen] ?? 0) / 1000).toFixed(3)} s after the start`;
    const body = element('rows');
    body.replaceChildren(
      ...rows.slice(0, 400).map(({ site, label, bytes: held, count: n }) => {
        const place = recording.sites[site]!;
        const row = document.createElement('tr');
        const button = Object.assign(document.createElement('button'), { textContent: words(place), disabled: place.line === 0 });
        button.addEventListener('click', () => open(place));
        const swatch = Object.assign(document.createElement('span'), { className: 'swatch', ariaHidden: 'true' });
        swatch.style.background = colourOf(all, site);
        const cells = [writeBytes(held), n > 1 ? `${recording.labels[label]} ×${n.toLocaleString()}` : recording.labels[label]!];
        for (const text of cells) row.append(Object.assign(document.createElement('td'), { textContent: text }));
        const where = document.createElement('td');
        where.append(swatch, button);
        row.append(where);
        return row;
      }),
    );
    if (rows.length > 400) body.append(more(rows.length - 400));
  }, 30);
}

function more(count: number): HTMLElement {
  const row = document.createElement('tr');
  const cell = Object.assign(document.createElement('td'), { colSpan: 3, textContent: `and ${count.toLocaleString()} more kinds` });
  row.append(cell);
  return row;
}

function colourOf(all: Series, site: number): string {
  const band = all.sites.indexOf(site);
  const pixel = colours[band >= 0 ? band : all.bands - 1] ?? 0;
  return `rgb(${pixel & 255} ${(pixel >> 8) & 255} ${(pixel >> 16) & 255})`;
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

function toPeak(): void {
  if (shown === undefined) return;
  const { all } = shown;
  const at = shown.axis === 'steps' ? all.peak.step : all.at[all.peak.step]!;
  const span = Math.min(end(shown), Math.max(end(shown) / 50, shown.axis === 'steps' ? 60 : 1));
  const from = Math.max(0, Math.min(end(shown) - span, at - span / 2));
  shown.range = { from, to: from + span };
  choose(all.peak.step);
}

const plot = element('plot');
const at = (event: MouseEvent): number => (event.offsetX - padding.left) / size().width;
plot.addEventListener(
  'wheel',
  (event) => {
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan(event.deltaX / size().width);
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
    pan(-by / size().width);
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
  const x = Math.floor(at(event) * (shown?.last?.width ?? 0));
  return shown?.last === undefined || x < 0 || x >= shown.last.width ? undefined : x;
}

function bandUnder(event: MouseEvent): number | undefined {
  const x = columnUnder(event);
  if (x === undefined) return undefined;
  const bytes = (1 - (event.offsetY - padding.top) / size().height) * top(shown!);
  return bandAt(shown!.last!, shown!.all.bands, x, bytes);
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
  const { last, all } = shown!;
  const held = band === undefined ? '' : `${bandWords(band)}: ${writeBytes(last!.bands[x * all.bands + band]!)} of `;
  tip.textContent = `${held}${writeBytes(last!.total[x]!)} in use`;
  tip.style.left = `${Math.min(event.offsetX + 14, plot.clientWidth - tip.offsetWidth - 8)}px`;
  tip.style.top = `${Math.max(0, event.offsetY - 30)}px`;
}
plot.addEventListener('pointerleave', () => (element('tip').hidden = true));

function pick(event: MouseEvent): void {
  const x = columnUnder(event);
  if (x !== undefined) choose(shown!.last!.step[x]!);
}

const keys: Readonly<Record<string, () => void>> = {
  '+': () => zoom(0.7, 0.5),
  '=': () => zoom(0.7, 0.5),
  '-': () => zoom(1 / 0.7, 0.5),
  ArrowLeft: () => pan(-0.1),
  ArrowRight: () => pan(0.1),
  Home: reset,
  p: toPeak,
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
  element('axis').textContent = shown.axis === 'steps' ? 'By time' : 'By change';
  reset();
});
element<HTMLInputElement>('search').addEventListener('input', ({ target }) => {
  if (shown === undefined) return;
  shown.search = (target as HTMLInputElement).value.trim().toLowerCase();
  restyle();
  fillTable(shown);
});

vscode.postMessage({ kind: 'ready' });
