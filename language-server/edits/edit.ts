/**
 * A source file as its author writes it: where things stand in the text, and how they quote, indent and end statements.
 *
 * Edits are made on the text and never printed from a tree, so that what isn't touched stays as it was. All positions
 * are offsets in UTF-16 units until `toEdits` turns them into lines and columns. Depends on: typescript, protocol.
 */
import ts from 'typescript';
import type { Edit, Position } from '../protocol.ts';

/** Replaces the text in [start, end) by `text`. */
export interface Change {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export interface Source {
  readonly path: string;
  readonly text: string;
  readonly tree: ts.SourceFile;
}

export interface Manner {
  readonly quote: "'" | '"';
  /** One level of indentation. */
  readonly indent: string;
  readonly semicolon: ';' | '';
  /** Space inside the braces of a literal on one line: `{ a }` or `{a}`. */
  readonly braceSpace: ' ' | '';
  readonly lineEnd: '\n' | '\r\n';
}

/** The files of the last fixes: all findings of one file are about one text. */
const recent: Source[] = [];
const mostRecent = 4;

export function source(path: string, text: string): Source {
  const known = recent.find((one) => one.path === path && one.text === text);
  if (known !== undefined) return known;
  const made = parsed(path, text);
  recent.unshift(made);
  recent.length = Math.min(recent.length, mostRecent);
  return made;
}

function parsed(path: string, text: string): Source {
  const kind = /\.[cm]?jsx?$/.test(path)
    ? path.endsWith('x')
      ? ts.ScriptKind.JSX
      : ts.ScriptKind.JS
    : path.endsWith('x')
      ? ts.ScriptKind.TSX
      : ts.ScriptKind.TS;
  return { path, text, tree: ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true, kind) };
}

/** How the author writes, by majority; what the file doesn't show is what the formatters of the ecosystem do. */
export function mannerOf(file: Source): Manner {
  const known = manners.get(file) ?? mannerIn(file);
  manners.set(file, known);
  return known;
}

const manners = new WeakMap<Source, Manner>();

function mannerIn({ text, tree }: Source): Manner {
  let single = 0;
  let double = 0;
  let ended = 0;
  let open = 0;
  let spaced = 0;
  let tight = 0;
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteral(node)) {
      if (text[node.getStart(tree)] === "'") single++;
      else double++;
    }
    if (ts.isExpressionStatement(node) || ts.isVariableStatement(node) || ts.isReturnStatement(node) || ts.isImportDeclaration(node)) {
      if (text[node.end - 1] === ';') ended++;
      else open++;
    }
    if (ts.isObjectLiteralExpression(node) || ts.isNamedImports(node) || ts.isObjectBindingPattern(node)) {
      const first = text[node.getStart(tree) + 1];
      if (first === ' ') spaced++;
      else if (first !== undefined && first !== '}' && !/\s/.test(first)) tight++;
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return {
    quote: double > single ? '"' : "'",
    indent: indentUnit(text),
    semicolon: open > ended ? '' : ';',
    braceSpace: tight > spaced ? '' : ' ',
    lineEnd: text.includes('\r\n') ? '\r\n' : '\n',
  };
}

/** The smallest step by which indentation grows from one line to the next: a tab, or 2 to 8 spaces. */
function indentUnit(text: string): string {
  const steps = new Map<string, number>();
  let former = '';
  for (const line of text.split(/\r?\n/)) {
    if (line.trim() === '' || /^\s*\*/.test(line)) continue;
    const indent = /^\s*/.exec(line)![0];
    if (indent.length > former.length && indent.startsWith(former)) {
      const step = indent.slice(former.length);
      steps.set(step, (steps.get(step) ?? 0) + 1);
    }
    former = indent;
  }
  return [...steps].toSorted((a, b) => b[1] - a[1])[0]?.[0] ?? '  ';
}

/** White space before the first character of the line on which `offset` lies. */
export function indentAt({ text }: Source, offset: number): string {
  return /^[ \t]*/.exec(text.slice(lineStart(text, offset)))![0];
}

export const lineStart = (text: string, offset: number): number => text.lastIndexOf('\n', offset - 1) + 1;

/** Just behind the line end of the line on which `offset` lies. */
export function nextLine(text: string, offset: number): number {
  const end = text.indexOf('\n', offset);
  return end < 0 ? text.length : end + 1;
}

/** The smallest node that covers [start, end) and satisfies `is`; undefined when none does. */
export function nodeAt<T extends ts.Node>({ tree }: Source, start: number, end: number, is: (node: ts.Node) => node is T): T | undefined {
  let found: T | undefined;
  const visit = (node: ts.Node): void => {
    // Where it begins with what stands before it is known at once; files of many statements are asked often.
    if (node.end < end || node.pos > start || node.getStart(tree) > start) return;
    if (is(node)) found = node;
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return found;
}

/** The call whose text is exactly [start, end), or the smallest one around it. */
export const callAt = (file: Source, start: number, end: number): ts.CallExpression | undefined =>
  nodeAt(file, start, end, ts.isCallExpression);

export const isStatement = (node: ts.Node): node is ts.Statement =>
  node.parent !== undefined &&
  (ts.isBlock(node.parent) || ts.isSourceFile(node.parent) || ts.isCaseOrDefaultClause(node.parent) || ts.isModuleBlock(node.parent)) &&
  !ts.isCaseOrDefaultClause(node);

/** The statement of a block in which [start, end) lies. */
export const statementAt = (file: Source, start: number, end: number): ts.Statement | undefined => nodeAt(file, start, end, isStatement);

/** Removes a statement and, when it stands alone on its lines, the lines too. */
export function removal({ text, tree }: Source, node: ts.Node): Change {
  const start = node.getStart(tree);
  const begin = lineStart(text, start);
  const after = nextLine(text, node.end);
  const alone = text.slice(begin, start).trim() === '' && text.slice(node.end, after).trim() === '';
  return alone ? { start: begin, end: after, text: '' } : { start, end: node.end, text: '' };
}

/** A new line behind `node` with its indentation. */
export function lineAfter(file: Source, node: ts.Node, line: string): Change {
  const { lineEnd } = mannerOf(file);
  const rest = file.text.slice(node.end, nextLine(file.text, node.end));
  // A comment that ends the line belongs to the statement.
  const at = /^[ \t]*(\/\/.*)?\r?\n?$/.test(rest) ? node.end + rest.replace(/\r?\n$/, '').length : node.end;
  return { start: at, end: at, text: `${lineEnd}${indentAt(file, node.getStart(file.tree))}${line}` };
}

/** A new line before `node` with its indentation. */
export function lineBefore(file: Source, node: ts.Node, line: string): Change {
  const { lineEnd } = mannerOf(file);
  const start = node.getStart(file.tree);
  return { start, end: start, text: `${line}${lineEnd}${indentAt(file, start)}` };
}

/** Applies changes that don't overlap. */
export function apply(text: string, changes: readonly Change[]): string {
  let result = text;
  for (const { start, end, text: put } of changes.toSorted((a, b) => b.start - a.start || b.end - a.end)) {
    result = result.slice(0, start) + put + result.slice(end);
  }
  return result;
}

export function toEdits({ path, tree }: Source, changes: readonly Change[]): readonly Edit[] {
  const position = (offset: number): Position => {
    const { line, character } = tree.getLineAndCharacterOfPosition(offset);
    return { line: line + 1, column: character + 1 };
  };
  return changes
    .toSorted((a, b) => a.start - b.start || a.end - b.end)
    .map(({ start, end, text }) => ({ file: path, start: position(start), end: position(end), newText: text }));
}
