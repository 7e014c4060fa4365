/**
 * Measured memory at the end of lines that allocate: `+4.0 MiB → 16.0 MiB`, and a mark on the line of the peak.
 *
 * Only fresh numbers are hints; stale ones are drawn dimmed by the editor from `marks`. Depends on: view, words.
 */
import type { LineReport } from '../protocol.ts';
import type { Placed } from './measurements.ts';
import type { View } from './view.ts';
import { count, writeBytes } from './words.ts';

export interface Hint {
  readonly line: number;
  readonly column: number;
  readonly label: string;
  /** Markdown. */
  readonly tooltip: string;
}

export function hints(view: View, lines: { readonly first: number; readonly last: number }): readonly Hint[] {
  const { placed, settings, text } = view;
  if (placed === undefined || settings.inlay === 'off') return [];
  const columns = text.split(/\r\n|\r|\n/);
  return shownLines(view)
    .filter(({ line, stale }) => !stale && lines.first <= line && line <= lines.last)
    .map((one) => ({
      line: one.line,
      column: (columns[one.line - 1] ?? '').length + 1,
      label: lineLabel(view, one),
      tooltip: lineTooltip(view, one),
    }));
}

/** The measured lines that the settings let show, the peak line among them. */
export function shownLines({ placed, settings }: View): readonly Placed<LineReport>[] {
  if (placed === undefined) return [];
  const ofPeak = (line: number): boolean => placed.peak?.line === line;
  const measured = placed.lines.filter(
    ({ line, value }) =>
      ofPeak(line) || (settings.inlay === 'all' && Math.max(value.allocatedBytes, value.peakLiveBytes) >= settings.minBytes),
  );
  return measured;
}

export function lineLabel({ placed, measurement }: View, { line, value }: Placed<LineReport>): string {
  const each = value.allocations === 0 ? 0 : value.allocatedBytes / value.allocations;
  const times = value.allocations > 1 ? ` ×${value.allocations.toLocaleString('en')}` : '';
  const inUse = value.inUseBytes === undefined ? '' : ` → ${writeBytes(value.inUseBytes)}`;
  const peak = placed?.peak?.line === line && measurement !== undefined ? `  ◀ peak ${writeBytes(measurement.report.peakBytes)}` : '';
  const own = value.allocations === 0 ? '' : `+${writeBytes(each)}${times}${inUse}`;
  return `${own}${peak}`.trim();
}

export function lineTooltip({ placed, measurement }: View, { line, value }: Placed<LineReport>): string {
  const rows = [
    `${count(value.allocations, 'allocation')}, ${writeBytes(value.allocatedBytes)} in all`,
    `at most ${writeBytes(value.peakLiveBytes)} of this line alive at one time`,
    `${writeBytes(value.liveBytesAtPeak)} of this line alive at the peak`,
  ];
  if (value.inUseBytes !== undefined)
    rows.push(`at most ${writeBytes(value.inUseBytes)} in use by the whole program after an allocation here`);
  if (placed?.peak?.line === line && measurement !== undefined) {
    rows.unshift(`**the peak of the program, ${writeBytes(measurement.report.peakBytes)}, was reached here**`);
  }
  return rows.map((row) => `- ${row}`).join('\n');
}
