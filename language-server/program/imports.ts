/**
 * Which files of the project a file imports: what its types may come from.
 *
 * Depends on: program, typescript.
 */
import ts from 'typescript';
import type { TypeFacts } from './program.ts';

/** The own files that a file imports. */
export function importsOf(facts: TypeFacts, source: ts.SourceFile): readonly string[] {
  const found = new Set<string>();
  const visit = (node: ts.Node): void => {
    const specifier =
      (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) && node.moduleSpecifier !== undefined
        ? node.moduleSpecifier
        : ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword
          ? node.arguments[0]
          : undefined;
    if (specifier !== undefined && ts.isStringLiteralLike(specifier) && specifier.text.startsWith('.')) {
      const file = facts.checker.getSymbolAtLocation(specifier)?.declarations?.find(ts.isSourceFile)?.fileName;
      if (file !== undefined) found.add(file);
    }
    if (ts.isSourceFile(node)) node.statements.forEach(visit);
  };
  visit(source);
  return [...found];
}
