/**
 * A `dispose()` for a class that holds arrays, and scalars read to the host.
 *
 * Depends on: typescript, edit.
 */
import ts from 'typescript';
import { indentAt, mannerOf, nodeAt, type Change, type Source } from './edit.ts';

/** A method at the end of the class that frees each of `fields`; optional fields are freed when they are there. */
export function addDispose(
  file: Source,
  start: number,
  end: number,
  fields: readonly string[],
  verb: string,
): readonly Change[] | undefined {
  const declared = nodeAt(file, start, end, (node): node is ts.ClassLikeDeclaration => ts.isClassLike(node));
  if (
    declared === undefined ||
    declared.members.some((member) => member.name !== undefined && ts.isIdentifier(member.name) && member.name.text === verb)
  )
    return undefined;
  const { indent, lineEnd, semicolon } = mannerOf(file);
  const outer = indentAt(file, declared.getStart(file.tree));
  const inner = outer + indent;
  const typed = /\.[cm]?jsx?$/.test(file.path) ? '' : ': void';
  const body = fields.map((field) => `${inner}${indent}this.${field}${isOptional(declared, field) ? '?.' : '.'}${verb}()${semicolon}`);
  const close = declared.end - 1;
  const lead = declared.members.length === 0 ? '' : lineEnd;
  const at = lineBegin(file.text, close);
  return [{ start: at, end: at, text: `${lead}${inner}${verb}()${typed} {${lineEnd}${body.join(lineEnd)}${lineEnd}${inner}}${lineEnd}` }];
}

function isOptional(declared: ts.ClassLikeDeclaration, field: string): boolean {
  return declared.members.some(
    (member) =>
      ts.isPropertyDeclaration(member) &&
      member.name.getText() === field &&
      (member.questionToken !== undefined ||
        (member.type !== undefined &&
          ts.isUnionTypeNode(member.type) &&
          member.type.types.some((type) => /^(undefined|null)$/.test(type.getText())))),
  );
}

const lineBegin = (text: string, offset: number): number => {
  const begin = text.lastIndexOf('\n', offset - 1) + 1;
  return text.slice(begin, offset).trim() === '' ? begin : offset;
};

/** `x` becomes `await x.item()`, where `await` may stand. */
export function readToHost(file: Source, start: number, end: number): readonly Change[] | undefined {
  const node = nodeAt(file, start, end, ts.isExpression);
  if (node === undefined || node.getStart(file.tree) !== start || node.end !== end || !mayAwait(node)) return undefined;
  return [
    { start, end: start, text: 'await ' },
    { start: end, end, text: '.item()' },
  ];
}

function mayAwait(node: ts.Node): boolean {
  const fn = ts.findAncestor(node, (at): at is ts.FunctionLikeDeclaration => ts.isFunctionLike(at));
  if (fn === undefined) return true;
  const modifiers = ts.canHaveModifiers(fn) ? (ts.getModifiers(fn) ?? []) : [];
  return modifiers.some(({ kind }) => kind === ts.SyntaxKind.AsyncKeyword);
}
