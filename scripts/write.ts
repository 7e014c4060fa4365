/**
 * Rewrites what is generated from code: the README's tables, the manifest's settings, the schema of
 * `tidemark.json`.
 *
 * `npm run write` writes; `test/generated.test.ts` compares. Depends on: rules, config-schema, extension settings.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { rules } from '../language-server/rules/index.ts';
import { configSchemaText } from './support/config-schema.ts';

const root = path.resolve(import.meta.dirname, '..');
export const readmeFile = path.join(root, 'README.md');
const schemaFile = path.join(root, 'tidemark.schema.json');

/** A marked part of the README and what belongs between its marks. */
const parts: Readonly<Record<string, () => string>> = {
  rules: () =>
    [
      '| rule | severity | reports |',
      '|---|---|---|',
      ...rules.map(({ id, severity, summary }) => `| [\`${id}\`](#${id}) | ${severity} | ${cell(summary)} |`),
    ].join('\n'),
  'rule details': () => rules.map(({ id, docs }) => `#### ${id}\n\n${docs.trim()}`).join('\n\n'),
};

const cell = (text: string): string => text.trim().replaceAll('|', '\\|').replaceAll('\n', ' ');

/** The README with every generated part made anew. */
export function readme(text: string): string {
  return Object.entries(parts).reduce((result, [name, make]) => {
    const start = `<!-- generated: ${name} -->`;
    const from = result.indexOf(start);
    if (from < 0) throw new Error(`README.md has no part ${start}`);
    const to = result.indexOf('<!-- end -->', from);
    return `${result.slice(0, from)}${start}\n${make()}\n${result.slice(to)}`;
  }, text);
}

if (process.argv[1] === import.meta.filename) {
  writeFileSync(readmeFile, readme(readFileSync(readmeFile, 'utf8')));
  const { writeManifest } = await import('./support/manifest.ts');
  writeManifest();
  writeFileSync(schemaFile, configSchemaText());
}
