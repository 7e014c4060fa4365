/**
 * Classes as they were written before the language had them: functions assigned to `X.prototype`.
 *
 * Such a function is a method that anybody may call, and its `this` is what the checker infers from the assignments to
 * `this.…` in `X`. Depends on: typescript.
 */
import ts from 'typescript';

/** `X.prototype.m = function …`. */
export function isPrototypeMethod(node: ts.FunctionLikeDeclaration): boolean {
  const { parent } = node;
  if (!ts.isBinaryExpression(parent) || parent.right !== node || !ts.isPropertyAccessExpression(parent.left)) return false;
  const holder = parent.left.expression;
  return ts.isPropertyAccessExpression(holder) && holder.name.text === 'prototype';
}

/** The type of `this` in a function, as far as there is one. */
export function thisType(checker: ts.TypeChecker, node: ts.FunctionLikeDeclaration): ts.Type | undefined {
  const self = ts.isClassLike(node.parent)
    ? node.parent
    : isPrototypeMethod(node) && node.body !== undefined
      ? firstThis(node.body)
      : undefined;
  return self === undefined ? undefined : checker.getTypeAtLocation(self);
}

/** The first `this` that means the function's own, or a compiler's wrapper's of it. */
function firstThis(node: ts.Node): ts.Node | undefined {
  if (node.kind === ts.SyntaxKind.ThisKeyword) return node;
  return ts.isFunctionExpression(node) || ts.isFunctionDeclaration(node) ? undefined : ts.forEachChild(node, firstThis);
}
