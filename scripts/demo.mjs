/**
 * The main job on an example, for people: find the fault, measure it, fix a copy, measure again, compare.
 *
 * Everything it prints comes from the command line that people use (`tidemark check`, `tidemark profile`), and it fails
 * when the measured saving isn't the promised one, or when one loss differs. Depends on: node, a built `dist/`.
 */
import { spawn } from 'node:child_process';
import { copyFile, mkdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { setup } from './setup.mjs';
import { main, root } from './support/run.mjs';

const rule = 'missed-donation';
const example = 'examples/train-mlp.ts';
// Inside the checkout, so that `import … from "tidemark"` means this package.
const folder = path.join(root, '.cache', 'demo');
const copy = path.join('.cache', 'demo', 'train-mlp.ts');

export async function demo() {
  const started = Date.now();
  await setup();
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await copyFile(path.join(root, example), path.join(root, copy));

  title(`1. Check ${example}`);
  console.log((await tidemark(['check', copy, '--format', 'text'], [0, 1])).stdout.trimEnd());
  const finding = (await check()).find((diagnostic) => diagnostic.rule === rule);
  if (finding === undefined) throw new Error(`the analysis no longer finds ${rule} in ${example}`);
  if (finding.savesBytes === null) throw new Error(`${rule} in ${example} promises no bytes`);

  title('2. Run it and measure');
  const before = await profile();

  title('3. Apply the safe fix to a copy');
  const oldText = await readFile(path.join(root, copy), 'utf8');
  await tidemark(['check', copy, '--fix', '--rule', `${rule}=warning`], [0, 1]);
  const newText = await readFile(path.join(root, copy), 'utf8');
  printDifference(oldText, newText);
  if (oldText === newText) throw new Error('the fix changed nothing');
  const left = (await check()).filter((diagnostic) => diagnostic.rule === rule);
  if (left.length > 0) throw new Error(`${rule} is still reported after the fix`);
  console.log(`checked again: no ${rule} left`);

  title('4. Run it again');
  const after = await profile();

  title('5. Compare');
  const saved = before.report.peakBytes - after.report.peakBytes;
  const share = ((100 * saved) / before.report.peakBytes).toFixed(1);
  console.log(`peak before    ${bytes(before.report.peakBytes)}`);
  console.log(`peak after     ${bytes(after.report.peakBytes)}   (-${share} %)`);
  console.log(`saved          ${bytes(saved)}`);
  console.log(`promised       ${bytes(finding.savesBytes)}   ${saved === finding.savesBytes ? 'the same, to the byte' : 'NOT the same'}`);
  const same = before.losses.length > 0 && before.losses.join('\n') === after.losses.join('\n');
  console.log(
    `losses         ${before.losses.length} printed, ${same ? 'identical in every digit' : 'DIFFERENT'}: ${before.losses.at(-1) ?? 'none'}`,
  );
  console.log(`\n${((Date.now() - started) / 1000).toFixed(0)} s in all`);
  if (saved !== finding.savesBytes) throw new Error('the measured saving differs from the promise');
  if (!same) throw new Error('the losses differ');
}

async function check() {
  return JSON.parse((await tidemark(['check', copy, '--format', 'json'], [0, 1])).stdout).diagnostics;
}

/** Profiles the copy once: the report for people is printed, the report for programs and the program's losses are returned. */
async function profile() {
  const saved = path.join('.cache', 'demo', 'run.tidemark');
  const run = await tidemark(['profile', copy, '--format', 'tidemark', '--out', saved], [0]);
  const report = JSON.parse((await readFile(path.join(root, saved), 'utf8')).split('\n', 1)[0]);
  const shown = await tidemark(['show', saved], [0]);
  console.log(shown.stdout.trimEnd());
  return { report, losses: (run.stdout + run.stderr).split('\n').filter((line) => /\bloss\b/.test(line)) };
}

function tidemark(args, expected) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [path.join(root, 'dist', 'tidemark.js'), ...args], { cwd: root });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (text) => (stdout += text));
    child.stderr.on('data', (text) => (stderr += text));
    child.on('error', reject);
    child.on('close', (code) =>
      expected.includes(code)
        ? resolve({ stdout, stderr })
        : reject(new Error(`tidemark ${args.join(' ')} ended with ${code}\n${stdout}${stderr}`)),
    );
  });
}

function printDifference(before, after) {
  const old = new Set(before.split('\n'));
  const now = new Set(after.split('\n'));
  for (const line of before.split('\n')) if (!now.has(line)) console.log(`- ${line}`);
  for (const line of after.split('\n')) if (!old.has(line)) console.log(`+ ${line}`);
}

const bytes = (count) => `${(count / 2 ** 20).toFixed(3).padStart(9)} MiB (${count.toLocaleString('en')} bytes)`;

function title(text) {
  console.log(`\n${text}\n${'-'.repeat(text.length)}`);
}

if (process.argv[1] === import.meta.filename) await main(demo);
