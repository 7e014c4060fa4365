/**
 * Property accesses and calls, with the optional links of a chain as branches.
 *
 * Depends on: expressions, function, ir, typescript.
 */
import ts from 'typescript';
import { bare, copy, expression, external, literal, self, wellKnown } from './expressions.ts';
import type { Lowering } from './function.ts';
import type { Argument, BlockId, CallEvent, Callee, Key, Local, TypeFact } from './ir.ts';

const K = ts.SyntaxKind;

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** A property, index or call; an optional link anywhere in the chain ends the whole chain with undefined. */
export function chain(fn: Lowering, node: ts.CallExpression | ts.PropertyAccessExpression | ts.ElementAccessExpression): Local {
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

export function link(fn: Lowering, node: ts.Expression, short: BlockId | undefined): Local {
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
  const span = fn.span(node);
  fn.graph.emit(
    callee === undefined
      ? { kind: 'property', to, object: target, key, pattern: false, span }
      : { kind: 'property', to, object: target, key, pattern: false, span, callee },
  );
  return to;
}

export function cutShort(fn: Lowering, node: ts.Node, value: Local, short: BlockId): void {
  const test = fn.temporary();
  fn.graph.emit({ kind: 'unary', to: test, operator: 'nullish', value, span: fn.span(node) });
  const on = fn.graph.block();
  fn.graph.end({ kind: 'branch', condition: test, then: short, else: on, span: fn.span(node) });
  fn.graph.enter(on);
}

export function keyOf(fn: Lowering, node: ts.PropertyAccessExpression | ts.ElementAccessExpression): Key {
  if (ts.isPropertyAccessExpression(node)) return { kind: 'name', name: node.name.text };
  const argument = node.argumentExpression;
  if (ts.isStringLiteralLike(argument) || ts.isNumericLiteral(argument)) return { kind: 'name', name: argument.text };
  const symbolName = wellKnown(argument);
  return symbolName === undefined ? { kind: 'computed', local: expression(fn, argument) } : { kind: 'name', name: symbolName };
}

export function call(fn: Lowering, node: ts.CallExpression | ts.NewExpression, short: BlockId | undefined): Local {
  const construct = ts.isNewExpression(node);
  const target = bare(node.expression);
  const callee = asWritten(target, methodOfThis(fn, target) ?? fn.file.resolver.callee(node));
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
  const to = fn.temporary(yielded(fn, node, callee));
  // Set one by one: three spreads took more time than all else of a call.
  const event: Writable<CallEvent> = {
    kind: 'call',
    to,
    callee,
    arguments: args,
    construct,
    span: fn.span(node),
    nameSpan: fn.span(nameNode),
  };
  if (fnLocal !== undefined) event.function = fnLocal;
  if (receiver !== undefined) event.receiver = receiver;
  if (key !== undefined) event.key = key;
  fn.graph.emit(event);
  return to;
}

/** `super.close()` means the method of the base class, whatever the object has of its own. */
const asWritten = (target: ts.Expression, callee: Callee): Callee =>
  callee.kind === 'user' && ts.isPropertyAccessExpression(target) && target.expression.kind === K.SuperKeyword
    ? { ...callee, exact: true }
    : callee;

/** A method of `this` in a compiler's state machine, where the checker doesn't see whose `this` it is. */
function methodOfThis(fn: Lowering, target: ts.Expression): Callee | undefined {
  if (fn.machine === undefined || fn.selfType === undefined || !ts.isPropertyAccessExpression(target)) return undefined;
  if (target.expression.kind !== K.ThisKeyword) return undefined;
  const symbol = fn.file.checker.getPropertyOfType(fn.selfType, target.name.text);
  return symbol === undefined ? undefined : fn.file.resolver.ofSymbol(symbol);
}

/** The type of a call; where arguments of no type hide it, a library's declaration may still say that it is an array. */
function yielded(fn: Lowering, node: ts.CallExpression | ts.NewExpression, callee: Callee): TypeFact {
  const type = fn.typeOfCall(node);
  if (type.holds !== 'unknown' || callee.kind !== 'library' || callee.library === 'standard') return type;
  const { checker, types } = fn.file;
  const declaration = checker.getResolvedSignature(node)?.declaration;
  if (declaration === undefined || ts.isJSDocSignature(declaration)) return type;
  const signature = checker.getSignatureFromDeclaration(declaration);
  const declared = signature === undefined ? type : types.of(checker.getReturnTypeOfSignature(signature));
  return declared.holds === 'array' ? declared : type;
}
