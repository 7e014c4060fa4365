/**
 * Comments that speak to the analysis: `// tidemark-ignore rule: reason` and `// @budget 4GiB`.
 *
 * Depends on: ir, typescript.
 */
import ts from 'typescript';
import type { Directive } from './ir.ts';

const units: Readonly<Record<string, number>> = {
  b: 1,
  kib: 1024,
  mib: 1024 ** 2,
  gib: 1024 ** 3,
  tib: 1024 ** 4,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
};

/** `4GiB` -> bytes. */
export function bytesOfText(text: string): number | undefined {
  const match = /^\s*([\d.]+)\s*([kmgt]?i?b)\s*$/i.exec(text);
  return match === null ? undefined : Math.floor(Number(match[1]) * (units[match[2]!.toLowerCase()] ?? NaN));
}

export function directivesOf(source: ts.SourceFile): { directives: readonly Directive[]; budgetBytes?: number } {
  const directives: Directive[] = [];
  let budgetBytes: number | undefined;
  const pattern = /\/\/[ \t]*(?:tidemark-ignore[ \t]+([\w-]+)(?:[ \t]*:[ \t]*(.*))?|@budget[ \t]+([\d.]+[ \t]*[A-Za-z]+))/g;
  for (const match of source.text.matchAll(pattern)) {
    const { line } = source.getLineAndCharacterOfPosition(match.index);
    const span = { file: source.fileName, start: match.index, end: match.index + match[0].length };
    if (match[1] !== undefined) directives.push({ kind: 'ignore', rule: match[1], reason: (match[2] ?? '').trim(), span, line });
    else {
      const bytes = bytesOfText(match[3] ?? '');
      if (bytes === undefined) continue;
      directives.push({ kind: 'budget', bytes, span, line });
      if (line === 1 || (line === 0 && budgetBytes === undefined)) budgetBytes = bytes;
    }
  }
  return budgetBytes === undefined ? { directives } : { directives, budgetBytes };
}

/** A `// @budget` comment directly above the statement of a function. */
export function budgetAbove(source: ts.SourceFile, node: ts.Node): number | undefined {
  let statement: ts.Node = node;
  while (
    !ts.isStatement(statement) &&
    !ts.isClassElement(statement) &&
    statement.parent !== undefined &&
    !ts.isSourceFile(statement.parent)
  )
    statement = statement.parent;
  const comments = ts.getLeadingCommentRanges(source.text, statement.getFullStart()) ?? [];
  const last = comments.at(-1);
  if (last === undefined) return undefined;
  const match = /@budget[ \t]+([\d.]+[ \t]*[A-Za-z]+)/.exec(source.text.slice(last.pos, last.end));
  const { line } = source.getLineAndCharacterOfPosition(last.pos);
  return match === null || line === 1 ? undefined : bytesOfText(match[1]!);
}
