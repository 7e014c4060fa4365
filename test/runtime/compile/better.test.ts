/**
 * Plans that get better the longer they are asked for: without a clock, judged, and taken on by the next call.
 *
 * Depends on: runtime, test/support.
 */
import { strict as assert } from 'node:assert';
import { compile } from '../../../runtime/compile/pipeline.ts';
import type { Executable } from '../../../runtime/compile/executable.ts';
import type { Program } from '../../../runtime/core/program.ts';
import { createLedger } from '../../../runtime/events/ledger.ts';
import { byFunction } from '../../../runtime/events/by-function.ts';
import { listen } from '../../../runtime/device/memory-events.ts';
import type { Op } from '../../../runtime/ops/op.ts';
import { searching } from '../../../runtime/api/plans.ts';
import { jit, np, type Array as A } from '../../../runtime/index.ts';
import { trace } from '../../../runtime/trace/trace.ts';
import { numbers, numbersOf, onCpu } from '../../support/arrays.ts';
import { nullDevice } from '../../support/gpu.ts';
import { wiredAvals, wiredBody } from '../../support/programs.ts';

const { target } = nullDevice();
const planned = (seed: number, options: { readonly memory?: 'min' } = {}): Executable =>
  compile(trace('wired', wiredBody(seed), wiredAvals) as Program<Op>, { donated: wiredAvals.map(() => false), target, ...options });

/** What a search comes to after so many looks. */
function after(executable: Executable, looks: number): Executable {
  let best = executable;
  let left = looks;
  for (const better of executable.better()) {
    if (better !== undefined) best = better.executable();
    if (--left === 0) break;
  }
  return best;
}

/** Runs tasks until nothing is searched for any more. */
async function searched(): Promise<void> {
  while (searching() > 0) await new Promise((resolve) => setTimeout(resolve, 0));
}

describe('better plans', function () {
  this.timeout(300_000);

  it('are the same every time, never worse, and lower where orders matter', () => {
    let lower = 0;
    for (const seed of [7, 17, 18]) {
      const quick = planned(seed);
      const [one, two] = [after(quick, 90), after(planned(seed), 90)];
      assert.equal(one.print(), two.print());
      assert.ok(one.arenaBytes <= quick.arenaBytes);
      assert.deepEqual(one.kernels.map(({ key }) => key).toSorted(), quick.kernels.map(({ key }) => key).toSorted());
      if (one.arenaBytes < quick.arenaBytes) lower++;
      assert.equal(one.analysis.peakBytes, one.analysis.argumentBytes + one.arenaBytes);
      assert.equal(one.peakWith(one.donated), one.analysis.peakBytes);
    }
    assert.ok(lower > 0);
  });

  it('are waited for with memory: "min", and hold for another trace of the same program', () => {
    const quick = planned(17);
    const best = planned(17, { memory: 'min' });
    assert.ok(best.arenaBytes < quick.arenaBytes);
    const again = compile(trace('wired', wiredBody(17), wiredAvals) as Program<Op>, {
      donated: wiredAvals.map(() => false),
      target,
      choice: best.choice,
    });
    assert.equal(again.print(), best.print());
  });

  it('are found between tasks, taken on by the next call with the same bits, and known to the next function', async () => {
    const device = onCpu();
    const args = wiredAvals.map(({ shape }, i) => np.array(numbers(shape[0]! * shape[1]!, i, -0.05, 0.05)).reshape([shape[0]!, shape[1]!]));
    const body = (...own: A[]): A => wiredBody(17)(own)[0] as A;
    const ledger = createLedger();
    const functions = byFunction(ledger.places);
    const stop = listen((event) => {
      const change = ledger.take(event);
      if (change !== undefined) functions.take(change);
    });
    const wired = jit(body);
    const peakOf = (call: () => A): { readonly bytes: number; readonly values: readonly number[] } => {
      const before = device.allocator.stats().bytesInUse;
      device.allocator.resetPeak();
      const result = call();
      const bytes = device.allocator.stats().peakBytesInUse - before;
      const values = numbersOf(result);
      result.dispose();
      return { bytes, values };
    };
    const first = peakOf(() => wired(...args));
    assert.ok(searching() > 0);
    await searched();
    const second = peakOf(() => wired(...args));
    assert.ok(second.bytes < first.bytes, `${second.bytes} bytes after the search, ${first.bytes} before`);
    assert.deepEqual(second.values, first.values);
    const other = peakOf(() => jit(body)(...args));
    assert.equal(other.bytes, second.bytes);
    assert.equal(peakOf(() => jit(body, { memory: 'fast' })(...args)).bytes, second.bytes);
    stop();
    // A better plan is no new trace.
    assert.deepEqual(
      functions.result().flatMap(({ compiled }) => (compiled === undefined ? [] : [compiled.traces])),
      [3],
    );
    await searched();
  });
});
