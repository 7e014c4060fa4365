/**
 * Memory that WebGPU says only later it doesn't have: an error for what depends on it, everything else intact.
 *
 * The adapter is the real one, opened with the smallest limits there are; a buffer above them is really asked for before
 * the device is open, when nobody can know better. Depends on: runtime/device, compile, support.
 */
import { strict as assert } from 'node:assert';
import { compile } from '../../../runtime/compile/pipeline.ts';
import { OutOfMemoryError } from '../../../runtime/core/errors.ts';
import type { Program } from '../../../runtime/core/program.ts';
import { findAdapter, type Found } from '../../../runtime/device/adapter.ts';
import type { Buffer } from '../../../runtime/device/device.ts';
import type { Op } from '../../../runtime/ops/op.ts';
import type { Value } from '../../../runtime/ops/value.ts';
import { trace } from '../../../runtime/trace/trace.ts';
import { webgpuDevice } from '../../support/gpu.ts';
import { f32 } from '../../support/programs.ts';

/** The smallest that a WebGPU device may have. */
const mostBytes = 2 ** 28;

async function modest(): Promise<Found> {
  const found = await findAdapter();
  const { adapter } = found;
  const limits = new Proxy(adapter.limits, {
    get: (all, name) => (name === 'maxBufferSize' ? mostBytes : name === 'maxStorageBufferBindingSize' ? 2 ** 27 : Reflect.get(all, name)),
  });
  return {
    ...found,
    adapter: {
      limits,
      features: adapter.features,
      info: adapter.info,
      requestDevice: (wanted: GPUDeviceDescriptor) => adapter.requestDevice(wanted),
    } as unknown as GPUAdapter,
  };
}

describe('a buffer that WebGPU cannot make', function () {
  this.timeout(60_000);

  it('is an OutOfMemoryError for what depends on it; the rest is intact and the device goes on', async () => {
    const device = webgpuDevice({}, { find: modest });
    const small = f32(64);
    const large = f32((2 * mostBytes) / 4);
    const add = (operands: readonly Value[]): readonly Value[] => [operands[0]!.add(operands[1]!)];
    const added = compile(trace('add', add, [small, small]) as Program<Op>, {
      donated: [true, false],
      target: device.target,
    });
    const total = compile(trace('total', ([x, y]: readonly Value[]) => [x!.sum().add(y!), y!.mul(2)], [large, small]) as Program<Op>, {
      donated: [false, true],
      target: device.target,
    });
    const kept = device.put(3, small, undefined);
    const given = device.put(4, small, undefined);
    const before = device.allocator.stats();
    const tooLarge = device.put(1, large, { file: '/user/large.ts', line: 7, column: 1 });
    const [inDoubt, doubled] = device.run(total, [tooLarge, given], undefined) as [Buffer, Buffer];
    const [fromDoubt] = device.run(added, [doubled, kept], undefined) as [Buffer];
    const outOfMemory = (fault: unknown): boolean => fault instanceof OutOfMemoryError && /out of memory/.test(fault.message);
    await assert.rejects(device.read(fromDoubt), outOfMemory);
    await assert.rejects(async () => device.read(inDoubt), outOfMemory);
    await assert.rejects(
      async () => device.read(tooLarge),
      (fault) => outOfMemory(fault) && /at \/user\/large\.ts:7/.test((fault as Error).message),
    );
    assert.deepEqual(
      [tooLarge, inDoubt, fromDoubt].map(({ dead }) => dead?.because instanceof OutOfMemoryError),
      [true, true, true],
    );
    assert.equal(kept.dead, undefined);
    assert.deepEqual(
      [...(await device.read(kept))],
      Array.from({ length: 64 }, () => 3),
    );
    assert.equal(device.allocator.stats().bytesInUse, before.bytesInUse - given.bytes);
    const [sum] = device.run(added, [device.put(5, small, undefined), kept], undefined);
    assert.equal((await device.read(sum!))[63], 8);
    await device.idle();
    // From now on it is known before anything is queued.
    assert.throws(() => device.put(1, large, undefined), OutOfMemoryError);
    device.destroy();
  });
});
