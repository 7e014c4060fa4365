/**
 * Memory that runs out at every place where a program asks for it, by lowering the limit step by step: an error, all that
 * is alive intact, and a smaller program runs.
 *
 * Depends on: runtime, test/support.
 */
import { strict as assert } from 'node:assert';
import { useDevice } from '../../../runtime/api/current.ts';
import { OutOfMemoryError } from '../../../runtime/core/errors.ts';
import type { Device } from '../../../runtime/device/device.ts';
import { grad, jit, np, type Array as A } from '../../../runtime/index.ts';
import { numbers, numbersOf } from '../../support/arrays.ts';
import { cpuDevice } from '../../support/gpu.ts';
import { f32 } from '../../support/programs.ts';

type Named = Map<string, A>;

/** Each line makes arrays from those before it: uploads, eager ops, a compiled call that donates, a gradient, a copy. */
const lines: readonly ((has: Named) => void)[] = [
  (has) => void has.set('x', np.array(numbers(2048, 1))),
  (has) => void has.set('w', np.array(numbers(4096, 2)).reshape([64, 64])),
  (has) => void has.set('m', has.get('x')!.reshape([32, 64]).matmul(has.get('w')!)),
  (has) => {
    const [w, total] = jit((w: A, m: A): [A, A] => [np.tanh(w.matmul(w)).add(m.sum()), m.mul(2)], { donateArgnums: [0] })(
      has.get('w')!,
      has.get('m')!,
    );
    has.set('w', w).set('total', total);
  },
  (has) => void has.set('g', grad((w: A) => np.exp(w.matmul(w)).mean())(has.get('w')!)),
  (has) => void has.set('sum', has.get('total')!.add(has.get('m')!.shape[0]!)),
  (has) => void has.set('last', np.concatenate([has.get('g')!, has.get('w')!])),
];

/** A device with this much memory that is free. */
type Layout = (limit: number) => Device;

/** Bytes of a hole, where memory is free in holes only. */
const holeBytes = 2 ** 15;
/** Twice the memory, every second piece of it taken. */
function inHoles(limit: number): Device {
  const whole = 2 * holeBytes * Math.ceil(limit / holeBytes);
  const device = cpuDevice({ limit: whole, preallocateBytes: whole });
  const blocks = Array.from({ length: whole / holeBytes }, () => device.put(1, f32(holeBytes / 4), undefined));
  for (const block of blocks.filter((_, i) => i % 2 === 0)) device.free(block, 'dispose');
  return device;
}

/** How memory is laid out. */
const layouts: Readonly<Record<string, Layout>> = {
  'growing slabs': (limit) => cpuDevice({ limit }),
  'one slab at the start': (limit) => cpuDevice({ limit, preallocateBytes: limit }),
  'a buffer for each array': (limit) => cpuDevice({ limit, kind: 'platform' }),
  'holes that are smaller than most arenas': inHoles,
};

/** Runs as far as the limit allows. */
function runWithin(limit: number, laidOut: Layout): { readonly has: Named; readonly failedAt: number | undefined; readonly peak: number } {
  const device = laidOut(limit);
  useDevice(device);
  const before = device.allocator.stats().bytesInUse;
  device.allocator.resetPeak();
  const peak = (): number => device.allocator.stats().peakBytesInUse - before;
  const has: Named = new Map();
  for (const [at, line] of lines.entries()) {
    const had = new Map(has);
    try {
      line(has);
    } catch (fault) {
      if (!(fault instanceof OutOfMemoryError)) throw fault;
      assert.match(fault.message, /were asked for\n.* are in use, .* are free, the largest hole has/);
      assert.deepEqual([...has], [...had]);
      return { has, failedAt: at, peak: peak() };
    }
  }
  return { has, failedAt: undefined, peak: peak() };
}

describe('memory that runs out', function () {
  this.timeout(120_000);

  /** Limits that are tried. */
  const limits = 20;

  for (const [name, laidOut] of Object.entries(layouts))
    it(`at any allocation leaves all that is alive intact, and a smaller program runs: ${name}`, () => {
      const roomy = runWithin(2 ** 22, laidOut);
      assert.equal(roomy.failedAt, undefined);
      const after = lines.map((_, count) => {
        useDevice(cpuDevice());
        const has: Named = new Map();
        for (const line of lines.slice(0, count)) line(has);
        return new Map([...has].map(([name, array]) => [name, numbersOf(array)]));
      });
      const failures = new Set<number>();
      for (let tried = 1; tried < limits; tried++) {
        const limit = roomy.peak - Math.floor((roomy.peak * tried) / limits / 256) * 256;
        const { has, failedAt } = runWithin(limit, laidOut);
        if (failedAt === undefined) continue;
        failures.add(failedAt);
        for (const [name, array] of has) {
          assert.equal(array.isDisposed, false, `${name} at a limit of ${limit}`);
          assert.deepEqual(numbersOf(array), after[failedAt]!.get(name), `${name} at a limit of ${limit}`);
        }
        [...has.values()].at(-1)?.dispose();
        const small = np.ones([8]);
        assert.deepEqual(
          numbersOf(small.add(1)),
          Array.from({ length: 8 }, () => 2),
          `a limit of ${limit}`,
        );
      }
      assert.ok(failures.size >= 4, `lines that failed: ${[...failures].join()}`);
    });
});
