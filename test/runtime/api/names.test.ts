/**
 * What functions and their parameters are called in messages: as people wrote them, whatever a loader made of that.
 *
 * Depends on: runtime, test/support.
 */
import assert from 'node:assert/strict';
import { asWritten, parametersOf } from '../../../runtime/api/parameters.ts';
import { jit, np } from '../../../runtime/index.ts';
import { onCpu } from '../../support/arrays.ts';

/** Makes a loader that avoids shadowing rename the parameters below. */
const [w, state] = [1, 2];

describe('names in messages', () => {
  before(() => void onCpu());

  it('a parameter is called what it was written as', () => {
    assert.equal(w + state, 3);
    const step = jit((w: np.Array, state: { v: np.Array }) => [w.add(1), state.v.add(1)], { donateArgnums: [0, 1] });
    const x = np.ones([4]);
    assert.throws(() => step(x, { v: x }), /as `w` and as `state\.v`/);
    const named = jit(
      function update(w: np.Array, ...rest: np.Array[]) {
        return rest.map((one) => one.add(w));
      },
      { donateArgnames: 'w' },
    );
    assert.throws(() => named(x, x), /as `w` and /);
  });

  it('the text of a function is believed only where it says the same', () => {
    const ran = parametersOf(new Function('w2', '{ a }', 'return w2') as (...args: never[]) => unknown);
    const names = (text: string | undefined): readonly (string | undefined)[] | undefined => asWritten(ran, () => text)?.names;
    assert.deepEqual(names('(w: np.Array, { a }: Parts): np.Array => w, { donateArgnums: [0] })'), ['w', undefined]);
    assert.deepEqual(names('async function step(w?: np.Array, { a } = parts) {}'), ['w', undefined]);
    for (const other of [undefined, 'update)', '(x: np.Array, { a }: Parts) => x', '(w: np.Array) => w', '(w, ...rest) => w'])
      assert.deepEqual(names(other), ['w2', undefined]);
  });

  it('a traced function without a name is called by what it is bound to, or by its line', () => {
    const read = jit((x: np.Array) => x.js() as never);
    assert.throws(() => read(np.ones([2])), /`js\(\)` of f32\[2\] inside of `read`, which is being traced: it has no value yet/);
    assert.throws(
      () => [jit((x: np.Array) => x.js() as never)][0]!(np.ones([2])),
      /inside of the function at names\.test\.ts:\d+, which is being traced/,
    );
  });
});
