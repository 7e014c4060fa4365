/**
 * Moves a `jit(…)` out of the function or loop that makes it anew, to a constant before the outermost statement.
 *
 * Only when what is compiled reads nothing of that function: then the constant means the same. Depends on: typescript, edit.
 */
import ts from 'typescript';
import { callAt, lineBefore, mannerOf, nodeAt, removal, type Change, type Source } from './edit.ts';

export function hoistJit(file: Source, start: number, end: number): readonly Change[] | undefined {
  const call = callAt(file, start, end);
  if (call === undefined) return undefined;
  const top = file.tree.statements.find((statement) => statement.getStart(file.tree) <= start && end <= statement.end);
  if (top === undefined || readsLocals(call, top)) return undefined;
  const declaration = nodeAt(file, start, end, ts.isVariableStatement);
  const only = declaration?.declarationList.declarations.length === 1 ? declaration.declarationList.declarations[0] : undefined;
  const { semicolon, lineEnd } = mannerOf(file);
  const text = dedent(file, call);
  if (
    declaration !== undefined &&
    only !== undefined &&
    only.initializer === call &&
    ts.isIdentifier(only.name) &&
    declaration !== top &&
    !isDeclaredAtTop(file, only.name.text)
  ) {
    return [removal(file, declaration), lineBefore(file, top, `const ${only.name.text} = ${text}${semicolon}${lineEnd}`)];
  }
  const name = freshName(file, call);
  return [
    lineBefore(file, top, `const ${name} = ${text}${semicolon}${lineEnd}`),
    { start: call.getStart(file.tree), end: call.end, text: name },
  ];
}

/** The text of the call with the indentation of its first line taken off the others. */
function dedent(file: Source, call: ts.CallExpression): string {
  const begin = file.text.lastIndexOf('\n', call.getStart(file.tree)) + 1;
  const indent = /^[ \t]*/.exec(file.text.slice(begin))![0];
  return call
    .getText(file.tree)
    .split('\n')
    .map((line, i) => (i > 0 && line.startsWith(indent) ? line.slice(indent.length) : line))
    .join('\n');
}

/** Does the expression read a name that is declared inside `top` but outside of the expression? */
function readsLocals(call: ts.CallExpression, top: ts.Statement): boolean {
  const inside = declaredIn(top, call);
  let reads = false;
  const visit = (node: ts.Node): void => {
    if (node.kind === ts.SyntaxKind.ThisKeyword || (ts.isIdentifier(node) && inside.has(node.text) && !isName(node))) reads = true;
    if (!reads) ts.forEachChild(node, visit);
  };
  visit(call);
  return reads;
}

function declaredIn(top: ts.Statement, except: ts.Node): ReadonlySet<string> {
  const names = new Set<string>();
  const bind = (name: ts.BindingName): void => {
    if (ts.isIdentifier(name)) names.add(name.text);
    else for (const element of name.elements) if (ts.isBindingElement(element)) bind(element.name);
  };
  const visit = (node: ts.Node): void => {
    if (node === except) return;
    if (ts.isVariableDeclaration(node) || ts.isParameter(node)) bind(node.name);
    if ((ts.isFunctionDeclaration(node) || ts.isClassDeclaration(node)) && node.name !== undefined && node !== top)
      names.add(node.name.text);
    ts.forEachChild(node, visit);
  };
  visit(top);
  // A declaration at the top level itself is visible everywhere, though perhaps not yet made.
  if (ts.isVariableStatement(top))
    for (const { name } of top.declarationList.declarations) if (ts.isIdentifier(name)) names.delete(name.text);
  return names;
}

const isName = (node: ts.Identifier): boolean =>
  (ts.isPropertyAccessExpression(node.parent) && node.parent.name === node) ||
  (ts.isPropertyAssignment(node.parent) && node.parent.name === node);

function isDeclaredAtTop({ tree }: Source, name: string): boolean {
  return tree.statements.some(
    (statement) =>
      (ts.isVariableStatement(statement) &&
        statement.declarationList.declarations.some((d) => ts.isIdentifier(d.name) && d.name.text === name)) ||
      ((ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement)) && statement.name?.text === name) ||
      (ts.isImportDeclaration(statement) && statement.getText(tree).match(new RegExp(`\\b${name}\\b`)) !== null),
  );
}

function freshName(file: Source, call: ts.CallExpression): string {
  const [compiled] = call.arguments;
  const own =
    compiled !== undefined && ts.isIdentifier(compiled)
      ? `compiled${compiled.text[0]!.toUpperCase()}${compiled.text.slice(1)}`
      : 'compiled';
  let name = own;
  for (let i = 2; new RegExp(`\\b${name}\\b`).test(file.text); i++) name = `${own}${i}`;
  return name;
}
