/**
 * Names of functions and classes: ids that stay the same under edits elsewhere, and what people call them.
 *
 * Depends on: ir, expressions, program, typescript.
 */
import ts from 'typescript';
import type { TypeFacts } from '../program/program.ts';
import { bare } from './expressions.ts';
import type { ClassId, FunctionId } from './ir.ts';

/** Ids by declaration, for all files of a program: the same for a file wherever it is lowered from. */
export interface Naming {
  idOf(node: ts.Node): FunctionId | undefined;
  classId(node: ts.ClassLikeDeclaration): ClassId | undefined;
}

export const isFunction = (node: ts.Node): node is ts.FunctionLikeDeclaration =>
  ts.isFunctionDeclaration(node) ||
  ts.isFunctionExpression(node) ||
  ts.isArrowFunction(node) ||
  ts.isMethodDeclaration(node) ||
  ts.isGetAccessor(node) ||
  ts.isSetAccessor(node) ||
  ts.isConstructorDeclaration(node);

/** Gives every function and class of own files a stable id: its path of names in the file. */
export function createNaming(facts: TypeFacts): Naming {
  const files = new Map<ts.SourceFile, { functions: Map<ts.Node, FunctionId>; classes: Map<ts.Node, ClassId> }>();
  const of = (source: ts.SourceFile): { functions: Map<ts.Node, FunctionId>; classes: Map<ts.Node, ClassId> } => {
    const known = files.get(source);
    if (known !== undefined) return known;
    const functions = new Map<ts.Node, FunctionId>();
    const classes = new Map<ts.Node, ClassId>();
    const used = new Map<string, number>();
    const take = (id: string): string => {
      const count = used.get(id) ?? 0;
      used.set(id, count + 1);
      return count === 0 ? id : `${id}@${count}`;
    };
    const visit = (node: ts.Node, path: string): void => {
      let inner = path;
      if (isFunction(node)) {
        const name = nameOf(node) ?? '';
        const prefix = ts.isGetAccessor(node) ? 'get ' : ts.isSetAccessor(node) ? 'set ' : '';
        // The module itself has the empty path.
        inner = take(path === '' && prefix + name === '' ? '()' : `${path}${path === '' ? '' : '/'}${prefix}${name}`);
        functions.set(node, `${source.fileName}#${inner}`);
      } else if (ts.isClassLike(node)) {
        inner = take(`${path}${path === '' ? '' : '/'}${node.name?.text ?? nameOf(node) ?? 'class'}`);
        classes.set(node, `${source.fileName}#${inner}`);
      }
      ts.forEachChild(node, (child) => visit(child, inner));
    };
    ts.forEachChild(source, (child) => visit(child, ''));
    const made = { functions, classes };
    files.set(source, made);
    return made;
  };
  return {
    idOf(node) {
      const source = node.getSourceFile();
      if (!facts.isOwn(source)) return undefined;
      const inner = ts.isExpression(node) ? bare(node) : node;
      return of(source).functions.get(inner);
    },
    classId(node) {
      const source = node.getSourceFile();
      return facts.isOwn(source) ? of(source).classes.get(node) : undefined;
    },
  };
}

/** The name a function is bound to: its own, its variable's, property's or method's. */
export function nameOf(node: ts.Node): string | undefined {
  if ((ts.isFunctionDeclaration(node) || ts.isFunctionExpression(node) || ts.isClassLike(node)) && node.name !== undefined)
    return node.name.text;
  if (ts.isMethodDeclaration(node) || ts.isGetAccessor(node) || ts.isSetAccessor(node)) return memberName(node.name);
  if (ts.isConstructorDeclaration(node)) return 'constructor';
  let parent: ts.Node = node.parent;
  while (
    ts.isParenthesizedExpression(parent) ||
    ts.isAsExpression(parent) ||
    (ts.isCallExpression(parent) && parent.arguments[0] !== undefined && within(parent.arguments[0], node))
  )
    parent = parent.parent;
  if (ts.isVariableDeclaration(parent) && ts.isIdentifier(parent.name)) return parent.name.text;
  if (ts.isPropertyAssignment(parent) || ts.isPropertyDeclaration(parent)) return memberName(parent.name);
  if (ts.isBinaryExpression(parent) && parent.operatorToken.kind === ts.SyntaxKind.EqualsToken)
    return parent.left.getText().replace(/^this\./, '');
  return undefined;
}

export function memberName(name: ts.PropertyName): string {
  if (ts.isComputedPropertyName(name)) {
    const inner = name.expression;
    return ts.isPropertyAccessExpression(inner) && ts.isIdentifier(inner.expression) && inner.expression.text === 'Symbol'
      ? `@@${inner.name.text}`
      : inner.getText();
  }
  return name.text;
}

const within = (outer: ts.Node, inner: ts.Node): boolean => inner.pos >= outer.pos && inner.end <= outer.end;
