/**
 * The places in a program's text where a person could forget to free something, and the text without it.
 *
 * Depends on: typescript.
 */
import ts from 'typescript';

export type Forgotten = 'dispose' | 'scope' | 'ref' | 'using' | 'return';

export interface Place {
  readonly what: Forgotten;
  readonly line: number;
  /** The whole text without it. */
  readonly text: string;
  /** The words that go. */
  readonly source: string;
}

/** Statements that free, scopes around a function, `using`, `.ref` (where `refs`), and bare returns. */
export function forgettable(file: string, text: string, refs: boolean): readonly Place[] {
  const tree = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found: Place[] = [];
  const add = (what: Forgotten, node: ts.Node, without: string): void => {
    const start = node.getStart();
    const line = tree.getLineAndCharacterOfPosition(start).line + 1;
    found.push({
      what,
      line,
      text: text.slice(0, start) + without + text.slice(node.end),
      source: node.getText().split('\n')[0]!.slice(0, 100),
    });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isExpressionStatement(node) && frees(node.expression)) add('dispose', node, ';');
    if (ts.isReturnStatement(node) && node.expression === undefined && ts.isBlock(node.parent)) add('return', node, ';');
    if (ts.isVariableDeclarationList(node) && (node.flags & ts.NodeFlags.Using) === ts.NodeFlags.Using) {
      add('using', node, node.getText().replace(/^using/, 'const'));
    }
    if (ts.isCallExpression(node) && /(^|\.)(tidy|scope)$/.test(node.expression.getText())) {
      const body = node.arguments.at(-1);
      if (body !== undefined && (ts.isArrowFunction(body) || ts.isFunctionExpression(body))) add('scope', node, `(${body.getText()})()`);
    }
    if (refs && ts.isPropertyAccessExpression(node) && node.name.text === 'ref') add('ref', node, node.expression.getText());
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return found;
}

/** `x.dispose()`, `tf.dispose(x)`, `this.buffer?.destroy()`, but not `super.dispose()`. */
function frees(expression: ts.Expression): boolean {
  if (!ts.isCallExpression(expression) || !ts.isPropertyAccessExpression(expression.expression)) return false;
  const { name, expression: target } = expression.expression;
  return /^(dispose|destroy)$/.test(name.text) && target.kind !== ts.SyntaxKind.SuperKeyword;
}
