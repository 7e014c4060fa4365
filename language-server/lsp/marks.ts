/**
 * What the editor draws itself because the protocol has no word for it: the mark of the peak line, leaks, dimmed stale numbers.
 *
 * Depends on: view, inlay-hints, words.
 */
import type { MeasuredMark } from '../protocol.ts';
import { lineLabel, lineTooltip, shownLines } from './inlay-hints.ts';
import type { View } from './view.ts';
import { count, writeBytes, writeShape } from './words.ts';

export function marks(view: View): readonly MeasuredMark[] {
  const { placed, settings } = view;
  if (placed === undefined || settings.inlay === 'off') return [];
  const found: MeasuredMark[] = [];
  const shown = shownLines(view);
  for (const one of shown.filter(({ stale }) => stale)) {
    found.push({
      line: one.line,
      kind: 'stale',
      text: lineLabel(view, one),
      hover: `Measured before the code here changed.\n\n${lineTooltip(view, one)}`,
    });
  }
  if (placed.peak !== undefined && !placed.peak.stale)
    found.push({ line: placed.peak.line, kind: 'peak', text: '', hover: aliveAtPeak(view) });
  for (const { line, stale, value } of placed.leaks) {
    if (!stale) found.push({ line, kind: 'leak', text: '', hover: leakWords(value) });
  }
  return found;
}

const leakKinds = {
  collected: 'freed only by the garbage collector',
  unreachable: 'still alive at exit, though nothing could reach them',
  growing: 'more of them alive after each round',
} as const;

export const leakWords = ({
  kind,
  bytes,
  count: n,
}: {
  readonly kind: keyof typeof leakKinds;
  readonly bytes: number;
  readonly count: number;
}): string => `${count(n, 'array')} of this line (${writeBytes(bytes)}): ${leakKinds[kind]}.`;

/** The arrays alive at the peak, largest first, as a small table. */
export function aliveAtPeak({ measurement }: View): string {
  if (measurement === undefined) return '';
  const { report } = measurement;
  const rows = [...report.liveAtPeak].sort((a, b) => b.bytes - a.bytes).slice(0, 10);
  const rest = report.liveAtPeak.length - rows.length;
  return [
    `**Peak ${writeBytes(report.peakBytes)}**: what was alive`,
    '',
    '| bytes | array | made at |',
    '|--:|---|---|',
    ...rows.map(
      ({ bytes, shape, dtype, kind, file, line }) =>
        `| ${writeBytes(bytes)} | ${writeShape(shape, dtype)} ${kind} | ${file.split('/').at(-1)}:${line} |`,
    ),
    ...(rest > 0 ? [`| | and ${rest} more | |`] : []),
  ].join('\n');
}
