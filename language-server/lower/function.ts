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

export class Lowering {
  readonly graph = new Graph();
  readonly names = new Map<ts.Symbol, Local>();
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
    const local = this.graph.local({ name: name.text, kind, type: this.type(name), captured: false, span: this.span(name) });
    if (symbol !== undefined) this.names.set(symbol, local);
    return local;
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
