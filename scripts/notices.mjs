/**
 * Writes THIRD_PARTY_NOTICES: the licences of everything that is inside the bundles, the VSIX or the npm package.
 *
 * Collected by generate-license-file from the packages that are bundled or shipped (with what they depend on), which are
 * development dependencies here and so are not found by their own. Depends on: generate-license-file.
 */
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { getLicenseFileText } from 'generate-license-file';
import { main, root } from './support/run.mjs';

/** What ships: bundled by esbuild, or copied next to the bundles. */
const shipped = [
  'typescript',
  'vscode-languageserver',
  'vscode-languageserver-textdocument',
  'vscode-languageclient',
  'vscode-uri',
  'pprof-format',
  '@jridgewell/sourcemap-codec',
  '@jridgewell/trace-mapping',
  'chrome-remote-interface',
  'tsx',
  'webgpu',
  '@sparticuz/chromium',
];

export async function notices() {
  // The tool reads a project's production dependencies: a project that has exactly ours.
  const project = mkdtempSync(path.join(tmpdir(), 'tidemark-notices-'));
  const dependencies = Object.fromEntries(shipped.map((name) => [name, '*']));
  writeFileSync(path.join(project, 'package.json'), JSON.stringify({ name: 'shipped', version: '0.0.0', dependencies }));
  symlinkSync(path.join(root, 'node_modules'), path.join(project, 'node_modules'));
  const text = await getLicenseFileText(path.join(project, 'package.json'));
  rmSync(project, { recursive: true });
  const head = [
    'Tidemark contains or ships the following third-party software.',
    'Of @sparticuz/chromium only the SwiftShader libraries (Apache-2.0) are taken; npm `webgpu` contains Dawn (BSD-3-Clause).',
    '',
    '',
  ].join('\n');
  // One place of a machine must not differ from another's.
  return (
    head +
    text
      .replaceAll(root + path.sep, '')
      .replaceAll('\r\n', '\n')
      .trimEnd() +
    '\n'
  );
}

export const noticesFile = path.join(root, 'THIRD_PARTY_NOTICES');

if (process.argv[1] === import.meta.filename)
  await main(async () => {
    const text = await notices();
    const stale = (() => {
      try {
        return readFileSync(noticesFile, 'utf8') !== text;
      } catch {
        return true;
      }
    })();
    if (stale) writeFileSync(noticesFile, text);
    console.log(`THIRD_PARTY_NOTICES ${stale ? 'written' : 'is up to date'}`);
  });
