/**
 * When the server is started, and that the manifest says what the settings table says. Depends on: extension, package.json.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dependenciesOf, usesArrays } from '../../../extension/usage.ts';
import { manifestParts } from '../../../scripts/support/manifest.ts';

const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
const texts: Record<string, string> = JSON.parse(readFileSync('package.nls.json', 'utf8'));

describe('use of arrays', () => {
  const rows: readonly (readonly [text: string, uses: boolean])[] = [
    ["import { numpy as np } from 'tidemark';", true],
    ["import * as tf from '@tensorflow/tfjs';", true],
    ["const tf = require('@tensorflow/tfjs-node');", true],
    ["const { jit } = await import('@jax-js/jax');", true],
    ["import { numpy as np } from 'tidemark/jax-js';", true],
    ['const adapter = await navigator.gpu.requestAdapter();', true],
    ["import { readFile } from 'node:fs/promises';", false],
    ["import { x } from 'tidemarks';", false],
    ["import { x } from './tidemark.ts';", false],
    ['', false],
  ];
  for (const [text, uses] of rows) it(`${uses ? 'is' : 'is not'} in \`${text}\``, () => assert.equal(usesArrays(text), uses));

  it('is read from the dependencies of a manifest', () => {
    assert.deepEqual(dependenciesOf('{"devDependencies":{"@jax-js/jax":"1","left-pad":"1"}}'), ['@jax-js/jax']);
    assert.deepEqual(dependenciesOf('{"name":"other"}'), []);
    assert.deepEqual(dependenciesOf('not json'), []);
    assert.deepEqual(dependenciesOf('null'), []);
  });
});

describe('manifest of the extension', () => {
  const parts = manifestParts();

  it('has the settings of the table: `node --import tsx scripts/support/manifest.ts` writes them', () => {
    assert.deepEqual(manifest.contributes.configuration, parts.configuration);
    assert.deepEqual(manifest.capabilities.untrustedWorkspaces.restrictedConfigurations, parts.restricted);
    for (const [key, text] of Object.entries(parts.texts)) assert.equal(texts[key], text, key);
  });

  it('has at most 20 settings, each described', () => {
    const properties = parts.configuration.flatMap((group) =>
      Object.entries((group as { properties: Record<string, { markdownDescription: string }> }).properties),
    );
    assert.ok(properties.length <= 20, `${properties.length} settings`);
    for (const [name, { markdownDescription }] of properties) assert.ok(texts[markdownDescription.slice(1, -1)]!.length > 20, name);
  });

  it('has a text for every placeholder, and no text without one', () => {
    const used = new Set([...JSON.stringify(manifest).matchAll(/"%([^%"]+)%"/g)].map(([, key]) => key!));
    assert.deepEqual(
      [...used].filter((key) => texts[key] === undefined),
      [],
    );
    assert.deepEqual(
      Object.keys(texts).filter((key) => !used.has(key)),
      [],
    );
  });

  it('runs nothing in an untrusted workspace', () => {
    assert.equal(manifest.capabilities.untrustedWorkspaces.supported, 'limited');
    for (const { command, enablement } of manifest.contributes.commands) {
      if (/profile(File|Function|Url)$|chooseEntry$/.test(command)) assert.match(enablement, /isWorkspaceTrusted/, command);
    }
  });

  it('has colours with enough contrast on their backgrounds', () => {
    const backgrounds = { dark: '#1f1f1f', light: '#ffffff', highContrast: '#000000', highContrastLight: '#ffffff' } as const;
    for (const { id, defaults } of manifest.contributes.colors) {
      for (const [theme, background] of Object.entries(backgrounds)) {
        const colour: string = defaults[theme];
        if (!/^#[0-9a-f]{6}$/i.test(colour)) continue;
        assert.ok(contrast(colour, background) >= 3, `${id} in ${theme}: ${contrast(colour, background).toFixed(2)}`);
      }
    }
  });
});

function contrast(a: string, b: string): number {
  const luminance = (colour: string): number => {
    const [red, green, blue] = [1, 3, 5]
      .map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255)
      .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
  };
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (light! + 0.05) / (dark! + 0.05);
}
