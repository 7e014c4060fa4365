/**
 * How the extension looks: every view in light, dark and both high-contrast themes, with the contrast of its lines measured.
 *
 * Lines and marks in the editor need 3:1 against its background (WCAG 2.1, 1.4.11). Pictures go to TIDEMARK_PICTURES;
 * TIDEMARK_THEMES=light,dark runs through these only.
 * Depends on: playwright-core, support/editor-server, ui.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { startEditor } from '../../scripts/support/editor-server.mjs';
import { goTo, lens, openFile, palette, pictures, timelineFrame } from './ui.mjs';

const themes = [
  ['light', 'Light Modern', 'vs'],
  ['dark', 'Dark Modern', 'vs-dark'],
  ['contrast', 'Default High Contrast', 'hc-black'],
  ['contrast-light', 'Default High Contrast Light', 'hc-light'],
];
const leastContrast = 3;

export async function looksRun({ browser, training, vsix }) {
  const passed = [];
  const failures = [];
  await mkdir(pictures, { recursive: true });
  await writeFile(path.join(training, 'empty.tidemark'), `${JSON.stringify(nothing)}\n`);
  await writeFile(path.join(training, 'broken.tidemark'), 'this is no profile\n');
  const server = await startEditor({
    trust: true,
    vsix: [vsix],
    settings: { 'editor.stickyScroll.enabled': false, 'editor.fontSize': 13, 'editor.scrollBeyondLastLine': false },
  });
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
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
  const picture = (name) => page.screenshot({ path: path.join(pictures, `${name}.png`) });
  try {
    await page.goto(`${server.url}/?folder=${encodeURIComponent(training)}`);
    await page.waitForSelector('.monaco-workbench', { timeout: 60_000 });
    await check('the first run, before any profile', async () => {
      await openFile(page, 'train-mlp.ts');
      await page.keyboard.press('Control+B');
      await goTo(page, '49');
      await lens(page, 'explain').first().waitFor({ timeout: 120_000 });
      await picture('first');
    });
    await check('a compiled function is explained before anything was run, with links', async () => {
      await lens(page, /^explain/)
        .first()
        .click();
      await page.locator('.tab', { hasText: 'step.plan' }).first().waitFor({ timeout: 30_000 });
      await page.locator('.view-line', { hasText: 'no plan of this order needs less than' }).first().waitFor({ timeout: 30_000 });
      await page.locator('.detected-link').first().waitFor({ timeout: 15_000 });
      await picture('explain');
      await page.keyboard.press('Control+K');
      await page.keyboard.press('Control+ArrowLeft');
    });
    await check('the program is measured', async () => {
      await openFile(page, 'train-mlp.ts');
      await goTo(page, '1');
      await lens(page, 'Profile memory').first().click();
      await lens(page, /^peak [\d.]+ MiB at line \d+/)
        .first()
        .waitFor({ timeout: 240_000 });
    });
    const wanted = process.env.TIDEMARK_THEMES?.split(',');
    for (const [name, theme, base] of themes.filter(([one]) => wanted === undefined || wanted.includes(one))) {
      await check(`${theme}: lines and marks can be told from the background`, async () => {
        await setTheme(server.user, theme);
        // The numbers of the run come back with the window.
        await page.reload();
        await page.waitForSelector(`.monaco-workbench.${base}`, { timeout: 60_000 });
        await openFile(page, 'train-mlp.ts');
        // What was explained is there again, in its group.
        if (name === 'light') await page.locator('.tab', { hasText: 'step.plan' }).first().waitFor({ timeout: 60_000 });
        await lens(page, /^peak [\d.]+ MiB at line \d+|^explain/)
          .first()
          .waitFor({ timeout: 120_000 });
        await goTo(page, '51:9');
        // After a reload the numbers are there at once; underlines come with the analysis.
        let lines = [];
        for (const end = Date.now() + 120_000; lines.length === 0 && Date.now() < end;) {
          await page.waitForTimeout(500);
          lines = await page.evaluate(measuredContrast);
        }
        await picture(`editor-${name}`);
        if (lines.length === 0) throw new Error('no underline is drawn');
        const faint = lines.filter(({ ratio }) => ratio < leastContrast);
        if (faint.length > 0) throw new Error(`${JSON.stringify(faint)} below ${leastContrast}:1`);
      });
      await check(`${theme}: the hover of an array`, async () => {
        await page.keyboard.press('Control+K');
        await page.keyboard.press('Control+I');
        await page.locator('.monaco-hover-content table').first().waitFor({ timeout: 20_000 });
        await page.waitForTimeout(600);
        await picture(`hover-${name}`);
        await page.keyboard.press('Escape');
      });
      await check(`${theme}: the timeline`, async () => {
        await goTo(page, '1');
        await lens(page, 'timeline').first().click();
        const view = await timelineFrame(page);
        await view.locator('#rows tr').first().waitFor({ timeout: 30_000 });
        await page.waitForTimeout(1000);
        await picture(`timeline-${name}`);
        await closeOthers(page);
      });
    }
    await check('the allocator at the peak: slabs, what lies in them, and a piece that leads to its line', async () => {
      await openFile(page, 'train-mlp.ts');
      await goTo(page, '1');
      await lens(page, 'timeline').first().click();
      const view = await timelineFrame(page);
      const slabs = view.locator('#slabs .slab');
      await slabs.first().waitFor({ timeout: 30_000 });
      await slabs.last().scrollIntoViewIfNeeded();
      const words = await view.locator('#slabs').innerText();
      if (!/Allocator: [\d.]+ MiB of [\d.]+ MiB reserved are used, slabs: \d+, fragmentation \d+ %/.test(words)) throw new Error(words);
      await page.waitForTimeout(500);
      await picture('slabs');
      const piece = view.locator('#slabs button').first();
      const [, line] = /train-mlp\.ts:(\d+)/.exec(await piece.getAttribute('aria-label'));
      await piece.click();
      await page.getByText(`Ln ${line}, Col 1`).first().waitFor({ timeout: 15_000 });
      await closeOthers(page);
    });
    await check('before and after a fix, in two panes', async () => {
      await openFile(page, 'train-mlp.ts');
      await goTo(page, '54');
      await page.keyboard.press('End');
      await page.keyboard.press('Backspace');
      await page.keyboard.press('Backspace');
      await page.keyboard.type(', { donateArgnums: [0, 1] });');
      await goTo(page, '1');
      await lens(page, 'Profile memory').first().click();
      await lens(page, /^peak 6\.\d MiB at line \d+/)
        .first()
        .waitFor({ timeout: 240_000 });
      await palette(page, 'Tidemark: Compare with the Previous Run');
      await page.locator('.monaco-diff-editor.side-by-side').first().waitFor({ timeout: 20_000 });
      await page.locator('.editor.modified .view-line', { hasText: '−4.6 MiB' }).first().waitFor({ timeout: 20_000 });
      await page.waitForTimeout(1000);
      await picture('compare');
      await closeOthers(page);
    });
    await check('the walkthrough', async () => {
      await palette(page, 'Welcome: Open Walkthrough');
      const row = page.locator('.quick-input-list .monaco-list-row', { hasText: 'Lower the memory of an array program' }).first();
      await row.waitFor({ timeout: 20_000 });
      await row.click();
      await page.locator('.gettingStartedDetailsContent .step-list-container').first().waitFor({ timeout: 20_000 });
      await page.waitForTimeout(1500);
      await picture('walkthrough');
    });
    await check('a profile of nothing, and a file that is none', async () => {
      await openFile(page, 'empty.tidemark');
      const view = await timelineFrame(page);
      await view.locator('#nothing').waitFor({ state: 'visible', timeout: 30_000 });
      await picture('timeline-empty');
      await palette(page, 'View: Close All Editors');
      await openFile(page, 'broken.tidemark');
      await page.waitForTimeout(1500);
      const broken = await timelineFrame(page);
      await broken.getByText('this is no profile').first().waitFor({ timeout: 15_000 });
      await picture('timeline-broken');
    });
  } finally {
    await page.close();
    await server.stop();
  }
  return { passed, failures };
}

const nothing = {
  version: 1,
  entry: 'empty.ts',
  device: null,
  peakBytes: 0,
  peakReservedBytes: 0,
  liveBytesAtExit: 0,
  peakAt: null,
  lines: [],
  functions: [],
  liveAtPeak: [],
  leaks: [],
  wallMs: 1,
  exitCode: 0,
};

async function setTheme(user, theme) {
  const file = path.join(user, 'User', 'settings.json');
  const settings = JSON.parse(await readFile(file, 'utf8'));
  await writeFile(file, JSON.stringify({ ...settings, 'workbench.colorTheme': theme }, null, 2));
}

async function closeOthers(page) {
  await palette(page, 'View: Close All Editors');
  await page.waitForTimeout(500);
}

/** In the page: each underline of ours, and its contrast with the editor's background. */
function measuredContrast() {
  const channels = (colour) => (colour.match(/[\d.]+/g) ?? []).map(Number);
  const luminance = ([red, green, blue]) =>
    [red, green, blue]
      .map((value) => value / 255)
      .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
      .reduce((sum, value, i) => sum + value * [0.2126, 0.7152, 0.0722][i], 0);
  const background = channels(getComputedStyle(document.querySelector('.monaco-editor-background')).backgroundColor);
  const found = [];
  for (const element of document.querySelectorAll('.monaco-editor [class*="ced-"]')) {
    const { borderBottomWidth, borderBottomStyle, borderBottomColor } = getComputedStyle(element);
    if (borderBottomStyle === 'none' || Number.parseFloat(borderBottomWidth) === 0) continue;
    const [a, b] = [luminance(channels(borderBottomColor)), luminance(background)];
    found.push({ style: borderBottomStyle, colour: borderBottomColor, ratio: (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) });
  }
  return found;
}
