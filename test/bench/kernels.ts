/**
 * Speed of kernels by kind: gigabytes or gigaflops per second on the adapter at hand.
 *
 * `node --import tsx test/bench/kernels.ts [NAME]`. Each line is the median of several submits of one program, waited for
 * without spinning; on a busy machine the processor's own time (all threads) says more than the clock. Depends on: runtime, support/gpu.
 */
import { compile } from '../../runtime/compile/pipeline.ts';
import type { Program } from '../../runtime/core/program.ts';
import type { KnownAval } from '../../runtime/core/aval.ts';
import { exp, tanh } from '../../runtime/ops/elementwise.ts';
import type { Op } from '../../runtime/ops/op.ts';
import type { Value } from '../../runtime/ops/value.ts';
import { trace } from '../../runtime/trace/trace.ts';
import { f32 } from '../support/programs.ts';
import { sharedWebGPU } from '../support/gpu.ts';

interface Case {
  readonly name: string;
  readonly avals: readonly KnownAval[];
  readonly f: (operands: readonly Value[]) => readonly Value[];
  readonly donated?: readonly boolean[];
  /** Bytes read and written, or floating-point operations, of one run. */
  readonly work: number;
  readonly unit: 'GB/s' | 'GFLOP/s';
}

const mega = 1024 * 1024;
const square = (n: number): KnownAval => f32(n, n);
const matmulCase = (n: number): Case => ({
  name: `matmul ${n}`,
  avals: [square(n), square(n)],
  f: ([a, b]) => [a!.matmul(b!)],
  work: 2 * n ** 3,
  unit: 'GFLOP/s',
});

const cases: readonly Case[] = [
  { name: 'add 16 MiB', avals: [square(2048), square(2048)], f: ([a, b]) => [a!.add(b!)], work: 48 * mega, unit: 'GB/s' },
  {
    name: 'add in place 16 MiB',
    avals: [square(2048), square(2048)],
    f: ([a, b]) => [a!.add(b!)],
    donated: [true, false],
    work: 48 * mega,
    unit: 'GB/s',
  },
  { name: 'tanh 16 MiB', avals: [square(2048)], f: ([a]) => [tanh(a!)], work: 32 * mega, unit: 'GB/s' },
  { name: 'bias 16 MiB', avals: [square(2048), f32(2048)], f: ([a, b]) => [a!.add(b!)], work: 32 * mega, unit: 'GB/s' },
  { name: 'transpose 16 MiB', avals: [square(2048)], f: ([a]) => [a!.transpose().add(1)], work: 32 * mega, unit: 'GB/s' },
  { name: 'sum of rows 16 MiB', avals: [square(2048)], f: ([a]) => [a!.sum(1)], work: 16 * mega, unit: 'GB/s' },
  { name: 'sum of columns 16 MiB', avals: [square(2048)], f: ([a]) => [a!.sum(0)], work: 16 * mega, unit: 'GB/s' },
  { name: 'sum of all 16 MiB', avals: [square(2048)], f: ([a]) => [a!.sum()], work: 16 * mega, unit: 'GB/s' },
  {
    name: 'softmax 16 MiB',
    avals: [square(2048)],
    f: ([a]) => {
      const e = exp(a!.sub(a!.max(1, true)));
      return [e.div(e.sum(1, true))];
    },
    work: 32 * mega,
    unit: 'GB/s',
  },
  matmulCase(256),
  matmulCase(512),
  matmulCase(1024),
  {
    name: 'matmul 128x784x512',
    avals: [f32(128, 784), f32(784, 512)],
    f: ([a, b]) => [a!.matmul(b!)],
    work: 2 * 128 * 784 * 512,
    unit: 'GFLOP/s',
  },
  {
    name: 'matmul a transposed 784x128x512',
    avals: [f32(128, 784), f32(128, 512)],
    f: ([a, b]) => [a!.transpose().matmul(b!)],
    work: 2 * 128 * 784 * 512,
    unit: 'GFLOP/s',
  },
  {
    name: 'matmul b transposed 128x512x784',
    avals: [f32(128, 512), f32(784, 512)],
    f: ([a, b]) => [a!.matmul(b!.transpose())],
    work: 2 * 128 * 784 * 512,
    unit: 'GFLOP/s',
  },
  {
    name: 'matmul 128x512x10',
    avals: [f32(128, 512), f32(512, 10)],
    f: ([a, b]) => [a!.matmul(b!)],
    work: 2 * 128 * 512 * 10,
    unit: 'GFLOP/s',
  },
];

const device = await sharedWebGPU();
console.log(device.adapter);
const wanted = process.argv[2];
for (const { name, avals, f, work, unit, donated } of cases) {
  if (wanted !== undefined && !name.includes(wanted)) continue;
  const program = trace(name, f, avals) as Program<Op>;
  const executable = compile(program, { donated: donated ?? avals.map(() => false), target: device.target });
  const times: number[] = [];
  const processor: number[] = [];
  for (let i = 0; i < 6; i++) {
    const buffers = avals.map((aval) => device.put(0.5, aval, undefined));
    await device.idle();
    const start = performance.now();
    const cpu = process.cpuUsage();
    const outputs = device.run(executable, buffers, undefined);
    await device.idle();
    times.push(performance.now() - start);
    const { user, system } = process.cpuUsage(cpu);
    processor.push((user + system) / 1000);
    for (const buffer of [...buffers, ...outputs]) device.free(buffer, 'dispose');
  }
  const [first, ...rest] = times;
  const median = rest.toSorted((a, b) => a - b)[Math.floor(rest.length / 2)]!;
  console.log(
    `${name.padEnd(34)} ${(work / median / 1e6).toFixed(2).padStart(8)} ${unit.padEnd(8)} ${median.toFixed(1).padStart(8)} ms ${processor
      .toSorted((a, b) => a - b)[2]!
      .toFixed(1)
      .padStart(8)} cpu ms   first ${first!.toFixed(0)} ms, ${executable.steps.length} kernels`,
  );
}
