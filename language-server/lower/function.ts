/**
 * The state of lowering one function, shared by expressions and statements: names to locals, places, and children.
 *
 * Depends on: graph, ir, resolve, types, typescript.
 */
import ts from 'typescript';
import { Graph } from './graph.ts';
import type { ClassId, FunctionId, Local, LocalFact, Span, TypeFact, Variable } from './ir.ts';
import type { Resolver } from './resolve.ts';
import { nothing, type Types } from './types.ts';

export type FunctionNode = ts.FunctionLikeDeclaration | ts.SourceFile | ts.ClassLikeDeclaration | ts.ClassStaticBlockDeclaration;

/** What the lowering of one file knows. */
export interface FileContext {
  readonly source: ts.SourceFile;
  readonly checker: ts.TypeChecker;
  readonly types: Types;
  readonly resolver: Resolver;
  readonly look: () => void;
  /** What is known of names whose type nothing but a test can narrow, and the names that some test narrows. */
  readonly steady: Map<ts.Symbol, TypeFact>;
  readonly narrowed: Set<string>;
  idOf(node: ts.Node): FunctionId;
  classId(node: ts.ClassLikeDeclaration): ClassId;
  /** Where a symbol of another file, or of an enclosing function, is declared. */
  moduleVariable(symbol: ts.Symbol): Variable | undefined;
  /** Lowers a nested function and keeps it. */
  nested(node: ts.FunctionLikeDeclaration, parent: Lowering, name: string | undefined): FunctionId;
  nestedClass(node: ts.ClassLikeDeclaration, parent: Lowering, name: string | undefined): ClassId;
}

/** The state machine that a compiler made of the function's body, while it is lowered. */
export interface StateMachine {
  /** The parameter that holds the states. */
  readonly states: string;
  /** What was awaited or caught last. */
  readonly sent: Local;
  /** Lowers a returned instruction; false when it is none. */
  instruction(given: ts.ArrayLiteralExpression): boolean;
  /** The `try` at this label begins. */
  enter(from: number): void;
}

/** The block whose end ends a name's life. */
function scopeOf(declaration: ts.Node): ts.Node | undefined {
  if (ts.isParameter(declaration) || ts.isFunctionDeclaration(declaration)) return undefined;
  return ts.findAncestor(
    declaration,
    (node) =>
      ts.isBlock(node) ||
      ts.isSourceFile(node) ||
      ts.isCaseBlock(node) ||
      ts.isForStatement(node) ||
      ts.isForOfStatement(node) ||
      ts.isForInStatement(node),
  );
}

const plain =
  ts.TypeFlags.StringLike | ts.TypeFlags.NumberLike | ts.TypeFlags.BigIntLike | ts.TypeFlags.BooleanLike | ts.TypeFlags.ESSymbolLike;

/** Assignments narrow unions only; a list that begins empty gets its type from what is put into it. */
function isSteady(source: ts.SourceFile, type: ts.Type, fact: TypeFact): boolean {
  if (!/\.[cm]?tsx?$/.test(source.fileName)) return false;
  if (type.flags & plain || (type.isUnion() && type.types.every(({ flags }) => flags & plain))) return true;
  return (type.flags & ts.TypeFlags.Object) !== 0 && fact.holds !== 'unknown' && fact.element?.holds !== 'unknown';
}

export class Lowering {
  readonly graph = new Graph();
  readonly names = new Map<ts.Symbol, Local>();
  /** The names whose life ends with a block. */
  readonly endingWith = new Map<ts.Node, Local[]>();
  readonly file: FileContext;
  readonly id: FunctionId;
  readonly parent: Lowering | undefined;
  /** The local of `this`; arrows go to the parent. */
  self: Local | undefined;
  readonly isArrow: boolean;
  /** The type of `this`, where it had to be looked for. */
  selfType: ts.Type | undefined;
  machine: StateMachine | undefined;
  /** The body was asynchronous before a compiler made a state machine of it. */
  asynchronous = false;

  constructor(file: FileContext, id: FunctionId, parent: Lowering | undefined, isArrow: boolean) {
    this.file = file;
    this.id = id;
    this.parent = parent;
    this.isArrow = isArrow;
  }

  span(node: ts.Node): Span {
    return { file: this.file.source.fileName, start: node.getStart(this.file.source), end: node.getEnd() };
  }

  type(node: ts.Node): TypeFact {
    return this.file.types.of(this.file.checker.getTypeAtLocation(node));
  }

  temporary(type: TypeFact = nothing): Local {
    return this.graph.temporary(type);
  }

  /** Declares a named local for a binding identifier. */
  declare(name: ts.Identifier, kind: LocalFact['kind']): Local {
    const { checker } = this.file;
    // A parameter property has two symbols; the body means the parameter's.
    const parameter =
      ts.isParameter(name.parent) &&
      ts.isConstructorDeclaration(name.parent.parent) &&
      ts.isParameterPropertyDeclaration(name.parent, name.parent.parent)
        ? name.parent
        : undefined;
    const symbol =
      parameter === undefined
        ? checker.getSymbolAtLocation(name)
        : checker.getSymbolsOfParameterPropertyDeclaration(parameter, name.text)[0];
    const before = symbol === undefined ? undefined : this.names.get(symbol);
    if (before !== undefined) return before;
    const type = checker.getTypeAtLocation(name);
    const fact = this.file.types.of(type);
    const local = this.graph.local({ name: name.text, kind, type: fact, captured: false, span: this.span(name) });
    if (symbol !== undefined) this.keep(symbol, local, type, fact);
    return local;
  }

  private keep(symbol: ts.Symbol, local: Local, type: ts.Type, fact: TypeFact): void {
    this.names.set(symbol, local);
    if (symbol.flags & ts.SymbolFlags.Variable && isSteady(this.file.source, type, fact)) this.file.steady.set(symbol, fact);
    for (const scope of new Set(symbol.declarations?.map(scopeOf))) {
      if (scope === undefined) continue;
      const ending = this.endingWith.get(scope);
      if (ending === undefined) this.endingWith.set(scope, [local]);
      else ending.push(local);
    }
  }

  /** The type of a name where it is read. */
  typeOfName(node: ts.Identifier, symbol: ts.Symbol): TypeFact {
    return (this.file.narrowed.has(node.text) ? undefined : this.file.steady.get(symbol)) ?? this.type(node);
  }

  /** The type of what a call yields: its signature says it at less cost than the checker's way from the callee on. */
  typeOfCall(node: ts.CallExpression | ts.NewExpression): TypeFact {
    const direct = ts.isCallExpression(node) && !(node.flags & (ts.NodeFlags.OptionalChain | ts.NodeFlags.JavaScriptFile));
    if (!direct || (node.expression.kind !== ts.SyntaxKind.Identifier && node.expression.kind !== ts.SyntaxKind.PropertyAccessExpression))
      return this.type(node);
    const { checker, types } = this.file;
    const signature = checker.getResolvedSignature(node);
    if (signature === undefined) return this.type(node);
    const type = checker.getReturnTypeOfSignature(signature);
    // Only a call that yields a truth, or nothing, can be one that narrows.
    if (type.flags & (ts.TypeFlags.BooleanLike | ts.TypeFlags.Void) && checker.getTypePredicateOfSignature(signature) !== undefined)
      for (const tested of [node.expression, ...node.arguments]) this.tested(tested);
    return types.of(type);
  }

  /** A test may narrow the type of what an expression names. */
  tested(node: ts.Node): void {
    let root = node;
    while (!ts.isIdentifier(root)) {
      if (ts.isBinaryExpression(root)) root = root.left;
      else if (
        ts.isPropertyAccessExpression(root) ||
        ts.isElementAccessExpression(root) ||
        ts.isNonNullExpression(root) ||
        ts.isParenthesizedExpression(root) ||
        ts.isAsExpression(root) ||
        ts.isSatisfiesExpression(root) ||
        ts.isTypeOfExpression(root)
      )
        root = root.expression;
      else return;
    }
    this.file.narrowed.add(root.text);
  }

  /** The place of a name: a local here, or a variable of an enclosing function or module. */
  find(symbol: ts.Symbol): { readonly local: Local } | { readonly variable: Variable } | undefined {
    const own = this.names.get(symbol);
    if (own !== undefined) return { local: own };
    for (let above = this.parent; above !== undefined; above = above.parent) {
      const local = above.names.get(symbol);
      if (local !== undefined) {
        above.graph.markCaptured(local);
        return { variable: { function: above.id, name: above.graph.locals[local]!.unique } };
      }
    }
    const variable = this.file.moduleVariable(symbol);
    return variable === undefined ? undefined : { variable };
  }

  /** The local that holds `this`, here or in the enclosing function of an arrow. */
  this_(): { readonly local: Local } | { readonly variable: Variable } | undefined {
    if (this.self !== undefined) return { local: this.self };
    if (!this.isArrow) return undefined;
    for (let above = this.parent; above !== undefined; above = above.parent) {
      if (above.self !== undefined) {
        above.graph.markCaptured(above.self);
        return { variable: { function: above.id, name: 'this' } };
      }
      if (!above.isArrow) return undefined;
    }
    return undefined;
  }
}
