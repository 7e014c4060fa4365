/**
 * One function per kind of statement.
 *
 * `finally` and `using` are cleanups: copied onto every way out. Exceptional ways get an edge only where the same function
 * catches. Depends on: expressions, patterns, function, typescript.
 */
import ts from 'typescript';
import { bare, closure, copy, expression, literal, opaque } from './expressions.ts';
import type { Lowering } from './function.ts';
import type { BlockId, Local, LocalFact } from './ir.ts';
import { condition } from './operators.ts';
import { bind } from './patterns.ts';
import { asynchronous, instructed, isCompilersOwn } from './state-machine.ts';
import { nothing, unknownType } from './types.ts';

const K = ts.SyntaxKind;

/** Lowers statements that share a scope: functions first, `using` freed at the end. */
export function statements(fn: Lowering, list: readonly ts.Statement[], scope: ts.Node): void {
  for (const statement of list) {
    if (ts.isFunctionDeclaration(statement) && statement.name !== undefined) fn.declare(statement.name, 'constant');
    if (ts.isClassDeclaration(statement) && statement.name !== undefined) fn.declare(statement.name, 'constant');
    if (ts.isVariableStatement(statement))
      for (const declaration of statement.declarationList.declarations) predeclare(fn, declaration.name, kindOf(statement.declarationList));
  }
  for (const statement of list)
    if (ts.isFunctionDeclaration(statement) && statement.body !== undefined) {
      const name = statement.name;
      const value = closure(fn, statement, name?.text);
      if (name !== undefined) copy(fn, statement, fn.declare(name, 'constant'), value);
    }
  const depth = fn.graph.cleanups.length;
  const handler = fn.graph.handler;
  for (const statement of list) if (!ts.isFunctionDeclaration(statement)) one(fn, statement, []);
  if (fn.graph.cleanups.length > depth) {
    fn.graph.leave(depth);
    fn.graph.cleanups.length = depth;
    fn.graph.handler = handler;
    fn.graph.fresh();
  }
  const locals = fn.endingWith.get(scope) ?? [];
  if (locals.length > 0 && !ts.isSourceFile(scope)) fn.graph.emit({ kind: 'exit', locals, span: fn.span(scope) });
}

function predeclare(fn: Lowering, name: ts.BindingName, kind: LocalFact['kind']): void {
  if (ts.isIdentifier(name)) fn.declare(name, kind);
  else for (const element of name.elements) if (!ts.isOmittedExpression(element)) predeclare(fn, element.name, kind);
}

function kindOf(list: ts.VariableDeclarationList): LocalFact['kind'] {
  const flags = list.flags & ts.NodeFlags.BlockScoped;
  if (flags === ts.NodeFlags.Using || flags === ts.NodeFlags.AwaitUsing) return 'using';
  return flags === ts.NodeFlags.Const ? 'constant' : 'variable';
}

export function one(fn: Lowering, node: ts.Statement, labels: readonly string[]): void {
  fn.file.look();
  if (fn.machine !== undefined && instructed(fn.machine, node)) return;
  if (ts.isBlock(node)) return statements(fn, node.statements, node);
  if (ts.isExpressionStatement(node)) {
    expression(fn, node.expression);
    return;
  }
  if (ts.isVariableStatement(node)) return declarations(fn, node.declarationList, node);
  if (ts.isIfStatement(node)) return conditional(fn, node);
  if (ts.isReturnStatement(node)) {
    if (asynchronous(fn, node)) return;
    const value = node.expression === undefined ? undefined : expression(fn, node.expression);
    fn.graph.leave(0);
    fn.graph.end({ kind: 'return', span: fn.span(node), ...(value === undefined ? {} : { value }) });
    return fn.graph.dead();
  }
  if (ts.isThrowStatement(node)) {
    const value = expression(fn, node.expression);
    fn.graph.end({ kind: 'throw', value, span: fn.span(node) });
    return fn.graph.dead();
  }
  if (ts.isForStatement(node)) return forLoop(fn, node, labels);
  if (ts.isForOfStatement(node) || ts.isForInStatement(node)) return forOf(fn, node, labels);
  if (ts.isWhileStatement(node) || ts.isDoStatement(node)) return whileLoop(fn, node, labels);
  if (ts.isTryStatement(node)) return attempt(fn, node);
  if (ts.isSwitchStatement(node)) return choose(fn, node, labels);
  if (ts.isLabeledStatement(node)) return labelled(fn, node, labels);
  if (ts.isBreakStatement(node) || ts.isContinueStatement(node)) return jump(fn, node);
  if (ts.isClassDeclaration(node)) {
    const id = fn.file.nestedClass(node, fn, node.name?.text);
    const to = node.name === undefined ? fn.temporary() : fn.declare(node.name, 'constant');
    fn.graph.emit({ kind: 'class', to, class: id, span: fn.span(node) });
    return;
  }
  // A namespace is a part of the module, whose names nobody else has.
  if (ts.isModuleDeclaration(node)) {
    if (node.body !== undefined && !isAmbient(node)) statementsOfNamespace(fn, node.body);
    return;
  }
  if (ts.isExportAssignment(node)) {
    const init = bare(node.expression);
    const value =
      ts.isArrowFunction(init) || ts.isFunctionExpression(init) ? closure(fn, init, 'default') : expression(fn, node.expression);
    const to = fn.graph.local({ name: 'default', kind: 'constant', type: fn.type(node.expression), captured: true });
    copy(fn, node, to, value);
  }
}

const isAmbient = (node: ts.ModuleDeclaration): boolean => node.modifiers?.some(({ kind }) => kind === K.DeclareKeyword) === true;

function statementsOfNamespace(fn: Lowering, body: ts.ModuleBody | ts.JSDocNamespaceBody): void {
  if (ts.isModuleBlock(body)) statements(fn, body.statements, body);
  else if (ts.isModuleDeclaration(body)) one(fn, body, []);
}

export function declarations(fn: Lowering, list: ts.VariableDeclarationList, statement: ts.Node): void {
  const kind = kindOf(list);
  for (const declaration of list.declarations) {
    predeclare(fn, declaration.name, kind);
    if (declaration.initializer === undefined) {
      if (ts.isIdentifier(declaration.name) && kind === 'variable')
        copy(fn, declaration, fn.declare(declaration.name, kind), literal(fn, declaration, undefined));
      continue;
    }
    const init = bare(declaration.initializer);
    const name = ts.isIdentifier(declaration.name) ? declaration.name.text : undefined;
    if (name !== undefined && isCompilersOwn(name, declaration.initializer)) {
      copy(fn, declaration, fn.declare(declaration.name as ts.Identifier, kind), opaque(fn, declaration, [], 'a helper of a compiler'));
      continue;
    }
    const value =
      ts.isArrowFunction(init) || ts.isFunctionExpression(init) ? closure(fn, init, name) : expression(fn, declaration.initializer);
    bind(fn, declaration.name, value, kind, list.declarations.length === 1 ? statement : declaration);
    if (kind === 'using' && ts.isIdentifier(declaration.name))
      freeAtEnd(fn, fn.declare(declaration.name, kind), declaration, (list.flags & ts.NodeFlags.AwaitUsing) === ts.NodeFlags.AwaitUsing);
  }
}

function freeAtEnd(fn: Lowering, local: Local, node: ts.Node, wait: boolean): void {
  const outside = fn.graph.handler;
  const emit = (): void => fn.graph.emit({ kind: 'dispose', value: local, await: wait, span: fn.span(node) });
  fn.graph.cleanups.push({ emit, handler: outside });
  if (outside !== undefined) guarded(fn, node, emit, outside);
}

/** From here on exceptions run `emit` before they go on to `outside`. */
function guarded(fn: Lowering, node: ts.Node, emit: () => void, outside: BlockId): void {
  fn.graph.handler = outside;
  const here = fn.graph.current;
  const handlerBlock = fn.graph.block();
  fn.graph.enter(handlerBlock);
  const caught = fn.temporary(unknownType);
  fn.graph.emit({ kind: 'caught', to: caught, span: fn.span(node) });
  emit();
  fn.graph.end({ kind: 'throw', value: caught, span: fn.span(node) });
  fn.graph.enter(here);
  fn.graph.handler = handlerBlock;
  fn.graph.fresh();
}

function conditional(fn: Lowering, node: ts.IfStatement): void {
  const [then, other, after] = [fn.graph.block(), fn.graph.block(), fn.graph.block()];
  condition(fn, node.expression, then, other);
  fn.graph.enter(then);
  one(fn, node.thenStatement, []);
  fn.graph.goto(after);
  fn.graph.enter(other);
  if (node.elseStatement !== undefined) one(fn, node.elseStatement, []);
  fn.graph.goto(after);
  fn.graph.enter(after);
}

function forLoop(fn: Lowering, node: ts.ForStatement, labels: readonly string[]): void {
  const depth = fn.graph.cleanups.length;
  if (node.initializer !== undefined) {
    if (ts.isVariableDeclarationList(node.initializer)) declarations(fn, node.initializer, node.initializer);
    else expression(fn, node.initializer);
  }
  const from = fn.graph.size;
  const head = fn.graph.fresh();
  const [body, step, after] = [fn.graph.block(), fn.graph.block(), fn.graph.block()];
  if (node.condition === undefined) fn.graph.goto(body);
  else condition(fn, node.condition, body, after);
  fn.graph.enter(body);
  fn.graph.targets.push({ labels, break: after, continue: step, cleanups: fn.graph.cleanups.length });
  one(fn, node.statement, []);
  fn.graph.targets.pop();
  fn.graph.goto(step);
  fn.graph.enter(step);
  if (node.incrementor !== undefined) expression(fn, node.incrementor);
  fn.graph.goto(head);
  fn.graph.markLoop(head, from);
  fn.graph.enter(after);
  if (fn.graph.cleanups.length > depth) {
    fn.graph.leave(depth);
    fn.graph.cleanups.length = depth;
  }
}

function forOf(fn: Lowering, node: ts.ForOfStatement | ts.ForInStatement, labels: readonly string[]): void {
  const from = expression(fn, node.expression);
  const iterator = fn.temporary();
  const wait = ts.isForOfStatement(node) && node.awaitModifier !== undefined;
  fn.graph.emit({
    kind: 'iterate',
    to: iterator,
    from,
    over: ts.isForInStatement(node) ? 'in' : wait ? 'await' : 'of',
    span: fn.span(node.expression),
  });
  const first = fn.graph.size;
  const head = fn.graph.fresh();
  const [body, after] = [fn.graph.block(), fn.graph.block()];
  const init = node.initializer;
  const elementType = ts.isVariableDeclarationList(init)
    ? init.declarations[0] === undefined
      ? nothing
      : fn.type(init.declarations[0].name)
    : fn.type(init);
  const element = fn.temporary(elementType);
  fn.graph.end({ kind: 'next', iterator, to: element, body, done: after, span: fn.span(init), await: wait });
  fn.graph.enter(body);
  const depth = fn.graph.cleanups.length;
  const handler = fn.graph.handler;
  fn.graph.targets.push({ labels, break: after, continue: head, cleanups: depth });
  if (ts.isVariableDeclarationList(init)) {
    const declaration = init.declarations[0];
    if (declaration !== undefined) {
      predeclare(fn, declaration.name, kindOf(init));
      bind(fn, declaration.name, element, kindOf(init), init);
      if (kindOf(init) === 'using' && ts.isIdentifier(declaration.name))
        freeAtEnd(fn, fn.declare(declaration.name, 'using'), declaration, false);
    }
  } else {
    const left = bare(init);
    assignTo(fn, left, element, init);
  }
  one(fn, node.statement, []);
  fn.graph.targets.pop();
  if (fn.graph.cleanups.length > depth) {
    fn.graph.leave(depth);
    fn.graph.cleanups.length = depth;
    fn.graph.handler = handler;
  }
  fn.graph.goto(head);
  fn.graph.markLoop(head, first);
  fn.graph.enter(after);
}

function assignTo(fn: Lowering, left: ts.Expression, value: Local, statement: ts.Node): void {
  const symbol = ts.isIdentifier(left) ? fn.file.resolver.symbol(left) : undefined;
  const place = symbol === undefined ? undefined : fn.find(symbol);
  if (place === undefined) return;
  if ('local' in place) copy(fn, statement, place.local, value);
  else fn.graph.emit({ kind: 'setOuter', variable: place.variable, from: value, span: fn.span(statement) });
}

function whileLoop(fn: Lowering, node: ts.WhileStatement | ts.DoStatement, labels: readonly string[]): void {
  const from = fn.graph.size;
  if (ts.isWhileStatement(node)) {
    const head = fn.graph.fresh();
    const [body, after] = [fn.graph.block(), fn.graph.block()];
    condition(fn, node.expression, body, after);
    fn.graph.enter(body);
    fn.graph.targets.push({ labels, break: after, continue: head, cleanups: fn.graph.cleanups.length });
    one(fn, node.statement, []);
    fn.graph.targets.pop();
    fn.graph.goto(head);
    fn.graph.markLoop(head, from);
    return fn.graph.enter(after);
  }
  const head = fn.graph.fresh();
  const [test, after] = [fn.graph.block(), fn.graph.block()];
  fn.graph.targets.push({ labels, break: after, continue: test, cleanups: fn.graph.cleanups.length });
  one(fn, node.statement, []);
  fn.graph.targets.pop();
  fn.graph.goto(test);
  fn.graph.enter(test);
  condition(fn, node.expression, head, after);
  fn.graph.markLoop(head, from);
  fn.graph.enter(after);
}

function attempt(fn: Lowering, node: ts.TryStatement): void {
  const after = fn.graph.block();
  const outside = fn.graph.handler;
  const depth = fn.graph.cleanups.length;
  const final = node.finallyBlock;
  if (final !== undefined) {
    const emit = (): void => statements(fn, final.statements, final);
    fn.graph.cleanups.push({ emit, handler: outside });
    if (outside !== undefined) guarded(fn, final, emit, outside);
  }
  const insideFinally = fn.graph.handler;
  if (node.catchClause !== undefined) {
    const catchBlock = fn.graph.block();
    fn.graph.handler = catchBlock;
    fn.graph.fresh();
    statements(fn, node.tryBlock.statements, node.tryBlock);
    fn.graph.handler = insideFinally;
    const joined = fn.graph.block();
    fn.graph.goto(joined);
    fn.graph.enter(catchBlock);
    const caught = fn.temporary(unknownType);
    fn.graph.emit({ kind: 'caught', to: caught, span: fn.span(node.catchClause) });
    const name = node.catchClause.variableDeclaration?.name;
    if (name !== undefined) {
      predeclare(fn, name, 'variable');
      bind(fn, name, caught, 'variable', node.catchClause);
    }
    statements(fn, node.catchClause.block.statements, node.catchClause.block);
    fn.graph.goto(joined);
    fn.graph.enter(joined);
  } else {
    fn.graph.fresh();
    statements(fn, node.tryBlock.statements, node.tryBlock);
  }
  if (final !== undefined) {
    fn.graph.leave(depth);
    fn.graph.cleanups.length = depth;
  }
  fn.graph.handler = outside;
  fn.graph.goto(after);
  fn.graph.enter(after);
}

function choose(fn: Lowering, node: ts.SwitchStatement, labels: readonly string[]): void {
  const value = expression(fn, node.expression);
  for (const tested of [node.expression, ...node.caseBlock.clauses.flatMap((clause) => (ts.isCaseClause(clause) ? clause.expression : []))])
    fn.tested(tested);
  const after = fn.graph.block();
  const bodies = node.caseBlock.clauses.map(() => fn.graph.block());
  let fallback = after;
  node.caseBlock.clauses.forEach((clause, i) => {
    if (ts.isDefaultClause(clause)) {
      fallback = bodies[i]!;
      return;
    }
    const test = fn.temporary();
    const right = expression(fn, clause.expression);
    fn.graph.emit({ kind: 'binary', to: test, operator: '===', left: value, right, span: fn.span(clause.expression) });
    const next = fn.graph.block();
    fn.graph.end({ kind: 'branch', condition: test, then: bodies[i]!, else: next, span: fn.span(clause.expression) });
    fn.graph.enter(next);
  });
  fn.graph.goto(fallback);
  fn.graph.targets.push({ labels, break: after, cleanups: fn.graph.cleanups.length });
  node.caseBlock.clauses.forEach((clause, i) => {
    fn.graph.enter(bodies[i]!);
    for (const statement of clause.statements)
      if (ts.isVariableStatement(statement))
        for (const declaration of statement.declarationList.declarations)
          predeclare(fn, declaration.name, kindOf(statement.declarationList));
    statements(fn, clause.statements, clause);
    fn.graph.goto(bodies[i + 1] ?? after);
  });
  fn.graph.targets.pop();
  fn.graph.enter(after);
}

function labelled(fn: Lowering, node: ts.LabeledStatement, labels: readonly string[]): void {
  const all = [...labels, node.label.text];
  const inner = node.statement;
  if (ts.isIterationStatement(inner, false) || ts.isLabeledStatement(inner) || ts.isSwitchStatement(inner)) return one(fn, inner, all);
  const after = fn.graph.block();
  fn.graph.targets.push({ labels: all, break: after, cleanups: fn.graph.cleanups.length });
  one(fn, inner, []);
  fn.graph.targets.pop();
  fn.graph.goto(after);
  fn.graph.enter(after);
}

function jump(fn: Lowering, node: ts.BreakStatement | ts.ContinueStatement): void {
  const label = node.label?.text;
  const isBreak = node.kind === K.BreakStatement;
  const target = fn.graph.targets.findLast((candidate) =>
    label === undefined
      ? isBreak
        ? candidate.break !== undefined && (candidate.continue !== undefined || candidate.labels.length === 0)
        : candidate.continue !== undefined
      : candidate.labels.includes(label),
  );
  const block = isBreak ? target?.break : target?.continue;
  if (target === undefined || block === undefined) return;
  fn.graph.leave(target.cleanups);
  fn.graph.goto(block);
  fn.graph.dead();
}
