/**
 * `tidemark profile --compare-allocators`: the same program under each allocator, side by side, and what one pays for what.
 *
 * Fragmentation is what is reserved at the most and not in use at the most, as a share. Depends on: measure, text.
 */
import { resolve } from 'node:path';
import { profile as measure } from '../measure/run.ts';
import type { Cancellation, ProfileOptions } from '../measure/run.ts';
import type { ProfileReport } from '../protocol.ts';
import type { Arguments } from './args.ts';
import { exitCodes, UsageError } from './io.ts';
import type { IO } from './io.ts';
import { bytesText, paint, tableText } from './text.ts';

interface Choice {
  readonly name: string;
  readonly allocator: 'bfc' | 'platform';
  readonly preallocate: boolean;
}

const choices: readonly Choice[] = [
  { name: 'bfc, grows on demand', allocator: 'bfc', preallocate: false },
  { name: 'bfc, preallocated', allocator: 'bfc', preallocate: true },
  { name: 'platform', allocator: 'platform', preallocate: false },
];

export async function compareAllocators(args: Arguments, options: ProfileOptions, io: IO, token: Cancellation): Promise<number> {
  const format = args.value('format') ?? 'text';
  if (format !== 'text' && format !== 'json')
    throw new UsageError(`\`--compare-allocators\` cannot be written as ${format}`, 'use text or json');
  const runs: { readonly choice: Choice; readonly report: ProfileReport }[] = [];
  let failed: string | null = null;
  for (const choice of choices) {
    io.err(`running with ${choice.name} …\n`);
    const environment = { TIDEMARK_ALLOCATOR: choice.allocator, TIDEMARK_PREALLOCATE: String(choice.preallocate) };
    const result = await measure({ ...options, env: { ...options.env, ...environment } }, token);
    result.release();
    if (result.report === null) throw new UsageError(result.message ?? 'the program could not be run', 'see above');
    runs.push({ choice, report: result.report });
    if (result.state !== 'done') failed ??= `with ${choice.name} ${result.message}`;
    if (result.state === 'cancelled') break;
  }
  const text = format === 'json' ? json(runs) : table(runs, io.color);
  const out = args.value('out');
  if (out === undefined) io.out(text);
  else io.writeFile(resolve(io.cwd, out), text);
  if (failed === null) return exitCodes.fine;
  io.err(`${paint(io.color)('red', 'error')}: ${failed}\n`);
  return exitCodes.failed;
}

type Runs = readonly { readonly choice: Choice; readonly report: ProfileReport }[];

/** The share of what is reserved that no array is in. */
const fragmentation = ({ peakBytes, peakReservedBytes }: ProfileReport): number | null =>
  peakReservedBytes === 0 ? null : Math.max(0, 1 - peakBytes / peakReservedBytes);

function json(runs: Runs): string {
  const rows = runs.map(({ choice, report }) => ({
    allocator: choice.allocator,
    preallocate: choice.preallocate,
    wallMs: report.wallMs,
    peakBytes: report.peakBytes,
    peakReservedBytes: report.peakReservedBytes,
    fragmentation: fragmentation(report),
    exitCode: report.exitCode,
  }));
  return JSON.stringify({ version: 1, runs: rows }, null, 2) + '\n';
}

function table(runs: Runs, color: boolean): string {
  const rows = runs.map(({ choice, report }) => {
    const share = fragmentation(report);
    return [
      choice.name,
      `${(report.wallMs / 1000).toFixed(2)} s`,
      bytesText(report.peakBytes),
      bytesText(report.peakReservedBytes),
      share === null ? '–' : `${(share * 100).toFixed(0)} %`,
    ];
  });
  return [
    tableText([['allocator', 'time', 'peak in use', 'peak reserved', 'unused at most'], ...rows], new Set([1, 2, 3, 4])),
    '',
    paint(color)(
      'dim',
      'Preallocating makes allocations cheap and a shortage show at once, and keeps the memory from everybody else; `platform` reserves least and pays for each allocation.',
    ),
    '',
  ].join('\n');
}
