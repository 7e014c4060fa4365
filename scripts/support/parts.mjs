/**
 * The parts of `dist/`: what each is made of, so that only what changed is made again.
 *
 * A part whose source does not exist says so and is left out; a part is stale when the contents of its inputs differ
 * from those it was made of. Depends on: node.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { root } from './run.mjs';

const ours = /\.(ts|mts|css|mjs|json|html)$/;

export const dist = path.join(root, 'dist');

/** One line per part: inputs are files or folders relative to the root, `needs` the file without which there is nothing to make. */
export const parts = [
  { name: 'extension', needs: 'extension/main.ts', inputs: ['extension', 'language-server/protocol.ts', 'runtime/core', 'runtime/events'] },
  { name: 'server and command line', needs: 'language-server/main.ts', inputs: ['language-server', 'runtime'] },
  { name: 'runtime', needs: 'runtime/index.ts', inputs: ['runtime'] },
  { name: 'instrument', needs: 'runtime/instrument/register.ts', inputs: ['runtime/instrument', 'runtime/core', 'runtime/events'] },
  { name: 'page instrument', needs: 'runtime/instrument/browser.ts', inputs: ['runtime/instrument', 'runtime/core', 'runtime/events'] },
  { name: 'types', needs: 'runtime/index.ts', inputs: ['runtime', 'tsconfig.json'] },
  { name: 'library declarations', needs: 'node_modules/typescript/lib', inputs: ['node_modules/typescript/package.json'] },
  {
    name: 'software Vulkan',
    needs: 'node_modules/@sparticuz/chromium/bin/swiftshader.tar.br',
    inputs: ['node_modules/@sparticuz/chromium/package.json'],
  },
];

/** Changes whenever anything the part is made of changes; the scripts that make it count too. */
export async function fingerprint(part) {
  const hash = createHash('sha256');
  for (const input of [...part.inputs, 'package-lock.json', 'scripts/build.mjs']) {
    for (const file of await filesUnder(path.join(root, input))) {
      hash
        .update(path.relative(root, file))
        .update('\0')
        .update(await readFile(file))
        .update('\0');
    }
  }
  return hash.digest('hex');
}

export function isThere(part) {
  return existsSync(path.join(root, part.needs));
}

export async function stamps() {
  try {
    return JSON.parse(await readFile(path.join(dist, 'parts.json'), 'utf8'));
  } catch {
    return {};
  }
}

export async function staleParts() {
  const made = await stamps();
  const stale = [];
  for (const part of parts) {
    if (isThere(part) && made[part.name] !== (await fingerprint(part))) stale.push(part);
  }
  return stale;
}

async function filesUnder(at) {
  if (!existsSync(at)) return [];
  if (ours.test(at)) return [at];
  const entries = await readdir(at, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && ours.test(entry.name))
    .map((entry) => path.join(entry.parentPath, entry.name))
    .sort();
}
