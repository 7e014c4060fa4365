/**
 * References and copies as text: `.ref` or `.copy()` at one use of an array, and an additional `.ref` taken away.
 *
 * Depends on: typescript, edit.
 */
import ts from 'typescript';
import { nodeAt, type Change, type Source } from './edit.ts';

/** `use` becomes `use.ref` (or `use.copy()`); a name short for its property (`{ w }`) is written out. */
export function suffix(file: Source, start: number, end: number, text: string): readonly Change[] | undefined {
  const short = nodeAt(file, start, end, ts.isShorthandPropertyAssignment);
  if (short !== undefined && short.name.getStart(file.tree) === start && short.name.end === end) {
    return [{ start: end, end, text: `: ${short.name.text}${text}` }];
  }
  const node = nodeAt(file, start, end, ts.isExpression);
  if (node === undefined || node.getStart(file.tree) !== start || node.end !== end) return undefined;
  if (needsParentheses(node))
    return [
      { start, end: start, text: '(' },
      { start: end, end, text: `)${text}` },
    ];
  return [{ start: end, end, text }];
}

/** The receiver of the call at [start, end) gets the suffix: `x.mul(x)` becomes `x.ref.mul(x)`. */
export function receiverSuffix(file: Source, start: number, end: number, text: string): readonly Change[] | undefined {
  const call = nodeAt(file, start, end, ts.isCallExpression);
  if (call === undefined || call.getStart(file.tree) !== start || call.end !== end || !ts.isPropertyAccessExpression(call.expression))
    return undefined;
  const receiver = call.expression.expression;
  return suffix(file, receiver.getStart(file.tree), receiver.end, text);
}

/** `x.ref` becomes `x`. */
export function dropSuffix(file: Source, start: number, end: number): readonly Change[] | undefined {
  const node = nodeAt(file, start, end, ts.isPropertyAccessExpression);
  const access = node !== undefined && node.name.end === end ? node : undefined;
  return access === undefined ? undefined : [{ start: access.expression.end, end: access.end, text: '' }];
}

const needsParentheses = (node: ts.Expression): boolean =>
  !(
    ts.isIdentifier(node) ||
    ts.isPropertyAccessExpression(node) ||
    ts.isElementAccessExpression(node) ||
    ts.isCallExpression(node) ||
    ts.isNonNullExpression(node) ||
    ts.isParenthesizedExpression(node) ||
    node.kind === ts.SyntaxKind.ThisKeyword
  );
