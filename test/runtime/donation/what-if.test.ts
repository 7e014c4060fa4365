/**
 * What each choice of donated arguments would cost: the fewest arguments that save as much as all are among the choices.
 *
 * Depends on: runtime, test/support.
 */
import assert from 'node:assert/strict';
import { jit, np } from '../../../runtime/index.ts';
import { onCpu } from '../../support/arrays.ts';

describe('what a donation would save', () => {
  before(() => void onCpu());

  it('is also said of the fewest arguments that save as much as all', () => {
    const step = jit((weights: np.Array, momentum: np.Array, images: np.Array, rate: np.Array) => {
      const next = momentum.mul(0.9).add(images.sum());
      return [weights.sub(next.mul(rate)), next] as const;
    });
    const big = (): np.Array => np.zeros([64, 64]);
    const { peakBytes, whatIf } = step.lower(big(), big(), np.zeros([3]), np.zeros([])).memoryAnalysis();
    const peakOf = (...argnums: number[]): number | undefined =>
      whatIf.find(({ donateArgnums }) => donateArgnums.join() === argnums.join())?.peakBytes;
    assert.equal(peakOf(0, 1), peakOf(0, 1, 2, 3));
    assert.ok(peakOf(0, 1)! < peakOf(0)!);
    assert.ok(peakOf(0)! < peakBytes);
  });

  it('is not said of an argument that saves a hundredth of what the others do', () => {
    const step = jit((weights: np.Array, momentum: np.Array, rate: np.Array) => [weights.mul(2), momentum.mul(2), rate.mul(2)] as const);
    const { whatIf } = step.lower(np.zeros([256, 64]), np.zeros([256, 64]), np.zeros([8])).memoryAnalysis();
    const peaks = new Map(whatIf.map(({ donateArgnums, peakBytes }) => [donateArgnums.join(), peakBytes]));
    assert.deepEqual([...peaks.keys()].sort(), ['', '0', '0,1', '0,1,2', '1', '2']);
    assert.equal(peaks.get('0,1')! - peaks.get('0,1,2')!, 256);
  });
});
