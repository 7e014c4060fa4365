/**
 * One function per kind of expression: each emits events and returns the local that holds the value.
 *
 * Conditions become branches at once (`&&`, `||`, `??`, `?:`, `?.`), so that flow sees what was tested. What has no
 * meaning for memory keeps its operands in an `opaque` event. Depends on: function, ir, patterns, typescript.
 */
import ts from 'typescript';
import type { Argument, BlockId, Entry, Event, Key, Literal, Local, TypeFact } from './ir.ts';
import type { Lowering } from './function.ts';
import { assignPattern } from './patterns.ts';
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
      const to = fn.temporary(fn.type(node));
      copy(fn, node, to, place.local);
      return to;
    }
    const meaning = fn.file.resolver.meaning(node);
    if (meaning !== undefined) return external(fn, node, meaning.model.id, meaning.name);
    if (place !== undefined) {
      const to = fn.temporary(fn.type(node));
      fn.graph.emit({ kind: 'outer', to, variable: place.variable, span: fn.span(node) });
      return to;
    }
  }
  return external(fn, node, undefined, node.text);
}

function external(fn: Lowering, node: ts.Node, library: string | undefined, name: string): Local {
  const to = fn.temporary(fn.type(node));
  fn.graph.emit({ kind: 'external', to, name, span: fn.span(node), ...(library === undefined ? {} : { library }) });
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

/** A property, index or call; an optional link anywhere in the chain ends the whole chain with undefined. */
function chain(fn: Lowering, node: ts.CallExpression | ts.PropertyAccessExpression | ts.ElementAccessExpression): Local {
  if (!(node.flags & ts.NodeFlags.OptionalChain)) return link(fn, node, undefined);
  const to = fn.temporary(fn.type(node));
  const [short, after] = [fn.graph.block(), fn.graph.block()];
  copy(fn, node, to, link(fn, node, short));
  fn.graph.goto(after);
  fn.graph.enter(short);
  copy(fn, node, to, literal(fn, node, undefined));
  fn.graph.goto(after);
  fn.graph.enter(after);
  return to;
}

function link(fn: Lowering, node: ts.Expression, short: BlockId | undefined): Local {
  if (ts.isNonNullExpression(node)) return link(fn, node.expression, short);
  const inChain = short !== undefined && (node.flags & ts.NodeFlags.OptionalChain) !== 0;
  if (ts.isCallExpression(node)) return call(fn, node, inChain ? short : undefined);
  if (!ts.isPropertyAccessExpression(node) && !ts.isElementAccessExpression(node)) return expression(fn, node);
  const meaning = ts.isPropertyAccessExpression(node) ? fn.file.resolver.meaning(node) : undefined;
  if (meaning !== undefined) return external(fn, node, meaning.model.id, meaning.name);
  const target = inChain ? link(fn, node.expression, short) : expression(fn, node.expression);
  if (node.questionDotToken !== undefined && short !== undefined) cutShort(fn, node, target, short);
  const key = keyOf(fn, node);
  const to = fn.temporary(fn.type(node));
  const callee = fn.file.resolver.member(node, 'get');
  fn.graph.emit({
    kind: 'property',
    to,
    object: target,
    key,
    pattern: false,
    span: fn.span(node),
    ...(callee === undefined ? {} : { callee }),
  });
  return to;
}

function cutShort(fn: Lowering, node: ts.Node, value: Local, short: BlockId): void {
  const test = fn.temporary();
  fn.graph.emit({ kind: 'unary', to: test, operator: 'nullish', value, span: fn.span(node) });
  const on = fn.graph.block();
  fn.graph.end({ kind: 'branch', condition: test, then: short, else: on, span: fn.span(node) });
  fn.graph.enter(on);
}

function keyOf(fn: Lowering, node: ts.PropertyAccessExpression | ts.ElementAccessExpression): Key {
  if (ts.isPropertyAccessExpression(node)) return { kind: 'name', name: node.name.text };
  const argument = node.argumentExpression;
  if (ts.isStringLiteralLike(argument) || ts.isNumericLiteral(argument)) return { kind: 'name', name: argument.text };
  const symbolName = wellKnown(argument);
  return symbolName === undefined ? { kind: 'computed', local: expression(fn, argument) } : { kind: 'name', name: symbolName };
}

function call(fn: Lowering, node: ts.CallExpression | ts.NewExpression, short: BlockId | undefined): Local {
  const construct = ts.isNewExpression(node);
  const target = bare(node.expression);
  const callee = fn.file.resolver.callee(node);
  let receiver: Local | undefined;
  let key: Key | undefined;
  let fnLocal: Local | undefined;
  let nameNode: ts.Node = target;
  const isMember = ts.isPropertyAccessExpression(target) || ts.isElementAccessExpression(target);
  const isNamespaceCall =
    callee.kind === 'library' && ts.isPropertyAccessExpression(target) && fn.file.resolver.meaning(target) !== undefined;
  if (target.kind === K.SuperKeyword) receiver = self(fn, target);
  else if (target.kind === K.ImportKeyword) {
    // A dynamic import: its module's names are followed by the checker.
  } else if (isMember && !isNamespaceCall) {
    receiver = short === undefined ? expression(fn, target.expression) : link(fn, target.expression, short);
    if (target.questionDotToken !== undefined && short !== undefined) cutShort(fn, node, receiver, short);
    key = keyOf(fn, target);
    nameNode = ts.isPropertyAccessExpression(target) ? target.name : target.argumentExpression;
  } else if (isNamespaceCall) {
    nameNode = (target as ts.PropertyAccessExpression).name;
  } else {
    fnLocal = short === undefined ? expression(fn, target) : link(fn, target, short);
    if (!construct && node.questionDotToken !== undefined && short !== undefined) cutShort(fn, node, fnLocal, short);
  }
  const args: Argument[] = [];
  for (const argument of node.arguments ?? []) {
    const value = ts.isSpreadElement(argument) ? argument.expression : argument;
    args.push({ local: expression(fn, value), spread: ts.isSpreadElement(argument), span: fn.span(argument) });
  }
  const to = fn.temporary(fn.type(node));
  const event: Event = {
    kind: 'call',
    to,
    callee,
    arguments: args,
    construct,
    span: fn.span(node),
    nameSpan: fn.span(nameNode),
    ...(fnLocal === undefined ? {} : { function: fnLocal }),
    ...(receiver === undefined ? {} : { receiver }),
    ...(key === undefined ? {} : { key }),
  };
  fn.graph.emit(event);
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

function binary(fn: Lowering, node: ts.BinaryExpression): Local {
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
  const to = fn.temporary();
  fn.graph.emit({ kind: 'binary', to, operator: ts.tokenToString(kind) ?? '?', left, right, span: fn.span(node) });
  return to;
}

function shortCircuit(fn: Lowering, node: ts.BinaryExpression, kind: ts.SyntaxKind, target: ts.Expression | undefined): Local {
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

export { nothing, unknownType };
