/**
 * Budgets as they are written in a file, and whether a measured run kept them.
 *
 * `// @budget 64 MiB` directly above a function is that function's; on the second line of a file it is the file's.
 * Depends on: language-server/protocol, core/bytes.
 */
import type { ProfileReport } from '../language-server/protocol.ts';
import { readBytes, writeBytes } from '../runtime/core/bytes.ts';

export interface Budget {
  /** The function's name; undefined for the budget of the whole file. */
  readonly name: string | undefined;
  /** Line of the function, or of the comment where it is the file's; counts from 1. */
  readonly line: number;
  readonly bytes: number;
}

const comment = /^\s*\/\/[ \t]*@budget[ \t]+([\d.]+[ \t]*[A-Za-z]+)/;
const declared =
  /(?:\bfunction\b\s*\*?\s*|\b(?:const|let|var)\s+)([\w$]+)|^\s*(?:(?:async|static|public|private|protected|\*)\s+)*([\w$]+)\s*\(/;

export function budgetsIn(text: string): readonly Budget[] {
  if (!text.includes('@budget')) return [];
  const lines = text.split(/\r\n|\r|\n/);
  return lines.flatMap((line, index): readonly Budget[] => {
    const bytes = readBytes(comment.exec(line)?.[1] ?? '');
    if (bytes === undefined) return [];
    const named = declared.exec(lines[index + 1] ?? '');
    const name = named?.[1] ?? named?.[2];
    if (name !== undefined) return [{ name, line: index + 2, bytes }];
    return index === 1 ? [{ name: undefined, line: 2, bytes }] : [];
  });
}

export interface Verdict {
  readonly kind: 'kept' | 'broken' | 'notReached';
  readonly text: string;
}

/** `isFile` says whether a file of the report is the one that the budget stands in. */
export function verdict({ name, line, bytes }: Budget, report: ProfileReport, isFile: (reported: string) => boolean): Verdict {
  const called = report.functions.filter((one) => isFile(one.file) && (one.name === name || one.line === line));
  if (name !== undefined && called.length === 0) return { kind: 'notReached', text: `\`${name}\` was never called in this run` };
  const peakBytes = name === undefined ? report.peakBytes : Math.max(...called.map((one) => one.peakBytes));
  const figures = `peak ${writeBytes(peakBytes)}, budget ${writeBytes(bytes)}`;
  return peakBytes <= bytes
    ? { kind: 'kept', text: figures }
    : { kind: 'broken', text: `${figures}: ${writeBytes(peakBytes - bytes)} too much` };
}
