/**
 * Two runs side by side. Depends on: extension/compare.
 */
import assert from 'node:assert/strict';
import { comparison, difference } from '../../../extension/compare.ts';
import type { ProfileReport } from '../../../language-server/protocol.ts';

const run = (peakBytes: number, functions: readonly (readonly [string, number])[]) => ({
  endedAt: new Date(0),
  report: {
    version: 1,
    entry: 'a.ts',
    device: null,
    peakBytes,
    peakReservedBytes: 0,
    liveBytesAtExit: 0,
    peakAt: null,
    lines: [],
    functions: functions.map(([name, bytes]) => ({ file: 'a.ts', name, line: 1, calls: 1, peakBytes: bytes, enteredBytes: 0, jit: null })),
    liveAtPeak: [],
    leaks: [],
    wallMs: 1,
    exitCode: 0,
  } satisfies ProfileReport,
});

describe('comparison of two runs', () => {
  it('stand side by side row by row: what fell, and what stayed the same on both sides', () => {
    const mebibyte = 2 ** 20;
    const { before, after } = comparison(
      run(24 * mebibyte, [
        ['step', 24 * mebibyte],
        ['load', 4 * mebibyte],
        ['gone', mebibyte],
      ]),
      run(16 * mebibyte, [
        ['step', 16 * mebibyte],
        ['load', 4 * mebibyte],
      ]),
    );
    assert.match(before, /peak in use\s+24\.0 MiB$/m);
    assert.match(after, /peak in use\s+16\.0 MiB\s+−8\.0 MiB \(−33\.3 %\)$/m);
    assert.match(before, /step \(a\.ts\)\s+24\.0 MiB$/m);
    assert.match(after, /gone \(a\.ts\)\s+–\s+−1\.0 MiB \(−100\.0 %\)$/m);
    const [left, right] = [before.split('\n'), after.split('\n')];
    assert.equal(left.length, right.length);
    const same = left.filter((line, i) => line === right[i] && line !== '');
    assert.ok(
      same.some((line) => line.startsWith('load (a.ts)')),
      'what stayed is the same text on both sides',
    );
    assert.ok(left.findIndex((line) => line.startsWith('step')) < left.findIndex((line) => line.startsWith('gone')), 'most first');
    assert.doesNotMatch(before, /Lines|Leaks/);
  });

  it('writes a difference with its sign', () => {
    assert.deepEqual([difference(0, 1024), difference(2048, 1024), difference(5, 5)], ['+1.0 KiB', '−1.0 KiB (−50.0 %)', '=']);
  });
});
