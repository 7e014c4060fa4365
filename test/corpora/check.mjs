/**
 * Checks all fetched packages: `node test/corpora/check.mjs [--new] [NAME…]`.
 *
 * Prints every error and warning with its source line and the verdict that `test/corpora.json` records for it; one
 * without a verdict is `unjudged` (`--new` prints only those), one whose line no longer yields it is listed at the end.
 * Each package runs in a process of its own with a time limit, so a crash, a hang or an internal fault is seen and
 * named; so is one that takes more than 120 s of processor or 3 GiB.
 * Depends on: fetch.mjs, one.ts.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { cache, clone, corpora } from './cache.mjs';
import { fetchAll } from './fetch.mjs';

const limitMs = 300_000;
const [mostSeconds, mostMiB] = [120, 3072];
const names = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const onlyNew = process.argv.includes('--new');
const { verdicts } = corpora();
const count = { packages: 0, failed: 0, reports: 0, unjudged: 0 };
const seen = new Set();
mkdirSync(join(cache, 'reports'), { recursive: true });

// One bundle for all, so that each process starts at once.
const bundle = join(cache, 'one.mjs');
buildSync({
  entryPoints: [join(clone, 'test/corpora/one.ts')],
  outfile: bundle,
  bundle: true,
  platform: 'node',
  format: 'esm',
  packages: 'external',
  logLevel: 'error',
});

for (const { name, folder, files } of fetchAll(names)) {
  count.packages++;
  const started = Date.now();
  const ran = spawnSync(process.execPath, [bundle, folder], {
    cwd: clone,
    encoding: 'utf8',
    timeout: limitMs,
    maxBuffer: 1e9,
  });
  if (ran.status !== 0) {
    count.failed++;
    console.log(`# ${name}: ${ran.error?.message ?? `exit ${ran.status}`} after ${Date.now() - started} ms\n${ran.stderr.slice(0, 3000)}`);
    continue;
  }
  const report = JSON.parse(ran.stdout);
  writeFileSync(join(cache, 'reports', `${name.replaceAll('/', '+')}.json`), ran.stdout);
  const faults = report.diagnostics.filter(({ severity }) => severity === 'error' || severity === 'warning');
  console.log(
    `# ${name}: ${files.length} files, ${faults.length} reports, ${report.processorSeconds.toFixed(1)} s of processor, ${report.peakMiB} MiB`,
  );
  const wrong = report.silence.filter(({ rule }) => rule === 'internal fault').map(({ reason }) => reason);
  if (report.processorSeconds > mostSeconds || report.peakMiB > mostMiB)
    wrong.push(`more than ${mostSeconds} s of processor or ${mostMiB} MiB`);
  if (wrong.length > 0) count.failed++;
  for (const reason of wrong) console.log(`failed: ${reason}`);
  for (const { file, line, rule, severity, message, related } of faults) {
    count.reports++;
    const verdict = verdicts.find((one) => one.package === name && one.file === file && one.line === line && one.rule === rule);
    if (verdict === undefined) count.unjudged++;
    else seen.add(verdict);
    if (onlyNew && verdict !== undefined) continue;
    const source = readFileSync(join(folder, file), 'utf8').split('\n')[line - 1]?.trim().slice(0, 160);
    const notes = related.map((note) => `${note.message} (${note.line})`).join(', ');
    console.log(
      `${verdict === undefined ? 'unjudged' : verdict.verdict} ${file}:${line} ${severity} ${rule}: ${message}${notes === '' ? '' : ` [${notes}]`}\n    ${source}`,
    );
  }
}

const gone = verdicts.filter((one) => !seen.has(one) && (names.length === 0 || names.includes(one.package)));
for (const { package: name, file, line, rule } of gone) console.log(`no longer reported: ${name} ${file}:${line} ${rule}`);
console.log(
  `${count.packages} packages, ${count.failed} failed, ${count.reports} reports, ${count.unjudged} unjudged, ${gone.length} verdicts no longer reported`,
);
process.exitCode = count.failed + count.unjudged > 0 ? 1 : 0;
