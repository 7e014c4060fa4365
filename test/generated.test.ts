/**
 * What is generated from code is as `npm run write` would write it.
 *
 * Depends on: scripts/write.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { manifestParts } from '../scripts/support/manifest.ts';
import { readme, readmeFile } from '../scripts/write.ts';

describe('generated parts', () => {
  it('the README has the rules as the code has them (else: npm run write)', () => {
    const text = readFileSync(readmeFile, 'utf8');
    assert.equal(text, readme(text));
  });

  it('the manifest has the settings as the code has them (else: npm run write)', () => {
    const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
      contributes: { configuration: unknown };
      capabilities: { untrustedWorkspaces: { restrictedConfigurations: unknown } };
    };
    const { configuration, restricted } = manifestParts();
    assert.deepEqual(manifest.contributes.configuration, JSON.parse(JSON.stringify(configuration)));
    assert.deepEqual(manifest.capabilities.untrustedWorkspaces.restrictedConfigurations, restricted);
  });
});
