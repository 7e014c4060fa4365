/**
 * Freeing as text: after the last use, earlier than now, by `using`, or on every path by `try … finally`.
 *
 * Depends on: typescript, edit.
 */
import ts from 'typescript';
import {
  indentAt,
  isStatement,
  lineAfter,
  lineBefore,
  lineStart,
  mannerOf,
  nextLine,
  nodeAt,
  removal,
  statementAt,
  type Change,
  type Source,
} from './edit.ts';

/**
 * `name.verb()` on a line of its own behind the statement around [start, end); given the declaration, behind the statement
 * of the declaration's own block, so that it runs once whatever the use stands in. Behind a `throw`, and where a way out
 * lies between, nothing is offered; what a `return` yields is kept in a constant meanwhile.
 */
export function disposeAfter(
  file: Source,
  { start, end }: { readonly start: number; readonly end: number },
  name: string,
  verb: string,
  declaration?: { readonly start: number; readonly end: number },
): readonly Change[] | undefined {
  const inner = statementAt(file, start, end);
  const declared = declaration === undefined ? undefined : statementAt(file, declaration.start, declaration.end);
  const statement = declared === undefined ? inner : siblingOf(declared, inner);
  if (statement === undefined || ts.isThrowStatement(statement)) return undefined;
  const dispose = `${name}.${verb}()${mannerOf(file).semicolon}`;
  if (declared !== undefined && leavesBetween(declared, statement)) return undefined;
  if (!ts.isReturnStatement(statement)) return [lineAfter(file, statement, dispose)];
  return declared === undefined ? undefined : keepResult(file, statement, dispose);
}

/** `return f(x);` becomes `const result = f(x); x.dispose(); return result;`. */
function keepResult(file: Source, statement: ts.ReturnStatement, dispose: string): readonly Change[] | undefined {
  const { expression } = statement;
  if (expression === undefined) return undefined;
  const { semicolon, lineEnd } = mannerOf(file);
  const line = `${lineEnd}${indentAt(file, statement.getStart(file.tree))}`;
  const result = freshName(file, 'result');
  const tail = file.text[statement.end - 1] === ';' ? ';' : '';
  return [
    { start: statement.getStart(file.tree), end: expression.getStart(file.tree), text: `const ${result} = ` },
    { start: expression.end, end: statement.end, text: `${tail}${line}${dispose}${line}return ${result}${tail === '' ? '' : semicolon}` },
  ];
}

/** The statement around `inner` that stands in the same list as `declared`. */
function siblingOf(declared: ts.Statement, inner: ts.Node | undefined): ts.Statement | undefined {
  const found = ts.findAncestor(inner, (node) => node.parent === declared.parent);
  return found !== undefined && isStatement(found) ? found : undefined;
}

/** Can control leave the block between two of its statements, the second included unless it is itself a `return`? */
function leavesBetween(declared: ts.Statement, last: ts.Statement): boolean {
  const parent = declared.parent as ts.BlockLike;
  const list = parent.statements;
  const between = list.slice(list.indexOf(declared) + 1, list.indexOf(last) + 1);
  return between.some((statement) => !(statement === last && ts.isReturnStatement(statement)) && leaves(statement, false));
}

function leaves(node: ts.Node, inLoop: boolean): boolean {
  if (ts.isReturnStatement(node) || ts.isThrowStatement(node)) return true;
  if (ts.isBreakOrContinueStatement(node)) return node.label !== undefined || !inLoop;
  if (ts.isFunctionLike(node) || ts.isClassLike(node)) return false;
  const loop = inLoop || ts.isIterationStatement(node, false) || ts.isSwitchStatement(node);
  let found = false;
  ts.forEachChild(node, (child) => {
    found ||= leaves(child, loop);
  });
  return found;
}

/** A name that the file does not have yet. */
export function freshName({ text }: Source, wanted: string): string {
  let name = wanted;
  for (let i = 2; new RegExp(`\\b${name}\\b`).test(text); i++) name = `${wanted}${i}`;
  return name;
}

/** `x = f(x)`: the old array is freed between, or before when the new one does not need it. */
export function disposeReplaced(
  file: Source,
  { start, end }: { readonly start: number; readonly end: number },
  verb: string,
  optional: boolean,
): readonly Change[] | undefined {
  const statement = nodeAt(file, start, end, ts.isExpressionStatement);
  const assignment = statement?.expression;
  if (
    statement === undefined ||
    assignment === undefined ||
    !isStatement(statement) ||
    !ts.isBinaryExpression(assignment) ||
    assignment.operatorToken.kind !== ts.SyntaxKind.EqualsToken ||
    !(ts.isIdentifier(assignment.left) || ts.isPropertyAccessExpression(assignment.left))
  )
    return undefined;
  const { semicolon, lineEnd } = mannerOf(file);
  const left = assignment.left.getText(file.tree);
  const next = freshName(file, 'next');
  const dispose = `${left}${optional ? '?.' : '.'}${verb}()${semicolon}`;
  if (!mentions(assignment.right, left)) return [lineBefore(file, statement, dispose)];
  return [
    { start: assignment.getStart(file.tree), end: assignment.right.getStart(file.tree), text: `const ${next} = ` },
    lineAfter(file, statement, `${dispose}${lineEnd}${indentAt(file, statement.getStart(file.tree))}${left} = ${next}${semicolon}`),
  ];
}

function mentions(node: ts.Node, text: string): boolean {
  let found = false;
  const visit = (at: ts.Node): void => {
    if (at.getText() === text || ts.isCallExpression(at)) found = true;
    if (!found) ts.forEachChild(at, visit);
  };
  visit(node);
  return found;
}

/** `delete o.k` or `map.delete(k)`: what is removed is freed before. */
export function disposeRemoved(file: Source, start: number, end: number, verb: string): readonly Change[] | undefined {
  const statement = statementAt(file, start, end);
  if (statement === undefined || !ts.isExpressionStatement(statement)) return undefined;
  const { expression } = statement;
  const { semicolon } = mannerOf(file);
  const object = ts.isDeleteExpression(expression)
    ? expression.expression.getText(file.tree)
    : ts.isCallExpression(expression) &&
        ts.isPropertyAccessExpression(expression.expression) &&
        expression.expression.name.text === 'delete'
      ? `${expression.expression.expression.getText(file.tree)}.get(${expression.arguments.map((a) => a.getText(file.tree)).join(', ')})`
      : undefined;
  return object === undefined ? undefined : [lineBefore(file, statement, `${object}?.${verb}()${semicolon}`)];
}

/** The statement that reads goes before the one that gives away, when it needs nothing that is declared from there on. */
export function readEarlier(
  file: Source,
  use: { readonly start: number; readonly end: number },
  before: { readonly start: number; readonly end: number },
): readonly Change[] | undefined {
  const giving = statementAt(file, before.start, before.end);
  const reading = giving === undefined ? undefined : siblingOf(giving, statementAt(file, use.start, use.end));
  if (giving === undefined || reading === undefined || reading.pos <= giving.pos) return undefined;
  if (!ts.isVariableStatement(reading) && !ts.isExpressionStatement(reading)) return undefined;
  const list = (giving.parent as ts.BlockLike).statements;
  const declared = new Set<string>();
  for (const statement of list.slice(list.indexOf(giving), list.indexOf(reading))) {
    if (leaves(statement, false)) return undefined;
    namesWritten(statement, declared);
  }
  if (readsAny(reading, declared)) return undefined;
  return [lineBefore(file, giving, reading.getText(file.tree)), removal(file, reading)];
}

/** Names that a statement declares or assigns. */
function namesWritten(node: ts.Node, into: Set<string>): void {
  if ((ts.isVariableDeclaration(node) || ts.isBindingElement(node)) && ts.isIdentifier(node.name)) into.add(node.name.text);
  if (ts.isBinaryExpression(node) && ts.isIdentifier(node.left)) into.add(node.left.text);
  ts.forEachChild(node, (child) => namesWritten(child, into));
}

function readsAny(node: ts.Node, names: ReadonlySet<string>): boolean {
  let found = false;
  const visit = (at: ts.Node): void => {
    if (ts.isIdentifier(at) && names.has(at.text)) found = true;
    if (!found) ts.forEachChild(at, visit);
  };
  visit(node);
  return found;
}

/** The statement at `from` goes to behind the statement around `to`; only between statements of one block. */
export function moveStatement(
  file: Source,
  from: { readonly start: number; readonly end: number },
  to: { readonly start: number; readonly end: number },
): readonly Change[] | undefined {
  const moved = statementAt(file, from.start, from.end);
  const target = statementAt(file, to.start, to.end);
  if (moved === undefined || target === undefined || moved === target || moved.parent !== target.parent) return undefined;
  return [removal(file, moved), lineAfter(file, target, moved.getText(file.tree))];
}

export function removeStatement(file: Source, start: number, end: number): readonly Change[] | undefined {
  const statement = statementAt(file, start, end);
  return statement === undefined ? undefined : [removal(file, statement)];
}

/** `const x = …` becomes `using x = …`; a `let`, a pattern or several declarations in one statement don't. */
export function toUsing(file: Source, start: number, end: number): readonly Change[] | undefined {
  const statement = nodeAt(file, start, end, ts.isVariableStatement);
  if (statement === undefined) return undefined;
  const { declarationList: list } = statement;
  const only = list.declarations.length === 1 ? list.declarations[0] : undefined;
  if (
    only === undefined ||
    !ts.isIdentifier(only.name) ||
    !(list.flags & ts.NodeFlags.Const) ||
    (list.flags & ts.NodeFlags.Using) === ts.NodeFlags.Using
  )
    return undefined;
  if (statement.modifiers !== undefined && statement.modifiers.length > 0) return undefined;
  const begin = list.getStart(file.tree);
  return [{ start: begin, end: begin + 'const'.length, text: 'using' }];
}

/** What follows the declaration in its block is tried, and `name` freed whatever happens. */
export function tryFinally(file: Source, start: number, end: number, name: string, verb: string): readonly Change[] | undefined {
  const statement = nodeAt(file, start, end, isStatement);
  if (statement === undefined || !ts.isBlock(statement.parent)) return undefined;
  const { statements } = statement.parent;
  const following = statements.slice(statements.indexOf(statement) + 1);
  const last = following.at(-1);
  if (last === undefined || following.some(declaresFunction)) return undefined;
  const { text } = file;
  const { indent, lineEnd, semicolon } = mannerOf(file);
  const outer = indentAt(file, statement.getStart(file.tree));
  const from = nextLine(text, statement.end);
  const to = nextLine(text, last.end);
  if (text.slice(statement.end, from).trim() !== '' && !text.slice(statement.end, from).trim().startsWith('//')) return undefined;
  const body = text.slice(from, to).replace(/\r?\n$/, '');
  const inner = body
    .split(/\r?\n/)
    .map((line) => (line.trim() === '' ? line : indent + line))
    .join(lineEnd);
  if (/`[^`]*\n[^`]*`/.test(body)) return undefined;
  return [
    {
      start: from,
      end: to,
      text: `${outer}try {${lineEnd}${inner}${lineEnd}${outer}} finally {${lineEnd}${outer}${indent}${name}.${verb}()${semicolon}${lineEnd}${outer}}${lineEnd}`,
    },
  ];
}

const declaresFunction = (statement: ts.Statement): boolean => ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement);

/** A comment on a line of its own goes with its line. */
export function removeComment({ text }: Source, start: number, end: number): readonly Change[] {
  const begin = lineStart(text, start);
  const after = nextLine(text, end);
  const alone = text.slice(begin, start).trim() === '' && text.slice(end, after).trim() === '';
  if (alone) return [{ start: begin, end: after, text: '' }];
  const space = /[ \t]*$/.exec(text.slice(0, start))![0].length;
  return [{ start: start - space, end, text: '' }];
}
