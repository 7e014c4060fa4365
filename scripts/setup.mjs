/**
 * Makes a clone ready: dependencies as the lock file names them, `dist/` as the sources are. Does nothing when both are so.
 *
 * Every other script starts with this one, so that each works on a fresh clone. Depends on: node, npm.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { staleParts } from './support/parts.mjs';
import { main, root, run } from './support/run.mjs';

const oldest = [20, 11];

export async function setup() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < oldest[0] || (major === oldest[0] && minor < oldest[1])) {
    throw new Error(`Node ${oldest.join('.')} or later is needed, this is ${process.versions.node}`);
  }
  const missing = await missingPackage();
  if (missing !== undefined) {
    console.log(`installing dependencies (${missing})`);
    await run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error']);
  }
  const stale = await staleParts();
  if (stale.length > 0) await run(process.execPath, [path.join(root, 'scripts/build.mjs')]);
}

/** The first package that is not installed in the version of the lock file, in words; undefined when all are. */
async function missingPackage() {
  const installedFile = path.join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(installedFile)) return 'there are none yet';
  const { packages: wanted } = JSON.parse(await readFile(path.join(root, 'package-lock.json'), 'utf8'));
  const { packages: installed } = JSON.parse(await readFile(installedFile, 'utf8'));
  for (const [at, entry] of Object.entries(wanted)) {
    if (at === '' || entry.optional === true || entry.link === true) continue;
    if (installed[at]?.version !== entry.version) return `${at.replace(/^node_modules\//, '')} ${entry.version} is not installed`;
  }
  return undefined;
}

if (process.argv[1] === import.meta.filename) await main(setup);
