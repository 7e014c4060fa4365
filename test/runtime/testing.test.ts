/**
 * `expectPeak` passes at the peak and fails one byte below it.
 *
 * Depends on: runtime/testing, support/arrays.
 */
import assert from 'node:assert/strict';
import { memory, np } from '../../runtime/index.ts';
import { expectPeak } from '../../runtime/testing.ts';
import { onCpu } from '../support/arrays.ts';

// Two arrays of 1 MiB are alive together.
function work(): void {
  using a = np.ones([512, 512]);
  using b = np.zeros([512, 512]);
  assert.equal(a.size, b.size);
}

describe('expectPeak', () => {
  beforeEach(() => {
    onCpu();
  });
  /** What `work` needs on top of what other tests left alive. */
  const peakBytes = (): number => memory.stats().bytesInUse + 2 ** 21;

  it('holds at the peak, in bytes and in words', () => {
    expectPeak(work).toBeAtMost(peakBytes());
    expectPeak(work).toBeAtMost('3 MiB');
  });

  it('fails below the peak and says both figures', () => {
    assert.throws(() => expectPeak(work).toBeAtMost(peakBytes() - 1), /the peak was 2\.0 MiB \(\d+ bytes\)[\s\S]*peak-over-budget/);
  });

  it('waits for asynchronous work', async () => {
    const later = async (): Promise<void> => {
      await Promise.resolve();
      work();
    };
    await expectPeak(later).toBeAtMost(peakBytes());
    await assert.rejects(expectPeak(later).toBeAtMost('1 MiB'), /peak was 2\.0 MiB/);
  });

  it('refuses a limit that is no number of bytes', () => {
    assert.throws(() => expectPeak(work).toBeAtMost('a lot'), /"a lot" is no number of bytes/);
  });
});
