/**
 * `tidemark profile`: runs a program of any dialect and says how high its memory rose, where, and who held it.
 *
 * Depends on: measure, args, profile-text, node.
 */
import { resolve } from 'node:path';
import { profile as measure } from '../measure/run.ts';
import type { Cancellation, ProfileOptions, ProfileResult } from '../measure/run.ts';
import type { ProfileReport } from '../protocol.ts';
import { compareAllocators } from './allocators.ts';
import { bytesOption, helpText, readArguments, readSeconds } from './args.ts';
import type { Arguments, OptionTable } from './args.ts';
import { compare, comparisonText } from './compare.ts';
import { exitCodes, outFile, refusal, UsageError } from './io.ts';
import type { IO } from './io.ts';
import { writeProfile } from './profile-formats.ts';
import { profileText } from './profile-text.ts';
import type { SourceFiles } from './profile-text.ts';
import { readProfile } from './saved-profile.ts';
import { bytesText, paint } from './text.ts';

const options: OptionTable = {
  format: {
    value: 'FORMAT',
    help: 'text (default), json, pprof, trace or tidemark',
    oneOf: ['text', 'json', 'pprof', 'trace', 'tidemark'],
  },
  out: { value: 'FILE', help: 'write the profile there instead of standard output' },
  device: { value: 'DEVICE', help: 'webgpu or cpu: where arrays of tidemark live', oneOf: ['webgpu', 'cpu'] },
  budget: { value: 'SIZE', help: 'end with exit code 4 when the peak is above SIZE (64MiB, 1.5GB, …)' },
  baseline: { value: 'FILE', help: 'a JSON profile: end with exit code 4 when the peak is above its peak' },
  tolerance: { value: 'P%', help: 'how far above the baseline is still fine (default 0%)' },
  timeout: { value: 'S', help: 'stop the program after S seconds' },
  command: { help: 'profile the command line after `--` instead of a file' },
  browser: { value: 'URL', help: 'profile a page in Chrome or Chromium' },
  seconds: { value: 'S', help: 'with --browser: report after S seconds (default: when the tab closes)' },
  chrome: { value: 'PATH', help: 'with --browser: the browser to start' },
  'compare-allocators': { help: 'run once per allocator and show time, reserved bytes and fragmentation side by side' },
  help: { help: 'show this' },
};

const usage = 'tidemark profile (ENTRY [-- ARGS…] | --command -- CMD… | --browser URL) [options]';

export async function profileCommand(argv: readonly string[], io: IO, token: Cancellation): Promise<number> {
  const args = readArguments('profile', options, argv);
  if (args.has('help')) {
    io.out(helpText(usage, 'Runs a program and says how high its memory rose, where, and who held it.', options));
    return exitCodes.fine;
  }
  const format = args.value('format') ?? 'text';
  const limits = readLimits(args, io);
  const out = outFile(args.value('out'), io);
  if (args.has('compare-allocators')) return compareAllocators(args, { ...target(args), ...runOptions(args, io, format) }, io, token);
  const page = args.value('browser');
  const result =
    page === undefined
      ? await measure({ ...target(args), ...runOptions(args, io, format) }, token)
      : await measurePage(page, args, io, format, token);
  if (result.report === null) throw refusal(result.message);
  try {
    await write(result, result.report, format, out, io);
    return verdict(result, result.report, limits, io);
  } finally {
    result.release();
  }
}

async function measurePage(url: string, args: Arguments, io: IO, format: string, token: Cancellation): Promise<ProfileResult> {
  if (args.has('command') || args.positional.length > 0)
    throw new UsageError('`--browser` and a program cannot both be profiled', 'give one of them');
  const { profilePage } = await import('../measure/browser.ts');
  const seconds = args.value('seconds');
  const chrome = args.value('chrome');
  return profilePage(
    {
      url,
      cwd: io.cwd,
      env: io.env,
      started: () => void (seconds === undefined && io.err('the profile is written when the tab is closed, or on Ctrl-C\n')),
      output: format === 'text' && !args.has('out') ? io.out : io.err,
      ...(seconds === undefined ? {} : { seconds: readSeconds('--seconds', seconds) }),
      ...(chrome === undefined ? {} : { chrome: resolve(io.cwd, chrome) }),
    },
    token,
  );
}

function target(args: Arguments): { entry: string; args: readonly string[] } | { command: readonly string[] } {
  if (args.has('command')) {
    if (args.rest === undefined || args.rest.length === 0)
      throw new UsageError('`--command` has no command line', 'write it after `--`: tidemark profile --command -- npx mocha');
    if (args.positional.length > 0)
      throw new UsageError(`\`--command\` and the file ${args.positional[0]} cannot both be profiled`, 'give one of them');
    return { command: args.rest };
  }
  const [entry, ...others] = args.positional;
  if (entry === undefined) throw new UsageError('no file to profile was given', usage);
  if (others.length > 0)
    throw new UsageError(`${others.join(' ')} comes after the file to profile`, 'put arguments of the program after `--`');
  return { entry, args: args.rest ?? [] };
}

function runOptions(args: Arguments, io: IO, format: string): Omit<ProfileOptions, 'entry' | 'command'> {
  const timeout = args.value('timeout');
  const device = args.value('device');
  const ownsOutput = format !== 'text' && !args.has('out');
  return {
    cwd: io.cwd,
    env: io.env,
    stdin: 'inherit',
    stdout: ownsOutput ? 2 : 1,
    stderr: 2,
    ...(timeout === undefined ? {} : { timeoutMs: readSeconds('--timeout', timeout) * 1000 }),
    ...(device === 'webgpu' || device === 'cpu' ? { device } : {}),
  };
}

async function write(result: ProfileResult, report: ProfileReport, format: string, out: string | undefined, io: IO): Promise<void> {
  const give = (content: string): void => {
    if (out === undefined) io.out(content);
    else io.writeFile(out, content);
  };
  switch (format) {
    case 'json':
      return give(JSON.stringify(report, null, 2) + '\n');
    case 'pprof':
    case 'trace':
    case 'tidemark':
      return writeProfile(format, report, result.events!, out, process.stdout);
    default:
      return give(
        profileText(out === undefined ? withoutEnding(result, report) : report, sourceFiles(io), paint(io.color && out === undefined)),
      );
  }
}

/** How the run ended is the last line on the terminal; the report need not say it before. */
const withoutEnding = ({ message }: ProfileResult, report: ProfileReport): ProfileReport => ({
  ...report,
  notes: (report.notes ?? []).filter((note) => note !== message),
});

export function sourceFiles(io: IO): SourceFiles {
  const known = new Map<string, readonly string[] | undefined>();
  return {
    lines(file) {
      if (!known.has(file)) {
        try {
          known.set(file, io.readFile(resolve(io.cwd, file)).split(/\r?\n/));
        } catch {
          known.set(file, undefined);
        }
      }
      return known.get(file);
    },
  };
}

interface Limits {
  readonly budgetBytes: number | undefined;
  readonly baseline: { readonly report: ProfileReport; readonly allowedBytes: number; readonly file: string } | undefined;
}

function readLimits(args: Arguments, io: IO): Limits {
  const budget = args.value('budget');
  const file = args.value('baseline');
  const tolerance = args.value('tolerance');
  if (tolerance !== undefined && file === undefined)
    throw new UsageError('`--tolerance` has no baseline to be measured from', 'add `--baseline FILE`');
  const budgetBytes = budget === undefined ? undefined : bytesOption('--budget', budget);
  if (file === undefined) return { budgetBytes, baseline: undefined };
  const report = readProfile(file, io);
  const percent = Number((tolerance ?? '0').replace(/%$/, ''));
  if (!Number.isFinite(percent) || percent < 0)
    throw new UsageError(`\`--tolerance\` cannot be ${JSON.stringify(tolerance)}`, 'write a percentage such as 2%');
  return { budgetBytes, baseline: { report, allowedBytes: Math.floor(report.peakBytes * (1 + percent / 100)), file } };
}

function verdict(result: ProfileResult, report: ProfileReport, limits: Limits, io: IO): number {
  const { color } = io;
  const draw = paint(color);
  if (result.state !== 'done') {
    io.err(`${draw('red', 'error')}: ${result.message}\n`);
    return exitCodes.failed;
  }
  const { budgetBytes, baseline } = limits;
  if (budgetBytes !== undefined && report.peakBytes > budgetBytes) {
    io.err(
      `${draw('red', 'over budget')}: the peak of ${bytesText(report.peakBytes)} is ${bytesText(report.peakBytes - budgetBytes)} above the budget of ${bytesText(budgetBytes)}\n`,
    );
    return exitCodes.overBudget;
  }
  if (baseline !== undefined && report.peakBytes > baseline.allowedBytes) {
    const { allowedBytes, file } = baseline;
    const before = baseline.report.peakBytes;
    const share = before === 0 ? '' : `, ${((report.peakBytes / before - 1) * 100).toFixed(1)} % above its own ${bytesText(before)}`;
    io.err(
      `${draw('red', 'over baseline')}: the peak of ${bytesText(report.peakBytes)} is ${bytesText(report.peakBytes - allowedBytes)} above what ${file} allows${share}\n\n${comparisonText(compare(baseline.report, report), draw)}`,
    );
    return exitCodes.overBudget;
  }
  return exitCodes.fine;
}
