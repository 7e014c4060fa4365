/**
 * `tidemark/testing`: an expectation about peak memory, for any test runner.
 *
 *     await expectPeak(() => train(3)).toBeAtMost('64 MiB');
 *
 * Depends on: api/memory, core.
 */
import { measure, type Measured } from './api/memory.ts';
import './api/eager.ts';
import { readBytes, writeBytes } from './core/bytes.ts';
import { peakOverBudget, typeError } from './core/errors.ts';

export interface PeakExpectation<R> {
  /**
   * Runs the function and compares the most bytes in use meanwhile (arrays alive before it included) with `limit`:
   * bytes, or a text such as `"64 MiB"`. Throws `TidemarkError` (`peak-over-budget`) when it was above, `TypeError` when
   * the limit is no number of bytes, and whatever the function throws.
   */
  readonly toBeAtMost: (limit: number | string) => R;
}

export function expectPeak(run: () => Promise<unknown>): PeakExpectation<Promise<void>>;
export function expectPeak(run: () => unknown): PeakExpectation<void>;
export function expectPeak(run: () => unknown): PeakExpectation<void | Promise<void>> {
  return {
    toBeAtMost(limit) {
      const limitBytes = typeof limit === 'number' ? limit : readBytes(limit);
      if (limitBytes === undefined || !(limitBytes >= 0)) throw typeError(`"${limit}" is no number of bytes: write 67108864 or "64 MiB"`);
      const compare = ({ peakBytes, startBytes }: Measured<unknown>): void => {
        if (peakBytes > limitBytes) throw peakOverBudget(exactly(peakBytes), exactly(limitBytes), exactly(startBytes));
      };
      const measured: unknown = measure(run);
      return measured instanceof Promise ? (measured as Promise<Measured<unknown>>).then(compare) : compare(measured as Measured<unknown>);
    },
  };
}

const exactly = (bytes: number): string => `${writeBytes(bytes)}${bytes < 1024 ? '' : ` (${bytes} bytes)`}`;
