/**
 * Wraps an expression or a function's statements in `tidy(() => …)` or `scope(() => …)`.
 *
 * Depends on: typescript, edit, imports.
 */
import ts from 'typescript';
import { indentAt, mannerOf, nextLine, nodeAt, type Change, type Source } from './edit.ts';
import { imported } from './imports.ts';

export function wrapInScope(file: Source, start: number, end: number, scope: string, module: string): readonly Change[] | undefined {
  const node = nodeAt(file, start, end, (_node): _node is ts.Node => true);
  if (node === undefined || containsAwait(node)) return undefined;
  const { written, changes } = imported(file, module, scope);
  const expression = nodeAt(file, start, end, ts.isExpression);
  if (expression !== undefined && expression.getStart(file.tree) === start && expression.end === end) {
    const body = ts.isObjectLiteralExpression(expression) ? [`(`, `)`] : ['', ''];
    return [...changes, { start, end: start, text: `${written}(() => ${body[0]}` }, { start: end, end, text: `${body[1]})` }];
  }
  const block = nodeAt(file, start, end, ts.isBlock);
  return block === undefined ? undefined : wrapBody(file, block, written, changes);
}

/** All statements of a function's body become the callback; what they return is returned. */
function wrapBody(file: Source, block: ts.Block, written: string, changes: readonly Change[]): readonly Change[] | undefined {
  const first = block.statements[0];
  const last = block.statements.at(-1);
  if (first === undefined || last === undefined || !isBodyOfSyncFunction(block)) return undefined;
  const { text, tree } = file;
  const { indent, lineEnd, semicolon } = mannerOf(file);
  const outer = indentAt(file, first.getStart(tree));
  const from = first.getStart(tree) - outer.length;
  const to = nextLine(text, last.end);
  if (text.slice(from, first.getStart(tree)).trim() !== '') return undefined;
  const body = text.slice(from, to).replace(/\r?\n$/, '');
  if (/`[^`]*\n[^`]*`/.test(body)) return undefined;
  const inner = body
    .split(/\r?\n/)
    .map((line) => (line.trim() === '' ? line : indent + line))
    .join(lineEnd);
  const head = returnsValue(block) ? `return ${written}` : written;
  return [
    ...changes,
    { start: from, end: to, text: `${outer}${head}(() => {${lineEnd}${inner}${lineEnd}${outer}})${semicolon}${lineEnd}` },
  ];
}

function isBodyOfSyncFunction(block: ts.Block): boolean {
  const fn = block.parent;
  if (!ts.isFunctionLike(fn) || ts.isConstructorDeclaration(fn) || ts.isGetAccessor(fn) || ts.isSetAccessor(fn)) return false;
  const modifiers = ts.canHaveModifiers(fn) ? (ts.getModifiers(fn) ?? []) : [];
  return !modifiers.some(({ kind }) => kind === ts.SyntaxKind.AsyncKeyword) && !('asteriskToken' in fn && fn.asteriskToken !== undefined);
}

function returnsValue(block: ts.Block): boolean {
  let found = false;
  const visit = (node: ts.Node): void => {
    if (ts.isReturnStatement(node) && node.expression !== undefined) found = true;
    if (!found && !ts.isFunctionLike(node)) ts.forEachChild(node, visit);
  };
  ts.forEachChild(block, visit);
  return found;
}

function containsAwait(node: ts.Node): boolean {
  let found = false;
  const visit = (at: ts.Node): void => {
    if (ts.isAwaitExpression(at) || ts.isYieldExpression(at)) found = true;
    if (!found && !ts.isFunctionLike(at)) ts.forEachChild(at, visit);
  };
  visit(node);
  return found;
}
