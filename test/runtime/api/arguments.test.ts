/**
 * Wrong arguments: every public function answers with one sentence of ours, never with what the engine says.
 *
 * Walks the namespaces, so a new function is tested by being there. Depends on: runtime, test/support.
 */
import assert from 'node:assert/strict';
import * as tidemark from '../../../runtime/index.ts';
import { onCpu } from '../../support/arrays.ts';

type Call = (...args: unknown[]) => unknown;
const { np } = tidemark;

const namespaces: Readonly<Record<string, object>> = {
  np,
  'np.linalg': np.linalg,
  'np.fft': np.fft,
  lax: tidemark.lax,
  nn: tidemark.nn,
  random: tidemark.random,
  scipySpecial: tidemark.scipySpecial,
  tree: tidemark.tree,
  tidemark: Object.fromEntries(
    Object.entries(tidemark).filter(
      ([name, member]) => typeof member === 'function' && !/^[A-Z]|init|defaultDevice|devices|blockUntilReady/.test(name),
    ),
  ),
};

/** Argument lists that nobody means. */
function wrongLists(): readonly (readonly unknown[])[] {
  const x = np.ones([2, 3]);
  const wrong = [null, 'x', { bogus: 1 }, (y: unknown) => y, Symbol('s')];
  return [[], ...wrong.map((one) => [one]), ...wrong.map((one) => [x, one]), [undefined, Promise.resolve(1)], [(y: unknown) => y, 10n, x]];
}
const engines = /Cannot |is not a function|not iterable|Invalid array length|internal:|reading '|is not defined|BigInt to/;

/** What is wrong with an error; undefined for one that says what to do. */
function fault(error: unknown): string | undefined {
  if (!(error instanceof Error)) return `a thrown ${typeof error}`;
  if (engines.test(error.message)) return error.message;
  if (error instanceof tidemark.ArgumentError || error instanceof tidemark.ShapeError)
    return error.message.includes('arguments.test.ts') ? undefined : `no place in: ${error.message}`;
  return error instanceof TypeError || error instanceof tidemark.TidemarkError ? undefined : `${error.name}: ${error.message}`;
}

describe('wrong arguments', () => {
  before(() => {
    onCpu();
  });

  for (const [path, namespace] of Object.entries(namespaces))
    it(`of every function of ${path} are answered with a sentence that says where and what to do`, () => {
      const faults = new Set<string>();
      for (const [name, member] of Object.entries(namespace)) {
        if (typeof member !== 'function' || /^[A-Z]/.test(name)) continue;
        for (const args of wrongLists())
          try {
            const result = (member as Call)(...args);
            if (result instanceof Promise) result.catch(() => undefined);
          } catch (error) {
            const found = fault(error);
            if (found !== undefined) faults.add(`${path}.${name}: ${found.split('\n')[0]!}`);
          }
      }
      assert.deepEqual([...faults], []);
    });

  const x = (): tidemark.Array => np.ones([2, 3]);
  const rows: readonly (readonly [string, () => unknown, RegExp])[] = [
    [
      'a misspelt option',
      () => np.sum(x(), 0, { keepDims: true } as object),
      /`sum` got an option `keepDims`.*\n.*\n.*only option is `keepdims`/,
    ],
    ['options in the place of an axis', () => np.sum(x(), { axis: 0 } as never), /got an object \{ axis \} as axis/],
    [
      'a list instead of an array',
      () => np.add([1, 2] as never, 1),
      /`add` got the list \[1, 2\] where an array has to be[\s\S]*np\.array/,
    ],
    ['a promise', () => np.sin(Promise.resolve(x()) as never), /`sin` got a Promise[\s\S]*await it first/],
    ['an axis that is not there', () => np.concatenate([x(), x()], 2), /`concatenate` got axis 2 for f32\[2,3\]/],
    ['an empty list', () => np.stack([]), /`stack` got an empty list/],
    ['shapes that differ', () => np.stack([x(), np.ones([3])]), /`stack` got f32\[2,3\] and f32\[3\]: all arrays have to have one shape/],
    ['a shape with a fraction', () => np.zeros([2, 1.5]), /`zeros` got the shape \[2,1\.5\]/],
    ['floats as indices', () => np.take(x(), np.array([0.5]), 0), /`take` got f32\[1\], and needs whole numbers/],
    ['bits of floats', () => np.bitwiseAnd(x(), 1), /needs whole numbers or bools/],
    ['the largest of nothing', () => np.max(np.zeros([0])), /`max` got f32\[0\]: no elements have no extreme/],
    ['too many for topK', () => tidemark.lax.topK(x(), 4), /k is a whole number from 0 to 3, the extent of axis 1/],
    [
      'a misspelt donation',
      () => tidemark.jit((a: tidemark.Array) => a, { donateArgNums: [0] } as object),
      /option `donateArgNums`[\s\S]*`donateArgnums`/,
    ],
    [
      'a body without a pair',
      () => tidemark.lax.scan(((c: tidemark.Array) => c) as never, x(), x()),
      /a body that returns f32\[2,3\][\s\S]*return \[the next carry/,
    ],
    ['a mode that is none', () => np.pad(x(), 1, { mode: 'reflection' as 'reflect' }), /mode "reflection"[\s\S]*"reflect"/],
    ['letters of two extents', () => np.einsum('ij,ij->i', x(), np.ones([2, 4])), /"j" stands for 3 and for 4 elements/],
  ];
  for (const [title, run, expected] of rows)
    it(`${title}: says so`, () => {
      assert.throws(run, expected);
    });

  it('leave an error of the user’s own function as it is', () => {
    const own = (): never => (undefined as unknown as { readonly x: never }).x;
    assert.throws(() => np.applyAlongAxis(own, 0, x()), TypeError);
    assert.throws(() => np.applyAlongAxis(own, 0, x()), /Cannot read properties of undefined/);
  });
});
