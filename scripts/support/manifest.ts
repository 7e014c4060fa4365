/**
 * Writes the generated parts of the extension's manifest: settings, their texts, and which of them are restricted.
 *
 * `node --import tsx scripts/support/manifest.ts` writes; `manifestParts` tells a test what should be there.
 * Depends on: extension/settings, l10n.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { settings } from '../../extension/settings.ts';
import { writeBundle } from './l10n.ts';

const root = path.resolve(import.meta.dirname, '../..');

interface Texts {
  readonly [key: string]: string;
}

/** The settings as the manifest lists them, and the texts they refer to. */
export function manifestParts(): { configuration: readonly object[]; restricted: readonly string[]; texts: Texts } {
  const texts: Record<string, string> = {};
  const text = (key: string, value: string): string => {
    texts[key] = value;
    return `%${key}%`;
  };
  const categories = [...new Set(settings.map(({ category }) => category))];
  const configuration = categories.map((category, order) => ({
    title: text(`settings.${category.toLowerCase().replaceAll(' ', '-')}`, category),
    order,
    properties: Object.fromEntries(
      settings
        .filter((setting) => setting.category === category)
        .map(({ path: name, text: description, schema, choices, scope }, position) => [
          `tidemark.${name}`,
          {
            ...schema,
            ...(choices === undefined
              ? {}
              : { markdownEnumDescriptions: choices.map((choice, index) => text(`settings.${name}.${index}`, choice)) }),
            markdownDescription: text(`settings.${name}`, description),
            scope,
            order: position,
          },
        ]),
    ),
  }));
  return { configuration, restricted: settings.filter(({ restricted }) => restricted).map(({ path: name }) => `tidemark.${name}`), texts };
}

export function writeManifest(): void {
  writeBundle();
  const { configuration, restricted, texts } = manifestParts();
  const manifestFile = path.join(root, 'package.json');
  const manifest = JSON.parse(readFileSync(manifestFile, 'utf8'));
  manifest.contributes.configuration = configuration;
  manifest.capabilities.untrustedWorkspaces.restrictedConfigurations = restricted;
  writeFileSync(manifestFile, `${JSON.stringify(manifest, null, 2)}\n`);
  const textsFile = path.join(root, 'package.nls.json');
  const others = Object.fromEntries(
    Object.entries(JSON.parse(readFileSync(textsFile, 'utf8')) as Texts).filter(([key]) => !key.startsWith('settings.')),
  );
  writeFileSync(textsFile, `${JSON.stringify({ ...others, ...texts }, null, 2)}\n`);
}

if (process.argv[1] === import.meta.filename) writeManifest();
