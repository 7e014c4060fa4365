/**
 * What a hover says: the array under the pointer, then what was measured on its line.
 *
 * Depends on: view, inlay-hints, marks, words.
 */
import { commands, type Position } from '../protocol.ts';
import { lineTooltip } from './inlay-hints.ts';
import { aliveAtPeak, leakWords } from './marks.ts';
import type { View } from './view.ts';
import { ago } from './words.ts';

/** `known` is what analysis says about the place; undefined when there is nothing to say at all. */
export function hover(view: View, { line, column }: Position, known: string | undefined, { now, links }: HoverOptions): string | undefined {
  const parts = known === undefined ? [] : [known];
  const measured = atEndOfLine(view, line, column) || known !== undefined ? measuredPart(view, line, now) : undefined;
  if (measured !== undefined) parts.push(measured);
  if (links && parts.length > 0) parts.push(...linkPart(view, line));
  return parts.length === 0 ? undefined : parts.join('\n\n---\n\n');
}

export interface HoverOptions {
  readonly now: number;
  /** Commands of the editor may be clicked. */
  readonly links: boolean;
}

/** To the plan of the compiled function around, and to the timeline of the last run. */
function linkPart({ uri, functions, measurement }: View, line: number): readonly string[] {
  const link = (title: string, command: string, args: readonly unknown[]): string =>
    `[${title}](command:${command}?${encodeURIComponent(JSON.stringify(args))})`;
  const around = functions
    .filter(({ compiled, line: first, endLine }) => compiled !== undefined && first <= line && line <= (endLine ?? first))
    .toSorted((a, b) => b.line - a.line)[0];
  const shown = [
    ...(around === undefined ? [] : [link(`Explain ${around.name}`, commands.explain, [uri, around.name, around.line])]),
    ...(measurement === undefined ? [] : [link('Timeline', commands.showTimeline, [uri, line])]),
  ];
  return shown.length === 0 ? [] : [shown.join(' · ')];
}

/** Only the code of an allocating line speaks for it, not its indentation. */
function atEndOfLine({ text }: View, line: number, column: number): boolean {
  const written = text.split(/\r\n|\r|\n/)[line - 1] ?? '';
  return column > written.length - written.trimStart().length;
}

function measuredPart(view: View, line: number, now: number): string | undefined {
  const { placed, measurement } = view;
  if (placed === undefined || measurement === undefined) return undefined;
  const own = placed.lines.find((one) => one.line === line);
  const leaks = placed.leaks.filter((one) => one.line === line);
  const isPeak = placed.peak?.line === line;
  if (own === undefined && leaks.length === 0 && !isPeak) return undefined;
  const stale = own?.stale === true ? ', before the code here changed' : '';
  const parts = [`Measured ${ago(now - measurement.endedAt)}${stale}`];
  if (own !== undefined) parts.push(lineTooltip(view, own));
  parts.push(...leaks.map(({ value }) => leakWords(value)));
  if (isPeak) parts.push(aliveAtPeak(view));
  return parts.join('\n\n');
}
