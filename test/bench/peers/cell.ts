/**
 * One library, one workload, in a process of its own: prints one line of JSON.
 *
 * `node --import tsx test/bench/peers/cell.ts LIBRARY WORKLOAD default|paced STEPS`. Depends on: outside, workloads.
 */
import { watchFromOutside } from './outside.ts';
import { jaxJs, tfjs, tidemark, type Library, type Workload } from './workloads.ts';

const [library, workload, waiting, steps] = process.argv.slice(2) as [Library, Workload, 'default' | 'paced', string];
const outside = await watchFromOutside(waiting);
const makers = { tidemark, 'jax-js': jaxJs, tfjs };
const started = performance.now();
const atStart = process.cpuUsage();
const step = await makers[library](workload);
const value = await step();
const firstMs = performance.now() - started;
const firstCpu = process.cpuUsage(atStart);
await step();
const times: number[] = [];
const processor: number[] = [];
const before = { dispatches: outside.dispatches(), submits: outside.submits() };
for (let i = 0; i < Number(steps); i++) {
  const cpu = process.cpuUsage();
  const start = performance.now();
  await step();
  times.push(performance.now() - start);
  const { user, system } = process.cpuUsage(cpu);
  processor.push((user + system) / 1000);
}
const median = (list: readonly number[]): number => list.toSorted((a, b) => a - b)[list.length >> 1]!;
const inUse = library === 'tidemark' ? (await import('../../../runtime/index.ts')).memory.stats().peakBytesInUse : undefined;
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
    value,
  }),
);
process.exit(0);
