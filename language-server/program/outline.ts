/**
 * Where the functions of a file begin and end, from its text alone.
 *
 * Needs no types and survives syntax errors, so that lenses and measured numbers have a place while a person types.
 * A function is named by what it is bound to: `step`, `Net.forward`, `update` in `jit(function update() …)`.
 * Depends on: typescript.
 */
import ts from 'typescript';

export interface OutlinedFunction {
  readonly name: string;
  /** First line of the statement, without its comments; lines count from 1, `endLine` is the last. */
  readonly line: number;
  readonly column: number;
  readonly endLine: number;
  readonly parameters: readonly string[];
  readonly exported: boolean;
}

export function outline(file: string, text: string): readonly OutlinedFunction[] {
  const source = ts.createSourceFile(
    file,
    text,
    { languageVersion: ts.ScriptTarget.Latest, jsDocParsingMode: ts.JSDocParsingMode.ParseNone },
    false,
  );
  const found: OutlinedFunction[] = [];
  const visit = (node: ts.Node, path: readonly string[], exported: boolean): void => {
    const own = functionOf(node);
    if (own === undefined) {
      const name = containerName(node);
      const inside = name === undefined ? path : [...path, name];
      ts.forEachChild(node, (child) => visit(child, inside, exported || isExported(node)));
      return;
    }
    const start = source.getLineAndCharacterOfPosition(node.getStart(source));
    found.push({
      name: [...path, own.name].join('.'),
      line: start.line + 1,
      column: start.character + 1,
      endLine: source.getLineAndCharacterOfPosition(node.end).line + 1,
      parameters: own.node.parameters.map(({ name }) => name.getText(source)),
      exported: exported || isExported(node),
    });
    if (own.node.body !== undefined) ts.forEachChild(own.node.body, (child) => visit(child, [], false));
  };
  ts.forEachChild(source, (child) => visit(child, [], false));
  return found;
}

/** The function that a statement or member binds to a name; wrappers such as `jit(…)` are looked through. */
function functionOf(node: ts.Node): { readonly name: string; readonly node: ts.FunctionLikeDeclaration } | undefined {
  if (ts.isFunctionDeclaration(node)) return { name: node.name?.text ?? 'default', node };
  if (ts.isConstructorDeclaration(node)) return { name: 'constructor', node };
  if ((ts.isMethodDeclaration(node) || ts.isGetAccessor(node) || ts.isSetAccessor(node)) && node.body !== undefined) {
    return { name: nameText(node.name), node };
  }
  if (ts.isVariableStatement(node) && node.declarationList.declarations.length === 1) {
    const declaration = node.declarationList.declarations[0]!;
    const inner = declaration.initializer === undefined ? undefined : wrapped(declaration.initializer);
    return inner !== undefined && ts.isIdentifier(declaration.name) ? { name: declaration.name.text, node: inner } : undefined;
  }
  if ((ts.isPropertyAssignment(node) || ts.isPropertyDeclaration(node)) && node.initializer !== undefined) {
    const inner = wrapped(node.initializer);
    return inner === undefined ? undefined : { name: nameText(node.name), node: inner };
  }
  if (ts.isExportAssignment(node)) {
    const inner = wrapped(node.expression);
    return inner === undefined ? undefined : { name: 'default', node: inner };
  }
  return undefined;
}

function wrapped(expression: ts.Expression): ts.ArrowFunction | ts.FunctionExpression | undefined {
  if (ts.isArrowFunction(expression) || ts.isFunctionExpression(expression)) return expression;
  if (ts.isParenthesizedExpression(expression)) return wrapped(expression.expression);
  const first = ts.isCallExpression(expression) ? expression.arguments[0] : undefined;
  return first === undefined ? undefined : wrapped(first);
}

function containerName(node: ts.Node): string | undefined {
  if (ts.isClassDeclaration(node)) return node.name?.text;
  if (ts.isModuleDeclaration(node)) return node.name.text;
  if (ts.isVariableDeclaration(node) && node.initializer !== undefined && ts.isIdentifier(node.name)) {
    return ts.isObjectLiteralExpression(node.initializer) || ts.isClassExpression(node.initializer) ? node.name.text : undefined;
  }
  return undefined;
}

const nameText = (name: ts.PropertyName): string =>
  ts.isComputedPropertyName(name) ? '[…]' : ts.isPrivateIdentifier(name) ? name.text : name.text;

const isExported = (node: ts.Node): boolean =>
  ts.canHaveModifiers(node) && (ts.getModifiers(node) ?? []).some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
