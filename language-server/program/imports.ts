/**
 * Which files of the project a file imports: what its types may come from.
 *
 * Depends on: program, typescript.
 */
import ts from 'typescript';
import type { TypeFacts } from './program.ts';

/** The own files that a file imports, by whatever name the compiler finds them: a path, an alias of the tsconfig, a package. */
export function importsOf(facts: TypeFacts, source: ts.SourceFile): readonly string[] {
  const found = new Set<string>();
  const add = (specifier: ts.Node | undefined): void => {
    if (specifier === undefined || !ts.isStringLiteralLike(specifier)) return;
    const file = facts.checker.getSymbolAtLocation(specifier)?.declarations?.find(ts.isSourceFile);
    if (file !== undefined && facts.isOwn(file)) found.add(file.fileName);
  };
  for (const statement of source.statements) {
    if (ts.isImportDeclaration(statement) || ts.isExportDeclaration(statement)) add(statement.moduleSpecifier);
    else if (ts.isImportEqualsDeclaration(statement) && ts.isExternalModuleReference(statement.moduleReference))
      add(statement.moduleReference.expression);
  }
  const inner = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && (node.expression.kind === ts.SyntaxKind.ImportKeyword || isRequire(node))) add(node.arguments[0]);
    if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) add(node.argument.literal);
    ts.forEachChild(node, inner);
  };
  if (/\b(?:import|require)\s*\(/.test(source.text)) inner(source);
  return [...found];
}

const isRequire = ({ expression }: ts.CallExpression): boolean => ts.isIdentifier(expression) && expression.text === 'require';
