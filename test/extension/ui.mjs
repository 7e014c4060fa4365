/**
 * The extension as it is installed: a person opens a file, clicks the lens, and reads the measured numbers.
 *
 * Takes the pictures of the README when TIDEMARK_PICTURES names a folder. Depends on: playwright-core, support/editor-server.
 */
import { mkdir } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { startEditor } from '../../scripts/support/editor-server.mjs';

export const pictures = process.env.TIDEMARK_PICTURES ?? path.join(os.tmpdir(), 'tidemark-pictures');

export async function uiRun({ browser, workspace, training, vsix }) {
  const passed = [];
  const failures = [];
  await mkdir(pictures, { recursive: true });
  const server = await startEditor({
    trust: true,
    vsix: [vsix],
    settings: { 'editor.stickyScroll.enabled': false, 'editor.fontSize': 13, 'editor.scrollBeyondLastLine': false },
  });
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, deviceScaleFactor: 2 });
  const check = async (what, body) => {
    if (failures.length > 0) return;
    try {
      await body();
      passed.push(what);
    } catch (error) {
      await page.screenshot({ path: path.join(pictures, 'failed.png') });
      failures.push(`${what}: ${error.message}`);
    }
  };
  try {
    await page.goto(`${server.url}/?folder=${encodeURIComponent(workspace)}`);
    await check('the workbench opens', () => page.waitForSelector('.monaco-workbench', { timeout: 60_000 }));
    await check('a file is opened by name', () => openFile(page, 'tensors.ts'));
    await check('the lens appears', () => lens(page, 'Profile memory').first().waitFor({ timeout: 60_000 }));
    await check('the lens is clicked and the peak is shown', async () => {
      await lens(page, 'Profile memory').first().click();
      await lens(page, /^peak [\d.]+ MiB/)
        .first()
        .waitFor({ timeout: 90_000 });
    });
    await check('the peak line carries its mark', () => page.getByText('◀ peak').first().waitFor({ timeout: 20_000 }));
    await page.waitForTimeout(1500);
    await page.screenshot({ path: path.join(pictures, 'measured.png') });
    await check('the timeline draws the run and lists what was alive at the peak', async () => {
      await lens(page, 'timeline').first().click();
      const view = await timelineFrame(page);
      await view.locator('#rows tr').first().waitFor({ timeout: 30_000 });
      const rows = await view.locator('#rows tr').count();
      if (rows < 3) throw new Error(`${rows} rows in the table`);
      await page.waitForTimeout(800);
      await page.screenshot({ path: path.join(pictures, 'timeline.png') });
    });
    await check('a place in the timeline leads to its line', async () => {
      const view = await timelineFrame(page);
      await view.locator('#rows button', { hasText: 'tensors.ts:5' }).first().click();
      await page.getByText('Ln 5, Col 1').first().waitFor({ timeout: 15_000 });
    });
    await check('a training program is measured, and its file carries its own peak', async () => {
      await page.goto(`${server.url}/?folder=${encodeURIComponent(training)}`);
      await page.waitForSelector('.monaco-workbench', { timeout: 60_000 });
      await openFile(page, 'train-mlp.ts');
      await lens(page, 'Profile memory').first().waitFor({ timeout: 60_000 });
      if ((await lens(page, /^peak/).count()) > 0) throw new Error('a peak is shown before anything was measured');
      await lens(page, 'Profile memory').first().click();
      await lens(page, /^peak [\d.]+ MiB at line \d+/)
        .first()
        .waitFor({ timeout: 150_000 });
    });
    await check('the picture shows the step, its call, and what a donation there would save', async () => {
      await arrange(page);
      await lens(page, /donating layers and momentum would save [\d.]+ MiB/)
        .first()
        .waitFor({ timeout: 30_000 });
      await page.getByText('◀ peak').first().waitFor({ timeout: 20_000 });
      await page.screenshot({ path: path.join(pictures, 'editor.png') });
    });
  } finally {
    await page.close();
    await server.stop();
  }
  return { passed, failures };
}

/** The step and its call on one screen: what lies between is folded, the side bar is closed, the finding's card is open. */
async function arrange(page) {
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.keyboard.press('Control+B');
  await goTo(page, '57');
  await page.keyboard.press('Control+Shift+BracketLeft');
  await goTo(page, '44');
  await showFinding(page);
}

/** The caret stands between the arguments of the call, where only the finding has something to say. */
async function showFinding(page) {
  await page.keyboard.press('Escape');
  await goTo(page, '80:59');
  await page.waitForTimeout(1500);
  await page.keyboard.press('Control+K');
  await page.keyboard.press('Control+I');
  await page.locator('.monaco-hover-content', { hasText: 'are dead after this call' }).first().waitFor({ timeout: 20_000 });
  await page.waitForTimeout(1000);
}

export async function goTo(page, place) {
  await page.keyboard.press('Control+G');
  const box = page.locator('.quick-input-widget input').first();
  await box.waitFor({ timeout: 15_000 });
  await box.fill(`:${place}`);
  await page.keyboard.press('Enter');
  await page.waitForTimeout(400);
}

/** The view lies in a frame within a frame. */
export async function timelineFrame(page) {
  for (const until = Date.now() + 30_000; Date.now() < until;) {
    for (const frame of page.frames())
      if (
        (await frame
          .locator('#plot')
          .count()
          .catch(() => 0)) > 0
      )
        return frame;
    await page.waitForTimeout(200);
  }
  throw new Error('no timeline came up');
}

export const lens = (page, text) => page.locator('.codelens-decoration a', { hasText: text });

/** Runs a command by the words of its entry. */
export async function palette(page, words) {
  await page.keyboard.press('F1');
  const box = page.locator('.quick-input-widget input').first();
  await box.waitFor({ timeout: 15_000 });
  await box.fill(`>${words}`);
  await page
    .locator('.quick-input-list .monaco-list-row', { hasText: words.replace(/^.*: /, '') })
    .first()
    .waitFor({ timeout: 15_000 });
  await page.keyboard.press('Enter');
}

/** A window that is still loading may lose the first keys, and one whose extension host ended the last: asked again then. */
export async function openFile(page, name) {
  const tab = page.locator('.tab.active', { hasText: name }).first();
  const label = page.locator('.label-name', { hasText: new RegExp(`^${name.replaceAll('.', '\\.')}$`) });
  const row = page.locator('.quick-input-list .monaco-list-row').filter({ has: label });
  for (let attempt = 1; ; attempt++) {
    try {
      await page.keyboard.press('Control+P');
      const box = page.locator('.quick-input-widget input').first();
      await box.waitFor({ timeout: 15_000 });
      await box.fill(name);
      // What was open lately stands first, whatever was typed.
      await row.first().click({ timeout: 15_000 });
      await tab.waitFor({ timeout: 15_000 });
      return;
    } catch (error) {
      if (attempt === 4) throw error;
      await page.keyboard.press('Escape');
    }
  }
}
