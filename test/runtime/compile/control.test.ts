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

type Body = (operands: readonly Value[]) => readonly Value[];
const i32: KnownAval = { shape: [], dtype: 'int32' };

const compiled = (device: Device, f: Body, avals: readonly KnownAval[], donated: readonly boolean[] = []) =>
  compile(trace('test', f, avals) as Program<Op>, { donated: avals.map((_, i) => donated[i] ?? false), target: device.target });

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

/** Copies that every round of a loop makes, and those in branches. */
const copiesInside = (steps: readonly Step[], inside = false): number =>
  steps.reduce((sum, step) => {
    switch (step.kind) {
      case 'launch':
        return sum + (inside && step.kernel.name === 'copy' ? 1 : 0);
      case 'loop':
        return sum + copiesInside(step.body, true);
      case 'while':
        return sum + copiesInside([...step.condition, ...step.body], true);
      case 'choice':
        return sum + step.branches.reduce((all, branch) => all + copiesInside(branch, true), 0);
    }
  }, 0);

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
    onBoth(`loops of one to four rounds give what the unrolled ones give${reverse ? ' in reverse' : ''}`, async (device) => {
      const body = trace('cell', cell, cellAvals);
      for (const length of [1, 2, 3, 4]) {
        const loop: Body = (operands) => runLoop(operands, { body, length, constants: 1, carries: 1, reverse });
        const plain: Body = ([w, h, xs]) => {
          let state = h!;
          for (let i = 0; i < length; i++) state = cell([w!, state, xs!.slice(reverse ? length - 1 - i : i)])[0]!;
          return [state];
        };
        const avals = [f32(8, 8), f32(4, 8), f32(length, 4, 8)];
        assert.deepEqual((await run(device, loop, avals, [false, true]))[0], (await run(device, plain, avals))[0], `${length} rounds`);
      }
    });
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

  it('a carry that cannot be written over changes between two buffers: no copy at any round, one after an odd number', () => {
    const device = cpuDevice();
    for (const length of [1, 2, 5, 8]) {
      const { steps, analysis } = compiled(
        device,
        (operands) =>
          runLoop(operands, {
            body: trace('cell', ([w, h]) => [h!.matmul(w!)], [f32(8, 8), f32(4, 8)]),
            length,
            constants: 1,
            carries: 1,
            reverse: false,
          }),
        [f32(8, 8), f32(4, 8)],
        [false, true],
      );
      assert.equal(copiesInside(steps), length === 1 ? 1 : 0, `${length} rounds`);
      assert.equal(analysis.copies.length, length % 2, `${length} rounds`);
      assert.equal(analysis.peakBytes, 3 * 256, `${length} rounds`);
    }
  });

  const passing = [trace('grow', ([x]) => [x!.add(1)], [f32(64, 64)]), trace('pass', ([x]) => [x!], [f32(64, 64)])];
  it('a branch updates what is donated in place, or passes it through: no copy, no second buffer', () => {
    const device = cpuDevice();
    const once = compiled(device, ([i, x]) => runChoice(i!, [x!], passing), [i32, f32(64, 64)], [false, true]);
    assert.equal(once.arenaBytes, 0);
    assert.equal(copiesInside(once.steps), 0);
    const body = trace('step', ([i, x]) => [i!.add(1), runChoice(i!.less(4).astype('int32'), [x!], passing)[0]!], [i32, f32(64, 64)]);
    const looped = compiled(
      device,
      (operands) => runLoop(operands, { body, length: 8, constants: 0, carries: 2, reverse: false }),
      [i32, f32(64, 64)],
      [true, true],
    );
    assert.equal(copiesInside(looped.steps), 0);
    assert.deepEqual(looped.analysis.copies, []);
    assert.ok(looped.arenaBytes <= 512);
    const condition = trace('below', ([x]) => [x!.sum().less(100)], [f32(64, 64)]);
    const grown = trace('step', ([x]) => [runChoice(x!.sum().less(50).astype('int32'), [x!], passing)[0]!], [f32(64, 64)]);
    const endless = compiled(
      device,
      (operands) => runWhile(operands, { condition, conditionConstants: 0, body: grown, bodyConstants: 0 }),
      [f32(64, 64)],
      [true],
    );
    assert.equal(copiesInside(endless.steps), 0);
  });

  it('what is read after a choice, or is not donated, is not written over', () => {
    const device = cpuDevice();
    for (const [f, donated] of [
      [([i, x]: readonly Value[]) => runChoice(i!, [x!], passing), false],
      [([i, x]: readonly Value[]) => [runChoice(i!, [x!], passing)[0]!.mul(x!)], true],
    ] as const) {
      const { peakBytes, argumentBytes } = compiled(device, f, [i32, f32(64, 64)], [false, donated]).analysis;
      assert.equal(peakBytes - argumentBytes, 64 * 64 * 4);
    }
  });

  onBoth('branches that change the places of what is donated keep the values', async (device) => {
    const avals = [f32(6), f32(6), f32(6)];
    const branches = [
      trace('turn', ([a, b, c]) => [b!, c!.add(1), a!], avals),
      trace('stay', ([a, b, c]) => [a!.mul(2), b!, c!.sub(a!)], avals),
    ];
    for (const index of [0, 1]) {
      const chosen: Body = ([i, ...xs]) => runChoice(i!.mul(0).add(index), xs, branches);
      const plain: Body = ([, a, b, c]) => (index === 0 ? [b!.mul(1), c!.add(1), a!.mul(1)] : [a!.mul(2), b!.mul(1), c!.sub(a!)]);
      const all = [true, true, true, true];
      assert.deepEqual(await run(device, chosen, [i32, ...avals], all), await run(device, plain, [i32, ...avals]));
    }
  });

  onBoth('a view of a carry that the body reads too is not written over', async (device) => {
    const body = trace('mix', ([r, x]) => [x!.mul(0.5).add(r!.transpose().reshape([16]))], [f32(4, 4), f32(16)]);
    const loop: Body = ([x]) => {
      const e = x!.mul(x!);
      return runLoop([e.reshape([4, 4]), e], { body, length: 3, constants: 1, carries: 1, reverse: false });
    };
    const plain: Body = ([x]) => {
      const e = x!.mul(x!);
      const r = e.reshape([4, 4]).transpose().reshape([16]);
      return [e.mul(0.5).add(r).mul(0.5).add(r).mul(0.5).add(r)];
    };
    assert.deepEqual(await run(device, loop, [f32(16)]), await run(device, plain, [f32(16)]));
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
