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
  it('says what fell, and leaves out what stayed', () => {
    const mebibyte = 2 ** 20;
    const text = comparison(
      run(24 * mebibyte, [
        ['step', 24 * mebibyte],
        ['load', 4 * mebibyte],
      ]),
      run(16 * mebibyte, [
        ['step', 16 * mebibyte],
        ['load', 4 * mebibyte],
      ]),
    );
    assert.match(text, /peak in use\s+24\.0 MiB\s+16\.0 MiB\s+−8\.0 MiB \(−33\.3 %\)/);
    assert.match(text, /step \(a\.ts\)\s+24\.0 MiB\s+16\.0 MiB/);
    assert.doesNotMatch(text, /load/);
    assert.match(text, /Lines: none differs/);
  });

  it('writes a difference with its sign', () => {
    assert.deepEqual([difference(0, 1024), difference(2048, 1024), difference(5, 5)], ['+1.0 KiB', '−1.0 KiB (−50.0 %)', '=']);
  });
});
