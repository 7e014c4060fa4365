/**
 * Ours against jax-js and tfjs-webgpu: step time, first call and peak reserved bytes, each cell in a fresh process, same adapter.
 *
 * `node --import tsx test/bench/peers.ts [--steps N] [--waiting default|paced] [WORKLOAD…]`. `cpu` is the processor's time
 * of all threads per step, which says more than the clock when the machine is busy. The runtime is bundled first, as a
 * user gets it. Ends with code 1 when the libraries' results differ. Depends on: peers/, esbuild.
 */
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { floors, titles, type Library, type Workload } from './peers/workloads.ts';

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
  /** Results of the first step and of the last. */
  readonly first: number;
  readonly value: number;
}

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const made = join(root, 'dist', 'bench');

/** The runtime and the cells as bundles beside each other, the runtime in a folder of its own: its frames are not the user's. */
async function bundled(): Promise<string> {
  const shared = { absWorkingDir: root, bundle: true, format: 'esm', platform: 'node', target: 'node20', logLevel: 'warning' } as const;
  await build({ ...shared, entryPoints: ['runtime/index.ts'], outdir: join(made, 'runtime'), external: ['webgpu'] });
  await build({
    ...shared,
    entryPoints: ['test/bench/peers/cell.ts'],
    outdir: made,
    external: ['@jax-js/jax', '@tensorflow/*', 'webgpu'],
    plugins: [
      {
        name: 'runtime apart',
        setup: (builder) => builder.onResolve({ filter: /runtime\/index\.ts$/ }, () => ({ path: './runtime/index.js', external: true })),
      },
    ],
  });
  return join(made, 'cell.js');
}

const argument = (name: string, otherwise: string): string => {
  const at = process.argv.indexOf(name);
  return at < 0 ? otherwise : process.argv[at + 1]!;
};
const steps = argument('--steps', '7');
const waitings = argument('--waiting', 'default,paced').split(',');
const chosen = process.argv.slice(2).filter((word): word is Workload => word in titles);
const mebibytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(2);
/** Sums in another order differ by this much at most, relative. */
const tolerance = 2e-3;
const cell = await bundled();

for (const workload of chosen.length > 0 ? chosen : (Object.keys(titles) as Workload[])) {
  console.log(`\n(${workload}) ${titles[workload]}; floor ${mebibytes(floors[workload])} MiB`);
  for (const waiting of waitings) {
    const cells: Cell[] = [];
    for (const library of ['tidemark', 'jax-js', 'tfjs'] as const) {
      const run = spawnSync(process.execPath, [cell, library, workload, waiting, steps], {
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
    for (const kind of ['first', 'value'] as const) {
      const results = cells.map((one) => one[kind]);
      const [least, most] = [Math.min(...results), Math.max(...results)];
      if (most - least <= tolerance * Math.max(Math.abs(least), Math.abs(most))) continue;
      console.log(`  ${waiting.padEnd(8)} results of the ${kind === 'first' ? 'first' : 'last'} step differ: ${results.join(', ')}`);
      process.exitCode = 1;
    }
    const [ours, ...peers] = cells;
    if (ours === undefined || ours.library !== 'tidemark' || peers.length === 0) continue;
    const faster = Math.min(...peers.map(({ ms }) => ms));
    const leaner = Math.min(...peers.map(({ peakReservedBytes }) => peakReservedBytes));
    console.log(
      `  ${waiting.padEnd(8)} ratio     time ${(ours.ms / faster).toFixed(2)}, cpu ${(ours.cpuMs / Math.min(...peers.map(({ cpuMs }) => cpuMs))).toFixed(2)}, reserved ${(ours.peakReservedBytes / leaner).toFixed(2)} of the better peer; first call cpu ${(ours.firstCpuMs / Math.min(...peers.map(({ firstCpuMs }) => firstCpuMs))).toFixed(2)}; reserved ${(ours.peakReservedBytes / floors[workload]).toFixed(2)} of the floor`,
    );
  }
}
