/**
 * Offsets of a text to lines and columns that count from 1, and back.
 *
 * Depends on: lower/ir (span, unit), program/host, protocol.
 */
import type { Span, Unit } from '../lower/ir.ts';
import type { Texts } from '../program/host.ts';
import type { Position } from '../protocol.ts';

const starts = new Map<string, { readonly version: string; readonly lines: readonly number[] }>();

function linesOf(texts: Texts, file: string): readonly number[] {
  const version = texts.version(file);
  const known = starts.get(file);
  if (known?.version === version) return known.lines;
  const text = texts.read(file) ?? '';
  const lines = [0];
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 13 && text.charCodeAt(i + 1) === 10) i++;
    if (code === 10 || code === 13) lines.push(i + 1);
  }
  starts.set(file, { version, lines });
  return lines;
}

export function placeIn(texts: Texts, span: Span): { readonly start: Position; readonly end: Position } {
  const lines = linesOf(texts, span.file);
  return { start: position(lines, span.start), end: position(lines, span.end) };
}

function position(lines: readonly number[], offset: number): Position {
  let low = 0;
  let high = lines.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (lines[middle]! <= offset) low = middle;
    else high = middle - 1;
  }
  return { line: low + 1, column: offset - lines[low]! + 1 };
}

export const positionIn = (unit: Unit, at: Position): number => (unit.lines[at.line - 1] ?? 0) + at.column - 1;
