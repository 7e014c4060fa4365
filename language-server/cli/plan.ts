/**
 * `tidemark plan INSTANCE.csv`: gives buffers with lifetimes an offset each, in as few bytes as can be found in the time.
 *
 * The quick orders first, then the search, until the plan is proven best, fits the capacity, or the time is over. What is
 * printed was judged by `faults`, which shares nothing with the planner.
 * Depends on: args, plan-csv, runtime/plan.
 */
import { resolve } from 'node:path';
import { leastBytes } from '../../runtime/plan/bound.ts';
import { faults } from '../../runtime/plan/faults.ts';
import { improved } from '../../runtime/plan/improve.ts';
import type { Improvement } from '../../runtime/plan/improve.ts';
import { quickPlan } from '../../runtime/plan/plan.ts';
import type { Buffer } from '../../runtime/plan/problem.ts';
import { bytesOption, helpText, readArguments, readSeconds } from './args.ts';
import type { OptionTable } from './args.ts';
import { exitCodes, UsageError } from './io.ts';
import type { IO } from './io.ts';
import type { Instance } from './plan-csv.ts';
import { readInstance, writePlaced } from './plan-csv.ts';
import { bytesText, counted } from './text.ts';

const defaultSeconds = 10;

const options: OptionTable = {
  capacity: { value: 'N', help: 'stop at a plan of at most N bytes; end with 4 when there is none' },
  timeout: { value: 'S', help: `look for better plans for S seconds at the most (default: ${defaultSeconds})` },
  out: { value: 'PLACED.csv', help: 'write the instance with the column `offset` to this file' },
  format: { value: 'FORMAT', help: 'text (default) or json', oneOf: ['text', 'json'] },
  help: { help: 'show this' },
};

export async function planCommand(
  argv: readonly string[],
  io: Pick<IO, 'cwd' | 'out' | 'err' | 'readFile' | 'writeFile' | 'now'>,
): Promise<number> {
  const args = readArguments('plan', options, argv);
  if (args.has('help')) {
    io.out(helpText('tidemark plan INSTANCE.csv', 'Packs buffers (id,lower,upper,size) into one arena.', options));
    return exitCodes.fine;
  }
  const [file, ...others] = args.positional;
  if (file === undefined || others.length > 0)
    throw new UsageError(`one instance is packed, and ${args.positional.length} were given`, 'tidemark plan INSTANCE.csv');
  const capacityText = args.value('capacity');
  const capacity = capacityText === undefined ? undefined : bytesOption('--capacity', capacityText);
  const seconds = readSeconds('--timeout', args.value('timeout') ?? String(defaultSeconds));
  const instance = readInstance(read(file, io), file);

  const start = io.now();
  const result = pack(instance.buffers, capacity, { now: io.now, until: start + seconds * 1000 });
  const ms = io.now() - start;
  judge(instance, result.plan.offsets, file);
  const fits = capacity === undefined || result.plan.bytes <= capacity;
  const out = args.value('out');
  if (out !== undefined && fits) write(out, writePlaced(instance, result.plan.offsets), io);
  io.out(
    args.value('format') === 'json'
      ? `${JSON.stringify({ version: 1, peakBytes: result.plan.bytes, lowerBoundBytes: result.lowerBoundBytes, optimal: result.optimal, ms: Math.round(ms * 10) / 10, buffers: instance.buffers.length, ...(capacity !== undefined && { capacity, fits }) })}\n`
      : planText(instance, result, ms, capacity),
  );
  if (!fits && out !== undefined) io.err(`${out} was not written: no plan within the capacity was found\n`);
  return fits ? exitCodes.fine : exitCodes.overBudget;
}

function pack(
  buffers: readonly Buffer[],
  capacity: number | undefined,
  deadline: { readonly now: () => number; readonly until: number },
): Improvement {
  const goal = Math.max(leastBytes(buffers), capacity ?? 0);
  return improved(buffers, quickPlan(buffers, { deadline, goal }), deadline, capacity === undefined ? {} : { capacity });
}

/** Only offsets that came with the instance can be at fault; anything else is a mistake of ours. */
function judge({ buffers }: Instance, offsets: readonly number[], file: string): void {
  const [fault] = faults(buffers, offsets);
  if (fault === undefined) return;
  const name = (i: number): string => `\`${buffers[i]!.name}\``;
  const given = buffers[fault.buffer]!.fixed !== undefined;
  if (fault.kind === 'overlap' && given && buffers[fault.other]!.fixed !== undefined)
    throw new UsageError(
      `${file}: the offsets given for ${name(fault.buffer)} and ${name(fault.other)} overlap at ${fault.at}`,
      'leave one of them empty',
    );
  if (fault.kind === 'misaligned' && given)
    throw new UsageError(
      `${file}: the offset ${fault.offset} given for ${name(fault.buffer)} is no multiple of its alignment ${fault.alignment}`,
      'leave it empty',
    );
  throw new Error(`internal: runtime/plan: ${JSON.stringify(fault)}`);
}

function planText(
  { buffers }: Instance,
  { plan, lowerBoundBytes, optimal }: Improvement,
  ms: number,
  capacity: number | undefined,
): string {
  const above = lowerBoundBytes === 0 ? 0 : plan.bytes / lowerBoundBytes - 1;
  const gap = optimal ? 'the least there can be' : `${(100 * above).toFixed(2)} % above the lower bound of ${lowerBoundBytes} bytes`;
  const verdict =
    capacity === undefined || plan.bytes <= capacity
      ? []
      : [
          lowerBoundBytes > capacity
            ? `no plan fits into ${capacity} bytes: at least ${lowerBoundBytes} are needed`
            : `no plan within ${capacity} bytes was found in the time; there may be one`,
        ];
  return [
    `${counted(buffers.length, 'buffer')} in ${plan.bytes} bytes (${bytesText(plan.bytes)}), ${gap}, in ${ms.toFixed(0)} ms`,
    ...verdict,
    '',
  ].join('\n');
}

function read(file: string, io: Pick<IO, 'cwd' | 'readFile'>): string {
  try {
    return io.readFile(resolve(io.cwd, file));
  } catch {
    throw new UsageError(`the instance ${file} cannot be read`, 'give a CSV file with the columns id,lower,upper,size');
  }
}

function write(file: string, text: string, io: Pick<IO, 'cwd' | 'writeFile'>): void {
  try {
    io.writeFile(resolve(io.cwd, file), text);
  } catch {
    throw new UsageError(`${file} cannot be written`, 'give `--out` a file in a folder that exists');
  }
}
