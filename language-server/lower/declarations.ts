/**
 * What the syntax of a declaration says: its kind, its modifiers, the package it imports.
 *
 * Depends on: ir, types, typescript.
 */
import ts from 'typescript';
import type { LoweredFunction } from './ir.ts';
import type { Types } from './types.ts';

export const hasModifier = (node: ts.Node, kind: ts.SyntaxKind): boolean =>
  ts.canHaveModifiers(node) && (ts.getModifiers(node)?.some((modifier) => modifier.kind === kind) ?? false);

export function kindOf(node: ts.FunctionLikeDeclaration): LoweredFunction['kind'] {
  if (ts.isArrowFunction(node)) return 'arrow';
  if (ts.isMethodDeclaration(node)) return 'method';
  if (ts.isGetAccessor(node)) return 'getter';
  if (ts.isSetAccessor(node)) return 'setter';
  return ts.isConstructorDeclaration(node) ? 'constructor' : 'function';
}

/** Ids of the libraries whose packages a file imports or exports from. */
export function importedLibraries(types: Types, source: ts.SourceFile): readonly string[] {
  return source.statements.flatMap((statement) => {
    if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) return [];
    const from = statement.moduleSpecifier;
    return from !== undefined && ts.isStringLiteral(from) ? (types.modelOfPackage(from.text)?.id ?? []) : [];
  });
}
