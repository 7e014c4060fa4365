/**
 * Ours against jax-js and tfjs-webgpu: step time and peak reserved bytes, each cell in a fresh process, same adapter.
 *
 * `node --import tsx test/bench/peers.ts [--steps N] [--waiting default|paced] [WORKLOAD…]`. `cpu` is the processor's time
 * of all threads per step, which says more than the clock when the machine is busy. Floors are those of programs
 * written by hand. Depends on: peers/.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { titles, type Library, type Workload } from './peers/workloads.ts';

interface Cell {
  readonly library: Library;
  readonly ms: number;
  readonly cpuMs: number;
  readonly firstMs: number;
  readonly firstCpuMs: number;
  readonly peakReservedBytes: number;
  readonly peakBytes?: number;
  readonly dispatches: number;
  readonly submits: number;
  readonly value: number;
}

const cell = fileURLToPath(new URL('./peers/cell.ts', import.meta.url));
const argument = (name: string, otherwise: string): string => {
  const at = process.argv.indexOf(name);
  return at < 0 ? otherwise : process.argv[at + 1]!;
};
const steps = argument('--steps', '7');
const waitings = argument('--waiting', 'default,paced').split(',');
const chosen = process.argv.slice(2).filter((word): word is Workload => word in titles);
const mebibytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(2);
/** Bytes that a program written by hand needs (MiB). */
const floors: Readonly<Record<Workload, number>> = { a: 6.28, b: 64, c: 4.01, d: 4, e: 8 };

for (const workload of chosen.length > 0 ? chosen : (Object.keys(titles) as Workload[])) {
  console.log(`\n(${workload}) ${titles[workload]}; floor ${floors[workload]} MiB`);
  for (const waiting of waitings) {
    const cells: Cell[] = [];
    for (const library of ['tidemark', 'jax-js', 'tfjs'] as const) {
      const run = spawnSync(process.execPath, ['--import', 'tsx', cell, library, workload, waiting, steps], {
        encoding: 'utf8',
        timeout: 300_000,
      });
      const line = run.stdout.trim().split('\n').at(-1) ?? '';
      if (!line.startsWith('{')) {
        console.log(
          `  ${waiting.padEnd(8)} ${library.padEnd(9)} failed: ${(
            run.stderr
              .trim()
              .split('\n')
              .find((text) => /Error/.test(text)) ?? line
          ).slice(0, 160)}`,
        );
        continue;
      }
      const found = JSON.parse(line) as Cell;
      cells.push(found);
      console.log(
        `  ${waiting.padEnd(8)} ${library.padEnd(9)} ${found.ms.toFixed(1).padStart(8)} ms ${found.cpuMs.toFixed(0).padStart(6)} cpu  first ${found.firstMs.toFixed(0).padStart(6)} ms ${found.firstCpuMs.toFixed(0).padStart(6)} cpu  reserved ${mebibytes(found.peakReservedBytes).padStart(8)} MiB${found.peakBytes === undefined ? '' : `  in use ${mebibytes(found.peakBytes)}`}  ${found.dispatches} dispatches, ${found.submits} submits  value ${found.value.toPrecision(6)}`,
      );
    }
    const [ours, ...peers] = cells;
    if (ours === undefined || ours.library !== 'tidemark' || peers.length === 0) continue;
    const faster = Math.min(...peers.map(({ ms }) => ms));
    const leaner = Math.min(...peers.map(({ peakReservedBytes }) => peakReservedBytes));
    console.log(
      `  ${waiting.padEnd(8)} ratio     time ${(ours.ms / faster).toFixed(2)}, cpu ${(ours.cpuMs / Math.min(...peers.map(({ cpuMs }) => cpuMs))).toFixed(2)}, reserved ${(ours.peakReservedBytes / leaner).toFixed(2)} of the better peer; reserved ${(ours.peakReservedBytes / 2 ** 20 / floors[workload]).toFixed(2)} of the floor`,
    );
  }
}
