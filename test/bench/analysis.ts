/**
 * How fast the analysis answers, against the TypeScript compiler in the same run: `node --import tsx test/bench/analysis.ts`.
 *
 * A generated project of 200 files, one of 2,000 lines that is edited. Keystrokes: the text gains or loses a character;
 * measured is the time to that file's diagnostics, and the time of `getSemanticDiagnostics` after the same edit in a
 * language service of its own, in turns. Whole project: `tidemark check` against `tsc --noEmit`, each in a fresh process.
 * With them the stretches of work in which cancelling is not looked for: the longest is the compiler's own, which makes
 * its program and checker in one piece. Growth: bytes of heap after the first and after the last tenth of 10,000 edits, the collector having run.
 * Options: `--edits N` (keystrokes, 100), `--growth N` (0 leaves it out), `--cli FILE` (the built command line).
 * Depends on: analysis-project, workspace, typescript.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import ts from 'typescript';
import { createWorkspace } from '../../language-server/workspace.ts';
import { writeProject, type BenchProject } from './analysis-project.ts';

const clone = resolve(fileURLToPath(import.meta.url), '../../..');
const { values } = parseArgs({
  options: { edits: { type: 'string' }, growth: { type: 'string' }, cli: { type: 'string' }, files: { type: 'string' } },
});
const edits = Number(values.edits ?? 100);
const growth = Number(values.growth ?? 1000);
const cli = values.cli ?? join(clone, 'dist/tidemark.js');

const folder = mkdtempSync(join(tmpdir(), 'tidemark-bench-'));
try {
  const project = writeProject(folder, join(clone, 'node_modules'), { files: Number(values.files ?? 200) });
  console.log(
    `${project.files.length} files, ${project.lines} lines; edited: ${readFileSync(project.edited, 'utf8').split('\n').length} lines`,
  );
  await keystrokes(project);
  wholeProject(project);
  if (growth > 0) await grows(project);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Texts that differ by one character in the middle of the file, as typing does. */
function* typing(text: string): Generator<string> {
  const at = text.indexOf('tf.', Math.floor(text.length / 2));
  const spot = text.lastIndexOf('\n', at < 0 ? Math.floor(text.length / 2) : at);
  const word = '// counts what is left';
  for (let round = 0; ; round++) {
    const length = round % (2 * word.length);
    const shown = word.slice(0, length <= word.length ? length : 2 * word.length - length);
    yield `${text.slice(0, spot)}\n  const n${round} = ${round}; ${shown}${text.slice(spot)}`;
  }
}

async function keystrokes(project: BenchProject): Promise<void> {
  const text = readFileSync(project.edited, 'utf8');
  const workspace = createWorkspace({ cwd: project.folder });
  const slices: number[] = [];
  let looked = performance.now();
  const token = {
    get isCancelled() {
      slices.push(performance.now() - looked);
      looked = performance.now();
      return false;
    },
  };
  const compiler = languageService(project);
  workspace.setText(project.edited, text);
  const cold = await timed(() => workspace.diagnostics(token, project.edited));
  compiler.diagnostics(text);
  slices.length = 0;
  const ours: number[] = [];
  const theirs: number[] = [];
  let turn = 0;
  for (const next of typing(text)) {
    if (turn++ >= edits) break;
    workspace.setText(project.edited, next);
    looked = performance.now();
    ours.push(await timed(() => workspace.diagnostics(token, project.edited)));
    theirs.push(await timed(async () => compiler.diagnostics(next)));
  }
  const [mine, other] = [percentile(ours, 0.95), percentile(theirs, 0.95)];
  console.log(`first diagnostics: ${cold.toFixed(0)} ms`);
  console.log(
    `keystroke to diagnostics: p50 ${percentile(ours, 0.5).toFixed(0)} ms, p95 ${mine.toFixed(0)} ms; getSemanticDiagnostics: p50 ${percentile(theirs, 0.5).toFixed(0)} ms, p95 ${other.toFixed(0)} ms; ${(mine / other).toFixed(2)} ×`,
  );
  const longest = slices.reduce((most, slice) => Math.max(most, slice), 0);
  const long = slices.filter((slice) => slice > 10).length;
  console.log(
    `looks at the token, per keystroke: ${Math.round(slices.length / ours.length)}; work between two: p99.9 ${percentile(slices, 0.999).toFixed(1)} ms, longest ${longest.toFixed(1)} ms (${(longest / percentile(theirs, 0.5)).toFixed(2)} × getSemanticDiagnostics), ${long} of ${slices.length} above 10 ms`,
  );
}

/** A language service that knows nothing of ours. */
function languageService(project: BenchProject): { diagnostics(text: string): readonly ts.Diagnostic[] } {
  const config = ts.getParsedCommandLineOfConfigFile(
    project.tsconfig,
    {},
    { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => undefined },
  );
  if (config === undefined) throw new Error('the generated tsconfig is unreadable');
  let edited = '';
  let version = 0;
  const host: ts.LanguageServiceHost = {
    getCompilationSettings: () => config.options,
    getScriptFileNames: () => config.fileNames,
    getScriptVersion: (file) => (file === project.edited ? String(version) : '1'),
    getScriptSnapshot: (file) => {
      const text = file === project.edited ? edited : ts.sys.readFile(file);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getCurrentDirectory: () => project.folder,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: ts.sys.fileExists,
    readFile: ts.sys.readFile,
    directoryExists: ts.sys.directoryExists,
  };
  const service = ts.createLanguageService(host);
  return {
    diagnostics(text) {
      edited = text;
      version++;
      return service.getSemanticDiagnostics(project.edited);
    },
  };
}

function wholeProject(project: BenchProject): void {
  if (!existsSync(cli)) return console.log(`whole project: left out, ${cli} is not built`);
  const note = join(project.folder, 'rss.cjs');
  writeFileSync(
    note,
    "process.on('exit', () => { const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage(); process.stderr.write(`\\nrss ${maxRSS} cpu ${userCPUTime + systemCPUTime}\\n`); });",
  );
  interface Run {
    readonly ms: number;
    readonly processorMs: number;
    readonly mib: number;
  }
  const run = (args: readonly string[]): Run => {
    const started = performance.now();
    const done = spawnSync(process.execPath, ['--require', note, ...args], { cwd: project.folder, encoding: 'utf8', maxBuffer: 1e9 });
    const ms = performance.now() - started;
    const [, rss, cpu] = /rss (\d+) cpu (\d+)/.exec(done.stderr) ?? [];
    if (rss === undefined || cpu === undefined) throw new Error(`${args.join(' ')} ended without its figures: ${done.stderr.slice(-300)}`);
    return { ms, processorMs: Number(cpu) / 1000, mib: Number(rss) / 1024 };
  };
  // Processor time: what a busy machine does to the clock is the same for both.
  const best = (args: readonly string[]): Run => [run(args), run(args), run(args)].toSorted((a, b) => a.processorMs - b.processorMs)[0]!;
  const tsc = best([join(clone, 'node_modules/typescript/bin/tsc'), '--noEmit', '-p', project.tsconfig]);
  const check = best([cli, 'check', '--project', project.tsconfig, '.']);
  console.log(
    `whole project: ${written(check)}; tsc --noEmit: ${written(tsc)}; ${(check.processorMs / tsc.processorMs).toFixed(2)} × the processor time, ${(check.ms / tsc.ms).toFixed(2)} × the time, ${(check.mib / tsc.mib).toFixed(2)} × the memory`,
  );
}

function written({ ms, processorMs, mib }: { readonly ms: number; readonly processorMs: number; readonly mib: number }): string {
  return `${processorMs.toFixed(0)} ms of processor in ${ms.toFixed(0)} ms, ${mib.toFixed(0)} MiB`;
}

async function grows(project: BenchProject): Promise<void> {
  const text = readFileSync(project.edited, 'utf8').split('\n').slice(0, 200).join('\n');
  const workspace = createWorkspace({ cwd: project.folder });
  const heap = (): number => {
    globalThis.gc?.();
    return process.memoryUsage().heapUsed / 2 ** 20;
  };
  let turn = 0;
  let early = 0;
  for (const next of typing(text)) {
    if (turn++ >= growth) break;
    workspace.setText(project.files[0]!, next);
    await workspace.diagnostics({ isCancelled: false }, project.files[0]!);
    if (turn === Math.ceil(growth / 10)) early = heap();
  }
  const late = heap();
  console.log(
    `heap after ${Math.ceil(growth / 10)} edits: ${early.toFixed(0)} MiB, after ${growth}: ${late.toFixed(0)} MiB${globalThis.gc === undefined ? ' (run with --expose-gc for exact figures)' : ''}`,
  );
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

function percentile(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}
