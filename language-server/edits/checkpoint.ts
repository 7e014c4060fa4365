/**
 * Wraps a function in `checkpoint(…)`: a function declaration becomes a constant, an arrow keeps its place.
 *
 * Depends on: typescript, edit, imports.
 */
import ts from 'typescript';
import { mannerOf, nodeAt, type Change, type Source } from './edit.ts';
import { imported } from './imports.ts';

export function wrapInCheckpoint(file: Source, start: number, end: number, module: string): readonly Change[] | undefined {
  const { tree, text } = file;
  const { written, changes } = imported(file, module, 'checkpoint');
  const declared = nodeAt(file, start, end, ts.isFunctionDeclaration);
  if (declared?.name !== undefined && declared.body !== undefined && declared.asteriskToken === undefined)
    return [...changes, ...fromDeclaration(file, declared, written)];
  const variable = nodeAt(file, start, end, ts.isVariableDeclaration);
  const value = variable?.initializer;
  if (value === undefined || !(ts.isArrowFunction(value) || ts.isFunctionExpression(value))) return undefined;
  if (text.slice(value.getStart(tree), value.end).startsWith(written)) return undefined;
  return [
    ...changes,
    { start: value.getStart(tree), end: value.getStart(tree), text: `${written}(` },
    { start: value.end, end: value.end, text: ')' },
  ];
}

/** `function f(a: A): B {…}` becomes `const f = checkpoint((a: A): B => {…});`. */
function fromDeclaration(file: Source, declared: ts.FunctionDeclaration, written: string): readonly Change[] {
  const { tree, text } = file;
  const body = declared.body!;
  const keyword = declared.getChildren(tree).find((child) => child.kind === ts.SyntaxKind.FunctionKeyword)!;
  const parameters = text.slice(declared.name!.end, body.getStart(tree)).trimEnd();
  return [
    { start: keyword.getStart(tree), end: body.getStart(tree), text: `const ${declared.name!.text} = ${written}(${parameters} => ` },
    { start: declared.end, end: declared.end, text: `)${mannerOf(file).semicolon}` },
  ];
}

/** Is the function used before the statement that declares it, at the top level? Then a constant comes too late. */
export function isUsedBefore(file: Source, start: number, end: number): boolean {
  const declared = nodeAt(file, start, end, ts.isFunctionDeclaration);
  const name = declared?.name?.text;
  if (declared === undefined || name === undefined) return false;
  const block = declared.parent;
  if (!ts.isSourceFile(block) && !ts.isBlock(block)) return true;
  for (const statement of block.statements) {
    if (statement === declared) return false;
    if (
      ts.isFunctionDeclaration(statement) ||
      ts.isClassDeclaration(statement) ||
      ts.isImportDeclaration(statement) ||
      ts.isInterfaceDeclaration(statement) ||
      ts.isTypeAliasDeclaration(statement)
    )
      continue;
    if (new RegExp(`\\b${name}\\b`).test(statement.getText(file.tree))) return true;
  }
  return false;
}
