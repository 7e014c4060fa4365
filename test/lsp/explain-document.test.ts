/**
 * Compiled functions as documents: addresses that survive a window, text from analysis, and the measured plan where that is not enough.
 *
 * Depends on: language-server/lsp.
 */
import assert from 'node:assert/strict';
import path from 'node:path';
import type { Figures } from '../../language-server/compiled/explain.ts';
import { explainText, explainUri, readExplainUri } from '../../language-server/lsp/explain-document.ts';
import type { Measurement } from '../../language-server/lsp/measurements.ts';
import { explainStages, type Explanation, type JitReport } from '../../language-server/protocol.ts';
import { report } from './wire.ts';

const file = path.resolve('/home/ä b/train.ts');
const target = { file, function: 'Net.step', line: 7 };

const figures: Figures = {
  argumentBytes: 1024,
  outputBytes: 1024,
  aliasBytes: 0,
  tempBytes: 0,
  peakBytes: 2048,
  lowerBoundBytes: 2048,
  orderLowerBoundBytes: null,
  gap: { packing: 0, outputs: 0, copies: 0 },
  copies: [{ bytes: 1024, place: 1, reason: '`x` is read later' }],
  donated: [],
  whatIf: [
    { donateArgnums: [], peakBytes: 2048 },
    { donateArgnums: [0], peakBytes: 1024 },
  ],
  values: [
    { place: 0, bytes: 1024, shape: [256], dtype: 'float32', born: 0, dies: 1, what: 'argument', region: 1, offset: 0 },
    { place: 1, bytes: 1024, shape: [256], dtype: 'float32', born: 0, dies: 1, what: 'output', region: 0, offset: 0 },
  ],
  steps: 1,
  argumentPaths: ['x'],
  places: [undefined, { file: 'train.ts', line: 8, column: 3 }],
};

const jit: JitReport = { ...figures, traces: 1, copies: [], donated: [] };

const measurement: Measurement = {
  report: report({ functions: [{ file: 'train.ts', name: 'Net.step', line: 7, calls: 1, peakBytes: 4096, enteredBytes: 0, jit }] }),
  endedAt: 0,
  texts: new Map(),
  programs: [figures],
  resolve: (reported) => path.resolve(path.dirname(file), reported),
};

const unknown: Explanation = {
  name: 'Net.step',
  stages: { plan: null, schedule: null, ir: null, trace: null },
  why: 'the shape of `x` is not known',
};

describe('documents that explain', () => {
  it('have addresses that say all', () => {
    for (const stage of explainStages) assert.deepEqual(readExplainUri(explainUri(target, stage)), { target, stage });
    assert.equal(readExplainUri('file:///home/train.plan'), undefined);
    assert.equal(readExplainUri('tidemark-explain:/step.plan?{}'), undefined);
    assert.equal(readExplainUri('tidemark-explain:/step.wishes?{}'), undefined);
  });

  it('show the plan of the last run where the text is not enough, and say so', () => {
    const text = explainText({ target, stage: 'plan' }, unknown, measurement);
    assert.match(text, /^From the last run \(the text alone doesn't say enough: the shape of `x` is not known\)\.$/m);
    assert.match(text, /^copied +1\.0 KiB at train\.ts:8:3: `x` is read later$/m);
    assert.match(text, /^what if +donateArgnums: \[0\], peak 1\.0 KiB$/m);
    assert.match(text, /^#1 +f32\[256\] +1\.0 KiB +━ +train\.ts:8:3 +arena$/m);
    assert.match(explainText({ target, stage: 'trace' }, unknown, measurement), /The plan of the last run is known: see plan\./);
  });

  it('say what to do where nothing is known', () => {
    assert.match(
      explainText({ target, stage: 'plan' }, unknown, undefined),
      /is not known\.\nProfile it: then the plan of that run is shown here\.\n$/,
    );
    assert.match(explainText({ target, stage: 'plan' }, undefined, undefined), /no compiled function of this name is in the file/);
  });
});
