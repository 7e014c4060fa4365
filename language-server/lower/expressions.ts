/**
 * One function per kind of expression: each emits events and returns the local that holds the value.
 *
 * Conditions become branches at once (`&&`, `||`, `??`, `?:`, `?.`), so that flow sees what was tested. What has no
 * meaning for memory keeps its operands in an `opaque` event. Depends on: function, ir, patterns, typescript.
 */
import ts from 'typescript';
import type { Entry, Key, Literal, Local, TypeFact } from './ir.ts';
import type { Lowering } from './function.ts';
import { call, chain, keyOf } from './access.ts';
import { binary, condition } from './operators.ts';
import { assignPattern } from './patterns.ts';
import { isSent } from './state-machine.ts';
import { nothing, unknownType } from './types.ts';

const K = ts.SyntaxKind;

export function literal(fn: Lowering, node: ts.Node, value: Literal): Local {
  const to = fn.temporary();
  fn.graph.emit({ kind: 'literal', to, value, span: fn.span(node) });
  return to;
}

export function copy(fn: Lowering, node: ts.Node, to: Local, from: Local): void {
  fn.graph.emit({ kind: 'copy', to, from, span: fn.span(node) });
}

/** Strips what changes the type only. */
export function bare(node: ts.Expression): ts.Expression {
  while (
    ts.isParenthesizedExpression(node) ||
    ts.isAsExpression(node) ||
    ts.isNonNullExpression(node) ||
    ts.isSatisfiesExpression(node) ||
    ts.isTypeAssertionExpression(node)
  )
    node = node.expression;
  // `(0, lib.f)(x)`, as compilers write it.
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === K.CommaToken && ts.isNumericLiteral(node.left)) return bare(node.right);
  return node;
}

export function expression(fn: Lowering, node: ts.Expression): Local {
  if (fn.machine !== undefined && isSent(fn.machine, node)) return fn.machine.sent;
  if (ts.isParenthesizedExpression(node)) return expression(fn, node.expression);
  if (ts.isNonNullExpression(node) || ts.isSatisfiesExpression(node)) return expression(fn, node.expression);
  if (ts.isAsExpression(node) || ts.isTypeAssertionExpression(node)) return cast(fn, node);
  if (ts.isIdentifier(node)) return identifier(fn, node);
  if (ts.isStringLiteralLike(node)) return literal(fn, node, node.text);
  if (ts.isNumericLiteral(node)) return literal(fn, node, Number(node.text.replaceAll('_', '')));
  if (ts.isBigIntLiteral(node)) return literal(fn, node, BigInt(node.text.replaceAll('_', '').replace(/n$/, '')));
  switch (node.kind) {
    case K.TrueKeyword:
      return literal(fn, node, true);
    case K.FalseKeyword:
      return literal(fn, node, false);
    case K.NullKeyword:
      return literal(fn, node, null);
    case K.ThisKeyword:
      return self(fn, node);
    case K.SuperKeyword:
      return self(fn, node);
    case K.RegularExpressionLiteral:
      return opaque(fn, node, [], 'regular expression');
  }
  if (ts.isTemplateExpression(node)) {
    const values = node.templateSpans.map((span) => expression(fn, span.expression));
    const to = fn.temporary();
    fn.graph.emit({
      kind: 'template',
      to,
      parts: [node.head.text, ...node.templateSpans.map((span) => span.literal.text)],
      values,
      span: fn.span(node),
    });
    return to;
  }
  if (ts.isArrowFunction(node) || ts.isFunctionExpression(node)) return closure(fn, node, undefined);
  if (ts.isClassExpression(node)) {
    const id = fn.file.nestedClass(node, fn, node.name?.text);
    const to = fn.temporary();
    fn.graph.emit({ kind: 'class', to, class: id, span: fn.span(node) });
    return to;
  }
  if (ts.isArrayLiteralExpression(node)) {
    const elements = node.elements.map((element) =>
      ts.isOmittedExpression(element)
        ? undefined
        : ts.isSpreadElement(element)
          ? { local: expression(fn, element.expression), spread: true }
          : { local: expression(fn, element), spread: false },
    );
    const to = fn.temporary(fn.type(node));
    fn.graph.emit({ kind: 'array', to, elements, span: fn.span(node) });
    return to;
  }
  if (ts.isObjectLiteralExpression(node)) return object(fn, node);
  if (ts.isCallExpression(node) || ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node)) return chain(fn, node);
  if (ts.isNewExpression(node)) return call(fn, node, undefined);
  if (ts.isTaggedTemplateExpression(node)) {
    const values = ts.isTemplateExpression(node.template) ? node.template.templateSpans.map((span) => expression(fn, span.expression)) : [];
    return opaque(fn, node, values, 'tagged template', fn.type(node));
  }
  if (ts.isPrefixUnaryExpression(node)) {
    if (node.operator === K.PlusPlusToken || node.operator === K.MinusMinusToken)
      return update(fn, node, node.operand, node.operator === K.PlusPlusToken ? '+' : '-', true);
    return unary(fn, node, ts.tokenToString(node.operator) ?? '+', node.operand);
  }
  if (ts.isPostfixUnaryExpression(node)) return update(fn, node, node.operand, node.operator === K.PlusPlusToken ? '+' : '-', false);
  if (ts.isTypeOfExpression(node)) return unary(fn, node, 'typeof', node.expression);
  if (ts.isVoidExpression(node)) {
    expression(fn, node.expression);
    return literal(fn, node, undefined);
  }
  if (ts.isDeleteExpression(node)) return remove(fn, node);
  if (ts.isAwaitExpression(node)) {
    const value = expression(fn, node.expression);
    const to = fn.temporary(fn.type(node));
    fn.graph.emit({ kind: 'await', to, value, span: fn.span(node) });
    return to;
  }
  if (ts.isYieldExpression(node)) {
    const value = node.expression === undefined ? undefined : expression(fn, node.expression);
    const to = fn.temporary(fn.type(node));
    fn.graph.emit({
      kind: 'yield',
      to,
      delegate: node.asteriskToken !== undefined,
      span: fn.span(node),
      ...(value === undefined ? {} : { value }),
    });
    return to;
  }
  if (ts.isConditionalExpression(node)) {
    const to = fn.temporary(fn.type(node));
    const [then, other, after] = [fn.graph.block(), fn.graph.block(), fn.graph.block()];
    condition(fn, node.condition, then, other);
    for (const [block, branch] of [
      [then, node.whenTrue],
      [other, node.whenFalse],
    ] as const) {
      fn.graph.enter(block);
      copy(fn, branch, to, expression(fn, branch));
      fn.graph.goto(after);
    }
    fn.graph.enter(after);
    return to;
  }
  if (ts.isBinaryExpression(node)) return binary(fn, node);
  if (ts.isSpreadElement(node)) return expression(fn, node.expression);
  if (ts.isMetaProperty(node)) return opaque(fn, node, [], 'meta property');
  if (ts.isJsxElement(node) || ts.isJsxSelfClosingElement(node) || ts.isJsxFragment(node)) return jsx(fn, node);
  return opaque(fn, node, [], K[node.kind]);
}

export function opaque(fn: Lowering, node: ts.Node, operands: readonly Local[], what: string, type: TypeFact = nothing): Local {
  const to = fn.temporary(type);
  fn.graph.emit({ kind: 'opaque', to, operands, what, span: fn.span(node) });
  return to;
}

function jsx(fn: Lowering, node: ts.JsxElement | ts.JsxSelfClosingElement | ts.JsxFragment): Local {
  const operands: Local[] = [];
  const visit = (child: ts.Node): void => {
    if (ts.isJsxExpression(child) || ts.isJsxSpreadAttribute(child)) {
      if (child.expression !== undefined) operands.push(expression(fn, child.expression));
      return;
    }
    ts.forEachChild(child, visit);
  };
  ts.forEachChild(node, visit);
  return opaque(fn, node, operands, 'markup');
}

/** A cast says more about a value: the copy has the narrower type. */
function cast(fn: Lowering, node: ts.AsExpression | ts.TypeAssertion): Local {
  const from = expression(fn, node.expression);
  const type = fn.type(node);
  if (type.holds === 'unknown' || ts.isConstTypeReference(node.type)) return from;
  const to = fn.temporary(type);
  copy(fn, node, to, from);
  return to;
}

export function identifier(fn: Lowering, node: ts.Identifier): Local {
  if (node.text === 'undefined') return literal(fn, node, undefined);
  if (node.text === 'NaN') return literal(fn, node, NaN);
  if (node.text === 'Infinity') return literal(fn, node, Infinity);
  const symbol =
    ts.isShorthandPropertyAssignment(node.parent) && node.parent.name === node
      ? fn.file.checker.getShorthandAssignmentValueSymbol(node.parent)
      : fn.file.resolver.symbol(node);
  if (symbol !== undefined) {
    const place = fn.find(symbol);
    if (place !== undefined && 'local' in place) {
      const to = fn.temporary(fn.typeOfName(node, symbol));
      copy(fn, node, to, place.local);
      return to;
    }
    const meaning = fn.file.resolver.meaning(node);
    if (meaning !== undefined) return external(fn, node, meaning.model.id, meaning.name);
    if (place !== undefined) {
      const to = fn.temporary(fn.typeOfName(node, symbol));
      fn.graph.emit({ kind: 'outer', to, variable: place.variable, span: fn.span(node) });
      return to;
    }
  }
  return external(fn, node, undefined, node.text);
}

export function external(fn: Lowering, node: ts.Node, library: string | undefined, name: string): Local {
  const to = fn.temporary(fn.type(node));
  const span = fn.span(node);
  fn.graph.emit(library === undefined ? { kind: 'external', to, name, span } : { kind: 'external', to, name, span, library });
  return to;
}

export function self(fn: Lowering, node: ts.Node): Local {
  const place = fn.this_();
  if (place === undefined) return opaque(fn, node, [], 'this', fn.type(node));
  if ('local' in place) return place.local;
  const to = fn.temporary(fn.type(node));
  fn.graph.emit({ kind: 'outer', to, variable: place.variable, span: fn.span(node) });
  return to;
}

export function closure(fn: Lowering, node: ts.FunctionLikeDeclaration, name: string | undefined): Local {
  const id = fn.file.nested(node, fn, name);
  const to = fn.temporary(fn.type(node));
  fn.graph.emit({ kind: 'closure', to, function: id, span: fn.span(node) });
  return to;
}

export function propertyName(fn: Lowering, name: ts.PropertyName): Key {
  if (ts.isIdentifier(name) || ts.isPrivateIdentifier(name)) return { kind: 'name', name: name.text };
  if (ts.isStringLiteralLike(name) || ts.isNumericLiteral(name)) return { kind: 'name', name: name.text };
  if (ts.isComputedPropertyName(name)) {
    const symbolName = wellKnown(name.expression);
    if (symbolName !== undefined) return { kind: 'name', name: symbolName };
    if (ts.isStringLiteralLike(name.expression) || ts.isNumericLiteral(name.expression))
      return { kind: 'name', name: name.expression.text };
    return { kind: 'computed', local: expression(fn, name.expression) };
  }
  return { kind: 'name', name: name.getText() };
}

/** `Symbol.dispose` -> `@@dispose`. */
export function wellKnown(node: ts.Expression): string | undefined {
  return ts.isPropertyAccessExpression(node) && ts.isIdentifier(node.expression) && node.expression.text === 'Symbol'
    ? `@@${node.name.text}`
    : undefined;
}

function object(fn: Lowering, node: ts.ObjectLiteralExpression): Local {
  const entries: Entry[] = [];
  for (const property of node.properties) {
    if (ts.isSpreadAssignment(property)) entries.push({ kind: 'spread', from: expression(fn, property.expression) });
    else if (ts.isShorthandPropertyAssignment(property))
      entries.push({ kind: 'property', key: { kind: 'name', name: property.name.text }, value: identifier(fn, property.name) });
    else if (ts.isPropertyAssignment(property)) {
      const key = propertyName(fn, property.name);
      const init = bare(property.initializer);
      const value =
        ts.isArrowFunction(init) || ts.isFunctionExpression(init)
          ? closure(fn, init, property.name.getText())
          : expression(fn, property.initializer);
      entries.push({ kind: 'property', key, value });
    } else if (ts.isMethodDeclaration(property))
      entries.push({ kind: 'property', key: propertyName(fn, property.name), value: closure(fn, property, property.name.getText()) });
    else closure(fn, property, property.name.getText());
  }
  const to = fn.temporary(fn.type(node));
  fn.graph.emit({ kind: 'object', to, entries, span: fn.span(node) });
  return to;
}

function unary(fn: Lowering, node: ts.Node, operator: string, operand: ts.Expression): Local {
  const inner = bare(operand);
  if (operator === '-' && ts.isNumericLiteral(inner)) return literal(fn, node, -Number(inner.text.replaceAll('_', '')));
  const value = expression(fn, operand);
  const to = fn.temporary();
  fn.graph.emit({ kind: 'unary', to, operator, value, span: fn.span(node) });
  return to;
}

function update(fn: Lowering, node: ts.Node, operand: ts.Expression, operator: '+' | '-', prefix: boolean): Local {
  const old = expression(fn, operand);
  const one = literal(fn, node, 1);
  const to = fn.temporary();
  fn.graph.emit({ kind: 'binary', to, operator, left: old, right: one, span: fn.span(node) });
  assign(fn, operand, to, node);
  return prefix ? to : old;
}

function remove(fn: Lowering, node: ts.DeleteExpression): Local {
  const target = bare(node.expression);
  const to = fn.temporary();
  if (ts.isPropertyAccessExpression(target) || ts.isElementAccessExpression(target)) {
    const from = expression(fn, target.expression);
    fn.graph.emit({ kind: 'delete', to, object: from, key: keyOf(fn, target), span: fn.span(node) });
  } else expression(fn, node.expression);
  return to;
}

/** Writes `value` to whatever stands on the left of an assignment. */
export function assign(fn: Lowering, target: ts.Expression, value: Local, statement: ts.Node): void {
  const left = bare(target);
  if (ts.isIdentifier(left)) {
    const symbol = fn.file.resolver.symbol(left);
    const shorthand = ts.isShorthandPropertyAssignment(left.parent)
      ? fn.file.checker.getShorthandAssignmentValueSymbol(left.parent)
      : symbol;
    const place = shorthand === undefined ? undefined : fn.find(shorthand);
    if (place === undefined) return;
    if ('local' in place) fn.graph.emit({ kind: 'copy', to: place.local, from: value, span: fn.span(statement) });
    else fn.graph.emit({ kind: 'setOuter', variable: place.variable, from: value, span: fn.span(statement) });
    return;
  }
  if (ts.isPropertyAccessExpression(left) || ts.isElementAccessExpression(left)) {
    const object = expression(fn, left.expression);
    const key = keyOf(fn, left);
    const callee = fn.file.resolver.member(left, 'set');
    fn.graph.emit({ kind: 'setProperty', object, key, from: value, span: fn.span(statement), ...(callee === undefined ? {} : { callee }) });
    return;
  }
  if (ts.isArrayLiteralExpression(left) || ts.isObjectLiteralExpression(left)) assignPattern(fn, left, value, statement);
}

export { nothing, unknownType };
