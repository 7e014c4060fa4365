/**
 * `expectPeak` passes at the peak and fails one byte below it.
 *
 * Depends on: runtime/testing, support/arrays.
 */
import assert from 'node:assert/strict';
import { np } from '../../runtime/index.ts';
import { expectPeak } from '../../runtime/testing.ts';
import { onCpu } from '../support/arrays.ts';

// Two arrays of 1 MiB are alive together.
function work(): void {
  using a = np.ones([512, 512]);
  using b = np.zeros([512, 512]);
  assert.equal(a.size, b.size);
}

describe('expectPeak', () => {
  onCpu();

  it('holds at the peak, in bytes and in words', () => {
    expectPeak(work).toBeAtMost(2 ** 21);
    expectPeak(work).toBeAtMost('2 MiB');
  });

  it('fails below the peak and says both figures', () => {
    assert.throws(() => expectPeak(work).toBeAtMost(2 ** 21 - 1), /the peak was 2\.0 MiB[\s\S]*peak-over-budget/);
  });

  it('waits for asynchronous work', async () => {
    const later = async (): Promise<void> => {
      await Promise.resolve();
      work();
    };
    await expectPeak(later).toBeAtMost('2 MiB');
    await assert.rejects(expectPeak(later).toBeAtMost('1 MiB'), /peak was 2\.0 MiB/);
  });

  it('refuses a limit that is no number of bytes', () => {
    assert.throws(() => expectPeak(work).toBeAtMost('a lot'), /"a lot" is no number of bytes/);
  });
});
