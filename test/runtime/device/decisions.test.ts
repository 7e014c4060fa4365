/**
 * Loops of unknown length and choices on WebGPU: the numbers of the cpu device, and few looks from the host.
 *
 * Depends on: runtime/device, functions, support.
 */
import { strict as assert } from 'node:assert';
import { compile } from '../../../runtime/compile/pipeline.ts';
import type { KnownAval } from '../../../runtime/core/aval.ts';
import type { Program } from '../../../runtime/core/program.ts';
import type { Device } from '../../../runtime/device/device.ts';
import { cond, foriLoop, scan, switchBranch, whileLoop } from '../../../runtime/functions/loops.ts';
import { floorDivide } from '../../../runtime/functions/math.ts';
import { lift } from '../../../runtime/ops/apply.ts';
import type { Op } from '../../../runtime/ops/op.ts';
import type { Value } from '../../../runtime/ops/value.ts';
import { trace } from '../../../runtime/trace/trace.ts';
import { cpuDevice, sharedWebGPU, webgpuDevice } from '../../support/gpu.ts';
import { f32, numbersFor } from '../../support/programs.ts';

interface Case {
  readonly f: (operands: readonly Value[]) => readonly Value[];
  readonly avals: readonly KnownAval[];
  readonly donated?: readonly boolean[];
  /** Int32 operands. */
  readonly numbers?: Readonly<Record<number, readonly number[]>>;
  /** Most numbers that the host may wait for. */
  readonly looks: number;
}

const i32 = (...shape: number[]): KnownAval => ({ shape, dtype: 'int32' });
type Pair = [Value, Value];
const halved = (n: Value): Value => floorDivide(n, 2);

/** Counts from n to 0, and makes a number of it that shows every round. */
const counted = (n: Value, x: Value): Pair =>
  whileLoop(
    ([left]: Pair) => left.greater(0),
    ([left, y]: Pair): Pair => [left.sub(1), y.mul(0.5).add(left)],
    [n, x],
  );

const rounds = (n: number, looks: number): Case => ({
  f: ([left, x]) => counted(left!, x!),
  avals: [i32(), f32(8, 8)],
  numbers: { 0: [n] },
  donated: [false, n % 2 === 0],
  looks,
});
const choice = (index: number): Case => ({
  f: ([k, x]) => {
    const branches = [(y: Value) => y.add(1), (y: Value) => y.matmul(y).mul(0.1), (y: Value) => y, (y: Value) => y.sum().add(y.mul(2))];
    const y = switchBranch(k!, branches, x!);
    return [
      y,
      cond(
        k!.greater(1),
        (z: Value) => z.mul(3),
        (z: Value) => z.sub(1),
        y,
      ),
    ];
  },
  avals: [i32(), f32(8, 8)],
  numbers: { 0: [index] },
  looks: 0,
});

const cases: Readonly<Record<string, Case>> = {
  'no round': rounds(0, 1),
  'one round': rounds(1, 1),
  ...Object.fromEntries([7, 8, 9, 10, 31, 32, 33].map((n) => [`${n} rounds`, rounds(n, 4)])),
  '500 rounds': rounds(500, 8),
  ...Object.fromEntries([-3, 0, 1, 2, 3, 9].map((index) => [`branch ${index}`, choice(index)])),
  'an index that a branch writes over': {
    f: ([k]) => switchBranch(k!, [(n: Value) => [n.add(1)], (n: Value) => [n.sub(5)], (n: Value) => [n.mul(7)]], k!),
    avals: [i32()],
    numbers: { 0: [1] },
    donated: [true],
    looks: 0,
  },
  'a choice in every round of a loop, by a slice of a sequence': {
    f: ([ks, x]) => {
      const step = (y: Value, k: Value): Pair => {
        const next = switchBranch(k, [(z: Value) => z.add(1), (z: Value) => z.mul(0.5), (z: Value) => z.matmul(z).mul(0.1)], y);
        return [
          next,
          cond(
            k.equal(1),
            (z: Value) => z.sum(),
            () => lift(0).astype('float32'),
            next,
          ),
        ];
      };
      return scan(step, x!, ks!);
    },
    avals: [i32(40), f32(8, 8)],
    numbers: { 0: Array.from({ length: 40 }, (_, i) => (i * 7) % 3) },
    looks: 0,
  },
  'choices in choices': {
    f: ([k, x]) => [
      switchBranch(
        floorDivide(k!, 3),
        [0, 1, 2].map(
          (outer) => (y: Value) =>
            switchBranch(
              k!.mod(3),
              [0, 1, 2].map((inner) => (z: Value) => z.mul(outer + 1).add(inner)),
              y,
            ),
        ),
        x!,
      ),
    ],
    avals: [i32(), f32(8, 8)],
    numbers: { 0: [7] },
    looks: 0,
  },
  'a choice in every round of a loop of unknown length': {
    f: ([n, x]) =>
      whileLoop(
        ([left]: Pair) => left.greater(1),
        ([left, y]: Pair): Pair =>
          cond(
            left.mod(2).equal(0),
            (a: Value, b: Value): Pair => [halved(a), b.add(1)],
            (a: Value, b: Value): Pair => [a.mul(3).add(1), b.mul(0.5)],
            left,
            y,
          ),
        [n!, x!],
      ),
    avals: [i32(), f32(8, 8)],
    numbers: { 0: [27] },
    looks: 8,
  },
  'a loop of known length in one of unknown length': {
    f: ([n, x]) =>
      whileLoop(
        ([left]: Pair) => left.greater(0),
        ([left, y]: Pair): Pair => [left.sub(1), foriLoop(0, 3, (_i, z: Value) => z.mul(0.5).add(left), y)],
        [n!, x!],
      ),
    avals: [i32(), f32(8, 8)],
    numbers: { 0: [11] },
    looks: 6,
  },
  'a loop of unknown length in another': {
    f: ([n, x]) =>
      whileLoop(
        ([left]: Pair) => left.greater(0),
        ([left, y]: Pair): Pair => [left.sub(1), counted(left, y)[1]],
        [n!, x!],
      ),
    avals: [i32(), f32(8, 8)],
    numbers: { 0: [4] },
    looks: 30,
  },
  'a loop of unknown length in a branch': {
    f: ([n, x]) => [
      cond(
        n!.greater(3),
        (y: Value) => counted(n!, y)[1],
        (y: Value) => y.neg(),
        x!,
      ),
    ],
    avals: [i32(), f32(8, 8)],
    numbers: { 0: [5] },
    looks: 4,
  },
};

async function resultsOn(device: Device, { f, avals, donated, numbers }: Case): Promise<readonly (readonly number[])[]> {
  const executable = compile(trace('test', f, avals) as Program<Op>, {
    donated: avals.map((_, i) => donated?.[i] === true),
    target: device.target,
  });
  const buffers = avals.map((aval, i) =>
    device.put(aval.dtype === 'int32' ? Int32Array.from(numbers![i]!) : numbersFor(aval, i), aval, undefined),
  );
  const results = device.run(executable, buffers, undefined);
  const contents = await Promise.all(results.map((result) => device.read(result)));
  for (const buffer of [...buffers, ...results]) device.free(buffer, 'dispose');
  return contents.map((array) => [...array].map((value) => Number(value.toPrecision(5))));
}

/** How often something is read back while `work` is done. */
async function looksDuring(work: () => Promise<unknown>): Promise<number> {
  const { mapAsync } = GPUBuffer.prototype;
  let looks = 0;
  GPUBuffer.prototype.mapAsync = function (this: GPUBuffer, ...args) {
    if (this.label === 'tidemark readback') looks++;
    return mapAsync.apply(this, args);
  };
  try {
    await work();
  } finally {
    GPUBuffer.prototype.mapAsync = mapAsync;
  }
  return looks;
}

describe('decisions on WebGPU', function () {
  this.timeout(120_000);

  for (const [name, one] of Object.entries(cases))
    it(`${name}: the numbers of the cpu device`, async () => {
      const expected = await resultsOn(cpuDevice(), one);
      const device = await sharedWebGPU();
      const looks = await looksDuring(async () => assert.deepEqual(await resultsOn(device, one), expected));
      assert.ok(looks - expected.length <= one.looks, `${looks - expected.length} looks`);
    });

  for (const [name, memory, variant] of [
    ['where bases stand in a table', {}, { bases: 'table' }],
    ['where arrays lie in more slabs than a kernel can bind', { kind: 'platform' }, { mostSlabs: 1 }],
  ] as const)
    it(name, async () => {
      const device = webgpuDevice(memory, variant);
      await device.opened;
      for (const one of ['9 rounds', 'an index that a branch writes over', 'a choice in every round of a loop of unknown length'])
        assert.deepEqual(await resultsOn(device, cases[one]!), await resultsOn(cpuDevice(), cases[one]!), one);
      device.destroy();
    });
});
