/**
 * Two runs as two texts that stand side by side: row by row the same totals, functions and lines, with the difference on the right.
 *
 * Functions are matched by name, lines by number: of two runs of the same text, or of one with small edits. A row that
 * didn't change is the same text on both sides, so the editor marks the others. Depends on: language-server/protocol,
 * core/bytes.
 */
import type { ProfileReport } from '../language-server/protocol.ts';
import { writeBytes } from '../runtime/core/bytes.ts';

export interface Run {
  readonly report: ProfileReport;
  readonly endedAt: Date;
}

export interface Sides {
  readonly before: string;
  readonly after: string;
}

export function comparison(before: Run, after: Run): Sides {
  const sections: readonly Section[] = [
    {
      title: 'Run',
      rows: [
        { what: 'peak in use', before: before.report.peakBytes, after: after.report.peakBytes },
        { what: 'peak reserved', before: before.report.peakReservedBytes, after: after.report.peakReservedBytes },
        { what: 'alive at exit', before: before.report.liveBytesAtExit, after: after.report.liveBytesAtExit },
      ],
    },
    { title: 'Functions: peak in use while on the stack', rows: matched(functionsOf(before), functionsOf(after)) },
    { title: 'Lines: most of the line alive at one time', rows: matched(linesOf(before), linesOf(after)) },
    { title: 'Leaks', rows: matched(leaksOf(before), leaksOf(after)) },
  ];
  const shown = sections.filter(({ rows }) => rows.length > 0);
  const width = Math.max(...shown.flatMap(({ title, rows }) => [title.length, ...rows.map(({ what }) => what.length)]));
  const side = (run: Run, row: (row: Row) => string): string =>
    [
      `${run.report.entry}, ${run.endedAt.toLocaleTimeString()}`,
      ...shown.flatMap(({ title, rows }) => ['', title, ...rows.map((one) => `${one.what.padEnd(width)}  ${row(one)}`)]),
      '',
    ].join('\n');
  return {
    before: side(before, (row) => cell(row.before)),
    after: side(after, (row) =>
      [cell(row.after), ...(row.before === row.after ? [] : [difference(row.before ?? 0, row.after ?? 0)])].join('  '),
    ),
  };
}

interface Section {
  readonly title: string;
  readonly rows: readonly Row[];
}

/** Bytes before and after; undefined on the side that didn't have it. */
interface Row {
  readonly what: string;
  readonly before: number | undefined;
  readonly after: number | undefined;
}

type Named = readonly (readonly [what: string, bytes: number])[];

const functionsOf = ({ report }: Run): Named =>
  report.functions.filter(({ peakBytes }) => peakBytes > 0).map(({ name, file, peakBytes }) => [`${name} (${file})`, peakBytes]);
const linesOf = ({ report }: Run): Named => report.lines.map(({ file, line, peakLiveBytes }) => [`${file}:${line}`, peakLiveBytes]);
const leaksOf = ({ report }: Run): Named => report.leaks.map(({ kind, file, line, bytes }) => [`${file}:${line} ${kind}`, bytes]);

/** What differs most comes first, then what is largest. */
function matched(before: Named, after: Named): readonly Row[] {
  const [a, b] = [most(before), most(after)];
  const by = ({ before: x = 0, after: y = 0 }: Row): number => Math.abs(y - x);
  return [...new Set([...a.keys(), ...b.keys()])]
    .map((what) => ({ what, before: a.get(what), after: b.get(what) }))
    .sort((x, y) => by(y) - by(x) || (y.after ?? 0) - (x.after ?? 0));
}

function most(all: Named): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const [what, bytes] of all) found.set(what, Math.max(found.get(what) ?? 0, bytes));
  return found;
}

const cellWidth = 10;

const cell = (bytes: number | undefined): string => (bytes === undefined ? '–' : writeBytes(bytes)).padStart(cellWidth);

export function difference(before: number, after: number): string {
  const by = after - before;
  if (by === 0) return '=';
  const share = before === 0 ? '' : ` (${by > 0 ? '+' : '−'}${Math.abs((by / before) * 100).toFixed(1)} %)`;
  return `${by > 0 ? '+' : ''}${writeBytes(by)}${share}`;
}
