/**
 * A profile for people: the peak, who held it, the source with what each line allocated, functions, leaks.
 *
 * Depends on: measure/best-donation, text, protocol.
 */
import { bestDonation } from '../measure/best-donation.ts';
import type { FunctionReport, LiveArray, ProfileReport } from '../protocol.ts';
import { bytesText, counted, tableText } from './text.ts';
import type { Paint } from './text.ts';

export interface SourceFiles {
  /** Lines of a file of the report; undefined when it can't be read. */
  lines(file: string): readonly string[] | undefined;
}

export function profileText(report: ProfileReport, sources: SourceFiles, paint: Paint): string {
  const parts = [
    heading(report, paint),
    ...annotated(report, sources, paint),
    holders(report, paint),
    functionsText(report.functions, paint),
    leaksText(report, paint),
    ...(report.notes ?? []).map((note) => `${paint('yellow', 'note')}: ${note}`),
  ];
  return parts.filter((part) => part !== '').join('\n\n') + '\n';
}

function heading(report: ProfileReport, paint: Paint): string {
  const at = report.peakAt === null ? '' : ` at ${report.peakAt.file}:${report.peakAt.line}`;
  const rows = [
    ['peak in use', bytesText(report.peakBytes) + at],
    ['peak reserved', bytesText(report.peakReservedBytes)],
    ['alive at exit', bytesText(report.liveBytesAtExit)],
    ['device', deviceText(report)],
    ['time', `${(report.wallMs / 1000).toFixed(2)} s`],
  ];
  return [paint('bold', `memory profile of ${report.entry}`), tableText(rows, new Set()).replace(/^/gm, '  ')].join('\n');
}

function deviceText({ device }: ProfileReport): string {
  if (device === null) return 'none was used';
  // A processor is software by nature, and the name of an adapter often says so already.
  const isWorthAWord = device.software && device.kind !== 'cpu' && !/software/i.test(device.adapter);
  return `${device.kind} (${device.adapter.replace(`${device.kind}: `, '')}${isWorthAWord ? ', in software' : ''})`;
}

const shownAround = 2;

/** The person's files, those lines that allocate with a little of what is around them. */
function annotated(report: ProfileReport, sources: SourceFiles, paint: Paint): readonly string[] {
  const files = [...new Set(report.lines.map(({ file }) => file))];
  return files.map((file) => {
    const lines = report.lines.filter((line) => line.file === file);
    const text = sources.lines(file);
    if (text === undefined) return plainLines(file, report, paint);
    const shown = new Set(lines.flatMap(({ line }) => Array.from({ length: 2 * shownAround + 1 }, (_, i) => line - shownAround + i)));
    const rows: string[] = [];
    let before = 0;
    for (const number of [...shown].filter((n) => n >= 1 && n <= text.length).toSorted((a, b) => a - b)) {
      if (before !== 0 && number > before + 1) rows.push(paint('dim', `${''.padStart(34)}│`));
      before = number;
      rows.push(
        sourceRow(
          number,
          text[number - 1]!,
          lines.find(({ line }) => line === number),
          report,
          file,
          paint,
        ),
      );
    }
    const header = `${'allocated'.padStart(11)}${'times'.padStart(8)}${'at peak'.padStart(11)}`;
    return [paint('bold', file), paint('dim', header), ...rows].join('\n');
  });
}

function sourceRow(
  number: number,
  code: string,
  line: ProfileReport['lines'][number] | undefined,
  report: ProfileReport,
  file: string,
  paint: Paint,
): string {
  const isPeak = report.peakAt?.file === file && report.peakAt.line === number;
  const figures =
    line === undefined
      ? ''.padStart(30)
      : `${bytesText(line.allocatedBytes).padStart(11)}${`${line.allocations}×`.padStart(8)}${(line.liveBytesAtPeak === 0 ? '' : bytesText(line.liveBytesAtPeak)).padStart(11)}`;
  const mark = isPeak ? paint('red', '▲') : ' ';
  return `${figures.padEnd(30)} ${mark} ${paint('dim', `${String(number).padStart(4)} │`)} ${line === undefined ? paint('dim', code) : code}${isPeak ? paint('red', '   ← peak') : ''}`;
}

function plainLines(file: string, report: ProfileReport, paint: Paint): string {
  const rows = report.lines
    .filter((line) => line.file === file)
    .map((line) => [
      `  line ${line.line}`,
      bytesText(line.allocatedBytes),
      `${line.allocations}×`,
      `${bytesText(line.liveBytesAtPeak)} at the peak`,
    ]);
  return [paint('bold', file), tableText(rows, new Set([1, 2]))].join('\n');
}

const mostHolders = 8;

function holders(report: ProfileReport, paint: Paint): string {
  if (report.liveAtPeak.length === 0) return '';
  const groups = new Map<string, { count: number; bytes: number; first: LiveArray }>();
  for (const array of report.liveAtPeak) {
    const key = [array.file, array.line, array.shape?.join(), array.dtype, array.kind, array.bytes].join('|');
    const group = groups.get(key) ?? { count: 0, bytes: 0, first: array };
    groups.set(key, { count: group.count + 1, bytes: group.bytes + array.bytes, first: group.first });
  }
  const sorted = [...groups.values()].toSorted((a, b) => b.bytes - a.bytes);
  const rows = sorted
    .slice(0, mostHolders)
    .map(({ count, bytes, first }) => [bytesText(bytes), count === 1 ? '' : `${count}×`, arrayText(first), `${first.file}:${first.line}`]);
  const left = sorted.slice(mostHolders);
  const rest =
    left.length === 0
      ? []
      : [
          `  and ${left.reduce((sum, { count }) => sum + count, 0)} more of ${bytesText(left.reduce((sum, { bytes }) => sum + bytes, 0))} in all`,
        ];
  return [paint('bold', 'alive at the peak'), tableText(rows, new Set([0, 1])).replace(/^/gm, '  '), ...rest].join('\n');
}

function arrayText({ shape, dtype, kind }: LiveArray): string {
  return shape === null ? kind : `${dtype ?? kind}[${shape.join(',')}]${kind === 'array' ? '' : ` ${kind}`}`;
}

const mostFunctions = 12;

function functionsText(functions: readonly FunctionReport[], paint: Paint): string {
  const shown = functions
    .filter(({ peakBytes }) => peakBytes > 0)
    .toSorted((a, b) => b.peakBytes - a.peakBytes)
    .slice(0, mostFunctions);
  if (shown.length === 0) return '';
  const rows = shown.map((one) => [
    bytesText(one.peakBytes),
    one.calls === 0 ? '' : counted(one.calls, 'call'),
    one.name,
    `${one.file}:${one.line}`,
    jitText(one),
  ]);
  return [paint('bold', 'functions by peak'), tableText(rows, new Set([0, 1])).replace(/^/gm, '  ')].join('\n');
}

function jitText({ jit }: FunctionReport): string {
  if (jit === null) return '';
  const best = bestDonation(jit);
  const traces = jit.traces > 1 ? `, traced ${jit.traces} times` : '';
  const donating = best === undefined ? '' : `, donating [${best.donateArgnums.join(', ')}] would save ${bytesText(best.savesBytes)}`;
  return `compiled${traces}${donating}`;
}

const leakWords = {
  collected: 'freed by the garbage collector only',
  unreachable: 'alive at exit, out of reach',
  growing: 'grew in every round to the end',
} as const;

function leaksText({ leaks }: ProfileReport, paint: Paint): string {
  if (leaks.length === 0) return '';
  const rows = leaks.map(({ kind, bytes, count, file, line }) => [
    bytesText(bytes),
    counted(count, 'array'),
    leakWords[kind],
    `${file}:${line}`,
  ]);
  return [paint('bold', 'leaks'), tableText(rows, new Set([0, 1])).replace(/^/gm, '  ')].join('\n');
}
