/**
 * Two runs side by side as a text: totals, functions and lines that differ, with the difference.
 *
 * Functions are matched by name, lines by number: of two runs of the same text, or of one with small edits.
 * Depends on: language-server/protocol, core/bytes.
 */
import type { ProfileReport } from '../language-server/protocol.ts';
import { writeBytes } from '../runtime/core/bytes.ts';

export interface Run {
  readonly report: ProfileReport;
  readonly endedAt: Date;
}

export function comparison(before: Run, after: Run): string {
  const totals: readonly Row[] = [
    row('peak in use', before.report.peakBytes, after.report.peakBytes),
    row('peak reserved', before.report.peakReservedBytes, after.report.peakReservedBytes),
    row('alive at exit', before.report.liveBytesAtExit, after.report.liveBytesAtExit),
  ];
  const functions = differing(
    before.report.functions.map(({ name, file, peakBytes }) => [`${name} (${file})`, peakBytes]),
    after.report.functions.map(({ name, file, peakBytes }) => [`${name} (${file})`, peakBytes]),
  );
  const lines = differing(
    before.report.lines.map(({ file, line, peakLiveBytes }) => [`${file}:${line}`, peakLiveBytes]),
    after.report.lines.map(({ file, line, peakLiveBytes }) => [`${file}:${line}`, peakLiveBytes]),
  );
  return [
    `${before.report.entry} at ${before.endedAt.toLocaleTimeString()}  →  ${after.report.entry} at ${after.endedAt.toLocaleTimeString()}`,
    '',
    table('Run', totals),
    functions.length === 0 ? 'Functions: no peak differs.\n' : table('Functions: peak in use while on the stack', functions),
    lines.length === 0 ? 'Lines: none differs.\n' : table('Lines: most of the line alive at one time', lines),
  ].join('\n');
}

interface Row {
  readonly what: string;
  readonly before: number;
  readonly after: number;
}

const row = (what: string, before: number, after: number): Row => ({ what, before, after });

function differing(before: readonly (readonly [string, number])[], after: readonly (readonly [string, number])[]): readonly Row[] {
  const [a, b] = [most(before), most(after)];
  return [...new Set([...a.keys(), ...b.keys()])]
    .map((what) => row(what, a.get(what) ?? 0, b.get(what) ?? 0))
    .filter((one) => one.before !== one.after)
    .sort((x, y) => Math.abs(y.after - y.before) - Math.abs(x.after - x.before));
}

function most(all: readonly (readonly [string, number])[]): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const [what, bytes] of all) found.set(what, Math.max(found.get(what) ?? 0, bytes));
  return found;
}

function table(title: string, rows: readonly Row[]): string {
  const cells = rows.map(({ what, before, after }) => [what, writeBytes(before), writeBytes(after), difference(before, after)] as const);
  const head = [title, 'before', 'after', 'difference'] as const;
  const widths = head.map((word, column) => Math.max(word.length, ...cells.map((cell) => cell[column]!.length)));
  const line = (words: readonly string[]): string =>
    words.map((word, column) => (column === 0 ? word.padEnd(widths[0]!) : word.padStart(widths[column]!))).join('  ');
  return [line(head), ...cells.map(line), ''].join('\n');
}

export function difference(before: number, after: number): string {
  const by = after - before;
  if (by === 0) return '=';
  const share = before === 0 ? '' : ` (${by > 0 ? '+' : '−'}${Math.abs((by / before) * 100).toFixed(by === 0 ? 0 : 1)} %)`;
  return `${by > 0 ? '+' : ''}${writeBytes(by)}${share}`;
}
