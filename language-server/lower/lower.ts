/**
 * A typed source file -> functions, classes and comments that speak to the analysis. Syntax ends here.
 *
 * Every function of the file is lowered on its own, nested ones with the names they capture. Never throws on user code:
 * what isn't understood becomes `opaque`. Depends on: function, statements, expressions, types, resolve, program.
 */
import ts from 'typescript';
import type { LibraryModel } from '../libraries/model.ts';
import type { TypeFacts } from '../program/program.ts';
import { hasModifier, importedLibraries, kindOf } from './declarations.ts';
import { directivesOf, budgetAbove } from './directives.ts';
import { knowsDisposables } from './disposables.ts';
import { misreadOf } from './misread.ts';
import { exportsOf } from './exports.ts';
import { bare, closure, expression, literal, propertyName } from './expressions.ts';
import { Lowering, type FileContext } from './function.ts';
import { isWithin, librariesIn } from './ir.ts';
import type { ClassId, FieldFact, FunctionId, Local, LoweredClass, LoweredFunction, Parameter, Span, Unit } from './ir.ts';
import { isFunction, memberName, nameOf, type Naming } from './naming.ts';
import { bind, withDefault } from './patterns.ts';
import { addPrototypeClasses, isPrototypeMethod, thisType } from './prototypes.ts';
import { createResolver } from './resolve.ts';
import { statements } from './statements.ts';
import { createTypes, libraryOfBase, nothing } from './types.ts';

export interface LoweringInput {
  readonly facts: TypeFacts;
  readonly models: readonly LibraryModel[];
  readonly naming: Naming;
  /** Asked at every statement; throws when nobody wants the answer any more. */
  readonly look?: () => void;
}

/** A function of the top level, or of a class there, whose body alone differs from an earlier lowering of its file. */
export interface Again {
  readonly before: Unit;
  readonly id: FunctionId;
  readonly node: ts.FunctionLikeDeclaration;
}

/** `again`: that function alone is lowered, and the rest taken over as it is, with its places. */
export function lowerFile(input: LoweringInput, source: ts.SourceFile, again?: Again): Unit {
  const { facts, models, naming } = input;
  const checker = facts.checker;
  const types = createTypes(checker, models, (declaration) => naming.classId(declaration));
  const resolver = createResolver(
    checker,
    types,
    (node) => naming.idOf(node),
    (node) => naming.classId(node),
    () => false,
  );
  const functions = new Map<FunctionId, LoweredFunction>();
  const classes = new Map<ClassId, LoweredClass>();
  const moduleId = `${source.fileName}#`;
  const { nodes: exportedNodes, names: exports } = exportsOf(checker, source);
  const libraries = new Set(importedLibraries(types, source));
  const span = (node: ts.Node): Span => ({ file: source.fileName, start: node.getStart(source), end: node.getEnd() });
  const file: FileContext = {
    source,
    checker,
    types,
    resolver,
    look: input.look ?? (() => undefined),
    steady: new Map(),
    narrowed: new Set(),
    idOf: (node) => naming.idOf(node) ?? `${moduleId}?${node.pos}`,
    classId: (node) => naming.classId(node) ?? `${moduleId}?${node.pos}`,
    moduleVariable(symbol) {
      const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
      const declaration = target.declarations?.[0];
      if (declaration === undefined || !facts.isOwn(declaration.getSourceFile())) return undefined;
      if (
        !ts.isVariableDeclaration(declaration) &&
        !ts.isFunctionDeclaration(declaration) &&
        !ts.isClassDeclaration(declaration) &&
        !ts.isBindingElement(declaration) &&
        !ts.isExportAssignment(declaration)
      )
        return undefined;
      const holder = ts.findAncestor(
        declaration.parent,
        (node): node is ts.FunctionLikeDeclaration | ts.SourceFile => isFunction(node) || ts.isSourceFile(node),
      );
      if (holder === undefined || !ts.isSourceFile(holder)) return undefined;
      return { function: `${holder.fileName}#`, name: ts.isExportAssignment(declaration) ? 'default' : target.name };
    },
    nested(node, parent, name) {
      const id = file.idOf(node);
      return functions.has(id) ? id : lowerFunction(node, parent, name, undefined);
    },
    nestedClass(node, parent, name) {
      const id = file.classId(node);
      if (!classes.has(id)) lowerClass(node, parent, name);
      return id;
    },
  };

  function lowerFunction(
    node: ts.FunctionLikeDeclaration,
    parent: Lowering | undefined,
    name: string | undefined,
    classId: ClassId | undefined,
  ): FunctionId {
    const id = file.idOf(node);
    const fn = new Lowering(file, id, parent, ts.isArrowFunction(node));
    if (!ts.isArrowFunction(node)) {
      fn.selfType = thisType(checker, node);
      const type = fn.selfType === undefined ? nothing : types.of(fn.selfType);
      fn.self = fn.graph.local({ name: 'this', kind: 'this', captured: false, type });
    }
    const parameters: Parameter[] = node.parameters
      .filter((p) => !(ts.isIdentifier(p.name) && p.name.text === 'this'))
      .map((p) => ({
        local: ts.isIdentifier(p.name)
          ? fn.declare(p.name, 'parameter')
          : fn.graph.local({ kind: 'parameter', type: fn.type(p.name), captured: false, span: span(p) }),
        span: span(p),
        optional: p.questionToken !== undefined || p.initializer !== undefined,
        rest: p.dotDotDotToken !== undefined,
        ...(ts.isIdentifier(p.name) ? { name: p.name.text } : {}),
      }));
    node.parameters
      .filter((p) => !(ts.isIdentifier(p.name) && p.name.text === 'this'))
      .forEach((p, i) => {
        const local = parameters[i]!.local;
        if (p.initializer !== undefined) withDefault(fn, p.initializer, local);
        if (!ts.isIdentifier(p.name)) bind(fn, p.name, local, 'variable', p);
      });
    const body = node.body;
    if (body !== undefined) {
      if (ts.isBlock(body)) statements(fn, body.statements, body);
      else {
        const value = expression(fn, body);
        fn.graph.end({ kind: 'return', value, span: fn.span(body) });
      }
    }
    const className = classId === undefined ? undefined : classes.get(classId)?.name;
    const own = name ?? nameOf(node);
    const isPrivate = (node.name !== undefined && ts.isPrivateIdentifier(node.name)) || hasModifier(node, ts.SyntaxKind.PrivateKeyword);
    const isExported =
      exportedNodes.has(node) ||
      isPrototypeMethod(node) ||
      (classId !== undefined && !isPrivate && ts.isClassLike(node.parent) && exportedNodes.has(node.parent));
    const budget = budgetAbove(source, node);
    const bodyStart = body === undefined ? node.end : body.getStart(source);
    functions.set(id, {
      id,
      file: source.fileName,
      name: own === undefined ? '' : className !== undefined ? `${className}.${own}` : own,
      kind: kindOf(node),
      span: span(node),
      signature: { file: source.fileName, start: node.getStart(source), end: bodyStart },
      async: fn.asynchronous || hasModifier(node, ts.SyntaxKind.AsyncKeyword),
      generator:
        (ts.isFunctionDeclaration(node) || ts.isFunctionExpression(node) || ts.isMethodDeclaration(node)) &&
        node.asteriskToken !== undefined,
      exported: isExported,
      ...(isPrivate ? { private: true as const } : {}),
      parameters,
      locals: fn.graph.locals,
      blocks: fn.graph.finish({ file: source.fileName, start: Math.max(bodyStart, node.end - 1), end: node.end }),
      ...(parent === undefined ? {} : { parent: parent.id }),
      ...(classId === undefined ? {} : { class: classId }),
      ...(hasModifier(node, ts.SyntaxKind.StaticKeyword) ? { static: true } : {}),
      ...(fn.self === undefined ? {} : { self: fn.self }),
      ...(budget === undefined ? {} : { budgetBytes: budget }),
    });
    return id;
  }

  function lowerClass(node: ts.ClassLikeDeclaration, parent: Lowering, name: string | undefined): void {
    const id = file.classId(node);
    const methods: Record<string, FunctionId> = {};
    const getters: Record<string, FunctionId> = {};
    const setters: Record<string, FunctionId> = {};
    const staticMethods: Record<string, FunctionId> = {};
    const fields: FieldFact[] = [];
    const extended = node.heritageClauses?.find((clause) => clause.token === ts.SyntaxKind.ExtendsKeyword)?.types[0];
    const baseDeclaration =
      extended === undefined ? undefined : checker.getTypeAtLocation(extended).symbol?.declarations?.find(ts.isClassLike);
    const base = baseDeclaration === undefined ? undefined : naming.classId(baseDeclaration);
    const foreign =
      extended === undefined || base !== undefined
        ? undefined
        : libraryOfBase(checker, types, resolver.meaning(extended.expression)?.model, extended);
    const headEnd = node.members.pos;
    const common = {
      id,
      file: source.fileName,
      name: name ?? nameOf(node) ?? 'class',
      span: span(node),
      head: { file: source.fileName, start: node.getStart(source), end: Math.max(node.getStart(source), headEnd) },
      exported: exportedNodes.has(node),
      foreignBase: extended !== undefined && base === undefined,
      ...(base === undefined ? {} : { base }),
      ...(foreign === undefined ? {} : { baseLibrary: foreign }),
    };
    classes.set(id, { ...common, methods, getters, setters, staticMethods, fields });
    const constructorNode = node.members.find(
      (m): m is ts.ConstructorDeclaration => ts.isConstructorDeclaration(m) && m.body !== undefined,
    );
    for (const member of node.members) {
      if (ts.isPropertyDeclaration(member) && !hasModifier(member, ts.SyntaxKind.StaticKeyword))
        fields.push(fieldFact(member, member.name));
      if (ts.isConstructorDeclaration(member))
        for (const p of member.parameters)
          if (ts.isParameterPropertyDeclaration(p, member)) fields.push(fieldFact(p, p.name as ts.Identifier));
    }
    for (const member of node.members) {
      if ((ts.isMethodDeclaration(member) || ts.isGetAccessor(member) || ts.isSetAccessor(member)) && member.body !== undefined) {
        const key = memberName(member.name);
        const fnId = lowerFunction(member, parent, key, id);
        const table = hasModifier(member, ts.SyntaxKind.StaticKeyword)
          ? staticMethods
          : ts.isMethodDeclaration(member)
            ? methods
            : ts.isGetAccessor(member)
              ? getters
              : setters;
        table[key] = fnId;
      }
    }
    const initialiser = lowerFields(node, parent, id);
    const constructor_ = constructorNode === undefined ? undefined : lowerFunction(constructorNode, parent, 'constructor', id);
    classes.set(id, {
      ...common,
      methods,
      getters,
      setters,
      staticMethods,
      fields,
      initialiser,
      ...(constructor_ === undefined ? {} : { constructor_ }),
    });
    lowerStatics(node, parent, id);
  }

  /** Static fields live on the class value, which the function around it makes once. */
  function lowerStatics(node: ts.ClassLikeDeclaration, parent: Lowering, id: ClassId): void {
    for (const member of node.members) {
      if (!ts.isPropertyDeclaration(member) || !hasModifier(member, ts.SyntaxKind.StaticKeyword) || member.initializer === undefined)
        continue;
      const init = bare(member.initializer);
      const from =
        ts.isArrowFunction(init) || ts.isFunctionExpression(init)
          ? closure(parent, init, memberName(member.name))
          : expression(parent, member.initializer);
      const object = parent.temporary();
      parent.graph.emit({ kind: 'class', to: object, class: id, span: span(member) });
      parent.graph.emit({ kind: 'setProperty', object, key: propertyName(parent, member.name), from, declares: true, span: span(member) });
    }
  }

  function fieldFact(node: ts.PropertyDeclaration | ts.ParameterDeclaration, name: ts.PropertyName): FieldFact {
    return {
      name: memberName(name),
      span: span(node),
      type: types.of(checker.getTypeAtLocation(node)),
      private: hasModifier(node, ts.SyntaxKind.PrivateKeyword) || ts.isPrivateIdentifier(name),
      readonly: hasModifier(node, ts.SyntaxKind.ReadonlyKeyword),
    };
  }

  /** `this.x = init` for every field; parameter properties are set by the constructor's caller through equal names. */
  function lowerFields(node: ts.ClassLikeDeclaration, parent: Lowering, classId: ClassId): FunctionId {
    const id = `${classId}.fields`;
    const fn = new Lowering(file, id, parent, false);
    const self: Local = fn.graph.local({ name: 'this', kind: 'this', captured: false, type: types.of(checker.getTypeAtLocation(node)) });
    fn.self = self;
    const constructorNode = node.members.find(
      (m): m is ts.ConstructorDeclaration => ts.isConstructorDeclaration(m) && m.body !== undefined,
    );
    const parameters: Parameter[] = (constructorNode?.parameters ?? []).map((p) => ({
      local: ts.isIdentifier(p.name)
        ? fn.declare(p.name, 'parameter')
        : fn.graph.local({ kind: 'parameter', type: fn.type(p.name), captured: false }),
      span: span(p),
      optional: p.questionToken !== undefined || p.initializer !== undefined,
      rest: p.dotDotDotToken !== undefined,
      ...(ts.isIdentifier(p.name) ? { name: p.name.text } : {}),
    }));
    (constructorNode?.parameters ?? []).forEach((p, i) => {
      if (!ts.isParameterPropertyDeclaration(p, constructorNode!) || !ts.isIdentifier(p.name)) return;
      if (p.initializer !== undefined) withDefault(fn, p.initializer, parameters[i]!.local);
      fn.graph.emit({
        kind: 'setProperty',
        object: self,
        key: { kind: 'name', name: p.name.text },
        from: parameters[i]!.local,
        declares: true,
        span: span(p),
      });
    });
    for (const member of node.members) {
      if (
        !ts.isPropertyDeclaration(member) ||
        hasModifier(member, ts.SyntaxKind.StaticKeyword) ||
        hasModifier(member, ts.SyntaxKind.DeclareKeyword) ||
        hasModifier(member, ts.SyntaxKind.AbstractKeyword)
      )
        continue;
      const init = member.initializer === undefined ? undefined : bare(member.initializer);
      const value =
        init === undefined
          ? literal(fn, member, undefined)
          : ts.isArrowFunction(init) || ts.isFunctionExpression(init)
            ? closure(fn, init, memberName(member.name))
            : expression(fn, member.initializer!);
      fn.graph.emit({
        kind: 'setProperty',
        object: self,
        key: propertyName(fn, member.name),
        from: value,
        declares: true,
        span: span(member),
      });
    }
    functions.set(id, {
      id,
      file: source.fileName,
      name: `${classes.get(classId)?.name ?? ''}.fields`,
      kind: 'fields',
      span: span(node),
      signature: span(node),
      async: false,
      generator: false,
      exported: false,
      parent: parent.id,
      class: classId,
      parameters,
      self,
      locals: fn.graph.locals,
      blocks: fn.graph.finish(span(node)),
    });
    return id;
  }

  const top = new Lowering(file, moduleId, undefined, false);
  const { directives, budgetBytes } = directivesOf(source);
  const ofText = {
    version: facts.version(source.fileName),
    directives,
    lines: source.getLineStarts(),
    ...misreadOf(source),
    ...(budgetBytes === undefined ? {} : { budgetBytes }),
  };
  if (again !== undefined) return lowerAgain(again);
  statements(top, source.statements, source);
  for (const fact of top.graph.locals.keys()) if (top.graph.locals[fact]!.name !== undefined) top.graph.markCaptured(fact);
  functions.set(moduleId, {
    id: moduleId,
    file: source.fileName,
    name: '',
    kind: 'module',
    span: span(source),
    signature: { file: source.fileName, start: 0, end: 0 },
    async: false,
    generator: false,
    exported: false,
    parameters: [],
    locals: top.graph.locals,
    blocks: top.graph.finish({ file: source.fileName, start: source.end, end: source.end }),
  });

  addPrototypeClasses(functions, classes);
  noteLibraries(functions);
  return {
    file: source.fileName,
    module: moduleId,
    functions,
    classes,
    libraries,
    exports,
    disposable: /\.[cm]?tsx?$/.test(source.fileName) && knowsDisposables(facts.program),
    ...ofText,
  };

  function noteLibraries(of: ReadonlyMap<FunctionId, LoweredFunction>): void {
    for (const fn of of.values()) for (const library of librariesIn(fn)) libraries.add(library);
  }

  function lowerAgain({ before, id, node }: Again): Unit {
    const old = before.functions.get(id)!;
    for (const [other, cls] of before.classes) if (!isWithin(other, id)) classes.set(other, cls);
    lowerFunction(node, top, undefined, old.class);
    functions.set(id, { ...functions.get(id)!, name: old.name, exported: old.exported });
    // In the order in which the whole file is lowered.
    const all = new Map<FunctionId, LoweredFunction>();
    for (const [other, fn] of before.functions)
      if (!isWithin(other, id)) all.set(other, fn);
      else if (!all.has(id)) for (const [inner, made] of functions) all.set(inner, made);
    noteLibraries(all);
    const { budgetBytes: _, misread: __, ...kept } = before;
    return { ...kept, ...ofText, libraries, functions: all };
  }
}
