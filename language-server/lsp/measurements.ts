/**
 * Measured numbers on the text as it is now: each moved with its line, and marked stale when the code under it changed.
 *
 * A measurement keeps the text it was made on. A function's number is stale when anything inside the function changed
 * since; a line's number when its function did (or, outside functions, the line itself). Restoring the text makes them
 * fresh again, because nothing is remembered but the two texts. Depends on: line-map, program/outline, protocol.
 */
import type { Figures } from '../compiled/explain.ts';
import { outline, type OutlinedFunction } from '../program/outline.ts';
import type { FunctionReport, LineReport, LiveArray, LeakReport, ProfileReport } from '../protocol.ts';
import { lineMap, type LineMap } from './line-map.ts';

export interface Measurement {
  readonly report: ProfileReport;
  /** Epoch milliseconds at which the run ended. */
  readonly endedAt: number;
  /** Text of each measured file when the run started, by absolute path. */
  readonly texts: ReadonlyMap<string, string>;
  /** The compiled programs of the run. */
  readonly programs: readonly Figures[];
  /** Absolute path of a file as the report writes it. */
  readonly resolve: (reported: string) => string;
}

export interface Placed<T> {
  readonly line: number;
  readonly stale: boolean;
  readonly value: T;
}

/** What a measurement says about one file, at the lines of its current text. */
export interface PlacedFile {
  readonly lines: readonly Placed<LineReport>[];
  readonly functions: readonly Placed<FunctionReport>[];
  readonly live: readonly Placed<LiveArray>[];
  readonly leaks: readonly Placed<LeakReport>[];
  /** Line of the peak when it lies in this file. */
  readonly peak: Placed<number> | undefined;
  /** Anything in this file changed since the run: totals of the run are stale. */
  readonly changed: boolean;
}

export function placed(measurement: Measurement, file: string, text: string): PlacedFile | undefined {
  const older = measurement.texts.get(file);
  if (older === undefined) return undefined;
  const { report, resolve } = measurement;
  const map = lineMap(older, text);
  const functions = outline(file, older);
  const here = <T extends { readonly file: string; readonly line: number }>(all: readonly T[]): readonly Placed<T>[] =>
    all
      .filter((one) => resolve(one.file) === file)
      .flatMap((value) => {
        const line = newLine(map, value.line);
        return line === undefined ? [] : [{ line, stale: lineIsStale(map, functions, value.line), value }];
      });
  const peak = report.peakAt === null ? [] : here([report.peakAt]);
  return {
    lines: here(report.lines),
    functions: here(
      named(
        report.functions.filter((one) => resolve(one.file) === file),
        functions,
        older,
      ),
    ).map((one) => ({ ...one, stale: functionIsStale(map, functions, one.value) })),
    live: here(report.liveAtPeak),
    leaks: here(report.leaks),
    peak: peak[0] === undefined ? undefined : { line: peak[0].line, stale: peak[0].stale, value: report.peakBytes },
    changed: older !== text && !(isUnbroken(map, 1, map.length) && lineCount(text) === map.length),
  };
}

/**
 * A compiled arrow function has no name of its own and is reported where it was called: it is the one function of this
 * file that the line calls. Helpers of loaders are nobody's functions.
 */
export function named(
  reported: readonly FunctionReport[],
  functions: readonly OutlinedFunction[],
  text: string,
): readonly FunctionReport[] {
  const lines = text.split(/\r\n|\r|\n/);
  return reported.flatMap((one) => {
    if (one.name.startsWith('__')) return [];
    if (one.name !== 'anonymous' && one.name !== '') return [one];
    const called = functions.filter(
      ({ name }) =>
        /^[\w$]+$/.test(name) && new RegExp(`(?<![\\w$.])${name.replaceAll('$', '\\$')}\\s*\\(`).test(lines[one.line - 1] ?? ''),
    );
    return called.length === 1 ? [{ ...one, name: called[0]!.name, line: called[0]!.line }] : [];
  });
}

/** Where a line is now; a changed line between two unchanged ones keeps its distance, a removed one has no place. */
function newLine(map: LineMap, line: number): number | undefined {
  const at = map[line - 1];
  if (at === undefined) return undefined;
  if (at >= 0) return at + 1;
  let before = line - 2;
  while (before >= 0 && map[before]! < 0) before -= 1;
  let after = line;
  while (after < map.length && map[after]! < 0) after += 1;
  const start = before < 0 ? -1 : map[before]!;
  const end = after < map.length ? map[after]! : undefined;
  const distance = line - 1 - before;
  const moved = start + distance;
  if (end !== undefined && moved >= end) return undefined;
  return moved + 1;
}

function lineIsStale(map: LineMap, functions: readonly OutlinedFunction[], line: number): boolean {
  const around = functions.filter((one) => one.line <= line && line <= one.endLine).sort((a, b) => b.line - a.line)[0];
  return around === undefined ? map[line - 1]! < 0 : !isUnbroken(map, around.line, around.endLine);
}

function functionIsStale(map: LineMap, functions: readonly OutlinedFunction[], { line, name }: FunctionReport): boolean {
  const own =
    functions.find((one) => one.line === line && one.name === name) ?? functions.find((one) => one.line <= line && line <= one.endLine);
  return own === undefined ? map[line - 1]! < 0 : !isUnbroken(map, own.line, own.endLine);
}

/** Whether every line of the stretch is still there, in order, with nothing between. */
function isUnbroken(map: LineMap, first: number, last: number): boolean {
  for (let line = first; line <= last; line += 1) {
    if (map[line - 1]! < 0) return false;
    if (line > first && map[line - 1] !== map[line - 2]! + 1) return false;
  }
  return true;
}

const lineCount = (text: string): number => text.split(/\r\n|\r|\n/).length;
