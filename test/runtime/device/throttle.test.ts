/**
 * A loop that never awaits: what is under way on WebGPU stays bounded, and small calls go together.
 *
 * Depends on: runtime/device, compile, support.
 */
import { strict as assert } from 'node:assert';
import { compile } from '../../../runtime/compile/pipeline.ts';
import type { Executable } from '../../../runtime/compile/executable.ts';
import type { Program } from '../../../runtime/core/program.ts';
import type { Device } from '../../../runtime/device/device.ts';
import { lookOf } from '../../../runtime/device/throttle.ts';
import type { Op } from '../../../runtime/ops/op.ts';
import { trace } from '../../../runtime/trace/trace.ts';
import { sharedWebGPU } from '../../support/gpu.ts';
import { f32 } from '../../support/programs.ts';

const aval = f32(64, 64);
const increment = (device: Device): Executable =>
  compile(trace('increment', ([x]) => [x!.add(1)], [aval]) as Program<Op>, { donated: [true], target: device.target });

interface Watched {
  readonly submits: number;
  readonly mapped: readonly GPUBuffer[];
}

/** Submits, and the probes that were queued, while `work` runs without a turn of the event loop. */
function watch(work: () => void): Watched {
  const { mapAsync } = GPUBuffer.prototype;
  const { submit } = GPUQueue.prototype;
  const mapped: GPUBuffer[] = [];
  let submits = 0;
  GPUBuffer.prototype.mapAsync = function (this: GPUBuffer, ...args) {
    if (this.label === 'tidemark probe') mapped.push(this);
    return mapAsync.apply(this, args);
  };
  GPUQueue.prototype.submit = function (this: GPUQueue, ...args) {
    submits++;
    return submit.apply(this, args);
  };
  try {
    work();
  } finally {
    GPUBuffer.prototype.mapAsync = mapAsync;
    GPUQueue.prototype.submit = submit;
  }
  return { submits, mapped };
}

describe('a loop without await on WebGPU', function () {
  this.timeout(60_000);

  /** Runs it so often without a turn of the event loop, and gives the first element of the result. */
  const looped = async (rounds: number, each: (device: Device) => void = () => undefined) => {
    const device = await sharedWebGPU();
    const step = increment(device);
    let x = device.put(0, aval, undefined);
    [x] = device.run(step, [x], undefined) as [typeof x];
    await device.idle();
    const watched = watch(() => {
      for (let i = 1; i < rounds; i++) {
        [x] = device.run(step, [x], undefined) as [typeof x];
        each(device);
      }
    });
    const [first] = await device.read(x);
    device.free(x, 'dispose');
    return { ...watched, first };
  };

  it('waits for what it queued: two probes at most are under way', async () => {
    const { mapped, first } = await looped(3000);
    assert.equal(first, 3000);
    assert.ok(mapped.length > 4, `${mapped.length} probes`);
    assert.ok(new Set(mapped).size <= 3, `${new Set(mapped).size} buffers for them`);
  });

  it('waits for uploads too', async () => {
    const large = f32(512, 1024);
    const { mapped } = await looped(60, (device) => device.free(device.put(1, large, undefined), 'dispose'));
    assert.ok(mapped.length > 2, `${mapped.length} probes`);
    assert.ok(new Set(mapped).size <= 3);
  });

  it('submits small calls together while the device is at work, and a single one at once', async () => {
    const many = await looped(640);
    assert.equal(many.first, 640);
    assert.ok(many.submits < 64, `${many.submits} submits`);
    const single = await looped(2);
    assert.equal(single.submits, 1);
  });

  it('finds how Dawn looks at its queue, and leaves `setImmediate` as it was', async () => {
    const before = globalThis.setImmediate;
    const turns: string[] = [];
    const { result, look } = lookOf(() => {
      setImmediate(() => turns.push('own'));
      setImmediate(turns.push.bind(turns), 'bound');
      return 5;
    });
    assert.deepEqual([result, look, globalThis.setImmediate], [5, undefined, before]);
    await new Promise(before);
    assert.deepEqual(turns, ['own', 'bound']);
  });
});
