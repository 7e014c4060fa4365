/**
 * One array, one jit, one diagnostic: fails within seconds when anything is broken.
 *
 * Depends on: runtime, the analysis through test/support.
 */
import assert from 'node:assert/strict';
import { init, jit, np } from '../runtime/index.ts';
import { checkAll } from './support/check.ts';

describe('tiny', () => {
  before(() => init({ device: 'cpu' }));

  it('an array has the numbers it was made of', () => {
    using a = np.array([1, 2, 3]);
    using sum = a.add(1).sum();
    assert.equal(sum.itemSync(), 9);
  });

  it('a compiled function takes over the buffer of what it was given', () => {
    const double = jit((x: np.Array) => x.mul(2), { donateArgnums: [0] });
    const x = np.ones([4]);
    using y = double(x);
    assert.deepEqual([...y.dataSync()], [2, 2, 2, 2]);
    assert.ok(x.isDisposed);
  });

  it('a use after donation is underlined', async () => {
    const [found] = await checkAll([
      `import { jit, np, type Array } from 'tidemark';
const double = jit((x: Array) => x.mul(2), { donateArgnums: [0] });
export async function main(): Promise<void> {
  const x = np.ones([4]);
  using y = double(x);
  await x.data();
  await y.data();
}
`,
    ]);
    assert.deepEqual(
      found!.map(({ rule, line }) => ({ rule, line })),
      [{ rule: 'use-after-donate', line: 6 }],
    );
  });
});
