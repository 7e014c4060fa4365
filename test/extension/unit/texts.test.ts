/**
 * Texts of the extension: those of the manifest are all there and all used, those of the code are what translators get.
 *
 * Depends on: scripts/support/l10n.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { bundleFile, runtimeTexts } from '../../../scripts/support/l10n.ts';

const root = path.resolve(import.meta.dirname, '../../..');
const read = (name: string): string => readFileSync(path.join(root, name), 'utf8');

describe('texts of the extension', () => {
  it('has each text that the manifest names, and no other', () => {
    const named = [...read('package.json').matchAll(/"%([^%"]+)%"/g)].map(([, key]) => key!);
    assert.deepEqual([...new Set(named)].sort(), Object.keys(JSON.parse(read('package.nls.json')) as object).sort());
  });

  it('gives translators what the code shows; run `npm run write` when not', () => {
    assert.ok(Object.keys(runtimeTexts()).length > 10);
    assert.deepEqual(JSON.parse(readFileSync(bundleFile, 'utf8')), runtimeTexts());
  });

  it('has a command for each that a walkthrough, a menu or a lens names', () => {
    const manifest = read('package.json');
    const { contributes } = JSON.parse(manifest) as { contributes: { commands: { command: string }[] } };
    const offered = new Set(contributes.commands.map(({ command }) => command));
    const linked = [...read('package.nls.json').matchAll(/\(command:([\w.]+)\)/g), ...manifest.matchAll(/onCommand:([\w.]+)/g)];
    const hidden = new Set(['tidemark.showFix', 'tidemark.showPeak']);
    assert.deepEqual(
      linked.map(([, id]) => id!).filter((id) => !offered.has(id) && !hidden.has(id)),
      [],
    );
  });

  it('shows pictures that are there', () => {
    for (const [, image] of read('package.json').matchAll(/"image": "([^"]+)"/g)) assert.ok(existsSync(path.join(root, image!)), image);
  });
});
