/**
 * Binary operators, assignments by operator, and conditions as branches.
 *
 * Depends on: expressions, function, ir, typescript.
 */
import ts from 'typescript';
import { assign, bare, closure, copy, expression } from './expressions.ts';
import type { Lowering } from './function.ts';
import type { BlockId, Local } from './ir.ts';

const K = ts.SyntaxKind;

const compound: ReadonlyMap<ts.SyntaxKind, string> = new Map([
  [K.PlusEqualsToken, '+'],
  [K.MinusEqualsToken, '-'],
  [K.AsteriskEqualsToken, '*'],
  [K.SlashEqualsToken, '/'],
  [K.PercentEqualsToken, '%'],
  [K.AsteriskAsteriskEqualsToken, '**'],
  [K.LessThanLessThanEqualsToken, '<<'],
  [K.GreaterThanGreaterThanEqualsToken, '>>'],
  [K.GreaterThanGreaterThanGreaterThanEqualsToken, '>>>'],
  [K.AmpersandEqualsToken, '&'],
  [K.BarEqualsToken, '|'],
  [K.CaretEqualsToken, '^'],
]);

/** Tests that may say more of a type that is no union. */
const narrowing: ReadonlySet<ts.SyntaxKind> = new Set([
  K.InstanceOfKeyword,
  K.InKeyword,
  K.EqualsEqualsToken,
  K.EqualsEqualsEqualsToken,
  K.ExclamationEqualsToken,
  K.ExclamationEqualsEqualsToken,
]);

export function binary(fn: Lowering, node: ts.BinaryExpression): Local {
  const kind = node.operatorToken.kind;
  if (kind === K.EqualsToken) {
    const left = bare(node.left);
    const right = bare(node.right);
    const value =
      (ts.isArrowFunction(right) || ts.isFunctionExpression(right)) && (ts.isIdentifier(left) || ts.isPropertyAccessExpression(left))
        ? closure(fn, right, left.getText())
        : expression(fn, node.right);
    assign(fn, node.left, value, node);
    return value;
  }
  const operator = compound.get(kind);
  if (operator !== undefined) {
    const left = expression(fn, node.left);
    const right = expression(fn, node.right);
    const to = fn.temporary(fn.type(node));
    fn.graph.emit({ kind: 'binary', to, operator, left, right, span: fn.span(node) });
    assign(fn, node.left, to, node);
    return to;
  }
  if (kind === K.CommaToken) {
    expression(fn, node.left);
    return expression(fn, node.right);
  }
  if (kind === K.AmpersandAmpersandToken || kind === K.BarBarToken || kind === K.QuestionQuestionToken)
    return shortCircuit(fn, node, kind, undefined);
  if (kind === K.AmpersandAmpersandEqualsToken || kind === K.BarBarEqualsToken || kind === K.QuestionQuestionEqualsToken) {
    const plain =
      kind === K.AmpersandAmpersandEqualsToken
        ? K.AmpersandAmpersandToken
        : kind === K.BarBarEqualsToken
          ? K.BarBarToken
          : K.QuestionQuestionToken;
    return shortCircuit(fn, node, plain, node.left);
  }
  const left = expression(fn, node.left);
  const right = expression(fn, node.right);
  if (narrowing.has(kind)) for (const tested of [node.left, node.right]) fn.tested(tested);
  const to = fn.temporary();
  fn.graph.emit({ kind: 'binary', to, operator: ts.tokenToString(kind) ?? '?', left, right, span: fn.span(node) });
  return to;
}

export function shortCircuit(fn: Lowering, node: ts.BinaryExpression, kind: ts.SyntaxKind, target: ts.Expression | undefined): Local {
  const to = fn.temporary(fn.type(node));
  const left = expression(fn, node.left);
  const [other, after] = [fn.graph.block(), fn.graph.block()];
  const keep = fn.graph.block();
  if (kind === K.QuestionQuestionToken) {
    const test = fn.temporary();
    fn.graph.emit({ kind: 'unary', to: test, operator: 'nullish', value: left, span: fn.span(node.left) });
    fn.graph.end({ kind: 'branch', condition: test, then: other, else: keep, span: fn.span(node.left) });
  } else if (kind === K.AmpersandAmpersandToken)
    fn.graph.end({ kind: 'branch', condition: left, then: other, else: keep, span: fn.span(node.left) });
  else fn.graph.end({ kind: 'branch', condition: left, then: keep, else: other, span: fn.span(node.left) });
  fn.graph.enter(keep);
  copy(fn, node, to, left);
  fn.graph.goto(after);
  fn.graph.enter(other);
  const right = expression(fn, node.right);
  if (target !== undefined) assign(fn, target, right, node);
  copy(fn, node, to, right);
  fn.graph.goto(after);
  fn.graph.enter(after);
  return to;
}

/** Evaluates a condition and goes to `then` or `other`. */
export function condition(fn: Lowering, node: ts.Expression, then: BlockId, other: BlockId): void {
  const test = bare(node);
  if (ts.isPrefixUnaryExpression(test) && test.operator === K.ExclamationToken) return condition(fn, test.operand, other, then);
  if (ts.isBinaryExpression(test)) {
    const kind = test.operatorToken.kind;
    if (kind === K.AmpersandAmpersandToken || kind === K.BarBarToken) {
      const middle = fn.graph.block();
      if (kind === K.AmpersandAmpersandToken) condition(fn, test.left, middle, other);
      else condition(fn, test.left, then, middle);
      fn.graph.enter(middle);
      return condition(fn, test.right, then, other);
    }
  }
  const value = expression(fn, node);
  fn.graph.end({ kind: 'branch', condition: value, then, else: other, span: fn.span(node) });
}
