/**
 * Budgets in a file and the verdict of a run on them. Depends on: extension/budget-lines.
 */
import assert from 'node:assert/strict';
import { budgetsIn, verdict } from '../../../extension/budget-lines.ts';
import type { ProfileReport } from '../../../language-server/protocol.ts';

const mebibyte = 2 ** 20;
const report = {
  peakBytes: 10 * mebibyte,
  functions: [{ file: 'a.ts', name: 'step', line: 4, calls: 2, peakBytes: 8 * mebibyte, enteredBytes: 0, jit: null }],
} as unknown as ProfileReport;
const isFile = (file: string): boolean => file === 'a.ts';

describe('budgets of a file', () => {
  it('are those above functions, and the one on the second line', () => {
    const text = [
      '// a program',
      '// @budget 9MiB',
      '// @budget 8 MiB',
      'export const step = jit((x) => x);',
      'class A {',
      '  // @budget 1GiB',
      '  async run() {}',
      '}',
    ];
    assert.deepEqual(budgetsIn(text.join('\n')), [
      { name: undefined, line: 2, bytes: 9 * mebibyte },
      { name: 'step', line: 4, bytes: 8 * mebibyte },
      { name: 'run', line: 7, bytes: 1024 * mebibyte },
    ]);
    assert.deepEqual(budgetsIn('const budget = 1;\n// budget 3\nfunction f() {}'), []);
  });

  it('are kept up to the last byte, and broken beyond', () => {
    const step = { name: 'step', line: 4, bytes: 8 * mebibyte };
    assert.deepEqual(verdict(step, report, isFile), { kind: 'kept', text: 'peak 8.0 MiB, budget 8.0 MiB' });
    assert.deepEqual(verdict({ ...step, bytes: 7 * mebibyte }, report, isFile), {
      kind: 'broken',
      text: 'peak 8.0 MiB, budget 7.0 MiB: 1.0 MiB too much',
    });
    assert.equal(verdict({ name: undefined, line: 2, bytes: 9 * mebibyte }, report, isFile).kind, 'broken');
  });

  it('are not kept by a function that was never called', () => {
    assert.equal(verdict({ name: 'other', line: 9, bytes: mebibyte }, report, isFile).kind, 'notReached');
  });
});
