/**
 * What could be forgotten in a text: each place found once, on its line, and gone from the text that is left.
 *
 * Depends on: forget.
 */
import assert from 'node:assert/strict';
import { forgettable } from './forget.ts';

const shown = (text: string, refs = false): readonly string[] =>
  forgettable('a.ts', text, refs).map(({ what, line, source }) => `${line} ${what}: ${source}`);

const left = (text: string, refs = false): readonly string[] => forgettable('a.ts', text, refs).map((place) => place.text);

describe('forgettable', () => {
  it('names what frees, and leaves the rest of the text as it was', () => {
    const text = 'x.dispose();\ntf.dispose([a, b]);\nthis.buffer?.destroy();\n';
    assert.deepEqual(
      shown(text),
      ['1 dispose: x.dispose()', '2 dispose: tf.dispose([a, b])', '3 dispose: this.buffer?.destroy()'].map((s) => `${s};`),
    );
    assert.deepEqual(left(text)[1], 'x.dispose();\n;\nthis.buffer?.destroy();\n');
  });

  it("passes a base class's method and what only looks like one", () => {
    assert.deepEqual(shown('super.dispose();\nconst f = () => x.dispose();\nx.disposed();\n'), []);
  });

  it('turns `using` into `const`', () => {
    assert.deepEqual(left('{ using a = make(), b = make(); }'), ['{ const a = make(), b = make(); }']);
  });

  it('runs the body of a scope without the scope, also of a named one', () => {
    assert.deepEqual(left('const y = tf.tidy(() => x.square());'), ['const y = (() => x.square())();']);
    assert.deepEqual(left("tidy('mean', () => x.mean());"), ['(() => x.mean())();']);
    assert.deepEqual(left('scope(run);'), []);
  });

  it('takes each reference away by itself, where references are counted', () => {
    assert.deepEqual(left('f(x.ref, y.ref);', true), ['f(x, y.ref);', 'f(x.ref, y);']);
    assert.deepEqual(left('f(x.ref);'), []);
  });

  it('goes on behind a bare return, not behind one with a value', () => {
    assert.deepEqual(shown('function f() { if (a) { return; } return 1; }'), ['1 return: return;']);
  });
});
