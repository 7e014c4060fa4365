/**
 * Measured numbers follow their lines. Depends on: language-server/lsp/line-map.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { lineMap } from '../../language-server/lsp/line-map.ts';

const text = (...lines: string[]): string => lines.join('\n');

describe('line map', () => {
  const rows: readonly (readonly [what: string, older: string, newer: string, map: readonly number[]])[] = [
    ['the same text', text('a', 'b', 'c'), text('a', 'b', 'c'), [0, 1, 2]],
    ['a line added above', text('a', 'b'), text('new', 'a', 'b'), [1, 2]],
    ['a line changed', text('a', 'b', 'c'), text('a', 'B', 'c'), [0, -1, 2]],
    ['a line removed', text('a', 'b', 'c'), text('a', 'c'), [0, -1, 1]],
    ['changes in two places', text('a', 'b', 'c', 'd', 'e'), text('A', 'b', 'c', 'x', 'd', 'E'), [-1, 1, 2, 4, -1]],
    ['equal lines around an insertion', text('}', 'x', '}', 'y', '}'), text('}', 'x', '}', 'new', 'y', '}'), [0, 1, 2, 4, 5]],
    ['another kind of line end', 'a\r\nb', 'a\nb', [0, 1]],
    ['everything gone', text('a', 'b'), '', [-1, -1]],
  ];
  for (const [what, older, newer, map] of rows) {
    it(`knows ${what}`, () => assert.deepEqual(lineMap(older, newer), map));
  }

  it('pairs only equal lines, each once and in order', () => {
    const line = fc.constantFrom('a', 'b', 'c', '}', '');
    fc.assert(
      fc.property(fc.array(line, { maxLength: 30 }), fc.array(line, { maxLength: 30 }), (older, newer) => {
        const map = lineMap(older.join('\n'), newer.join('\n'));
        const b = newer.join('\n').split('\n');
        let last = -1;
        older
          .join('\n')
          .split('\n')
          .forEach((lineText, index) => {
            const to = map[index]!;
            if (to === -1) return;
            assert.equal(b[to], lineText);
            assert.ok(to > last);
            last = to;
          });
      }),
    );
  });

  it('maps 20,000 lines with an edit in the middle quickly', () => {
    const older = Array.from({ length: 20_000 }, (_, index) => `line ${index % 5000}`);
    const newer = [...older.slice(0, 9_000), 'new', ...older.slice(9_001, 15_000), ...older.slice(15_010)];
    const started = performance.now();
    lineMap(older.join('\n'), newer.join('\n'));
    assert.ok(performance.now() - started < 500);
  });
});
