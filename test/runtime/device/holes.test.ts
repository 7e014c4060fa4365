/**
 * Calls when memory is free in holes only: they run, with the same bits, in as many pieces as it takes.
 *
 * Depends on: runtime/device, compile, support.
 */
import { strict as assert } from 'node:assert';
import { compile } from '../../../runtime/compile/pipeline.ts';
import type { Executable } from '../../../runtime/compile/executable.ts';
import { OutOfMemoryError } from '../../../runtime/core/errors.ts';
import type { Program } from '../../../runtime/core/program.ts';
import { makeDevice } from '../../../runtime/device/base.ts';
import { makeCpu } from '../../../runtime/device/cpu.ts';
import type { Buffer, Device } from '../../../runtime/device/device.ts';
import { listen } from '../../../runtime/device/memory-events.ts';
import type { Event } from '../../../runtime/events/event.ts';
import { foriLoop } from '../../../runtime/functions/loops.ts';
import type { Op } from '../../../runtime/ops/op.ts';
import type { Value } from '../../../runtime/ops/value.ts';
import { trace } from '../../../runtime/trace/trace.ts';
import { cpuDevice, sharedWebGPU, webgpuDevice } from '../../support/gpu.ts';
import { f32, numbersFor, randomProgram } from '../../support/programs.ts';

/** Fills memory with arrays of these bytes, and frees every second one. */
function leaveHoles(device: Device, bytes: number): readonly Buffer[] {
  const blocks: Buffer[] = [];
  for (;;) {
    try {
      blocks.push(device.put(1, f32(bytes / 4), undefined));
    } catch (fault) {
      if (!(fault instanceof OutOfMemoryError)) throw fault;
      blocks.filter((_, i) => i % 2 === 1).forEach((block) => device.free(block, 'dispose'));
      return blocks.filter((_, i) => i % 2 === 0);
    }
  }
}

async function resultsOn(device: Device, executable: Executable): Promise<readonly unknown[]> {
  const buffers = executable.inputs.map((aval, i) => device.put(numbersFor(aval, i), aval, undefined));
  const results = device.run(executable, buffers, undefined);
  const numbers = await Promise.all(results.map((result) => device.read(result)));
  for (const buffer of [...buffers, ...results]) device.free(buffer, 'dispose');
  return numbers;
}

const largestBytes = ({ analysis }: Executable): number => Math.max(...analysis.values.map(({ bytes }) => bytes));
/** Planned anew over holes, never only cut. */
const uncut = (executable: Executable): Executable => ({ ...executable, cuts: [] });

describe('memory that is free in holes only', function () {
  this.timeout(120_000);

  for (const [name, make, roomy] of [
    ['cpu', (limit: number) => cpuDevice({ limit }), async () => cpuDevice()],
    ['WebGPU', (limit: number) => webgpuDevice({ limit }), sharedWebGPU],
  ] as const)
    it(`takes calls whose arena fits into none of them, on ${name}: the same bits as elsewhere`, async () => {
      const plenty = await roomy();
      let divided = 0;
      for (let seed = 1; divided < (name === 'cpu' ? 24 : 6); seed++) {
        const { program, avals } = randomProgram(seed, 30);
        const donated = avals.map((_, i) => (seed + i) % 3 === 0);
        const executable = uncut(compile(program, { donated, target: plenty.target }));
        const hole = largestBytes(executable);
        if (executable.arenaBytes <= hole) continue;
        const expected = await resultsOn(plenty, executable);
        const device = make(80 * hole);
        await device.opened;
        const kept = leaveHoles(device, hole);
        assert.ok(device.allocator.stats().largestFreeBlockBytes < executable.arenaBytes);
        const inUse = device.allocator.stats().bytesInUse;
        assert.deepEqual(await resultsOn(device, executable), expected, `seed ${seed}`);
        assert.equal(device.allocator.stats().bytesInUse, inUse);
        for (const block of kept.slice(0, 3))
          assert.equal(
            (await device.read(block)).every((x) => x === 1),
            true,
          );
        await device.idle();
        device.destroy();
        divided++;
      }
    });

  it('takes loops that carry, in place', async () => {
    const aval = f32(64, 64);
    const body = ([x, y]: readonly Value[]): readonly Value[] => {
      const [a, b] = foriLoop(0, 5, (_i, [p, q]: [Value, Value]): [Value, Value] => [p.matmul(q).mul(0.1), q.add(p)], [x!, y!] as [
        Value,
        Value,
      ]);
      return [a.add(b), a.mul(2), b.neg()];
    };
    const [plenty, device] = [cpuDevice(), cpuDevice({ limit: 2 ** 19 })];
    const executable = uncut(compile(trace('loop', body, [aval, aval]) as Program<Op>, { donated: [true, false], target: plenty.target }));
    leaveHoles(device, largestBytes(executable));
    assert.ok(device.allocator.stats().largestFreeBlockBytes < executable.arenaBytes);
    assert.deepEqual(await resultsOn(device, executable), await resultsOn(plenty, executable));
  });

  it('is planned once for the same holes', () => {
    const aval = f32(64, 64);
    const device = cpuDevice({ limit: 2 ** 19 });
    const executable = uncut(
      compile(trace('twice', ([x]) => [x!.add(1), x!.mul(2), x!.matmul(x!)], [aval]) as Program<Op>, {
        donated: [false],
        target: device.target,
      }),
    );
    let planned = 0;
    const counted: Executable = {
      ...executable,
      inPieces(holes) {
        planned++;
        return executable.inPieces(holes);
      },
    };
    leaveHoles(device, largestBytes(executable));
    const x = device.put(3, aval, undefined);
    for (let round = 0; round < 5; round++) for (const result of device.run(counted, [x], undefined)) device.free(result, 'dispose');
    assert.equal(planned, 1);
  });

  it('is told of as plans of one program: no new trace, and no donation that would spare the cutting', () => {
    const aval = f32(64, 64);
    const device = cpuDevice({ limit: 2 ** 19 });
    const executable = uncut(
      compile(trace('told', ([x]) => [x!.add(1), x!.mul(2), x!.matmul(x!)], [aval]) as Program<Op>, {
        donated: [false],
        target: device.target,
      }),
    );
    const layouts = [
      [2 ** 14, 2 ** 14, 2 ** 14, 2 ** 14],
      [2 ** 15, 2 ** 14, 2 ** 14],
    ].map((holes) => executable.inPieces(holes)!);
    const told: Event[] = [];
    const stop = listen((event) => void told.push(event));
    try {
      const x = device.put(3, aval, undefined);
      for (const one of layouts) for (const result of device.run({ ...one }, [x], undefined)) device.free(result, 'dispose');
    } finally {
      stop();
    }
    const programs = told.filter((event) => event.kind === 'program');
    assert.deepEqual(
      programs.map(({ improves }) => improves),
      [undefined, programs[0]!.program],
    );
    for (const { analysis } of layouts)
      for (const { peakBytes } of analysis.whatIf.filter(({ donateArgnums }) => donateArgnums.length === 0))
        assert.ok(peakBytes >= analysis.peakBytes);
  });

  it('goes beyond what one buffer of the device can hold', async () => {
    const aval = f32(64, 64);
    const backend = makeCpu({ limit: 2 ** 20, adapter: 'cpu' });
    const small = makeDevice(
      { ...backend, backing: { ...backend.backing, maxSlabBytes: 2 ** 15 } },
      { allocator: { kind: 'bfc', preallocateBytes: 0 } },
    );
    const executable = compile(trace('wide', ([x]) => [x!.add(1), x!.mul(2), x!.matmul(x!)], [aval]) as Program<Op>, {
      donated: [false],
      target: small.target,
    });
    assert.ok(executable.arenaBytes > small.allocator.stats().bytesReserved + 2 ** 15);
    assert.deepEqual(await resultsOn(small, uncut(executable)), await resultsOn(cpuDevice(), executable));
  });

  it('is out of memory when not even the pieces fit, and everything is as it was', async () => {
    const aval = f32(64, 64);
    const device = cpuDevice({ limit: 2 ** 19 });
    const executable = compile(trace('large', ([x]) => [x!.add(1), x!.reshape([64, 64, 1]).add(x!)], [aval]) as Program<Op>, {
      donated: [true],
      target: device.target,
    });
    const kept = leaveHoles(device, 2 ** 14);
    const x = device.put(3, aval, undefined);
    const before = device.allocator.stats();
    assert.throws(() => device.run(executable, [x], undefined), OutOfMemoryError);
    const { bytesInUse, peakBytesInUse } = device.allocator.stats();
    assert.deepEqual({ bytesInUse, peakBytesInUse }, { bytesInUse: before.bytesInUse, peakBytesInUse: before.peakBytesInUse });
    assert.equal(x.dead, undefined);
    for (const block of kept)
      assert.equal(
        (await device.read(block)).every((value) => value === 1),
        true,
      );
  });

  it('that has no room for the copy of a donated array somebody else holds too: the arena is given back', () => {
    const aval = f32(64, 64);
    const device = cpuDevice({ limit: 2 ** 16 });
    const compiled = (f: (operands: readonly Value[]) => readonly Value[], donated: boolean): Executable =>
      compile(trace('shared', f, [aval]) as Program<Op>, { donated: [donated], target: device.target });
    const x = device.put(3, aval, undefined);
    device.run(
      compiled(([one]) => [one!], false),
      [x],
      undefined,
    );
    for (let left = 2; left > 0; left--) device.put(1, aval, undefined);
    device.put(1, f32(32, 64), undefined);
    const before = device.allocator.stats().bytesInUse;
    const step = compiled(([one]) => [one!.add(1), one!.sum()], true);
    assert.ok(step.arenaBytes > 0);
    assert.throws(() => device.run(step, [x], undefined), OutOfMemoryError);
    assert.equal(device.allocator.stats().bytesInUse, before);
    assert.equal(x.dead, undefined);
  });
});
