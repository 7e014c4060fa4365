/**
 * Errors lead to the line of the user's program, in the source as it was written.
 *
 * Depends on: runtime, support/arrays.
 */
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { jit, np } from '../../../runtime/index.ts';
import { onCpu } from '../../support/arrays.ts';

const here = fileURLToPath(import.meta.url);

function messageOf(run: () => unknown): string {
  try {
    run();
  } catch (fault) {
    return (fault as Error).message;
  }
  throw new assert.AssertionError({ message: 'nothing was thrown' });
}

/** The line of this file that holds `mark` (its last occurrence is the search itself, so the first counts). */
const lineOf = (text: string, mark: string): number => text.slice(0, text.indexOf(mark)).split('\n').length;

describe('errors of shapes', () => {
  onCpu();
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

  it('name the line inside a function that is being compiled', () => {
    const step = jit((x: np.Array) => x.add(np.ones([3]))); // compiled line
    const message = messageOf(() => step(np.ones([2])));
    assert.ok(message.includes(`${here}:${lineOf(text, '// compiled line')}:`), message);
  });
});
