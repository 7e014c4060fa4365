/**
 * Control flow on both devices: same numbers as the unrolled program, carries in place, nothing copied per iteration.
 *
 * Depends on: runtime/control, support.
 */
import { strict as assert } from 'node:assert';
import { compile } from '../../../runtime/compile/pipeline.ts';
import type { Step } from '../../../runtime/compile/executable.ts';
import type { KnownAval } from '../../../runtime/core/aval.ts';
import type { Program } from '../../../runtime/core/program.ts';
import { runChoice } from '../../../runtime/control/choice.ts';
import { runLoop } from '../../../runtime/control/loop.ts';
import { runWhile } from '../../../runtime/control/while.ts';
import type { Device } from '../../../runtime/device/device.ts';
import type { Op } from '../../../runtime/ops/op.ts';
import type { Value } from '../../../runtime/ops/value.ts';
import { trace } from '../../../runtime/trace/trace.ts';
import { cpuDevice, sharedWebGPU } from '../../support/gpu.ts';
import { f32, numbersFor } from '../../support/programs.ts';

const now = (): number => performance.now();
type Body = (operands: readonly Value[]) => readonly Value[];
const i32: KnownAval = { shape: [], dtype: 'int32' };

const compiled = (device: Device, f: Body, avals: readonly KnownAval[], donated: readonly boolean[] = []) =>
  compile(trace('test', f, avals) as Program<Op>, { donated: avals.map((_, i) => donated[i] ?? false), target: device.target, now });

async function run(device: Device, f: Body, avals: readonly KnownAval[], donated: readonly boolean[] = []): Promise<readonly number[][]> {
  const buffers = avals.map((aval, i) => device.put(aval.dtype === 'int32' ? Int32Array.of(i) : numbersFor(aval, i), aval, undefined));
  const outputs = device.run(compiled(device, f, avals, donated), buffers, undefined);
  const contents = await Promise.all(outputs.map((output) => device.read(output)));
  for (const buffer of [...buffers, ...outputs]) device.free(buffer, 'dispose');
  return contents.map((array) => [...array].map((value) => Math.round(value * 1e4) / 1e4));
}

const onBoth = (title: string, check: (device: Device) => Promise<void>): void => {
  it(`${title}, on cpu`, async () => check(cpuDevice()));
  it(`${title}, on WebGPU`, async () => check(await sharedWebGPU()));
};

/** Launches inside loops: each costs at every iteration. */
const launchesInLoops = (steps: readonly Step[]): number =>
  steps.reduce(
    (sum, step) => sum + (step.kind === 'loop' ? step.body.filter(({ kind }) => kind === 'launch').length + launchesInLoops(step.body) : 0),
    0,
  );

describe('control flow', function () {
  this.timeout(60_000);

  const cell: Body = ([w, h, x]) => {
    const next = h!.matmul(w!).add(x!).mul(0.5);
    return [next, next.sum()];
  };
  const cellAvals = [f32(8, 8), f32(4, 8), f32(4, 8)];
  const looped =
    (reverse: boolean): Body =>
    (operands) =>
      runLoop(operands, { body: trace('cell', cell, cellAvals), length: 5, constants: 1, carries: 1, reverse });
  const unrolled =
    (reverse: boolean): Body =>
    ([w, h, xs]) => {
      let state = h!;
      const sums: Value[] = [];
      for (let i = 0; i < 5; i++) {
        const at = reverse ? 4 - i : i;
        const [next, sum] = cell([w!, state, xs!.slice(at)]);
        state = next!;
        sums[at] = sum!.reshape([1]);
      }
      return [state, ...sums];
    };
  for (const reverse of [false, true])
    onBoth(`a loop over slices gives what the unrolled program gives${reverse ? ' in reverse' : ''}`, async (device) => {
      const avals = [f32(8, 8), f32(4, 8), f32(5, 4, 8)];
      const [state, sums] = await run(device, looped(reverse), avals);
      const [expected, ...each] = await run(device, unrolled(reverse), avals);
      assert.deepEqual(state, expected);
      assert.deepEqual(sums, each.flat());
    });

  it('a donated carry is updated in place: no arena, one kernel per iteration', () => {
    const device = cpuDevice();
    const body = trace('step', ([x]) => [x!.mul(0.5).add(1)], [f32(64, 64)]);
    const { analysis, steps, arenaBytes } = compiled(
      device,
      (operands) => runLoop(operands, { body, length: 10, constants: 0, carries: 1, reverse: false }),
      [f32(64, 64)],
      [true],
    );
    assert.equal(arenaBytes, 0);
    assert.equal(analysis.aliasBytes, 64 * 64 * 4);
    assert.equal(launchesInLoops(steps), 1);
    assert.deepEqual(analysis.copies, []);
  });

  it('a carry that is not donated is copied once, before the loop, and the copy has a reason', () => {
    const device = cpuDevice();
    const body = trace('step', ([x]) => [x!.mul(0.5).add(1)], [f32(64, 64)]);
    const { analysis, steps } = compiled(
      device,
      (operands) => runLoop(operands, { body, length: 10, constants: 0, carries: 1, reverse: false }),
      [f32(64, 64)],
    );
    assert.equal(analysis.peakBytes, 2 * 64 * 64 * 4);
    assert.equal(steps.filter(({ kind }) => kind === 'launch').length, 1);
    assert.match(analysis.copies[0]!.reason, /argument that is not donated/);
  });

  onBoth('carries that change places keep their values', async (device) => {
    const body = trace('swap', ([a, b]) => [b!.add(1), a!.mul(2)], [f32(6), f32(6)]);
    const loop: Body = (operands) => runLoop(operands, { body, length: 3, constants: 0, carries: 2, reverse: false });
    const plain: Body = ([a, b]) => {
      let [x, y] = [a!, b!];
      for (let i = 0; i < 3; i++) [x, y] = [y.add(1), x.mul(2)];
      return [x, y];
    };
    assert.deepEqual(await run(device, loop, [f32(6), f32(6)], [true, true]), await run(device, plain, [f32(6), f32(6)]));
    const pure = trace('pure swap', ([a, b]) => [b!, a!], [f32(6), f32(6)]);
    const swapped: Body = (operands) => runLoop(operands, { body: pure, length: 3, constants: 0, carries: 2, reverse: false });
    assert.deepEqual(
      await run(device, swapped, [f32(6), f32(6)], [true, true]),
      await run(device, ([a, b]) => [b!.mul(1), a!.mul(1)], [f32(6), f32(6)]),
    );
  });

  onBoth('slices that are not multiples of 16 bytes are read where they lie', async (device) => {
    const body = trace('odd', ([s, x]) => [s!.add(x!), x!.mul(2)], [f32(3), f32(3)]);
    const loop: Body = (operands) => runLoop(operands, { body, length: 4, constants: 0, carries: 1, reverse: false });
    const [sum, doubled] = await run(device, loop, [f32(3), f32(4, 3)]);
    const [expectedSum, expectedDoubled] = await run(device, ([s, xs]) => [s!.add(xs!.sum(0)), xs!.mul(2)], [f32(3), f32(4, 3)]);
    assert.deepEqual(sum, expectedSum);
    assert.deepEqual(doubled, expectedDoubled);
  });

  onBoth('a loop of unknown length ends when its condition says so', async (device) => {
    const condition = trace('below', ([x]) => [x!.sum().less(100)], [f32(4)]);
    const body = trace('grow', ([x]) => [x!.mul(x!).add(1)], [f32(4)]);
    const loop: Body = (operands) => runWhile(operands, { condition, conditionConstants: 0, body, bodyConstants: 0 });
    const [grown] = await run(device, loop, [f32(4)]);
    let expected = [...numbersFor(f32(4), 0)];
    while (expected.reduce((a, b) => a + b, 0) < 100) expected = expected.map((value) => Math.fround(Math.fround(value * value) + 1));
    assert.deepEqual(
      grown,
      expected.map((value) => Math.round(Math.fround(value) * 1e4) / 1e4),
    );
  });

  onBoth('only the chosen branch runs, out of range is the nearest one', async (device) => {
    const branches = [trace('double', ([x]) => [x!.mul(2)], [f32(5)]), trace('negate', ([x]) => [x!.neg()], [f32(5)])];
    const values = [...numbersFor(f32(5), 1)];
    for (const [index, expected] of [
      [0, values.map((v) => v * 2)],
      [1, values.map((v) => -v)],
      [7, values.map((v) => -v)],
      [-3, values.map((v) => v * 2)],
    ] as const) {
      const chosen: Body = ([i, x]) => runChoice(i!.add(index), [x!], branches);
      const [found] = await run(device, chosen, [i32, f32(5)]);
      assert.deepEqual(
        found,
        expected.map((value) => Math.round(Math.fround(value) * 1e4) / 1e4),
      );
    }
  });

  onBoth('a loop in a loop, with a branch inside', async (device) => {
    const branches = [trace('a', ([x]) => [x!.add(1)], [f32(4)]), trace('b', ([x]) => [x!.mul(2)], [f32(4)])];
    const inner = trace('inner', ([x, i]) => [runChoice(i!, [x!], branches)[0]!, i!], [f32(4), i32]);
    const outer = trace(
      'outer',
      ([x, i]) => {
        const [y] = runLoop([x!, i!], { body: inner, length: 2, constants: 0, carries: 2, reverse: false });
        return [y!, i!.add(1)];
      },
      [f32(4), i32],
    );
    const loop: Body = ([x, i]) =>
      runLoop([x!, i!.mul(0)], { body: outer, length: 2, constants: 0, carries: 2, reverse: false }).slice(0, 1);
    const [found] = await run(device, loop, [f32(4), i32]);
    assert.deepEqual(
      found,
      [...numbersFor(f32(4), 0)].map((value) => Math.round(Math.fround((value + 2) * 4) * 1e4) / 1e4),
    );
  });
});
