/**
 * Memory that runs out at every place where a program asks for it, by lowering the limit step by step: an error, all that
 * is alive intact, and a smaller program runs.
 *
 * Depends on: runtime, test/support.
 */
import { strict as assert } from 'node:assert';
import { useDevice } from '../../../runtime/api/current.ts';
import { OutOfMemoryError } from '../../../runtime/core/errors.ts';
import { grad, jit, np, type Array as A } from '../../../runtime/index.ts';
import { numbers, numbersOf } from '../../support/arrays.ts';
import { cpuDevice } from '../../support/gpu.ts';

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

/** How memory is laid out. */
const layouts = {
  'growing slabs': () => ({}),
  'one slab at the start': (limit: number) => ({ preallocateBytes: limit }),
  'a buffer for each array': () => ({ kind: 'platform' }) as const,
};
type Layout = (typeof layouts)[keyof typeof layouts];

/** Runs as far as the limit allows. */
function runWithin(limit: number, laidOut: Layout): { readonly has: Named; readonly failedAt: number | undefined; readonly peak: number } {
  const device = cpuDevice({ limit, ...laidOut(limit) });
  useDevice(device);
  const has: Named = new Map();
  for (const [at, line] of lines.entries()) {
    const before = new Map(has);
    try {
      line(has);
    } catch (fault) {
      if (!(fault instanceof OutOfMemoryError)) throw fault;
      assert.match(fault.message, /were asked for\n.* are in use, .* are free, the largest hole has/);
      assert.deepEqual([...has], [...before]);
      return { has, failedAt: at, peak: device.allocator.stats().peakBytesInUse };
    }
  }
  return { has, failedAt: undefined, peak: device.allocator.stats().peakBytesInUse };
}

describe('memory that runs out', function () {
  this.timeout(120_000);

  /** Limits that are tried. */
  const limits = 20;

  for (const [name, laidOut] of Object.entries(layouts))
    it(`at any allocation leaves all that is alive intact, and a smaller program runs: ${name}`, () => {
      const roomy = runWithin(2 ** 26, laidOut);
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
