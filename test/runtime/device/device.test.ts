/**
 * What a device promises whatever it is: memory that runs out leaves everything alive, donation kills handles, events
 * add up to what the allocator measured.
 *
 * Depends on: runtime/device, compile, events, support.
 */
import { strict as assert } from 'node:assert';
import { compile } from '../../../runtime/compile/pipeline.ts';
import { runChoice } from '../../../runtime/control/choice.ts';
import { OutOfMemoryError } from '../../../runtime/core/errors.ts';
import type { KnownAval } from '../../../runtime/core/aval.ts';
import type { Program } from '../../../runtime/core/program.ts';
import type { Place } from '../../../runtime/core/source.ts';
import type { Buffer, Device } from '../../../runtime/device/device.ts';
import { listen } from '../../../runtime/device/memory-events.ts';
import type { Event } from '../../../runtime/events/event.ts';
import { createLedger } from '../../../runtime/events/ledger.ts';
import { peak } from '../../../runtime/events/peak.ts';
import type { Op } from '../../../runtime/ops/op.ts';
import type { Value } from '../../../runtime/ops/value.ts';
import { trace } from '../../../runtime/trace/trace.ts';
import { cpuDevice, nullDevice, sharedWebGPU, webgpuDevice } from '../../support/gpu.ts';
import { f32, numbersFor, randomProgram } from '../../support/programs.ts';

const here = (line: number): Place => ({ file: '/user/train.ts', line, column: 1 });
type Body = (operands: readonly Value[]) => readonly Value[];
const compiled = (device: Device, f: Body, avals: readonly KnownAval[], donated: readonly boolean[] = []) =>
  compile(trace('step', f, avals) as Program<Op>, { donated: avals.map((_, i) => donated[i] ?? false), target: device.target });

const kibi = 1024;

describe('device', function () {
  this.timeout(60_000);

  for (const [name, make] of [
    ['cpu', async () => cpuDevice({ limit: 512 * kibi })],
    ['WebGPU', async () => webgpuDevice({ limit: 512 * kibi })],
  ] as const) {
    it(`out of memory on ${name}: words for people, everything alive intact, smaller work goes on`, async () => {
      const device = await make();
      const aval = f32(128, 128);
      const values = numbersFor(aval, 3);
      const kept = [1, 2, 3, 4, 5].map((line) => device.put(values, aval, here(line)));
      const doubled = compiled(device, ([x, y]) => [x!.matmul(y!), x!.add(y!), x!.sub(y!), x!.mul(y!), x!.add(1)], [aval, aval], [true]);
      const before = device.allocator.stats();
      assert.throws(
        () => device.run(doubled, [kept[0]!, kept[1]!], here(9)),
        (fault) => {
          assert.ok(fault instanceof OutOfMemoryError);
          assert.match(fault.message, /256\.0 KiB were asked for/);
          assert.match(fault.message, /320\.0 KiB of 512\.0 KiB are in use, 192\.0 KiB are free, the largest hole has/);
          assert.match(fault.message, /64\.0 KiB in f32\[128,128\] at \/user\/train\.ts:1\n/);
          return true;
        },
      );
      assert.deepEqual(
        { ...device.allocator.stats(), slabs: 0, bytesReserved: 0, poolBytes: 0, largestFreeBlockBytes: 0, fragmentation: 0 },
        { ...before, slabs: 0, bytesReserved: 0, poolBytes: 0, largestFreeBlockBytes: 0, fragmentation: 0 },
      );
      for (const buffer of kept) assert.deepEqual(await device.read(buffer), values);
      const [sum] = device.run(
        compiled(device, ([x]) => [x!.add(x!)], [aval], [true]),
        [kept[0]!],
        here(10),
      );
      assert.deepEqual(
        await device.read(sum!),
        values.map((value) => value * 2),
      );
      assert.equal(kept[0]!.dead?.how, 'donate');
      assert.deepEqual(kept[0]!.dead?.place, here(10));
      device.destroy();
    });
  }

  for (const device of [cpuDevice(), nullDevice()])
    it(`memory that runs out at every allocation in turn leaves ${device.kind} as it was`, () => {
      const random = randomProgram(11, 20);
      const limited = (limit: number): Device => (device.kind === 'cpu' ? cpuDevice({ limit }) : nullDevice({ limit }));
      const roomy = limited(2 ** 30);
      const executable = compile(random.program, { donated: random.avals.map(() => true), target: roomy.target });
      const argumentBytes = executable.analysis.argumentBytes;
      let failures = 0;
      for (let limit = argumentBytes + 65536; ; limit += 4096) {
        const tight = limited(limit);
        const buffers = random.avals.map((aval, i) => tight.put(numbersFor(aval, i), aval, here(i)));
        const inUse = tight.allocator.stats().bytesInUse;
        try {
          tight.run(executable, buffers, here(50));
          break;
        } catch (fault) {
          failures++;
          assert.ok(fault instanceof OutOfMemoryError);
          assert.equal(tight.allocator.stats().bytesInUse, inUse);
          assert.ok(buffers.every(({ dead }) => dead === undefined));
          if (executable.arenaBytes < 65536) break;
        }
      }
      assert.ok(failures > 0 || executable.arenaBytes < 65536);
    });

  it('a donated argument and the output that takes it over have one address', async () => {
    for (const device of [cpuDevice(), await sharedWebGPU()]) {
      const aval = f32(64, 64);
      const [a, b] = [device.put(1, aval, undefined), device.put(2, aval, undefined)];
      const { slab, offset } = a.address;
      const [out] = device.run(
        compiled(device, ([x, y]) => [x!.mul(y!).add(1)], [aval, aval], [true]),
        [a, b],
        undefined,
      );
      assert.deepEqual(out!.address, { slab, offset });
      assert.equal((await device.read(out!))[5], 3);
      assert.throws(
        () =>
          device.run(
            compiled(device, ([x]) => [x!.neg()], [aval]),
            [a],
            undefined,
          ),
        /dead/,
      );
      for (const buffer of [b, out!]) device.free(buffer, 'dispose');
    }
  });

  it('an unchanged input is forwarded: two handles, one buffer, freed with the last', async () => {
    const device = cpuDevice();
    const aval = f32(32);
    const x = device.put(numbersFor(aval, 1), aval, undefined);
    const program = compiled(device, ([a]) => [a!, a!.add(1)], [aval]);
    const [same, more] = device.run(program, [x], undefined);
    assert.deepEqual(same!.address, x.address);
    assert.equal(device.allocator.stats().bytesInUse, 2 * 256);
    device.free(x, 'dispose');
    assert.deepEqual(await device.read(same!), numbersFor(aval, 1));
    // One of two handles is donated: the other one's contents stay.
    const again = device.run(program, [same!], undefined);
    const donating = compiled(device, ([a]) => [a!.mul(0)], [aval], [true]);
    device.run(donating, [again[0]!], undefined);
    assert.deepEqual(await device.read(same!), numbersFor(aval, 1));
    assert.deepEqual(more!.aval, aval);
  });

  it('a read that was asked for before a donation gives what was there', async () => {
    for (const device of [cpuDevice(), await sharedWebGPU()]) {
      const aval = f32(64);
      const x = device.put(numbersFor(aval, 4), aval, undefined);
      const pending = device.read(x);
      const [out] = device.run(
        compiled(device, ([a]) => [a!.mul(0)], [aval], [true]),
        [x],
        undefined,
      );
      assert.deepEqual(await pending, numbersFor(aval, 4));
      device.free(out!, 'dispose');
    }
  });

  it("events add up: their peak is the allocator's, to the byte", () => {
    for (const seed of [3, 5, 8, 13, 21]) {
      const device = cpuDevice();
      const random = randomProgram(seed, 16);
      const ledger = createLedger();
      const fold = peak();
      const kinds = new Set<Event['kind']>();
      const stop = listen((event) => {
        kinds.add(event.kind);
        const change = ledger.take(event);
        if (change !== undefined) fold.take(change);
      });
      const buffers = random.avals.map((aval, i) => device.put(numbersFor(aval, i), aval, here(i + 1)));
      const placed = {
        ...random.program,
        equations: random.program.equations.map((equation, i) => ({ ...equation, place: here(100 + i) })),
      };
      const executable = compile(placed, { donated: random.avals.map((_, i) => i % 2 === 0), target: device.target });
      const outputs: Buffer[] = device.run(executable, buffers, here(50));
      stop();
      assert.equal(ledger.inUse, device.allocator.stats().bytesInUse, `seed ${seed}: in use`);
      assert.equal(fold.result().bytes, device.allocator.stats().peakBytesInUse, `seed ${seed}: peak`);
      assert.equal(ledger.reserved, device.allocator.stats().bytesReserved);
      assert.ok(kinds.has('run') && kinds.has('program') && kinds.has('reserve'));
      assert.ok(outputs.length > 0);
    }
  });

  it('arrays without elements take no room and go through kernels', async () => {
    for (const device of [cpuDevice(), await sharedWebGPU()]) {
      const before = device.allocator.stats().bytesInUse;
      const x = device.put(new Float32Array(0), f32(0, 3), undefined);
      const [sum, same] = device.run(
        compiled(device, ([a]) => [a!.sum(0), a!.add(1)], [f32(0, 3)]),
        [x],
        undefined,
      );
      assert.deepEqual([...(await device.read(sum!))], [0, 0, 0]);
      assert.equal((await device.read(same!)).length, 0);
      for (const buffer of [x, sum!, same!]) device.free(buffer, 'dispose');
      assert.equal(device.allocator.stats().bytesInUse, before);
    }
  });

  it('float16 where it cannot be computed with: a TypeError that names the array, and the device goes on', async () => {
    const device = await sharedWebGPU();
    const half = { shape: [4], dtype: 'float16' } as const;
    const named = /f16\[4\].* is float16, and this device does not compute with 16-bit floats\nfix: use float32/;
    const refused = (fault: unknown): boolean => fault instanceof TypeError && named.test(fault.message);
    assert.throws(
      () => device.put(new Uint16Array(4), half, here(3)),
      (fault) => refused(fault) && /train\.ts:3/.test((fault as Error).message),
    );
    assert.throws(() => compiled(device, ([x]) => [x!.astype('float16').add(1).astype('float32')], [f32(4)]), refused);
    const branch = trace('half', ([x]) => [x!.astype('float16').add(1).astype('float32')], [f32(4)]);
    assert.throws(
      () => compiled(device, ([i, x]) => runChoice(i!, [x!], [branch, branch]), [{ shape: [], dtype: 'int32' }, f32(4)]),
      refused,
    );
    assert.throws(
      () =>
        compile(trace('step', ([x]) => [x!.astype('float32')], [half]) as Program<Op>, {
          donated: [false],
          target: device.target,
          paths: ['batch.x'],
        }),
      (fault) => refused(fault) && /argument `batch\.x`/.test((fault as Error).message),
    );
    const x = device.put(2, f32(4), undefined);
    assert.equal((await device.read(x))[3], 2);
    device.free(x, 'dispose');
  });

  it('a destroyed device says so, and a new one works at once', async () => {
    const device = webgpuDevice();
    const x = device.put(1, f32(4), undefined);
    await device.read(x);
    device.destroy();
    assert.match(await device.lost, /destroyed/);
    assert.throws(() => device.put(1, f32(4), undefined), /the device was lost/);
    assert.equal(x.dead?.how, 'lost');
    const next = webgpuDevice();
    assert.equal((await next.read(next.put(2, f32(4), undefined)))[0], 2);
    next.destroy();
  });
});
