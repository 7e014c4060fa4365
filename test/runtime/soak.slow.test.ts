/**
 * Training for many steps at constant bytes, alive, reserved, and of the process; `SOAK_STEPS` says how many (10,000 for the long run).
 *
 * Depends on: runtime, test/support.
 */
import { strict as assert } from 'node:assert';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { jit, np, scope, valueAndGrad, type Array as A } from '../../runtime/index.ts';
import { useDevice } from '../../runtime/api/current.ts';
import type { Device } from '../../runtime/device/device.ts';
import { numbers, onCpu } from '../support/arrays.ts';
import { sharedWebGPU } from '../support/gpu.ts';

const steps = Number(process.env['SOAK_STEPS'] ?? 400);
const warm = 50;
/** What the process may grow by, from a tenth of the way to the end; what the engine keeps for later comes and goes. */
const residentTolerance = 24 * 2 ** 20;
/** The same of what is left after a collection. */
const heldTolerance = 4 * 2 ** 20;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Bytes after a collection: garbage that waits for one is no leak. */
function memoryNow(): { readonly resident: number; readonly held: number } {
  collect();
  const { rss, heapUsed, arrayBuffers } = process.memoryUsage();
  return { resident: rss, held: heapUsed + arrayBuffers };
}

interface State {
  readonly w: A;
  readonly v: A;
}

async function onWebGPU(): Promise<Device> {
  const device = await sharedWebGPU();
  useDevice(device);
  return device;
}

describe('soak', function () {
  this.timeout(600_000);

  for (const [name, open, readEvery] of [
    ['cpu', async () => onCpu(), 1],
    ['WebGPU', onWebGPU, 10],
  ] as const)
    it(`${steps} steps of training on ${name} stay at the same bytes, alive, reserved and resident`, async () => {
      const device = await open();
      const loss = (w: A, x: A, y: A): A => {
        const wrong = np.tanh(x.matmul(w)).sub(y);
        return wrong.mul(wrong).mean();
      };
      const train = jit(
        ({ w, v }: State, x: A, y: A): [State, A] => {
          const [value, g] = valueAndGrad(loss)(w, x, y) as [A, A];
          const next = v.mul(0.9).add(g);
          return [{ w: w.sub(next.mul(0.1)), v: next }, value];
        },
        { donateArgnums: [0] },
      );
      let state: State = scope(() => ({ w: np.array(numbers(64, 1)).reshape([16, 4]), v: np.zeros([16, 4]) }));
      let [first, last] = [Number.NaN, Number.NaN];
      const sizes = (): Readonly<Record<string, number>> => {
        const { bytesInUse, bytesReserved, slabs } = device.allocator.stats();
        return { bytesInUse, bytesReserved, slabs, arrays: device.live().length };
      };
      let settled: ReturnType<typeof sizes> | undefined;
      let early: ReturnType<typeof memoryNow> | undefined;
      for (let step = 0; step < warm + steps; step++) {
        const [next, value] = scope(() => {
          const x = np.array(numbers(128, step % 7)).reshape([8, 16]);
          const y = np.tanh(x.matmul(np.ones([16, 4]).mul(0.1)));
          // Once in a while something of another size, so that holes come and go.
          if (step % 17 === 0) np.ones([1000 + 100 * (step % 5)]).add(1);
          return train(state, x, y);
        });
        state = next;
        // On WebGPU most steps go by without a turn of the event loop.
        if (step % readEvery === 0) last = await value.item();
        value.dispose();
        if (step === 0) first = last;
        if (step === warm) settled = sizes();
        if (step > warm) assert.deepEqual(sizes(), settled, `step ${step}`);
        if (step === warm + Math.floor(steps / 10)) early = memoryNow();
      }
      assert.ok(last < first / 2, `the loss went from ${first} to ${last}`);
      assert.equal(settled!['arrays'], 2);
      const end = memoryNow();
      const [grown, held] = [end.resident - early!.resident, end.held - early!.held];
      const said = `${(grown / 2 ** 20).toFixed(1)} MiB more resident, ${(held / 2 ** 20).toFixed(2)} MiB more held`;
      assert.ok(grown <= residentTolerance && held <= heldTolerance, said);
      console.log(`      ${steps} steps: ${said} than after a tenth of them`);
    });
});
