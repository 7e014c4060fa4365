/**
 * Makes a name of a module usable in a file: finds how it is already imported, or adds it to an import that is there.
 *
 * Depends on: typescript, edit.
 */
import ts from 'typescript';
import { mannerOf, type Change, type Source } from './edit.ts';

export interface Imported {
  /** How the name is written in this file: `donate`, `td.donate`, or an alias. */
  readonly written: string;
  readonly changes: readonly Change[];
}

/** `name` of `module`, imported when it isn't yet. A name that the file uses for something else gets an alias. */
export function imported(file: Source, module: string, name: string): Imported {
  const declarations = importsOf(file, module);
  for (const { clause } of declarations) {
    const bindings = clause.namedBindings;
    if (bindings === undefined || clause.isTypeOnly) continue;
    if (ts.isNamespaceImport(bindings)) return { written: `${bindings.name.text}.${name}`, changes: [] };
    const own = bindings.elements.find((element) => (element.propertyName ?? element.name).text === name && !element.isTypeOnly);
    if (own !== undefined) return { written: own.name.text, changes: [] };
  }
  const written = isTaken(file, name) ? unused(file, name) : name;
  const specifier = written === name ? name : `${name} as ${written}`;
  const target = declarations
    .map(({ clause }) => clause)
    .find((clause) => !clause.isTypeOnly && clause.namedBindings !== undefined && ts.isNamedImports(clause.namedBindings));
  if (target?.namedBindings !== undefined && ts.isNamedImports(target.namedBindings)) {
    return { written, changes: [insertSpecifier(file, target.namedBindings, specifier)] };
  }
  const { quote, semicolon, braceSpace, lineEnd } = mannerOf(file);
  const at = afterImports(file);
  const line = `import {${braceSpace}${specifier}${braceSpace}} from ${quote}${module}${quote}${semicolon}${lineEnd}`;
  return { written, changes: [{ start: at, end: at, text: line }] };
}

/**
 * The module whose arrays the file works with: the first import that gives it `jit`, `np`, `tidy` or an array type, or
 * else the first import there is of a package.
 */
export function arrayModule({ tree }: Source): string {
  const packages = tree.statements.filter(ts.isImportDeclaration).flatMap((statement) => {
    const { moduleSpecifier, importClause } = statement;
    if (!ts.isStringLiteral(moduleSpecifier) || /^(\.|node:)/.test(moduleSpecifier.text) || importClause === undefined) return [];
    return [{ module: moduleSpecifier.text, names: namesOf(importClause) }];
  });
  const known = packages.find(({ names }) => names.some((name) => workNames.has(name)));
  return (known ?? packages[0])?.module ?? '';
}

const workNames: ReadonlySet<string> = new Set([
  'jit',
  'np',
  'numpy',
  'grad',
  'pmap',
  'vmap',
  'valueAndGrad',
  'nn',
  'lax',
  'tf',
  'tidy',
  'Array',
  'Tensor',
  'tensor',
  'scope',
  'donate',
  'tree',
  'random',
]);

function namesOf(clause: ts.ImportClause): readonly string[] {
  const { name, namedBindings } = clause;
  const bound =
    namedBindings === undefined
      ? []
      : ts.isNamespaceImport(namedBindings)
        ? [namedBindings.name.text]
        : namedBindings.elements.map((element) => (element.propertyName ?? element.name).text);
  return name === undefined ? bound : [name.text, ...bound];
}

function importsOf({ tree }: Source, module: string): { clause: ts.ImportClause }[] {
  return tree.statements.flatMap((statement) =>
    ts.isImportDeclaration(statement) &&
    ts.isStringLiteral(statement.moduleSpecifier) &&
    statement.moduleSpecifier.text === module &&
    statement.importClause !== undefined
      ? [{ clause: statement.importClause }]
      : [],
  );
}

/** Keeps an alphabetical list alphabetical; otherwise the new name goes before the types at the end, or last. */
function insertSpecifier({ text, tree }: Source, names: ts.NamedImports, specifier: string): Change {
  const { elements } = names;
  const values = elements.filter((element) => !element.isTypeOnly);
  const key = (element: ts.ImportSpecifier): string => (element.propertyName ?? element.name).text;
  const sorted = values.every((element, i) => i === 0 || key(values[i - 1]!).toLowerCase() <= key(element).toLowerCase());
  const next = sorted ? values.find((element) => key(element).toLowerCase() > specifier.toLowerCase()) : undefined;
  if (next !== undefined) {
    const start = next.getStart(tree);
    return { start, end: start, text: `${specifier},${separatorBefore(text, start)}` };
  }
  const last = values.at(-1);
  if (last === undefined) {
    const first = elements[0];
    if (first === undefined) return { start: names.getStart(tree) + 1, end: names.end - 1, text: ` ${specifier} ` };
    const start = first.getStart(tree);
    return { start, end: start, text: `${specifier}, ` };
  }
  return { start: last.end, end: last.end, text: `,${separatorBefore(text, last.getStart(tree))}${specifier}` };
}

/** What stands between the comma (or brace) before `start` and `start`: a space, or a line end with indentation. */
function separatorBefore(text: string, start: number): string {
  const space = /\s*$/.exec(text.slice(0, start))![0];
  return space.includes('\n') ? space : ' ';
}

function afterImports({ text, tree }: Source): number {
  const last = tree.statements.filter(ts.isImportDeclaration).at(-1);
  if (last === undefined) return tree.statements[0]?.getStart(tree) ?? 0;
  const end = text.indexOf('\n', last.end);
  return end < 0 ? text.length : end + 1;
}

function isTaken({ tree }: Source, name: string): boolean {
  let taken = false;
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) && node.text === name && !isMember(node)) taken = true;
    if (!taken) ts.forEachChild(node, visit);
  };
  visit(tree);
  return taken;
}

const isMember = (node: ts.Identifier): boolean =>
  (ts.isPropertyAccessExpression(node.parent) && node.parent.name === node) ||
  (ts.isPropertyAssignment(node.parent) && node.parent.name === node);

function unused(file: Source, name: string): string {
  const other = `${name}Array`;
  return isTaken(file, other) ? `${other}_` : other;
}
