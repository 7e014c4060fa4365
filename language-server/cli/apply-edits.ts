/**
 * Edits applied to a text: what a fix changes, without an editor.
 *
 * Edits of one round must not overlap; those that do are left for the next round, when the findings are known anew.
 * Depends on: protocol.
 */
import type { Edit, Fix, Position } from '../protocol.ts';

/** The text after the edits; `edits` are those of one file and don't overlap. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  const offset = offsetsOf(text);
  const sorted = edits.toSorted((a, b) => offset(a.start) - offset(b.start));
  let result = '';
  let at = 0;
  for (const edit of sorted) {
    result += text.slice(at, offset(edit.start)) + edit.newText;
    at = Math.max(at, offset(edit.end));
  }
  return result + text.slice(at);
}

/** Fixes that can be applied together: each whole or not at all, the first come first. */
export function compatibleFixes(fixes: readonly Fix[]): readonly Fix[] {
  const taken: Edit[] = [];
  return fixes.filter((fix) => {
    const fresh = fix.edits.filter((edit) => !taken.some((other) => same(edit, other)));
    if (fresh.some((edit) => taken.some((other) => overlap(edit, other)))) return false;
    taken.push(...fresh);
    return true;
  });
}

/** The edits of several fixes, each once: two fixes may add the same import. */
export function editsOf(fixes: readonly Fix[]): readonly Edit[] {
  const all: Edit[] = [];
  for (const edit of fixes.flatMap((fix) => fix.edits)) if (!all.some((other) => same(edit, other))) all.push(edit);
  return all;
}

const same = (a: Edit, b: Edit): boolean =>
  a.file === b.file && order(a.start, b.start) === 0 && order(a.end, b.end) === 0 && a.newText === b.newText;

function overlap(a: Edit, b: Edit): boolean {
  if (a.file !== b.file) return false;
  // Two insertions at one place would have no order.
  if (order(a.start, b.start) === 0) return true;
  return order(a.start, b.end) < 0 && order(b.start, a.end) < 0;
}

const order = (a: Position, b: Position): number => a.line - b.line || a.column - b.column;

function offsetsOf(text: string): (position: Position) => number {
  const starts = [0];
  for (let i = text.indexOf('\n'); i !== -1; i = text.indexOf('\n', i + 1)) starts.push(i + 1);
  return ({ line, column }) => Math.min((starts[line - 1] ?? text.length) + column - 1, text.length);
}
