/**
 * The texts that the extension shows while it runs, collected for translators: `l10n/bundle.l10n.json`.
 *
 * A translation is a file beside it, `bundle.l10n.de.json`, with the same keys. Depends on: the sources of extension.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

const root = path.resolve(import.meta.dirname, '../..');
export const bundleFile = path.join(root, 'l10n', 'bundle.l10n.json');

/** Every text given to `vscode.l10n.t`, as itself: what stands in the code is English. */
export function runtimeTexts(): Readonly<Record<string, string>> {
  const folder = path.join(root, 'extension');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const texts = files.flatMap((name) =>
    textsOf(ts.createSourceFile(name, readFileSync(path.join(folder, name), 'utf8'), ts.ScriptTarget.Latest)),
  );
  return Object.fromEntries([...new Set(texts)].sort().map((text) => [text, text]));
}

function textsOf(file: ts.SourceFile): readonly string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    // The timeline's page has a `t` of its own that also escapes.
    if (ts.isCallExpression(node) && ['vscode.l10n.t', 't'].includes(node.expression.getText(file))) {
      const [text] = node.arguments;
      if (text !== undefined && ts.isIdentifier(text)) return;
      if (text === undefined || !ts.isStringLiteralLike(text)) throw new Error(`${file.fileName}: a text for translators is written out`);
      found.push(text.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

export function writeBundle(): void {
  mkdirSync(path.dirname(bundleFile), { recursive: true });
  writeFileSync(bundleFile, `${JSON.stringify(runtimeTexts(), null, 2)}\n`);
}
