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
  lineStart,
  mannerOf,
  nextLine,
  nodeAt,
  removal,
  statementAt,
  type Change,
  type Source,
} from './edit.ts';

/** `name.verb()` on a line of its own behind the statement around [start, end). Behind a `return` or `throw` nothing runs. */
export function disposeAfter(file: Source, start: number, end: number, name: string, verb: string): readonly Change[] | undefined {
  const statement = statementAt(file, start, end);
  if (statement === undefined || ts.isReturnStatement(statement) || ts.isThrowStatement(statement)) return undefined;
  return [lineAfter(file, statement, `${name}.${verb}()${mannerOf(file).semicolon}`)];
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
