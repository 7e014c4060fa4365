/**
 * Errors lead to the line of the user's program, in the source as it was written.
 *
 * Depends on: runtime, support/arrays.
 */
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { donate, grad, jit, memory, np } from '../../../runtime/index.ts';
import { onCpu } from '../../support/arrays.ts';

const here = fileURLToPath(import.meta.url);

const messageOf = (run: () => unknown): string => faultOf(run).message;

function faultOf(run: () => unknown): Error {
  try {
    run();
  } catch (fault) {
    return fault as Error;
  }
  throw new assert.AssertionError({ message: 'nothing was thrown' });
}

/** What `run` warns of. */
function warningOf(run: () => unknown): string {
  const former = console.warn;
  let text = '';
  console.warn = (message: string) => {
    text += message;
  };
  try {
    run();
  } finally {
    console.warn = former;
  }
  return text;
}

/** The line of this file that holds `mark` (its last occurrence is the search itself, so the first counts). */
const lineOf = (text: string, mark: string): number => text.slice(0, text.indexOf(mark)).split('\n').length;

describe('errors of shapes', () => {
  beforeEach(() => {
    onCpu();
  });
  let text: string;
  before(async () => {
    const { readFile } = await import('node:fs/promises');
    text = await readFile(here, 'utf8');
  });

  it('name both arrays and the line of the call', () => {
    const message = messageOf(() => np.ones([4, 5]).matmul(np.ones([4, 5]))); // eager line
    assert.match(message, /f32\[4,5\] and f32\[4,5\]/);
    assert.ok(message.includes(`${here}:${lineOf(text, '// eager line')}:`), message);
  });

  it('have a stack that begins there, with no frame of the runtime', () => {
    for (const [mark, run] of [
      ['shape line', () => np.ones([2, 3]).matmul(np.ones([4, 5]))], // shape line
      ['argument line', () => np.add('x' as never, 3)], // argument line
      ['option line', () => jit((x: np.Array) => x.add(1), { staticArgnums: [4] })], // option line
    ] as const) {
      const stack = faultOf(run).stack!;
      const [frame] = stack.split('\n').filter((line) => /^\s+at /.test(line));
      assert.ok(frame!.includes(`${here}:${lineOf(text, `// ${mark}`)}:`), stack);
      assert.doesNotMatch(stack, /(?<!test)[\\/]runtime[\\/]/);
    }
  });

  it('stand beside live arrays too', () => {
    using x = np.ones([3, 5]); // live line
    const [found] = memory.liveArrays().filter(({ shape }) => shape.join() === x.shape.join());
    assert.deepEqual([fileURLToPath(found!.file!), found!.line], [here, lineOf(text, '// live line')]);
  });

  it('name the line inside a function that is being compiled', () => {
    const step = jit((x: np.Array) => x.add(np.ones([3]))); // compiled line
    const message = messageOf(() => step(np.ones([2])));
    assert.ok(message.includes(`${here}:${lineOf(text, '// compiled line')}:`), message);
  });
});

describe('errors of donation', () => {
  beforeEach(() => {
    onCpu();
  });
  let text: string;
  before(async () => {
    const { readFile } = await import('node:fs/promises');
    text = await readFile(here, 'utf8');
  });
  const at = (mark: string): string => `${here}:${lineOf(text, mark)}:`;

  it('name the function by what it is bound to, whatever it is bound to', () => {
    const step = jit((w: np.Array) => w.sum(), { donateArgnums: [0] });
    const later: { typed: (w: np.Array) => unknown } = {
      typed: jit((w: np.Array) => w.sum(), { donateArgnums: [0] }),
    };
    class Model {
      readonly update = jit((w: np.Array) => w.sum(), { donateArgnums: [0] });
    }
    const slope = jit(
      grad((w: np.Array) => w.sum().sum()),
      { donateArgnums: [0] },
    );
    for (const [name, call] of [
      ['step', step],
      ['typed', later.typed],
      ['update', new Model().update],
      ['slope', slope],
    ] as const)
      assert.equal(call.name, name);
    const warned = warningOf(() => step(np.ones([300, 4]))); // the warned call
    assert.match(warned, /donating to `step` lowers its peak by nothing\n {2}- `w` f32\[300,4\]/);
    assert.ok(warned.includes(`called at ${at('// the warned call')}`), warned);
    const list = [jit((w: np.Array) => w.sum(), { donateArgnums: [0] })]; // a call without a name
    assert.equal(list[0]!.name, `the function at places.test.ts:${lineOf(text, '// a call without a name')}`);
  });

  it('say where the array was made, where it went, and where it was asked for again', () => {
    const step = jit((w: np.Array, x: np.Array) => w.sub(x), { donateArgnums: [0] });
    const array = np.ones([4]); // made here
    const twice = messageOf(() => step(array, array)); // passed here
    for (const part of ['f32[4] is donated and also read in one call: as `w` and as `x`', `made at ${at('// made here')}`])
      assert.ok(twice.includes(part), twice);
    assert.ok(twice.includes(`passed to \`step\` at ${at('// passed here')}`), twice);
    step(array, np.ones([4])); // given here
    const dead = messageOf(() => array.add(1)); // read here
    for (const part of [
      'f32[4] `w` was read',
      `made at ${at('// made here')}`,
      `donated to \`step\` at ${at('// given here')}`,
      `read at ${at('// read here')}`,
    ])
      assert.ok(dead.includes(part), dead);
    const handle = donate(np.ones([3])); // handle of this
    handle.add(1);
    const spent = messageOf(() => handle.add(1)); // used again
    for (const part of [`made at ${at('// handle of this')}`, `at ${at('// used again')}`]) assert.ok(spent.includes(part), spent);
  });
});
