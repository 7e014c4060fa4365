/**
 * What a module exports: the declarations, with those of exported namespaces, and the names of its variables.
 *
 * Depends on: expressions, typescript.
 */
import ts from 'typescript';
import { bare } from './expressions.ts';

export interface Exports {
  /** Declarations, and the values of exported variables. */
  readonly nodes: ReadonlySet<ts.Node>;
  /** Names of exported variables. */
  readonly names: ReadonlySet<string>;
}

export function exportsOf(checker: ts.TypeChecker, source: ts.SourceFile): Exports {
  const nodes = new Set<ts.Node>();
  const names = new Set<string>();
  const add = (module: ts.Symbol, depth: number): void => {
    for (const symbol of checker.getExportsOfModule(module)) {
      const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
      for (const declaration of target.declarations ?? []) {
        nodes.add(declaration);
        if (ts.isModuleDeclaration(declaration) && declaration.getSourceFile() === source && depth < 4) add(target, depth + 1);
        if (ts.isVariableDeclaration(declaration) || ts.isBindingElement(declaration)) names.add(target.name);
        if (ts.isExportAssignment(declaration) && ts.isIdentifier(bare(declaration.expression)))
          names.add(bare(declaration.expression).getText());
        if (ts.isVariableDeclaration(declaration) && declaration.initializer !== undefined) nodes.add(bare(declaration.initializer));
        if (ts.isExportAssignment(declaration)) nodes.add(bare(declaration.expression));
      }
    }
  };
  const module = checker.getSymbolAtLocation(source);
  if (module !== undefined) add(module, 0);
  return { nodes, names };
}
