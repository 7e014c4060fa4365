/**
 * Starts a real VS Code as a server on this machine, in a process group of its own, and ends all of it.
 *
 * It reads and writes only its own user folder, calls no gallery, and shows no welcome. Whoever is killed while it runs takes
 * it along. Depends on: editor-install, node.
 */
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { editor } from '../editor-install.mjs';
import { endGroup, guard, run } from './run.mjs';

const quiet = {
  'workbench.startupEditor': 'none',
  'extensions.autoCheckUpdates': false,
  'extensions.autoUpdate': false,
  'extensions.ignoreRecommendations': true,
  'telemetry.telemetryLevel': 'off',
  'chat.disableAIFeatures': true,
  'workbench.enableExperiments': false,
  'update.mode': 'none',
  'window.commandCenter': false,
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'editor.minimap.enabled': false,
  'editor.inlayHints.enabled': 'on',
  'workbench.tips.enabled': false,
  'git.enabled': false,
  'files.autoSave': 'off',
};

/**
 * `trust`: whether every workspace counts as trusted without a question. `vsix`: extensions to install first.
 * `inherit`: show the server's own output.
 */
export async function startEditor({ trust, vsix = [], settings = {}, env = {}, port, inherit = false }) {
  const user = await mkdtemp(path.join(os.tmpdir(), 'tidemark-editor-'));
  await mkdir(path.join(user, 'User'), { recursive: true });
  const workspaceTrust = {
    'security.workspace.trust.enabled': !trust,
    'security.workspace.trust.startupPrompt': 'never',
    'security.workspace.trust.banner': 'never',
  };
  await writeFile(path.join(user, 'User', 'settings.json'), JSON.stringify({ ...quiet, ...workspaceTrust, ...settings }, null, 2));
  await writeFile(path.join(user, 'config.yaml'), 'auth: none\n');
  const chosen = port ?? (await freePort());
  const base = [
    editor.entry,
    '--config',
    path.join(user, 'config.yaml'),
    '--user-data-dir',
    user,
    '--extensions-dir',
    path.join(user, 'extensions'),
  ];
  const environment = {
    ...process.env,
    ...env,
    EXTENSIONS_GALLERY: '{"serviceUrl":"","itemUrl":"","resourceUrlTemplate":"","extensionUrlTemplate":""}',
  };
  for (const file of vsix)
    await run(editor.node, [...base, '--install-extension', file], { cwd: editor.server, env: environment, quiet: true });
  const flags = [
    '--auth',
    'none',
    '--bind-addr',
    `127.0.0.1:${chosen}`,
    '--disable-telemetry',
    '--disable-update-check',
    '--disable-getting-started-override',
    '--ignore-last-opened',
    '--vscode-option',
    'enable-smoke-test-driver',
  ];
  if (trust) flags.push('--disable-workspace-trust');
  const child = spawn(editor.node, [...base, ...flags], {
    cwd: editor.server,
    env: environment,
    detached: true,
    stdio: inherit ? 'inherit' : ['ignore', 'pipe', 'pipe'],
  });
  let words = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (words = (words + chunk).slice(-4000)));
  const guarded = guard(child, user);
  const stop = async () => {
    endGroup(child);
    guarded.release();
    await rm(user, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  };
  try {
    await answers(`http://127.0.0.1:${chosen}/healthz`, child);
  } catch (error) {
    await stop();
    throw new Error(`${error.message}\n${words}`);
  }
  return { port: chosen, url: `http://127.0.0.1:${chosen}`, user, stop, process: child };
}

async function answers(url, child) {
  for (const until = Date.now() + 30_000; Date.now() < until;) {
    if (child.exitCode !== null) throw new Error(`the editor ended with code ${child.exitCode}`);
    if (
      await fetch(url).then(
        ({ ok }) => ok,
        () => false,
      )
    )
      return;
    await new Promise((resolve) => setTimeout(resolve, 150));
  }
  throw new Error('the editor did not answer within 30 s');
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = net.createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
