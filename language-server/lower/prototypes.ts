/**
 * Classes as they were written before the language had them: functions assigned to `X.prototype`.
 *
 * Such a function is a method that anybody may call, and its `this` is what the checker infers from the assignments to
 * `this.…` in `X`; `X` with its methods is a class like any other. Depends on: ir, typescript.
 */
import ts from 'typescript';
import type { ClassId, FunctionId, LoweredClass, LoweredFunction } from './ir.ts';

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

/** The class that `new f()` makes, where `f` has methods on its prototype. */
export const classOfConstructor = (id: FunctionId): ClassId => `${id}.prototype`;

const method = /^([\w$]+)\.prototype\.([\w$]+)$/;

/** Adds the classes that functions with methods on their prototypes are. */
export function addPrototypeClasses(functions: Map<FunctionId, LoweredFunction>, classes: Map<ClassId, LoweredClass>): void {
  const makers = new Map<string, LoweredFunction>();
  for (const fn of functions.values())
    if (fn.kind === 'function' && fn.name !== '' && fn.class === undefined) makers.set(`${fn.parent ?? ''} ${fn.name}`, fn);
  const found = new Map<FunctionId, Record<string, FunctionId>>();
  for (const fn of functions.values()) {
    const [, name, key] = method.exec(fn.name) ?? [];
    const maker = name === undefined ? undefined : makers.get(`${fn.parent ?? ''} ${name}`);
    if (maker === undefined || key === undefined) continue;
    found.set(maker.id, { ...found.get(maker.id), [key]: fn.id });
    functions.set(fn.id, { ...fn, class: classOfConstructor(maker.id) });
  }
  for (const [id, methods] of found) {
    const { file, name, span, signature } = functions.get(id)!;
    const cls: LoweredClass = {
      id: classOfConstructor(id),
      file,
      name,
      span,
      head: signature,
      exported: true,
      foreignBase: true,
      constructor_: id,
      methods,
      getters: {},
      setters: {},
      staticMethods: {},
      fields: [],
    };
    classes.set(cls.id, cls);
  }
}
