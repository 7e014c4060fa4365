/**
 * What a call or a name means: the line of a library model, a function of the project, or unknown.
 *
 * A library's function is named by the namespace path that its package exports (`numpy.zeros`, `train.sgd`); a method by
 * the type that declares it (`Tensor.add`). Aliases of imports, re-exports and destructured namespaces are followed by
 * the checker. Depends on: types, libraries, ir, typescript.
 */
import ts from 'typescript';
import type { LibraryModel } from '../libraries/model.ts';
import type { Callee, ClassId, FunctionId } from './ir.ts';
import { packageOf, type Types } from './types.ts';

export interface Meaning {
  readonly model: LibraryModel;
  readonly name: string;
}

export interface Resolver {
  /** A library's function, namespace or constant, if the expression names one. */
  meaning(node: ts.Expression): Meaning | undefined;
  callee(node: ts.CallExpression | ts.NewExpression | ts.TaggedTemplateExpression): Callee;
  /** The project's function behind a getter, setter or method at a property access. */
  member(node: ts.PropertyAccessExpression | ts.ElementAccessExpression, kind: 'get' | 'set'): Callee | undefined;
  symbol(node: ts.Node): ts.Symbol | undefined;
  /** The project's function or class that a symbol always stands for. */
  ofSymbol(symbol: ts.Symbol): Callee | undefined;
}

const unaliased = (checker: ts.TypeChecker, symbol: ts.Symbol): ts.Symbol =>
  symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;

/** What a name always stands for: a variable that nothing assigns to, `exports.f = function …`. */
function valueOf(declaration: ts.Declaration): ts.Expression | undefined {
  if (ts.isVariableDeclaration(declaration))
    return ts.getCombinedNodeFlags(declaration) & ts.NodeFlags.Const ||
      (ts.isIdentifier(declaration.name) && !assignedIn(declaration.getSourceFile()).has(declaration.name.text))
      ? declaration.initializer
      : undefined;
  const { parent } = declaration;
  return ts.isPropertyAccessExpression(declaration) && ts.isBinaryExpression(parent) && parent.left === declaration
    ? parent.right
    : undefined;
}

const isAssignment = (kind: ts.SyntaxKind): boolean => ts.SyntaxKind.FirstAssignment <= kind && kind <= ts.SyntaxKind.LastAssignment;
const assigned = new WeakMap<ts.SourceFile, ReadonlySet<string>>();

/** Names that a file assigns to, wherever it declares them. */
function assignedIn(source: ts.SourceFile): ReadonlySet<string> {
  const known = assigned.get(source);
  if (known !== undefined) return known;
  const found = new Set<string>();
  const target = (node: ts.Node): void => {
    if (ts.isIdentifier(node)) found.add(node.text);
    else if (!ts.isPropertyAccessExpression(node) && !ts.isElementAccessExpression(node)) ts.forEachChild(node, target);
  };
  const visit = (node: ts.Node): void => {
    if (ts.isBinaryExpression(node) && isAssignment(node.operatorToken.kind)) target(node.left);
    if ((ts.isForOfStatement(node) || ts.isForInStatement(node)) && !ts.isVariableDeclarationList(node.initializer))
      target(node.initializer);
    ts.forEachChild(node, visit);
  };
  visit(source);
  assigned.set(source, found);
  return found;
}

/** The name in `require('…')`, or in a compiler's `__importStar(require('…'))`: old builds keep modules in `var`s that are never written again. */
function required(node: ts.Expression): ts.Expression | undefined {
  if (!ts.isCallExpression(node) || node.arguments.length !== 1) return undefined;
  const { expression } = node;
  const name = ts.isPropertyAccessExpression(expression) ? expression.name.text : ts.isIdentifier(expression) ? expression.text : '';
  if (name === 'require' && ts.isIdentifier(expression)) return node.arguments[0];
  return /^_+(importStar|interopRequireWildcard)$/.test(name) ? required(node.arguments[0]!) : undefined;
}

export function createResolver(
  checker: ts.TypeChecker,
  types: Types,
  functionOf: (declaration: ts.Node) => FunctionId | undefined,
  classOf: (declaration: ts.ClassLikeDeclaration) => ClassId | undefined,
  overridden: (declaration: ts.Node) => boolean,
): Resolver {
  const symbols = new Map<ts.Node, ts.Symbol | undefined>();
  const symbolAt = (node: ts.Node): ts.Symbol | undefined => {
    if (symbols.has(node)) return symbols.get(node);
    const symbol = checker.getSymbolAtLocation(node);
    symbols.set(node, symbol);
    return symbol;
  };

  /** The path that an expression takes through a package's exports: `['numpy', 'zeros']` with its model. */
  function path(node: ts.Expression): { model: LibraryModel; path: readonly string[] } | undefined {
    if (ts.isParenthesizedExpression(node) || ts.isAsExpression(node) || ts.isNonNullExpression(node)) return path(node.expression);
    if (ts.isIdentifier(node)) {
      const symbol = symbolAt(node);
      return symbol === undefined ? undefined : pathOfSymbol(symbol, node.text, 0);
    }
    if (ts.isPropertyAccessExpression(node)) {
      const left = path(node.expression);
      if (left === undefined) return undefined;
      const right = symbolAt(node.name);
      // A member of a value (an instance) is not a name of the package.
      if (right !== undefined && right.flags & (ts.SymbolFlags.Method | ts.SymbolFlags.Accessor) && !isNamespaceLike(node.expression))
        return undefined;
      return { model: left.model, path: [...left.path, node.name.text] };
    }
    const name = required(node);
    if (name !== undefined) return module(name);
    if (
      ts.isAwaitExpression(node) &&
      ts.isCallExpression(node.expression) &&
      node.expression.expression.kind === ts.SyntaxKind.ImportKeyword
    )
      return module(node.expression.arguments[0]!);
    return undefined;
  }

  function isNamespaceLike(node: ts.Expression): boolean {
    const symbol = symbolAt(node);
    if (symbol === undefined) return false;
    const target = unaliased(checker, symbol);
    return (
      (target.flags & (ts.SymbolFlags.Module | ts.SymbolFlags.Class | ts.SymbolFlags.Variable | ts.SymbolFlags.Property)) !== 0 &&
      !(target.declarations ?? []).some((d) => ts.isParameter(d))
    );
  }

  function module(node: ts.Expression | undefined): { model: LibraryModel; path: readonly string[] } | undefined {
    if (node === undefined || !ts.isStringLiteralLike(node)) return undefined;
    const model = types.modelOfPackage(node.text);
    return model === undefined ? undefined : { model, path: [] };
  }

  const paths = new Map<ts.Symbol, { readonly name: string; readonly found: ReturnType<typeof findPath> }>();
  /** Asked for every name in a text, and the same for most. */
  function pathOfSymbol(symbol: ts.Symbol, name: string, depth: number): { model: LibraryModel; path: readonly string[] } | undefined {
    if (depth > 0) return findPath(symbol, name, depth);
    const known = paths.get(symbol);
    if (known?.name === name) return known.found;
    const found = findPath(symbol, name, depth);
    paths.set(symbol, { name, found });
    return found;
  }

  function findPath(symbol: ts.Symbol, name: string, depth: number): { model: LibraryModel; path: readonly string[] } | undefined {
    if (depth > 6) return undefined;
    const declaration = symbol.declarations?.[0];
    if (declaration === undefined) return undefined;
    if (
      ts.isImportSpecifier(declaration) ||
      ts.isNamespaceImport(declaration) ||
      ts.isImportClause(declaration) ||
      ts.isExportSpecifier(declaration) ||
      ts.isNamespaceExport(declaration) ||
      ts.isImportEqualsDeclaration(declaration)
    ) {
      const holder = ts.findAncestor(
        declaration,
        (node): node is ts.ImportDeclaration | ts.ExportDeclaration => ts.isImportDeclaration(node) || ts.isExportDeclaration(node),
      );
      const specifier =
        ts.isImportEqualsDeclaration(declaration) && ts.isExternalModuleReference(declaration.moduleReference)
          ? declaration.moduleReference.expression
          : holder?.moduleSpecifier;
      const from = module(specifier);
      if (from !== undefined) {
        if (ts.isImportSpecifier(declaration) || ts.isExportSpecifier(declaration))
          return { model: from.model, path: [(declaration.propertyName ?? declaration.name).text] };
        return from;
      }
      const next =
        checker.getImmediateAliasedSymbol?.(symbol) ?? (symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : undefined);
      return next === undefined || next === symbol ? undefined : pathOfSymbol(next, next.name, depth + 1);
    }
    if (
      ts.isVariableDeclaration(declaration) &&
      ts.isIdentifier(declaration.name) &&
      declaration.initializer !== undefined &&
      (ts.getCombinedNodeFlags(declaration) & ts.NodeFlags.Const || required(declaration.initializer) !== undefined)
    ) {
      // `const np = tf.layers`, `const tf = require('…')`: another name for a namespace.
      const init = declaration.initializer;
      if (ts.isPropertyAccessExpression(init) || ts.isIdentifier(init) || required(init) !== undefined || ts.isAwaitExpression(init)) {
        const source = path(init);
        if (source !== undefined && packageOf(declaration) === undefined) return source;
      }
      if (packageOf(declaration) === undefined) return undefined;
    }
    if (
      ts.isBindingElement(declaration) &&
      ts.isIdentifier(declaration.name) &&
      ts.isObjectBindingPattern(declaration.parent) &&
      ts.isVariableDeclaration(declaration.parent.parent)
    ) {
      const init = declaration.parent.parent.initializer;
      const source = init === undefined ? undefined : path(init);
      if (source !== undefined)
        return {
          model: source.model,
          path: [
            ...source.path,
            declaration.propertyName !== undefined && ts.isIdentifier(declaration.propertyName)
              ? declaration.propertyName.text
              : declaration.name.text,
          ],
        };
      return undefined;
    }
    if (ts.isParameter(declaration) || ts.isPropertyDeclaration(declaration)) return undefined;
    // A package's module under another name: `paths` of the tsconfig, a bundle.
    if (ts.isSourceFile(declaration)) {
      const own = types.modelOfDeclaration(declaration);
      return own === undefined ? undefined : { model: own, path: [] };
    }
    const model = types.modelOfDeclaration(declaration, name);
    if (model === undefined || packageOf(declaration) === 'lib') return undefined;
    const names = [symbol.name];
    for (let node: ts.Node | undefined = declaration.parent; node !== undefined; node = node.parent) {
      if (ts.isModuleDeclaration(node) && ts.isIdentifier(node.name)) names.unshift(node.name.text);
    }
    return { model, path: names };
  }

  function qualified(model: LibraryModel, parts: readonly string[]): string {
    return parts.map((part) => model.aliases?.[part] ?? part.replace(/_$/, '')).join('.');
  }

  function meaning(node: ts.Expression): Meaning | undefined {
    const found = path(node);
    if (found !== undefined) return { model: found.model, name: qualified(found.model, found.path) };
    return undefined;
  }

  /** A method by the type that declares it. */
  function method(node: ts.PropertyAccessExpression | ts.ElementAccessExpression): { meaning?: Meaning; symbol?: ts.Symbol } {
    const symbol = symbolAt(ts.isPropertyAccessExpression(node) ? node.name : node.argumentExpression);
    if (symbol === undefined) return {};
    const target = unaliased(checker, symbol);
    for (const declaration of target.declarations ?? []) {
      const parent = declaration.parent;
      const typeName =
        parent !== undefined && (ts.isClassLike(parent) || ts.isInterfaceDeclaration(parent)) ? parent.name?.text : undefined;
      const model = types.modelOfDeclaration(declaration, typeName);
      if (model !== undefined && typeName !== undefined)
        return {
          meaning: { model, name: `${model.aliases?.[typeName] ?? typeName}.${target.name.replace(/^__@(\w+)@\d+$/, '@@$1')}` },
          symbol: target,
        };
    }
    return { symbol: target };
  }

  function ofSymbol(symbol: ts.Symbol): Callee | undefined {
    const target = unaliased(checker, symbol);
    for (const declaration of target.declarations ?? []) {
      const id = functionOf(declaration);
      if (id !== undefined) return { kind: 'user', function: id, overridable: overridden(declaration) };
      if (ts.isClassLike(declaration)) {
        const classId = classOf(declaration);
        if (classId !== undefined) return { kind: 'class', class: classId };
      }
      const value = target.declarations?.length === 1 || ts.isVariableDeclaration(declaration) ? valueOf(declaration) : undefined;
      const id2 = value === undefined ? undefined : functionOf(value);
      if (id2 !== undefined) return { kind: 'user', function: id2, overridable: false };
    }
    return undefined;
  }

  const textOf = (node: ts.Node): string => (node.getText().length > 60 ? 'the function' : node.getText());

  return {
    meaning,
    symbol: symbolAt,
    ofSymbol,
    callee(node) {
      const expression = ts.isTaggedTemplateExpression(node) ? node.tag : node.expression;
      let target: ts.Expression = expression;
      for (;;) {
        if (ts.isParenthesizedExpression(target) || ts.isAsExpression(target) || ts.isNonNullExpression(target)) target = target.expression;
        else if (
          ts.isBinaryExpression(target) &&
          target.operatorToken.kind === ts.SyntaxKind.CommaToken &&
          ts.isNumericLiteral(target.left)
        )
          target = target.right;
        else break;
      }
      if (target.kind === ts.SyntaxKind.SuperKeyword) {
        const type = checker.getTypeAtLocation(target);
        const declaration = type.symbol?.declarations?.find(ts.isClassLike);
        const id = declaration === undefined ? undefined : classOf(declaration);
        return id === undefined ? { kind: 'value', name: 'super' } : { kind: 'class', class: id };
      }
      // Resolved first: what is asked below is then known to the checker.
      if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(target)) checker.getResolvedSignature(node);
      const named = meaning(target);
      if (named !== undefined) return { kind: 'library', library: named.model.id, name: named.name };
      if (ts.isPropertyAccessExpression(target) || ts.isElementAccessExpression(target)) {
        const found = method(target);
        if (found.meaning !== undefined) return { kind: 'library', library: found.meaning.model.id, name: found.meaning.name };
        if (found.symbol !== undefined) {
          const user = ofSymbol(found.symbol);
          if (user !== undefined) return user;
          const signature = ts.isTaggedTemplateExpression(node) ? undefined : checker.getResolvedSignature(node)?.declaration;
          if (signature !== undefined && packageOf(signature) === 'lib' && ts.isPropertyAccessExpression(target)) {
            const parent = signature.parent;
            const typeName = ts.isInterfaceDeclaration(parent) ? parent.name.text : undefined;
            return {
              kind: 'library',
              library: 'standard',
              name: typeName === undefined ? target.getText() : `${typeName}.${target.name.text}`,
            };
          }
          return { kind: 'value', name: textOf(target) };
        }
        return { kind: 'value', name: textOf(target) };
      }
      if (ts.isIdentifier(target)) {
        const symbol = symbolAt(target);
        const user = symbol === undefined ? undefined : ofSymbol(symbol);
        if (user !== undefined) return user;
        const declaration = symbol?.declarations?.[0];
        if (declaration !== undefined && packageOf(declaration) === 'lib')
          return { kind: 'library', library: 'standard', name: target.text };
      }
      return { kind: 'value', name: textOf(target) };
    },
    member(node, kind) {
      const symbol = symbolAt(ts.isPropertyAccessExpression(node) ? node.name : node.argumentExpression);
      if (symbol === undefined || !(symbol.flags & ts.SymbolFlags.Accessor)) return undefined;
      for (const declaration of symbol.declarations ?? []) {
        if (kind === 'get' ? ts.isGetAccessor(declaration) : ts.isSetAccessor(declaration)) {
          const id = functionOf(declaration);
          if (id !== undefined) return { kind: 'user', function: id, overridable: false };
        }
      }
      return undefined;
    },
  };
}
