/**
 * What measuring costs: a step of the same program with and without the instrument, run in turns.
 *
 *   node --import tsx test/bench/overhead.ts [rounds] [part of a name]
 *
 * Both runs have the same loader and the same GPU; the least of each side is compared, since noise only adds. Processor
 * time counts what the instrument does on a machine that others use too; wall time is shown beside it.
 * Prints a table; ends with 1 when a target is missed. Depends on: measure.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runChild } from '../../language-server/measure/child.ts';
import { childCommand } from '../../language-server/measure/command.ts';
import { never } from '../../language-server/measure/run.ts';

const folder = resolve(dirname(fileURLToPath(import.meta.url)), '../fixtures/overhead');
const rounds = Number(process.argv[2] ?? 3);
const chosen = process.argv[3] ?? '';

const programs: readonly {
  readonly name: string;
  readonly file: string;
  readonly backend?: string;
  readonly buffers?: number;
  readonly most: number;
}[] = [
  { name: 'tfjs on webgpu', file: 'tfjs.ts', backend: 'webgpu', most: 0.15 },
  { name: 'tfjs on cpu', file: 'tfjs.ts', backend: 'cpu', most: 0.15 },
  { name: 'jax-js on webgpu', file: 'jax-js.ts', backend: 'webgpu', most: 0.15 },
  { name: 'jax-js on wasm', file: 'jax-js.ts', backend: 'wasm', most: 0.15 },
  { name: 'raw WebGPU, 40 buffers a step', file: 'webgpu.ts', buffers: 40, most: 0.15 },
  { name: 'raw WebGPU, 200 buffers a step', file: 'webgpu.ts', buffers: 200, most: 0.15 },
  { name: 'tidemark on webgpu', file: 'tidemark.ts', backend: 'webgpu', most: 0.05 },
  { name: 'tidemark on cpu', file: 'tidemark.ts', backend: 'cpu', most: 0.05 },
];

interface Step {
  readonly wall: number;
  readonly processor: number;
}

async function measuredStep({ file, backend, buffers }: (typeof programs)[number], watched: boolean): Promise<Step> {
  const events = mkdtempSync(join(tmpdir(), 'tidemark-overhead-'));
  const env = {
    ...process.env,
    ...(buffers === undefined ? {} : { BUFFERS: String(buffers) }),
    ...(backend === undefined ? {} : { BACKEND: backend, TIDEMARK_DEVICE: backend }),
  };
  const { command, args, environment } = childCommand({
    entry: join(folder, file),
    node: process.execPath,
    env,
    events,
    start: Date.now(),
  });
  // Without a folder for events the instrument only gives the GPU.
  const { TIDEMARK_EVENTS: _events, ...rest } = environment;
  const unwatched = { ...rest, TIDEMARK_PROFILE: 'off' };
  let output = '';
  const ending = await runChild(
    {
      command,
      args,
      cwd: folder,
      env: watched ? environment : unwatched,
      timeoutMs: 120_000,
      memoryLimitBytes: undefined,
      stdin: 'ignore',
      stdout: (chunk) => void (output += Buffer.from(chunk).toString('utf8')),
      stderr: () => undefined,
    },
    never,
  );
  rmSync(events, { recursive: true, force: true });
  const line = output.split('\n').find((text) => text.startsWith('{"wall"'));
  if (line === undefined) throw new Error(`${file} gave no figure: ${JSON.stringify(ending)} ${output.slice(0, 500)}`);
  return JSON.parse(line) as Step;
}

const least = (runs: readonly Step[], of: (step: Step) => number): number => Math.min(...runs.map(of));

let missed = 0;
console.log('program                           CPU without      with  overhead  at most   wall without      with');
for (const program of programs) {
  const { name, file, most } = program;
  if (!existsSync(join(folder, file)) || !name.includes(chosen)) continue;
  const plain: Step[] = [];
  const watched: Step[] = [];
  for (let i = 0; i < rounds; i += 1) {
    plain.push(await measuredStep(program, false));
    watched.push(await measuredStep(program, true));
  }
  const [a, b] = [least(plain, (step) => step.processor), least(watched, (step) => step.processor)];
  const overhead = b / a - 1;
  if (overhead > most) missed += 1;
  const ms = (value: number): string => `${value.toFixed(2)} ms`.padStart(10);
  const percent = (value: number, digits: number): string => `${(value * 100).toFixed(digits)} %`.padStart(9);
  console.log(
    `${name.padEnd(32)} ${ms(a)} ${ms(b)} ${percent(overhead, 1)} ${percent(most, 0)}    ${ms(least(plain, (step) => step.wall))} ${ms(least(watched, (step) => step.wall))}`,
  );
}
process.exitCode = missed === 0 ? 0 : 1;
