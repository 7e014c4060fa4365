/**
 * `npm test`: from a fresh clone to one line that says whether everything works.
 *
 *   setup -> types -> tiny -> quick -> full -> end to end
 *
 * Tiers go from tiny to heavy, so that a broken tree says so within seconds. Each folder of `test/` runs in a process of its own: when
 * a driver takes its process down, that is one failure and not the end of all counting. Types and the quick folders run side by side, as many at a time as the
 * machine has cores, the longest first; what is slow runs alone, since it starts programs and browsers of its own. `--quick` stops before the
 * slow tests and the editor; names after the options choose folders: `npm test -- lsp cli`.
 * Depends on: node, mocha, setup.
 */
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setup } from './setup.mjs';
import { main, root, run } from './support/run.mjs';

const quick = process.argv.includes('--quick');
const noEditor = quick || process.argv.includes('--no-editor');
const chosen = process.argv.slice(2).filter((word) => !word.startsWith('--'));

/** Folders that need minutes or an editor; a file elsewhere is slow when its name ends in `.slow.test.ts`. */
const slowFolders = new Set(['fuzz']);
const skippedFolders = new Set(['support', 'bench', 'goldens', 'fixtures']);
const first = ['tiny', 'architecture'];
const minutes = (n) => n * 60_000;
/** What takes longest begins first, so that no core is left alone with it; larger folders are divided. */
const long = ['types', 'runtime', 'analysis', 'cases', 'measure'];
const parts = { runtime: 3, analysis: 2 };
const lanes = Math.max(1, Math.min(os.availableParallelism(), 4));

const total = { passed: 0, failed: 0, skipped: 0, words: [] };

await main(async () => {
  const started = Date.now();
  await step('setup', () => setup());
  const all = await suites();
  for (const suite of all.filter(({ name }) => first.includes(name))) await runSuite(suite);
  const quickOnes = all.filter(({ name, slow }) => !first.includes(name) && !slow).flatMap(divided);
  await sideBySide([
    ...(chosen.length === 0 ? [{ name: 'types', run: types }] : []),
    ...quickOnes.map((suite) => ({ name: suite.name, run: () => runSuite(suite) })),
  ]);
  for (const suite of all.filter(({ slow }) => slow)) await runSuite(suite);
  if (!noEditor && (chosen.length === 0 || chosen.includes('editor'))) await endToEnd();

  const seconds = Math.round((Date.now() - started) / 1000);
  for (const word of total.words) console.log(`failed: ${word}`);
  const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : '';
  console.log(
    `tidemark tests: ${total.passed} passed, ${total.failed} failed${skipped} in ${Math.floor(seconds / 60)} min ${seconds % 60} s${quick ? ' (quick)' : ''}`,
  );
  if (total.failed > 0 || total.passed === 0) process.exitCode = 1;
});

function types() {
  return step('types', () =>
    run(process.execPath, ['node_modules/typescript/bin/tsc', '--noEmit', '-p', 'tsconfig.json'], { capture: true, timeoutMs: minutes(6) }),
  );
}

/** A folder in parts, each with every so many-th file. */
function divided(suite) {
  const count = Math.min(parts[suite.name] ?? 1, lanes);
  if (count === 1) return [suite];
  return Array.from({ length: count }, (_, part) => ({
    ...suite,
    name: `${suite.name} ${part + 1}/${count}`,
    files: suite.files.filter((_, i) => i % count === part),
  }));
}

async function sideBySide(jobs) {
  const rank = ({ name }) => (long.indexOf(name.split(' ')[0]) + long.length + 1) % (long.length + 1);
  const waiting = jobs.toSorted((a, b) => rank(a) - rank(b));
  const lane = async () => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) await job.run();
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

/** Steps that are not mocha's count as one test each. */
async function step(name, body) {
  const started = Date.now();
  try {
    await body();
    total.passed += 1;
    console.log(`${name} ok (${((Date.now() - started) / 1000).toFixed(1)} s)`);
  } catch (error) {
    total.failed += 1;
    total.words.push(`${name}: ${error.message}`);
    console.log(`${name} failed: ${error.message}`);
  }
}

/** All suites in order: a name, its files, and how long it may take. */
async function suites() {
  const entries = await readdir(path.join(root, 'test'), { withFileTypes: true });
  const found = [];
  for (const entry of entries) {
    if (entry.isFile() && entry.name.endsWith('.test.ts')) {
      found.push({ name: entry.name.replace('.test.ts', ''), files: [`test/${entry.name}`], slow: entry.name.endsWith('.slow.test.ts') });
    } else if (entry.isDirectory() && !skippedFolders.has(entry.name)) {
      const files = (await readdir(path.join(root, 'test', entry.name), { recursive: true }))
        .filter((name) => name.endsWith('.test.ts') && !name.includes('node_modules') && !name.startsWith('suite/'))
        .map((name) => `test/${entry.name}/${name}`)
        .sort();
      const slow = (file) => slowFolders.has(entry.name) || file.endsWith('.slow.test.ts');
      found.push({ name: entry.name, files: files.filter((file) => !slow(file)), slow: false });
      found.push({ name: `${entry.name} (slow)`, files: files.filter(slow), slow: true });
    }
  }
  const order = (suite) => (first.includes(suite.name) ? first.indexOf(suite.name) : suite.slow ? 200 : 100);
  return found
    .filter(({ files, slow }) => files.length > 0 && !(quick && slow))
    .filter(({ name }) => chosen.length === 0 || chosen.includes(name.split(' ')[0]))
    .sort((a, b) => order(a) - order(b) || (a.name < b.name ? -1 : 1));
}

async function runSuite({ name, files }) {
  const work = await mkdtemp(path.join(os.tmpdir(), 'tidemark-test-'));
  const countsFile = path.join(work, 'counts.json');
  const started = Date.now();
  let text = '';
  const ended = await run(
    process.execPath,
    ['node_modules/mocha/bin/mocha.js', '--node-option', 'import=tsx', '--reporter', 'scripts/support/reporter.mjs', '--exit', ...files],
    { env: { ...process.env, TIDEMARK_TEST_COUNTS: countsFile }, capture: true, timeoutMs: minutes(6) },
  ).then(
    (printed) => void (text = printed),
    (error) => error,
  );
  if (existsSync(countsFile)) {
    const counts = JSON.parse(await readFile(countsFile, 'utf8'));
    total.passed += counts.passes;
    total.failed += counts.failed;
    total.skipped += counts.pending;
    for (const failure of counts.failures) total.words.push(`${name}: ${failure.title}: ${failure.error.split('\n')[0]}`);
    if (ended !== undefined && counts.failed === 0) fail(name, ended.message);
    if (counts.passes + counts.failed === 0) fail(name, 'no test ran');
  } else {
    fail(name, ended?.message ?? 'ended before it counted its tests');
  }
  // What tests of one folder print stays together.
  process.stdout.write(text);
  console.log(`${name}: ${((Date.now() - started) / 1000).toFixed(1)} s`);
  await rm(work, { recursive: true, force: true });
}

async function endToEnd() {
  const { endToEndTests } = await import('../test/extension/run.mjs');
  const started = Date.now();
  try {
    const counts = await endToEndTests();
    total.passed += counts.passed;
    total.failed += counts.failures.length;
    for (const failure of counts.failures) total.words.push(`editor: ${failure}`);
    if (counts.passed + counts.failures.length === 0) fail('editor', 'no test ran');
  } catch (error) {
    fail('editor', error.message);
  }
  console.log(`editor: ${((Date.now() - started) / 1000).toFixed(1)} s`);
}

function fail(name, word) {
  total.failed += 1;
  total.words.push(`${name}: ${word}`);
}
