/**
 * Generated programs, right ones and mutants: what is reported happens, what happens is reported.
 *
 * A hundred programs here; `node --import tsx test/fuzz/long.ts mutants 2000` runs as many as asked for.
 * Depends on: judge.
 */
import assert from 'node:assert/strict';
import { judge, shown, type Verdicts } from './judge.ts';
import type { Dialect } from './program.ts';

/** The share of faulty mutants that is reported, measured; it can only get better. */
const recorded: Readonly<Record<Dialect, number>> = { tidemark: 0.95, tfjs: 0.95, 'jax-js': 0.95, webgpu: 0.95 };

describe('generated programs', () => {
  for (const dialect of ['tfjs', 'jax-js', 'webgpu', 'tidemark'] as const) {
    describe(dialect, () => {
      let verdicts: Verdicts;
      before(async () => {
        verdicts = await judge(
          dialect,
          Array.from({ length: 16 }, (_, index) => index),
          3,
        );
      });

      it('yield no report where no run goes wrong', () => {
        assert.equal(verdicts.alarms.length, 0, verdicts.alarms.map(shown).join('\n'));
      });

      it('yield a report where a word was forgotten and a run leaks or fails', () => {
        assert.ok(verdicts.faulty > 20, `only ${verdicts.faulty} mutants go wrong`);
        const share = verdicts.reported / verdicts.faulty;
        assert.ok(
          share >= recorded[dialect],
          `${verdicts.reported} of ${verdicts.faulty} reported\n${verdicts.missed.map(shown).join('\n')}`,
        );
      });

      it('never pass a use that is called certain', () => {
        assert.equal(verdicts.unsound.length, 0, verdicts.unsound.map(shown).join('\n'));
      });
    });
  }
});
