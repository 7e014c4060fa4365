/**
 * Hard days of an editor: windows close, processes are killed, folders go, workspaces are large. Nothing is lost, nothing is left behind.
 *
 * Drives the installed extension from outside, where processes can be seen and ended. Linux only: it reads `/proc`.
 * TIDEMARK_ONLY=words runs those whose names have the words.
 * Depends on: playwright-core, support/editor-server, ui.
 */
import { mkdir, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { startEditor } from '../../scripts/support/editor-server.mjs';
import { lens, openFile, palette, pictures } from './ui.mjs';

const manyFiles = 5000;
const manyLines = 20_000;

export async function hardRun({ browser, workspace, vsix, lay }) {
  const passed = [];
  const failures = [];
  await mkdir(pictures, { recursive: true });
  const server = await startEditor({ trust: true, vsix: [vsix] });
  let page;
  const check = async (what, body) => {
    if (!what.includes(process.env.TIDEMARK_ONLY ?? '')) return;
    try {
      const started = Date.now();
      await body();
      passed.push(`${what} (${Date.now() - started} ms)`);
    } catch (error) {
      await page?.screenshot({ path: path.join(pictures, `failed-${failures.length}.png`) }).catch(() => undefined);
      failures.push(`${what}: ${error.message}`);
    }
  };
  const window = async (query) => {
    await page?.close();
    page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    await page.goto(`${server.url}/?${query}`);
    await page.waitForSelector('.monaco-workbench', { timeout: 90_000 });
  };
  const folderQuery = (folder) => `folder=${encodeURIComponent(folder)}`;
  const measured = async () => {
    await openFile(page, 'tensors.ts');
    await lens(page, 'Profile memory').first().waitFor({ timeout: 90_000 });
    await lens(page, 'Profile memory').first().click();
    await lens(page, /^peak 12\.0 MiB at line 5/)
      .first()
      .waitFor({ timeout: 120_000 });
  };
  const endless = async () => {
    await openFile(page, 'endless.ts');
    await lens(page, 'Profile memory').first().waitFor({ timeout: 90_000 });
    await lens(page, 'Profile memory').first().click();
    return eventually('the endless program runs', async () => (await running('endless.ts', workspace))[0], 60_000);
  };
  /** Processes of this editor, not of one that someone else has open. */
  const ours = async (word) => {
    const group = await Promise.all((await running(word)).map(async (pid) => ((await groupOf(pid)) === server.process.pid ? [pid] : [])));
    return group.flat();
  };
  const noneLeft = (name) =>
    eventually(`${name} has ended`, async () => ((await running(name, workspace)).length === 0 ? true : undefined), 60_000);

  try {
    await window(folderQuery(workspace));
    await check('a server that is killed comes back with its numbers, and the person is told once', async () => {
      await measured();
      for (let round = 0; round < 2; round += 1) {
        const [pid] = await eventually('the server runs', async () => nonEmpty(await ours('dist/server.js')), 30_000);
        process.kill(pid, 'SIGKILL');
        await eventually('another server runs', async () => nonEmpty((await ours('dist/server.js')).filter((one) => one !== pid)), 60_000);
        await lens(page, /^peak 12\.0 MiB at line 5/)
          .first()
          .waitFor({ timeout: 60_000 });
        await page.getByText('◀ peak').first().waitFor({ timeout: 60_000 });
      }
      const told = (await notices(page)).filter((words) => words.includes('started again'));
      if (told.length !== 1) throw new Error(`told ${told.length} times`);
    });
    await check('a program whose extension host is killed ends, and the numbers of the run before are there again', async () => {
      await measured();
      await endless();
      const [host] = await eventually('the extension host runs', async () => nonEmpty(await ours('--type=extensionHost')), 30_000);
      process.kill(host, 'SIGKILL');
      await noneLeft('endless.ts');
      await eventually(
        'another extension host runs',
        async () => nonEmpty((await ours('--type=extensionHost')).filter((pid) => pid !== host)),
        60_000,
      );
      await openFile(page, 'tensors.ts');
      await lens(page, /^peak 12\.0 MiB at line 5/)
        .first()
        .waitFor({ timeout: 120_000 });
    });
    await check('a program whose window is closed ends', async () => {
      await window(folderQuery(workspace));
      await endless();
      page.on('dialog', (dialog) => void dialog.accept());
      const closed = new Promise((resolve) => page.once('close', resolve));
      await page.close({ runBeforeUnload: true });
      await closed;
      page = undefined;
      await noneLeft('endless.ts');
    });
    await check('a folder that is removed from the workspace takes nothing else with it', async () => {
      const other = `${workspace} other`;
      await lay(other);
      const file = path.join(path.dirname(workspace), 'both.code-workspace');
      await writeFile(file, JSON.stringify({ folders: [{ path: workspace }, { path: other }] }));
      await window(`workspace=${encodeURIComponent(file)}`);
      await measured();
      await writeFile(file, JSON.stringify({ folders: [{ path: workspace }] }));
      await rm(other, { recursive: true, force: true });
      await page
        .locator('.explorer-folders-view .monaco-list-row', { hasText: path.basename(other) })
        .waitFor({ state: 'detached', timeout: 30_000 });
      await page.waitForTimeout(2000);
      await measured();
    });
    await check('a folder that is deleted while its file is open is no fault', async () => {
      const gone = `${workspace} gone`;
      await lay(gone);
      await window(folderQuery(gone));
      await measured();
      await rm(gone, { recursive: true, force: true });
      await lens(page, 'Profile memory').first().click();
      const [words] = await eventually('a word about it', async () => nonEmpty(await notices(page)), 60_000);
      if (/internal|undefined|ENOENT/.test(words)) throw new Error(`the person reads: ${words}`);
      await lens(page, 'Profile memory').first().waitFor({ timeout: 10_000 });
    });
    await check(`a workspace of ${manyFiles} files`, async () => {
      const large = `${workspace} large`;
      await lay(large);
      await fill(large);
      await window(folderQuery(large));
      await measured();
      await openFile(page, 'leaky.ts');
      await page.locator('.squiggly-warning').first().waitFor({ timeout: 120_000 });
    });
    await check(`a file of ${manyLines} lines`, async () => {
      const long = `${workspace} long`;
      await lay(long);
      await writeFile(path.join(long, 'long.ts'), longFile());
      await window(folderQuery(long));
      await openFile(page, 'long.ts');
      await lens(page, 'Profile memory').first().waitFor({ timeout: 120_000 });
      await page.locator('.squiggly-warning').first().waitFor({ timeout: 180_000 });
      await page.keyboard.type('// typed\n');
      await page.locator('.view-line', { hasText: '// typed' }).first().waitFor({ timeout: 5000 });
      await page.locator('.squiggly-warning').first().waitFor({ timeout: 120_000 });
    });
  } finally {
    await page?.close();
    await server.stop();
  }
  const left = await running('endless.ts', workspace);
  if (left.length > 0) failures.push(`${left.length} programs are left`);
  return { passed, failures };
}

/** Processes whose command line has all of these words. */
async function running(...words) {
  const found = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const line = await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '');
    const cwd = words.length > 1 ? await readlink(`/proc/${name}/cwd`).catch(() => '') : '';
    if (line !== '' && line.includes(words[0]) && (words[1] === undefined || line.includes(words[1]) || cwd === words[1]))
      found.push(Number(name));
  }
  return found;
}

/** The process group, from the fields after the name, which may hold spaces. */
async function groupOf(pid) {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]);
}

/** All notifications that are there, toasts that went away among them; the list is empty afterwards. */
async function notices(page) {
  await palette(page, 'Notifications: Show Notifications');
  const items = page.locator('.notifications-center .notification-list-item-message');
  await page.waitForTimeout(500);
  const words = await items.allInnerTexts();
  await palette(page, 'Notifications: Clear All Notifications');
  return words;
}

const nonEmpty = (list) => (list.length > 0 ? list : undefined);

async function eventually(what, ask, timeoutMs) {
  for (const end = Date.now() + timeoutMs; Date.now() < end;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`not within ${timeoutMs / 1000} s: ${what}`);
}

async function fill(folder) {
  for (let package_ = 0; package_ < 50; package_ += 1) {
    const at = path.join(folder, `part-${package_}`);
    await mkdir(at, { recursive: true });
    await Promise.all(
      Array.from({ length: manyFiles / 50 }, (_, i) =>
        writeFile(
          path.join(at, `file-${i}.ts`),
          `${i > 0 ? `import { value${i - 1} } from './file-${i - 1}.js';\n` : ''}export const value${i} = ${i > 0 ? `value${i - 1} + ` : ''}${i};\n`,
        ),
      ),
    );
  }
}

/** The leak stands at the top; the rest is code that has to be read. */
function longFile() {
  const head = [
    "import * as tf from '@tensorflow/tfjs';",
    '',
    'export function leaky(x: tf.Tensor): number {',
    '  const doubled = tf.add(x, x);',
    '  return x.size;',
    '}',
  ];
  const rest = Array.from({ length: (manyLines - head.length) / 4 }, (_, i) => [
    `export function part${i}(x: number): number {`,
    `  const y = x * ${i};`,
    `  return y + ${i};`,
    '}',
  ]);
  return `${[...head, ...rest.flat()].join('\n')}\n`;
}
