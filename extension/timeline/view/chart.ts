/**
 * Draws one frame of the timeline: the bands, and over them the axis, the peak and the chosen moment.
 *
 * All room is made when the size changes and used again for every frame, and colours are read when the theme changes: a
 * frame of panning makes no garbage and asks the page for nothing. Depends on: series, raster, axis, texts, core/bytes.
 */
import { writeBytes } from '../../../runtime/core/bytes.ts';
import { ticks } from './axis.ts';
import { paint, type Ink } from './raster.ts';
import { t } from './texts.ts';
import { columns, roomFor, stepAt, type Columns, type Series } from './series.ts';

export const padding = { left: 76, right: 12, top: 14, bottom: 24 };

export interface Viewport {
  readonly all: Series;
  /** Visible part of the axis: steps, or milliseconds. */
  readonly range: { readonly from: number; readonly to: number };
  readonly axis: 'steps' | 'time';
  readonly chosen: number;
}

export interface Theme extends Ink {
  readonly text: string;
  readonly peak: string;
  readonly font: string;
}

export interface Chart {
  /** Called when the element's size or the screen's density has changed. */
  readonly resize: () => void;
  readonly draw: (now: Viewport, theme: Theme) => void;
  /** What is drawn: of the last frame. */
  readonly shown: () => Columns | undefined;
  readonly width: () => number;
  readonly height: () => number;
}

interface Room {
  readonly width: number;
  readonly height: number;
  readonly image: ImageData;
  readonly pixels: Uint32Array;
  readonly edges: Float64Array;
  columns: Columns;
}

export function createChart(plot: HTMLElement, chart: HTMLCanvasElement, over: HTMLCanvasElement): Chart {
  const pen = chart.getContext('2d')!;
  const upper = over.getContext('2d')!;
  let density = 1;
  let room = makeRoom(50, 50);

  const resize = (): void => {
    const width = Math.max(50, plot.clientWidth - padding.left - padding.right);
    const height = Math.max(50, plot.clientHeight - padding.top - padding.bottom);
    density = window.devicePixelRatio;
    if (room.width !== width || room.height !== height) room = makeRoom(width, height);
    chart.width = width;
    chart.height = height;
    Object.assign(chart.style, { left: `${padding.left}px`, top: `${padding.top}px`, width: `${width}px`, height: `${height}px` });
    over.width = (width + padding.left + padding.right) * density;
    over.height = (height + padding.top + padding.bottom) * density;
  };
  const draw = (now: Viewport, theme: Theme): void => {
    const { all } = now;
    const { width, height, edges, image } = room;
    if (room.columns.bands.length !== width * all.bands) room.columns = roomFor(width, all.bands);
    fillEdges(edges, now, width);
    paint(room, columns(all, edges, room.columns), all.bands, theme, topOf(all));
    pen.putImageData(image, 0, 0);
    upper.setTransform(density, 0, 0, density, 0, 0);
    drawOver(upper, now, theme, { width, height });
  };
  return { resize, draw, shown: () => room.columns, width: () => room.width, height: () => room.height };
}

function makeRoom(width: number, height: number): Room {
  const image = new ImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  return { width, height, image, pixels, edges: new Float64Array(width + 1), columns: roomFor(width, 1) };
}

function fillEdges(edges: Float64Array, { all, range, axis }: Viewport, width: number): void {
  for (let x = 0; x <= width; x += 1) {
    const at = range.from + ((range.to - range.from) * x) / width;
    edges[x] = axis === 'steps' ? at : stepAt(all, at);
  }
}

export const topOf = ({ peak }: Series): number => peak.bytes * 1.06 || 1;

/** Where a step lies, in pixels from the left edge of the bands. */
export const xOf = ({ all, range, axis }: Viewport, step: number, width: number): number =>
  (((axis === 'steps' ? step + 0.5 : (all.at[step] ?? 0)) - range.from) / (range.to - range.from)) * width;

function drawOver(pen: CanvasRenderingContext2D, now: Viewport, theme: Theme, { width, height }: Pick<Room, 'width' | 'height'>): void {
  const { all, range } = now;
  const top = topOf(all);
  const bottom = padding.top + height;
  pen.clearRect(0, 0, width + padding.left + padding.right, bottom + padding.bottom);
  pen.font = theme.font;
  pen.fillStyle = pen.strokeStyle = theme.text;
  pen.textBaseline = 'middle';
  pen.textAlign = 'right';
  for (const bytes of ticks(top)) {
    const y = bottom - (bytes / top) * height;
    pen.globalAlpha = 0.18;
    pen.fillRect(padding.left, Math.round(y), width, 1);
    pen.globalAlpha = 1;
    pen.fillText(writeBytes(bytes), padding.left - 6, y);
  }
  pen.fillRect(padding.left, bottom, width, 1);
  pen.textBaseline = 'alphabetic';
  pen.textAlign = 'left';
  pen.fillText(axisWords(now, range.from), padding.left, bottom + 16);
  pen.textAlign = 'right';
  pen.fillText(axisWords(now, range.to), padding.left + width, bottom + 16);
  drawPeak(pen, now, theme, { width, height });
  const chosenX = xOf(now, now.chosen, width);
  if (chosenX < 0 || chosenX > width) return;
  pen.strokeStyle = theme.text;
  line(pen, padding.left + chosenX, padding.top, padding.left + chosenX, bottom);
}

/** A dashed line at the height of the peak, a triangle where it was reached. */
function drawPeak(pen: CanvasRenderingContext2D, now: Viewport, theme: Theme, { width, height }: Pick<Room, 'width' | 'height'>): void {
  const { peak } = now.all;
  const x = xOf(now, peak.step, width);
  const y = padding.top + height - (peak.bytes / topOf(now.all)) * height;
  pen.strokeStyle = pen.fillStyle = theme.peak;
  pen.setLineDash(dashes);
  line(pen, padding.left, y, padding.left + width, y);
  pen.setLineDash(solid);
  if (x >= 0 && x <= width) {
    pen.beginPath();
    pen.moveTo(padding.left + x, y);
    pen.lineTo(padding.left + x - 5, y - 9);
    pen.lineTo(padding.left + x + 5, y - 9);
    pen.fill();
  }
  const onLeft = x > width / 2;
  pen.textAlign = onLeft ? 'left' : 'right';
  pen.fillText(t('peak {0}', writeBytes(peak.bytes)), onLeft ? padding.left + 4 : padding.left + width - 4, Math.max(11, y - 5));
}

const dashes = [6, 4];
const solid: number[] = [];

function line(pen: CanvasRenderingContext2D, fromX: number, fromY: number, toX: number, toY: number): void {
  pen.beginPath();
  pen.moveTo(fromX, fromY);
  pen.lineTo(toX, toY);
  pen.stroke();
}

function axisWords({ axis }: Viewport, at: number): string {
  return axis === 'steps' ? t('change {0}', Math.round(at).toLocaleString()) : t('{0} s', (at / 1000).toFixed(2));
}
