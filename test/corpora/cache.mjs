/**
 * Where fetched packages lie, outside of every clone: `$TIDEMARK_CACHE`, else the user's cache folder.
 * Depends on: node only.
 */
import { readFileSync } from 'node:fs';
import os from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const clone = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
export const cache = join(process.env.TIDEMARK_CACHE ?? join(os.homedir(), '.cache', 'tidemark'), 'corpora');
export const folderOf = (name) => join(cache, 'packages', name);
export const corpora = () => JSON.parse(readFileSync(join(clone, 'test/corpora.json'), 'utf8'));
