/**
 * A captured array becomes an argument: a parameter of the compiled function, and the array itself at every call.
 *
 * Only where the function is written at its `jit` and the result is a constant or field of the same file, so that all
 * calls can be seen. Depends on: typescript, edit.
 */
import ts from 'typescript';
import { callAt, nodeAt, type Change, type Source } from './edit.ts';

export function captureToArgument(
  file: Source,
  use: { readonly start: number; readonly end: number },
  jit: { readonly start: number; readonly end: number },
): readonly Change[] | undefined {
  const { tree } = file;
  const call = callAt(file, jit.start, jit.end);
  const compiled = call?.arguments[0];
  if (call === undefined || compiled === undefined || !(ts.isArrowFunction(compiled) || ts.isFunctionExpression(compiled)))
    return undefined;
  const target = capturedAt(file, use);
  if (target === undefined || use.start < compiled.getStart(tree) || compiled.end < use.end) return undefined;
  const path = target.getText(tree);
  const name = freeName(compiled, ts.isPropertyAccessExpression(target) ? target.name.text : path, path, tree);
  const calls = callsOf(file, call);
  if (calls === undefined || calls.some((found) => found.arguments.some(ts.isSpreadElement))) return undefined;
  return [
    parameter(file, compiled, name, typeOf(file, target, compiled)),
    ...usesOf(compiled, path, tree).map((found) => ({ start: found.getStart(tree), end: found.end, text: name })),
    ...calls.map((found) => lastArgument(found, path)),
  ];
}

/** `x` or `this.x` at the use; what is around it (`x.matmul(w)`) isn't part of it. */
function capturedAt(
  file: Source,
  { start, end }: { readonly start: number; readonly end: number },
): ts.Identifier | ts.PropertyAccessExpression | undefined {
  const { tree } = file;
  let found: ts.Identifier | ts.PropertyAccessExpression | undefined;
  const visit = (node: ts.Node): void => {
    if (node.end <= start || node.getStart(tree) >= end || found !== undefined) return;
    if (node.getStart(tree) === start && ts.isPropertyAccessExpression(node) && node.expression.kind === ts.SyntaxKind.ThisKeyword)
      found = node;
    else if (node.getStart(tree) === start && ts.isIdentifier(node)) found = node;
    else ts.forEachChild(node, visit);
  };
  visit(nodeAt(file, start, end, ts.isExpression) ?? tree);
  return found;
}

function usesOf(compiled: ts.Node, path: string, tree: ts.SourceFile): readonly ts.Node[] {
  const found: ts.Node[] = [];
  const visit = (node: ts.Node): void => {
    const named =
      ts.isIdentifier(node) &&
      node.text === path &&
      !(ts.isPropertyAccessExpression(node.parent) && node.parent.name === node) &&
      !ts.isPropertyAssignment(node.parent);
    const member = ts.isPropertyAccessExpression(node) && node.getText(tree) === path;
    if (named || member) found.push(node);
    else ts.forEachChild(node, visit);
  };
  visit(compiled);
  return found;
}

function freeName(compiled: ts.Node, wish: string, path: string, tree: ts.SourceFile): string {
  if (wish === path) return wish;
  return new RegExp(`(?<![.\\w])${wish}\\b`).test(compiled.getText(tree)) ? `${wish}Array` : wish;
}

function parameter({ text }: Source, compiled: ts.ArrowFunction | ts.FunctionExpression, name: string, type: string | undefined): Change {
  const written = type === undefined ? name : `${name}: ${type}`;
  const last = compiled.parameters.at(-1);
  if (last !== undefined) {
    const bare = text[compiled.getStart()] !== '(' && !text.slice(compiled.getStart(), last.end).includes('(');
    return bare
      ? { start: last.getStart(), end: last.end, text: `(${last.getText()}, ${written})` }
      : { start: last.end, end: last.end, text: `, ${written}` };
  }
  const open = text.indexOf('(', compiled.getStart()) + 1;
  return { start: open, end: open, text: written };
}

/** The type that the author wrote for it, or else that of the first parameter; JavaScript has none. */
function typeOf({ path, tree }: Source, target: ts.Node, compiled: ts.ArrowFunction | ts.FunctionExpression): string | undefined {
  if (/\.[cm]?jsx?$/.test(path)) return undefined;
  const name = ts.isIdentifier(target) ? target.text : ts.isPropertyAccessExpression(target) ? target.name.text : '';
  let type: string | undefined;
  const visit = (node: ts.Node): void => {
    if (
      (ts.isParameter(node) || ts.isVariableDeclaration(node) || ts.isPropertyDeclaration(node)) &&
      ts.isIdentifier(node.name) &&
      node.name.text === name &&
      node.type !== undefined
    )
      type ??= node.type.getText(tree);
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return type ?? compiled.parameters[0]?.type?.getText(tree);
}

/** All calls of what the `jit` is bound to; undefined when it is used in any other way, or not bound. */
function callsOf({ tree }: Source, jit: ts.CallExpression): readonly ts.CallExpression[] | undefined {
  const holder = jit.parent;
  const bound =
    (ts.isVariableDeclaration(holder) || ts.isPropertyDeclaration(holder)) && holder.initializer === jit && ts.isIdentifier(holder.name)
      ? holder
      : undefined;
  if (bound === undefined || !ts.isIdentifier(bound.name)) return undefined;
  const isField = ts.isPropertyDeclaration(bound);
  if (
    ts.isVariableDeclaration(bound) &&
    ts.isVariableStatement(bound.parent.parent) &&
    bound.parent.parent.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
  )
    return undefined;
  const name = bound.name.text;
  const calls: ts.CallExpression[] = [];
  let other = false;
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) && node.text === name && node !== bound.name) {
      const reference = isField && ts.isPropertyAccessExpression(node.parent) && node.parent.name === node ? node.parent : node;
      const isMember = !isField && ts.isPropertyAccessExpression(node.parent) && node.parent.name === node;
      if (!isMember) {
        if (ts.isCallExpression(reference.parent) && reference.parent.expression === reference) calls.push(reference.parent);
        else if (!(ts.isPropertyAccessExpression(reference.parent) && reference.parent.name.text === 'dispose')) other = true;
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return other ? undefined : calls;
}

function lastArgument(call: ts.CallExpression, text: string): Change {
  const last = call.arguments.at(-1);
  return last === undefined ? { start: call.end - 1, end: call.end - 1, text } : { start: last.end, end: last.end, text: `, ${text}` };
}
