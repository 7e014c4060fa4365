/**
 * What differentiation made, and what was computed a second time, is marked: in the stream of events, and in the profile.
 *
 * Depends on: runtime, pprof-format, support/arrays.
 */
import { strict as assert } from 'node:assert';
import { Profile } from 'pprof-format';
import type { Event } from '../../../runtime/events/event.ts';
import { listen } from '../../../runtime/device/memory-events.ts';
import { grad, jit, memory, np, type Array as A } from '../../../runtime/index.ts';
import { numbers, onCpu } from '../../support/arrays.ts';

/** Samples as label -> value, with their bytes. */
const samplesOf = (bytes: Uint8Array): readonly (Readonly<Record<string, string>> & { readonly bytes?: never })[] => {
  const { sample, stringTable } = Profile.decode(bytes);
  const text = (index: number | bigint): string => stringTable.strings[Number(index)]!;
  return sample.map(({ label }) => Object.fromEntries(label.map(({ key, str }) => [text(key), text(str)])));
};

describe('roles in profiles', () => {
  const layers = 4;
  const weights = (): A[] => Array.from({ length: layers }, (_, i) => np.array(numbers(32 * 32, i, -0.3, 0.3)).reshape([32, 32]));
  const loss = (ws: A[], x: A): A => np.square(ws.reduce((h, w) => np.tanh(h.matmul(w)), x)).sum();

  it('gradients that a call returned are marked, alive and at the peak', () => {
    onCpu();
    const [ws, x] = [weights(), np.array(numbers(1024 * 32, 9)).reshape([1024, 32])];
    const stop = memory.trackPeak();
    const gradients = jit((own: A[], y: A) => grad(loss)(own, y))(ws, x);
    for (const at of ['now', 'peak'] as const) {
      const roles = samplesOf(memory.profile({ at })).map(({ role }) => role);
      assert.ok(roles.includes('gradient') && roles.includes(undefined as never), `${at}: ${roles.join()}`);
    }
    stop();
    assert.equal(gradients.length, layers);
  });

  it('what a budget had computed again is marked in the program, and its gradients as they are', () => {
    onCpu();
    const [ws, x] = [weights(), np.array(numbers(1024 * 32, 9)).reshape([1024, 32])];
    const plain = jit((own: A[], y: A) => grad(loss)(own, y)).lower(ws, x).peakBytes;
    const frugal = jit((own: A[], y: A) => grad(loss)(own, y), { memoryBudget: plain - 1024 * 32 * 4, donateArgnums: 0 });
    const events: Event[] = [];
    const stop = listen((event) => events.push(event));
    frugal(ws, x);
    stop();
    const roles = events.flatMap((event) => (event.kind === 'program' ? event.profile.values.map(({ role }) => role) : []));
    assert.ok(roles.includes('again') && roles.includes('gradient'), roles.join());
    const outputs = events.flatMap((event) => (event.kind === 'allocate' || event.kind === 'reuse' ? [event.role] : []));
    assert.equal(outputs.filter((role) => role === 'gradient').length, layers, 'a gradient that takes over a donated buffer is one too');
  });
});
