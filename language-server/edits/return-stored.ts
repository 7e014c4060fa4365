/**
 * What a traced function stores outside is returned by it instead, and stored where it is called.
 *
 * Only where the function is written at its `jit`, whose result is a constant of the file that is called in declarations
 * alone, so that all calls can be seen. The value comes first in what is returned: it is made before the rest is.
 * Depends on: typescript, edit, dispose, split-scope.
 */
import ts from 'typescript';
import { freshName } from './dispose.ts';
import { lineAfter, lineStart, nextLine, removal, statementAt, type Change, type Source } from './edit.ts';
import { countReturns, namesIn } from './split-scope.ts';

export function returnStored(file: Source, start: number, end: number): readonly Change[] | undefined {
  const { text, tree } = file;
  const store = statementAt(file, start, end);
  const value = store === undefined ? undefined : storedBy(store);
  const traced = ts.findAncestor(
    store,
    (node): node is ts.ArrowFunction | ts.FunctionExpression => ts.isArrowFunction(node) || ts.isFunctionExpression(node),
  );
  if (store === undefined || value === undefined || traced === undefined || !ts.isBlock(traced.body)) return undefined;
  if (store.parent !== traced.body) return undefined;
  const last = traced.body.statements.at(-1);
  if (last === undefined || !ts.isReturnStatement(last) || last.expression === undefined || countReturns(traced.body) !== 1)
    return undefined;
  const rest = `${text.slice(store.getStart(tree), value.getStart(tree))} ${text.slice(value.end, store.end)}`;
  if ([...namesIn(traced)].some((name) => new RegExp(`(?<![\\w$.])${name}(?![\\w$])`).test(rest))) return undefined;
  const declarations = callsOf(file, traced);
  if (declarations === undefined) return undefined;
  const wanted = /^(\w+)/.exec(value.getText(tree))?.[1] ?? 'stored';
  const name = new RegExp(`\\b${wanted}\\b`).test(text.slice(0, traced.getStart(tree)) + text.slice(traced.end))
    ? freshName(file, wanted)
    : wanted;
  const typed = traced.type;
  const isScript = /\.[cm]?jsx?$/.test(file.path);
  // A comment that ends the line goes along.
  const comment = /^[ \t]*\/\/.*/.exec(text.slice(store.end))?.[0] ?? '';
  const moved = removal(file, store);
  return [
    comment === '' ? moved : { start: lineStart(text, moved.start), end: nextLine(text, store.end), text: '' },
    ...(typed === undefined
      ? []
      : [{ start: typed.getStart(tree), end: typed.end, text: `[${typed.getText(tree)}, ${typed.getText(tree)}]` }]),
    { start: last.expression.getStart(tree), end: last.expression.getStart(tree), text: `[${value.getText(tree)}, ` },
    { start: last.expression.end, end: last.expression.end, text: typed === undefined && !isScript ? '] as const' : ']' },
    ...declarations.flatMap(({ declaration, statement }) => {
      const { name: held } = declaration;
      return [
        { start: held.getStart(tree), end: held.end, text: `[${name}, ${held.getText(tree)}]` },
        lineAfter(
          file,
          statement,
          `${text.slice(store.getStart(tree), value.getStart(tree))}${name}${text.slice(value.end, store.end)}${comment}`,
        ),
      ];
    }),
  ];
}

/** The value that `x = value`, `list.push(value)` or `map.set(key, value)` stores. */
function storedBy(statement: ts.Statement): ts.Expression | undefined {
  if (!ts.isExpressionStatement(statement)) return undefined;
  const { expression } = statement;
  if (ts.isBinaryExpression(expression)) return expression.operatorToken.kind === ts.SyntaxKind.EqualsToken ? expression.right : undefined;
  return ts.isCallExpression(expression) ? expression.arguments.at(-1) : undefined;
}

/** The declarations that hold what calls of the compiled function yield; undefined when it is used in any other way. */
function callsOf(
  { tree }: Source,
  traced: ts.Node,
): readonly { readonly declaration: ts.VariableDeclaration; readonly statement: ts.VariableStatement }[] | undefined {
  const bound = ts.isCallExpression(traced.parent) ? traced.parent.parent : undefined;
  if (bound === undefined || !ts.isVariableDeclaration(bound) || !ts.isIdentifier(bound.name)) return undefined;
  const compiled = bound.name;
  const list = ts.findAncestor(bound, ts.isVariableStatement);
  if (list === undefined || (list.modifiers ?? []).length > 0 || !(list.declarationList.flags & ts.NodeFlags.Const)) return undefined;
  const found: { readonly declaration: ts.VariableDeclaration; readonly statement: ts.VariableStatement }[] = [];
  let isElsewhere = false;
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) && node.text === compiled.text && node !== compiled && !isPropertyName(node)) {
      const call = ts.isCallExpression(node.parent) && node.parent.expression === node ? node.parent : undefined;
      const declaration = call !== undefined && ts.isVariableDeclaration(call.parent) ? call.parent : undefined;
      const list = declaration?.parent;
      const isPlain = declaration !== undefined && ts.isIdentifier(declaration.name);
      if (isPlain && list !== undefined && ts.isVariableDeclarationList(list) && ts.isVariableStatement(list.parent) && isAlone(list))
        found.push({ declaration, statement: list.parent });
      else isElsewhere = true;
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return isElsewhere ? undefined : found;
}

const isAlone = ({ declarations, flags }: ts.VariableDeclarationList): boolean =>
  declarations.length === 1 && (flags & ts.NodeFlags.Using) !== ts.NodeFlags.Using;

const isPropertyName = (node: ts.Identifier): boolean =>
  (ts.isPropertyAccessExpression(node.parent) && node.parent.name === node) || ts.isPropertyAssignment(node.parent);
