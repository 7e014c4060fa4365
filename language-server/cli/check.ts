/**
 * `tidemark check`: analyses files without running them, prints what it found, and applies what is safe.
 *
 * `--fix` works in rounds, since a fix may make room for another: check, apply all safe fixes that don't overlap, until
 * none is left. Report and exit code are those of what is left. Depends on: workspace, args, check-text, sarif, baseline.
 */
import { existsSync, statSync, watch } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Cancellation } from '../measure/run.ts';
import { isSource } from '../program/host.ts';
import type { CheckReport, Diagnostic, SeveritySetting } from '../protocol.ts';
import { applyEdits, compatibleFixes, editsOf } from './apply-edits.ts';
import { helpText, readArguments } from './args.ts';
import type { Arguments, OptionTable } from './args.ts';
import { baselineText, readBaseline, withoutKnown } from './baseline.ts';
import { checkText, githubText, silenceText } from './check-text.ts';
import { exitCodes, outFile, UsageError, version } from './io.ts';
import type { IO } from './io.ts';
import { sourceFiles } from './profile.ts';
import { sarifText } from './sarif.ts';
import type { RuleText } from './sarif.ts';
import { counted, paint } from './text.ts';

/** What a check needs of the analysis. */
export interface Checker {
  check(paths: readonly string[], options: CheckOptions): Promise<CheckReport> | CheckReport;
  /** What the rules say of themselves. */
  readonly rules: readonly RuleText[];
}

export interface CheckOptions {
  readonly rules: Readonly<Record<string, SeveritySetting>>;
  readonly explainSilence: boolean;
  readonly functions: boolean;
}

/** Makes the analysis afresh, so that it sees the files as they are now. */
export type MakeChecker = (cwd: string, project: string | undefined) => Promise<Checker>;

const severities: readonly SeveritySetting[] = ['off', 'hint', 'info', 'warning', 'error'];

const options: OptionTable = {
  project: { value: 'FILE', help: 'the tsconfig.json to use (default: the nearest of each file)' },
  format: { value: 'FORMAT', help: 'text (default), json, sarif or github', oneOf: ['text', 'json', 'sarif', 'github'] },
  out: { value: 'FILE', help: 'write the report there instead of standard output' },
  fix: { help: 'apply safe fixes until none is left' },
  baseline: { value: 'FILE', help: 'report only what this file does not know' },
  update: { help: 'with --baseline: write what is found now as known' },
  rule: { value: 'ID=SEVERITY', help: `set the severity of a rule (${severities.join(', ')}); may be repeated`, repeated: true },
  watch: { help: 'check again whenever a file changes' },
  'explain-silence': { help: 'count the reasons why rules stayed silent' },
  help: { help: 'show this' },
};

export async function checkCommand(argv: readonly string[], io: IO, token: Cancellation, make: MakeChecker = makeChecker): Promise<number> {
  const args = readArguments('check', options, argv);
  if (args.has('help')) {
    io.out(
      helpText(
        'tidemark check [PATH…] [options]',
        'Analyses files and says what their arrays waste, leak or use wrongly. Runs nothing.',
        options,
      ),
    );
    return exitCodes.fine;
  }
  if (args.rest !== undefined)
    throw new UsageError('`check` runs nothing, so nothing may follow `--`', 'give the files to check before it');
  if (args.has('update') && !args.has('baseline')) throw new UsageError('`--update` has no baseline to write', 'add `--baseline FILE`');
  const paths = args.positional.length === 0 ? ['.'] : args.positional;
  for (const path of paths)
    if (!existsSync(resolve(io.cwd, path))) throw new UsageError(`there is no file or folder ${path}`, `looked in ${io.cwd}`);
  outFile(args.value('out'), io);
  if (args.has('update')) outFile(args.value('baseline'), io);
  const code = await once(paths, args, io, make);
  return args.has('watch') ? watching(paths, args, io, token, make) : code;
}

async function makeChecker(cwd: string, project: string | undefined): Promise<Checker> {
  const { createWorkspace, rules } = await import('../workspace.ts');
  const workspace = createWorkspace({ cwd, once: true, ...(project === undefined ? {} : { project }) });
  const [fault, ...others] = workspace.configFaults;
  if (fault !== undefined) throw new UsageError([fault, ...others].join('; '), 'correct `tidemark.json`');
  return { check: (paths, checkOptions) => workspace.check(paths, checkOptions), rules };
}

async function once(paths: readonly string[], args: Arguments, io: IO, make: MakeChecker): Promise<number> {
  const project = readProject(args, io);
  const checkOptions: CheckOptions = {
    rules: readRules(args),
    explainSilence: args.has('explain-silence'),
    functions: args.value('format') === 'json',
  };
  let checker = await make(io.cwd, project);
  const unknown = Object.keys(checkOptions.rules).find((id) => !checker.rules.some((rule) => rule.id === id));
  if (unknown !== undefined)
    throw new UsageError(`there is no rule \`${unknown}\``, `use one of ${checker.rules.map(({ id }) => id).join(', ')}`);
  let report = await checker.check(paths, checkOptions);
  if (args.has('fix')) {
    let fixed = 0;
    // Each round takes at least one finding away; the limit is for a rule that would go round in circles.
    for (let round = 0; round < 100; round += 1) {
      const applied = applySafeFixes(report, io);
      if (applied === 0) break;
      fixed += applied;
      checker = await make(io.cwd, project);
      report = await checker.check(paths, checkOptions);
    }
    io.err(`${counted(fixed, 'fix').replace(/fixs$/, 'fixes')} applied\n`);
  }
  const sources = sourceFiles(io);
  const baseline = args.value('baseline');
  if (baseline !== undefined) {
    if (args.has('update')) {
      io.writeFile(resolve(io.cwd, baseline), baselineText(report, sources));
      io.err(`${baseline} knows ${counted(report.diagnostics.length, 'finding')} now\n`);
    }
    report = withoutKnown(report, readBaseline(baseline, readInput(baseline, io)), sources);
  }
  write(report, paths, args, io, checker.rules);
  for (const note of notesOn(report, paths, io.cwd)) io.err(`${paint(io.color)('yellow', 'note')}: ${note}\n`);
  return report.diagnostics.some(({ severity }) => severity === 'error' || severity === 'warning') ? exitCodes.findings : exitCodes.fine;
}

/** What was asked for and not, or not wholly, read: no findings there mean nothing. */
function notesOn(report: CheckReport, paths: readonly string[], cwd: string): readonly string[] {
  const unread = paths.filter((path) => !isSource(path) && statSync(resolve(cwd, path)).isFile());
  const nothing = report.files === 0 && unread.length < paths.length;
  return [
    ...unread.map((path) => `${path} is neither TypeScript nor JavaScript, and was not read`),
    ...(nothing ? [`there is no TypeScript or JavaScript in ${paths.join(', ')}`] : []),
    ...(report.misread ?? []).map(
      ({ file, line, column, message }) =>
        `${file}:${line}:${column} is no valid code (${message}) and what is around it may be overlooked`,
    ),
  ];
}

function write(report: CheckReport, paths: readonly string[], args: Arguments, io: IO, rules: readonly RuleText[]): void {
  const out = args.value('out');
  const draw = paint(io.color && out === undefined);
  const give = (text: string): void => (out === undefined ? io.out(text) : io.writeFile(resolve(io.cwd, out), text));
  switch (args.value('format') ?? 'text') {
    case 'json':
      return give(JSON.stringify(report, null, 2) + '\n');
    case 'sarif':
      return give(sarifText(report, rules, sourceFiles(io), version()));
    case 'github':
      return give(githubText(report));
    default: {
      give(checkText(report, sourceFiles(io), draw, report.files ?? paths.length));
      if (args.has('explain-silence')) give(silenceText(report, draw));
    }
  }
}

/** Applies the safe fixes that go together; returns how many. */
function applySafeFixes({ diagnostics }: CheckReport, io: IO): number {
  const safe = diagnostics.flatMap(
    (one: Diagnostic) => one.fixes.find((fix) => fix.safe && fix.disabled === undefined && fix.edits.length > 0) ?? [],
  );
  const fixes = compatibleFixes(safe);
  const edits = editsOf(fixes);
  for (const file of new Set(edits.map((edit) => edit.file))) {
    const path = resolve(io.cwd, file);
    io.writeFile(
      path,
      applyEdits(
        io.readFile(path),
        edits.filter((edit) => edit.file === file),
      ),
    );
  }
  return fixes.length;
}

function readRules(args: Arguments): Readonly<Record<string, SeveritySetting>> {
  return Object.fromEntries(
    args.values('rule').map((text) => {
      const [id, severity] = text.split('=') as [string, string | undefined];
      const known = severities.find((one) => one === severity);
      if (known === undefined || id === '')
        throw new UsageError(`\`--rule\` cannot be ${JSON.stringify(text)}`, `write ID=SEVERITY with one of ${severities.join(', ')}`);
      return [id, known];
    }),
  );
}

function readProject(args: Arguments, io: IO): string | undefined {
  const project = args.value('project');
  if (project === undefined) return undefined;
  const named = resolve(io.cwd, project);
  const path = existsSync(named) && statSync(named).isDirectory() ? join(named, 'tsconfig.json') : named;
  if (!existsSync(path)) throw new UsageError(`there is no project ${project}`, `looked in ${io.cwd}`);
  if (!path.endsWith('.json')) throw new UsageError(`${project} is no project`, 'name a tsconfig.json, and the files to check after it');
  return path;
}

function readInput(file: string, io: IO): string {
  try {
    return io.readFile(resolve(io.cwd, file));
  } catch {
    throw new UsageError(`the baseline ${file} cannot be read`, 'write it first with `tidemark check --baseline FILE --update`');
  }
}

const quietMs = 200;

/** Checks again when files have been quiet for a moment after a change, until it is told to end. */
function watching(paths: readonly string[], args: Arguments, io: IO, token: Cancellation, make: MakeChecker): Promise<number> {
  return new Promise((settle, fail) => {
    let timer: NodeJS.Timeout | undefined;
    let last: number = exitCodes.fine;
    const again = (_kind: string, name: string | null): void => {
      if (name === null || !/\.([cm]?[jt]sx?|json)$/.test(name) || name.includes('node_modules')) return;
      clearTimeout(timer);
      timer = setTimeout(() => {
        io.err(`\n${name} changed\n`);
        once(paths, args, io, make).then((code) => (last = code), end(fail));
      }, quietMs);
    };
    const watchers = paths.map((path) => watch(resolve(io.cwd, path), { recursive: true }, again));
    const end =
      <Value>(how: (value: Value) => void) =>
      (value: Value) => {
        clearTimeout(timer);
        for (const watcher of watchers) watcher.close();
        how(value);
      };
    token.onCancellationRequested(() => end(settle)(last));
    io.err('watching for changes; end with Ctrl-C\n');
  });
}
