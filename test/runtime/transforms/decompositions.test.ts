/**
 * Derivatives of eigenvalues, eigenvectors and pseudo-inverses against small steps and other formulas.
 *
 * Depends on: runtime, test/support.
 */
import assert from 'node:assert/strict';
import { grad, np, vmap, type Array } from '../../../runtime/index.ts';
import { near, numbersOf, onCpu } from '../../support/arrays.ts';

describe('derivatives of decompositions', () => {
  before(() => void onCpu());

  const symmetric = [
    [2, 0.5, -0.3],
    [0.5, 1, 0.2],
    [-0.3, 0.2, -1],
  ];
  it('eigenvalues and eigenvectors: the slope of every entry is what a small step gives', () => {
    const f = (m: Array): Array => {
      const [values, vectors] = np.linalg.eigh(m);
      return values
        .mul(np.array([1, 2, 3]))
        .sum()
        .add(
          vectors
            .mul(vectors)
            .mul(
              np.array([
                [1, 0, 2],
                [0, 3, 0],
                [1, 1, 0],
              ]),
            )
            .sum(),
        );
    };
    const slopes = numbersOf(grad(f)(np.array(symmetric)));
    assert.ok(slopes.every(Number.isFinite));
    const step = 1e-2;
    symmetric.forEach((row, i) => {
      row.forEach((_, j) => {
        const moved = (by: number): number =>
          f(np.array(symmetric.map((own, r) => own.map((value, c) => value + (r === i && c === j ? by : 0))))).itemSync();
        near([slopes[3 * i + j]!], [(moved(step) - moved(-step)) / (2 * step)], 2e-2, `entry ${i} ${j}`);
      });
    });
    const batch = np.stack([np.array(symmetric), np.eye(3).mul(2)]);
    const first = numbersOf(vmap(grad((m: Array) => np.linalg.eigvalsh(m).sum()))(batch));
    near(first, [1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1], 1e-4, 'the slope of the trace');
  });

  it('the pseudo-inverse, also where singular values are equal', () => {
    const g = grad((m: Array) => np.linalg.pinv(m).sum())(np.eye(2).mul(2));
    near(numbersOf(g), [-0.25, -0.25, -0.25, -0.25], 1e-5, 'of a multiple of the identity');
    const tall = np.array([
      [1, 2],
      [0, 1],
      [3, -1],
    ]);
    const byInverse = (m: Array): Array => np.linalg.inv(m.transpose().matmul(m)).matmul(m.transpose()).sum();
    near(numbersOf(grad((m: Array) => np.linalg.pinv(m).sum())(tall)), numbersOf(grad(byInverse)(tall)), 1e-4, 'of a tall matrix');
  });
});
