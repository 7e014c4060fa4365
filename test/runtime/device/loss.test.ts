/**
 * Devices that end while they are in use, or never come: a typed error at everything that waits, and a new device goes on.
 *
 * Depends on: runtime/device, compile, support.
 */
import { strict as assert } from 'node:assert';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { compile } from '../../../runtime/compile/pipeline.ts';
import { runWhile } from '../../../runtime/control/while.ts';
import type { KnownAval } from '../../../runtime/core/aval.ts';
import { DeviceLostError, noDevice, TidemarkError } from '../../../runtime/core/errors.ts';
import type { Program } from '../../../runtime/core/program.ts';
import { findAdapter, type Found } from '../../../runtime/device/adapter.ts';
import type { Device } from '../../../runtime/device/device.ts';
import type { Op } from '../../../runtime/ops/op.ts';
import type { Value } from '../../../runtime/ops/value.ts';
import { trace } from '../../../runtime/trace/trace.ts';
import { webgpuDevice } from '../../support/gpu.ts';
import { f32 } from '../../support/programs.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const aval = f32(64, 64);
const compiled = (device: Device, f: (operands: readonly Value[]) => readonly Value[], avals: readonly KnownAval[] = [aval]) =>
  compile(trace('step', f, avals) as Program<Op>, { donated: avals.map(() => false), target: device.target });

/** A device, and the GPUDevice under it, for somebody else to end. */
async function open(): Promise<{ readonly device: Device; readonly under: GPUDevice }> {
  let under: GPUDevice | undefined;
  const find = async (): Promise<Found> => {
    const found = await findAdapter();
    const adapter = new Proxy(found.adapter, {
      get(target, name) {
        if (name === 'requestDevice') return async (wanted: GPUDeviceDescriptor) => (under = await target.requestDevice(wanted));
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    return { ...found, adapter };
  };
  const device = webgpuDevice({}, { find });
  await device.opened;
  return { device, under: under! };
}

describe('a device that ends', function () {
  this.timeout(60_000);

  it('under a read and a wait: both fail with its error, what was on it is dead, and a new one works', async () => {
    const { device, under } = await open();
    const x = device.put(1, aval, undefined);
    const [y] = device.run(
      compiled(device, ([a]) => [a!.matmul(a!)]),
      [x],
      undefined,
    );
    const waiting = [device.read(y!), device.read(x), device.idle()].map((one) =>
      one.then(
        () => undefined,
        (fault: unknown) => fault,
      ),
    );
    under.destroy();
    for (const fault of await Promise.all(waiting)) if (fault !== undefined) assert.ok(fault instanceof DeviceLostError, String(fault));
    await device.lost;
    assert.throws(() => device.put(1, aval, undefined), DeviceLostError);
    assert.throws(
      () =>
        device.run(
          compiled(device, ([a]) => [a!.add(1)]),
          [x],
          undefined,
        ),
      DeviceLostError,
    );
    await assert.rejects(device.read(x), DeviceLostError);
    assert.deepEqual([x.dead?.how, y!.dead?.how], ['lost', 'lost']);
    const next = webgpuDevice();
    assert.equal((await next.read(next.put(2, aval, undefined)))[0], 2);
    next.destroy();
  });

  it('in a loop that waits for its own numbers: the read of its result fails, and does not hang', async () => {
    const { device, under } = await open();
    const condition = trace('ever', ([a]) => [a!.sum().less(1e9)], [aval]);
    const body = trace('grow', ([a]) => [a!.add(1e-3)], [aval]);
    const loop = compiled(device, (operands) => runWhile(operands, { condition, conditionConstants: 0, body, bodyConstants: 0 }));
    const [y] = device.run(loop, [device.put(0, aval, undefined)], undefined);
    const reading = device.read(y!);
    setTimeout(() => under.destroy(), 30);
    await assert.rejects(reading, DeviceLostError);
    await assert.rejects(device.idle(), DeviceLostError);
  });

  it('goes on after it refused a kernel, but hands out no number any more', async () => {
    const { device, under } = await open();
    const made = under.createShaderModule.bind(under);
    under.createShaderModule = () => made({ code: 'no kernel' });
    const former = console.error;
    console.error = () => undefined;
    try {
      const x = device.put(3, aval, undefined);
      const [y] = device.run(
        compiled(device, ([one]) => [one!.add(1)]),
        [x],
        undefined,
      );
      await assert.rejects(device.read(y!), (fault: Error) => fault instanceof TidemarkError && fault.code === 'device-refused');
    } finally {
      console.error = former;
    }
    device.destroy();
  });

  it('that never comes: what waits for it fails with the reason, and so does what comes after', async () => {
    const device = webgpuDevice({}, { find: () => Promise.reject(noDevice(['no adapter here'])) });
    const noAdapter = { code: 'no-device' };
    const x = device.put(1, aval, undefined);
    await assert.rejects(device.read(x), noAdapter);
    await assert.rejects(device.idle(), noAdapter);
    await assert.rejects(device.opened!, noAdapter);
    assert.throws(() => device.put(1, aval, undefined), noAdapter);
  });

  it('leaves the program a way on: init() opens another, and compiled functions run there', () => {
    const program = `
      import { init, np, jit, blockUntilReady } from './runtime/index.ts';
      import { device } from './runtime/api/current.ts';
      const said = async (run) => { try { return await run(); } catch (fault) { return fault.name; } };
      await init('webgpu');
      const table = np.ones([4]);
      const f = jit((x) => x.mul(3));
      const x = f(table);
      console.log((await x.data()).join());
      const former = device();
      former.destroy();
      await former.lost;
      console.log(await said(() => np.ones([4])), await said(() => x.data()), await said(() => f(x)), await said(() => blockUntilReady()));
      await init();
      console.log((await f(np.ones([2])).data()).join());
      device().destroy();
      await device().lost;
      await init('cpu');
      console.log(device().kind, (await f(np.ones([4])).data()).join());`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], {
      cwd: root,
      encoding: 'utf8',
      timeout: 60_000,
      env: { ...process.env, TIDEMARK_DEVICE: 'webgpu' },
    });
    assert.equal(stdout.trim(), '3,3,3,3\nDeviceLostError ArrayDeletedError ArrayDeletedError DeviceLostError\n3,3\ncpu 3,3,3,3', stderr);
  });
});
