/**
 * Fetches the public packages that the analyser is proven on: `node test/corpora/fetch.mjs [NAME…]`.
 *
 * Names and versions are those of `test/corpora.json`; a package that is there already is not fetched again. Nothing of
 * a package is run: its tarball is unpacked, and the code that a person would read is chosen. Library types come from
 * the clone's own node_modules. Depends on: npm, tar, unpack.mjs.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { cache, clone, corpora, folderOf } from './cache.mjs';
import { unpack } from './unpack.mjs';

/** Returns the folder of each package asked for, fetched. */
export function fetchAll(names = []) {
  const tarballs = join(cache, 'tarballs');
  mkdirSync(tarballs, { recursive: true });
  if (!existsSync(join(cache, 'node_modules'))) symlinkSync(join(clone, 'node_modules'), join(cache, 'node_modules'));
  return corpora()
    .packages.filter(({ name }) => names.length === 0 || names.includes(name))
    .map(({ name, version }) => {
      const folder = folderOf(name);
      const tarball = join(tarballs, `${name.replace('@', '').replace('/', '-')}-${version}.tgz`);
      if (!existsSync(tarball)) {
        execFileSync('npm', ['pack', '--silent', '--ignore-scripts', `${name}@${version}`], {
          cwd: tarballs,
          stdio: ['ignore', 'ignore', 'inherit'],
        });
        rmSync(folder, { recursive: true, force: true });
      }
      if (!existsSync(join(folder, 'package.json'))) {
        mkdirSync(folder, { recursive: true });
        execFileSync('tar', ['xzf', tarball, '-C', folder, '--strip-components=1', '--no-same-owner']);
      }
      return { name, version, folder, files: unpack(folder) };
    });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const { name, version, files } of fetchAll(process.argv.slice(2))) console.log(`${name}@${version}: ${files.length} files`);
}
