/**
 * One library, one workload, in a process of its own: prints one line of JSON.
 *
 * `node dist/bench/cell.js LIBRARY WORKLOAD default|paced STEPS`, as peers.ts bundles it: each library is loaded as a user
 * gets it. The first call counts everything from loading the library on. Depends on: outside, the workloads.
 */
import { jaxJs } from './jax-js.ts';
import { watchFromOutside } from './outside.ts';
import { tfjs } from './tfjs.ts';
import { tidemark } from './tidemark.ts';
import type { Library, Step, Workload } from './workloads.ts';

const [library, workload, waiting, steps] = process.argv.slice(2) as [Library, Workload, 'default' | 'paced', string];
const outside = await watchFromOutside(waiting);
const loadOurs = () => import('../../../runtime/index.ts');
const makers: Readonly<Record<Library, (workload: Workload) => Promise<Step>>> = {
  tidemark: async (one) => tidemark(one, await loadOurs()),
  'jax-js': jaxJs,
  tfjs,
};
const started = performance.now();
const atStart = process.cpuUsage();
const step = await makers[library](workload);
const first = await step();
const firstMs = performance.now() - started;
const firstCpu = process.cpuUsage(atStart);
let value = await step();
const times: number[] = [];
const processor: number[] = [];
const before = { dispatches: outside.dispatches(), submits: outside.submits() };
for (let i = 0; i < Number(steps); i++) {
  const cpu = process.cpuUsage();
  const start = performance.now();
  value = await step();
  times.push(performance.now() - start);
  const { user, system } = process.cpuUsage(cpu);
  processor.push((user + system) / 1000);
}
const median = (list: readonly number[]): number => list.toSorted((a, b) => a - b)[list.length >> 1]!;
const inUse = library === 'tidemark' ? (await loadOurs()).memory.stats().peakBytesInUse : undefined;
console.log(
  JSON.stringify({
    library,
    workload,
    waiting,
    ms: median(times),
    cpuMs: median(processor),
    firstMs,
    firstCpuMs: (firstCpu.user + firstCpu.system) / 1000,
    peakReservedBytes: outside.peak(),
    peakBytes: inUse,
    dispatches: (outside.dispatches() - before.dispatches) / Number(steps),
    submits: (outside.submits() - before.submits) / Number(steps),
    first,
    value,
  }),
);
process.exit(0);
