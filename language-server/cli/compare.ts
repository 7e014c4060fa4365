/**
 * `tidemark compare A B`: two profiles side by side: the totals, and the lines and functions that differ.
 *
 * Lines are matched by file and number: compare runs of the same text, or read the functions, which are matched by name.
 * Depends on: args, saved-profile, text.
 */
import type { ProfileReport } from '../protocol.ts';
import { helpText, readArguments } from './args.ts';
import type { OptionTable } from './args.ts';
import { exitCodes, UsageError } from './io.ts';
import type { IO } from './io.ts';
import { readProfile } from './saved-profile.ts';
import { bytesText, differenceText, paint, tableText } from './text.ts';
import type { Paint } from './text.ts';

const options: OptionTable = {
  format: { value: 'FORMAT', help: 'text (default) or json', oneOf: ['text', 'json'] },
  help: { help: 'show this' },
};

export async function compareCommand(argv: readonly string[], io: IO): Promise<number> {
  const args = readArguments('compare', options, argv);
  if (args.has('help')) {
    io.out(helpText('tidemark compare A B', 'Shows what changed from profile A to profile B.', options));
    return exitCodes.fine;
  }
  const [a, b, ...others] = args.positional;
  if (a === undefined || b === undefined || others.length > 0)
    throw new UsageError(`two profiles are compared, and ${args.positional.length} were given`, 'tidemark compare A B');
  const comparison = compare(readProfile(a, io), readProfile(b, io));
  io.out(
    args.value('format') === 'json'
      ? `${JSON.stringify({ version: 1, ...comparison }, null, 2)}\n`
      : comparisonText(comparison, paint(io.color)),
  );
  return exitCodes.fine;
}

export interface Difference {
  readonly what: string;
  readonly before: number;
  readonly after: number;
}

export interface Comparison {
  readonly totals: readonly Difference[];
  readonly functions: readonly Difference[];
  readonly lines: readonly Difference[];
  readonly leaks: readonly Difference[];
}

export function compare(before: ProfileReport, after: ProfileReport): Comparison {
  const totals: readonly (readonly [string, (report: ProfileReport) => number])[] = [
    ['peak in use', ({ peakBytes }) => peakBytes],
    ['peak reserved', ({ peakReservedBytes }) => peakReservedBytes],
    ['alive at exit', ({ liveBytesAtExit }) => liveBytesAtExit],
  ];
  const functions = (report: ProfileReport) =>
    report.functions.map((one): [string, number] => [`${one.name} (${one.file})`, one.peakBytes]);
  const lines = (report: ProfileReport) => report.lines.map((one): [string, number] => [`${one.file}:${one.line}`, one.peakLiveBytes]);
  const leaks = (report: ProfileReport) =>
    report.leaks.map((one): [string, number] => [`${one.kind} at ${one.file}:${one.line}`, one.bytes]);
  return {
    totals: totals.map(([what, of]) => ({ what, before: of(before), after: of(after) })),
    functions: differences(functions(before), functions(after)),
    lines: differences(lines(before), lines(after)),
    leaks: differences(leaks(before), leaks(after)),
  };
}

/** What differs, by how much it grew or shrank. */
function differences(before: readonly [string, number][], after: readonly [string, number][]): readonly Difference[] {
  const a = summed(before);
  const b = summed(after);
  return [...new Set([...a.keys(), ...b.keys()])]
    .map((what) => ({ what, before: a.get(what) ?? 0, after: b.get(what) ?? 0 }))
    .filter((one) => one.before !== one.after)
    .toSorted((x, y) => Math.abs(y.after - y.before) - Math.abs(x.after - x.before));
}

function summed(entries: readonly [string, number][]): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const [name, bytes] of entries) sums.set(name, (sums.get(name) ?? 0) + bytes);
  return sums;
}

const mostRows = 20;

export function comparisonText({ totals, functions, lines, leaks }: Comparison, draw: Paint): string {
  const parts = [
    section('totals', totals, draw),
    section('functions, by peak', functions, draw),
    section('lines, by most alive at one time', lines, draw),
    section('leaks', leaks, draw),
  ];
  return parts.filter((part) => part !== '').join('\n\n') + '\n';
}

function section(title: string, rows: readonly Difference[], draw: Paint): string {
  if (rows.length === 0) return '';
  const cells = rows
    .slice(0, mostRows)
    .map(({ what, before, after }) => [
      what,
      bytesText(before),
      '→',
      bytesText(after),
      differenceText(after - before),
      percentText(before, after),
    ]);
  const more = rows.length > mostRows ? [`  and ${rows.length - mostRows} more`] : [];
  return [draw('bold', title), tableText(cells, new Set([1, 3, 4, 5])).replace(/^/gm, '  '), ...more].join('\n');
}

function percentText(before: number, after: number): string {
  if (before === after) return '';
  if (before === 0) return 'new';
  const percent = ((after - before) / before) * 100;
  return `${percent < 0 ? '−' : '+'}${Math.abs(percent).toFixed(Math.abs(percent) < 10 ? 1 : 0)} %`;
}
