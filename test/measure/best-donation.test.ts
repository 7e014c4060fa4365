/**
 * The donation that is worth a word: the greatest saving, and the fewest arguments that bring it.
 *
 * Depends on: measure/best-donation.
 */
import assert from 'node:assert/strict';
import { bestDonation } from '../../language-server/measure/best-donation.ts';

describe('the best donation', () => {
  const choice = (peakBytes: number, ...donateArgnums: number[]) => ({ donateArgnums, peakBytes });

  it('is the smallest set of those that save most', () => {
    const whatIf = [choice(100), choice(80, 0), choice(80, 1), choice(60, 0, 1, 2, 3), choice(60, 0, 1)];
    assert.deepEqual(bestDonation({ peakBytes: 100, whatIf }), { donateArgnums: [0, 1], peakBytes: 60, savesBytes: 40 });
  });

  it('names no argument that hardly adds to it', () => {
    const whatIf = [choice(10_000), choice(8000, 0), choice(6000, 0, 1), choice(5990, 0, 1, 3), choice(5990, 0, 1, 2, 3)];
    assert.deepEqual(bestDonation({ peakBytes: 10_000, whatIf }), { donateArgnums: [0, 1], peakBytes: 6000, savesBytes: 4000 });
  });

  it('is none when nothing lowers the peak', () => {
    assert.equal(bestDonation({ peakBytes: 100, whatIf: [choice(100), choice(100, 0)] }), undefined);
    assert.equal(bestDonation({ peakBytes: 100, whatIf: [] }), undefined);
  });

  it('is none when the peak would hardly be lower', () => {
    assert.equal(bestDonation({ peakBytes: 10_000, whatIf: [choice(10_000), choice(9950, 0)] }), undefined);
  });
});
