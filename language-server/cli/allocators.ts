/**
 * `tidemark profile --compare-allocators`: the same program under each allocator, side by side, and what one pays for what.
 *
 * Depends on: measure, text.
 */
import { resolve } from 'node:path';
import { allocatorChoices, allocatorRun, tradeOff } from '../measure/allocators.ts';
import { profile as measure } from '../measure/run.ts';
import type { Cancellation, ProfileOptions } from '../measure/run.ts';
import type { AllocatorRun } from '../protocol.ts';
import type { Arguments } from './args.ts';
import { exitCodes, refusal, UsageError } from './io.ts';
import type { IO } from './io.ts';
import { bytesText, paint, tableText } from './text.ts';

export async function compareAllocators(args: Arguments, options: ProfileOptions, io: IO, token: Cancellation): Promise<number> {
  const format = args.value('format') ?? 'text';
  if (format !== 'text' && format !== 'json')
    throw new UsageError(`\`--compare-allocators\` cannot be written as ${format}`, 'use text or json');
  const runs: AllocatorRun[] = [];
  let failed: string | null = null;
  for (const choice of allocatorChoices) {
    io.err(`running with ${choice.name} …\n`);
    const environment = { TIDEMARK_ALLOCATOR: choice.allocator, TIDEMARK_PREALLOCATE: String(choice.preallocate) };
    const result = await measure({ ...options, env: { ...options.env, ...environment } }, token);
    result.release();
    if (result.report === null) throw refusal(result.message);
    runs.push(allocatorRun(choice, result.report));
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

const json = (runs: readonly AllocatorRun[]): string =>
  JSON.stringify({ version: 1, runs: runs.map(({ name: _name, ...row }) => row) }, null, 2) + '\n';

function table(runs: readonly AllocatorRun[], color: boolean): string {
  const rows = runs.map(({ name, wallMs, peakBytes, peakReservedBytes, fragmentation }) => [
    name,
    `${(wallMs / 1000).toFixed(2)} s`,
    bytesText(peakBytes),
    bytesText(peakReservedBytes),
    fragmentation === null ? '–' : `${(fragmentation * 100).toFixed(0)} %`,
  ]);
  return [
    tableText([['allocator', 'time', 'peak in use', 'peak reserved', 'unused at most'], ...rows], new Set([1, 2, 3, 4])),
    '',
    paint(color)('dim', tradeOff),
    '',
  ].join('\n');
}
