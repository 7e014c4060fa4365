/**
 * Analysis in a thread: answers come back, cancelling reaches it, and a file that it is stuck on stops nothing else.
 *
 * Depends on: language-server/lsp/remote-analysis, worker_threads.
 */
import assert from 'node:assert/strict';
import { Worker } from 'node:worker_threads';
import { remoteAnalysis } from '../../language-server/lsp/remote-analysis.ts';
import { Cancellation } from '../../language-server/lsp/session.ts';

/** A thread that answers with what it knows, is stuck on `stuck.ts`, and waits on `slow.ts` until it is cancelled. */
const script = `
const { parentPort } = require('node:worker_threads');
const texts = new Map();
setInterval(() => parentPort.postMessage({ kind: 'beat' }), 20);
parentPort.on('message', (m) => {
  if (m.kind === 'text') texts.set(m.file, m.text);
  if (m.kind !== 'ask') return;
  if (m.file === 'stuck.ts' && texts.get(m.file) === 'loop') for (;;);
  if (m.file === 'dies.ts') process.exit(1);
  const flag = new Int32Array(m.cancelled);
  const say = () => parentPort.postMessage({ kind: 'answer', id: m.id, value: [m.question, m.file, texts.get(m.file)] });
  if (m.file !== 'slow.ts') return say();
  const wait = setInterval(() => {
    if (Atomics.load(flag, 0) === 0) return;
    clearInterval(wait);
    parentPort.postMessage({ kind: 'fault', id: m.id, cancelled: true, words: 'cancelled' });
  }, 5);
});`;

describe('analysis in a thread', () => {
  const log: string[] = [];
  let started = 0;
  const make = () =>
    remoteAnalysis({
      start: () => {
        started += 1;
        return new Worker(script, { eval: true });
      },
      patienceMs: 1500,
      processorMs: () => performance.now(),
      log: (words) => log.push(words),
    });
  const token = new Cancellation();

  it('answers about the texts it was told', async () => {
    const analysis = make();
    analysis.setText('a.ts', 'one');
    assert.deepEqual(await analysis.diagnostics(token, 'a.ts'), ['diagnostics', 'a.ts', 'one']);
    analysis.setText('a.ts', 'two');
    assert.deepEqual(await analysis.functions(token, 'a.ts'), ['functions', 'a.ts', 'two']);
    analysis.dispose?.();
  });

  it('hands cancelling on', async () => {
    const analysis = make();
    const own = new Cancellation();
    const asked = analysis.diagnostics(own, 'slow.ts');
    setTimeout(() => own.cancel(), 100);
    await assert.rejects(asked, /cancelled/);
    analysis.dispose?.();
  });

  it('gives up a text it is stuck on, goes on with others, and tries again when the text changed', async () => {
    const analysis = make();
    started = 0;
    analysis.setText('a.ts', 'one');
    analysis.setText('stuck.ts', 'loop');
    await assert.rejects(analysis.diagnostics(token, 'stuck.ts'), /given up/);
    assert.match(log.at(-1)!, /stuck\.ts took 2 s of processor time/);
    assert.deepEqual(await analysis.diagnostics(token, 'stuck.ts'), []);
    assert.deepEqual(await analysis.diagnostics(token, 'a.ts'), ['diagnostics', 'a.ts', 'one']);
    analysis.setText('stuck.ts', 'fine');
    assert.deepEqual(await analysis.diagnostics(token, 'stuck.ts'), ['diagnostics', 'stuck.ts', 'fine']);
    assert.equal(started, 2);
    analysis.dispose?.();
  });

  it('starts again after the thread died', async () => {
    const analysis = make();
    await assert.rejects(analysis.diagnostics(token, 'dies.ts'));
    analysis.setText('a.ts', 'one');
    assert.deepEqual(await analysis.diagnostics(token, 'a.ts'), ['diagnostics', 'a.ts', 'one']);
    analysis.dispose?.();
  });
});
