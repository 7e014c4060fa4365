/**
 * A safe fix changes memory and nothing else: generated programs run before and after.
 *
 * A hundred programs here; `node --import tsx test/fuzz/long.ts fixes 2000` runs as many as asked for.
 * Depends on: fixed.
 */
import assert from 'node:assert/strict';
import { fixAll } from './fixed.ts';

/** How many of 25 programs of each dialect got a safe fix, and how many fixes each rule gave over all: only ever more. */
const programs = { tfjs: 15, 'jax-js': 13, webgpu: 10, tidemark: 17 } as const;
const fixes: Readonly<Record<string, number>> = { leak: 42, 'missing-ref': 2, 'double-donate': 10, 'unused-suppression': 47 };

describe('safe fixes', () => {
  const applied = new Map<string, number>();
  for (const [dialect, least] of Object.entries(programs) as [keyof typeof programs, number][]) {
    it(`keep the numbers and lower the bytes of ${dialect} programs`, async () => {
      const fixed = await fixAll(
        dialect,
        Array.from({ length: 25 }, (_, index) => 500 + index),
      );
      for (const rule of fixed.flatMap(({ rules }) => rules)) applied.set(rule, (applied.get(rule) ?? 0) + 1);
      assert.ok(fixed.length >= least, `only ${fixed.length} of 25 programs had a safe fix, ${least} had before`);
      const broken = fixed.filter(({ broken }) => broken.length > 0);
      assert.equal(
        broken.length,
        0,
        broken
          .map(({ seed, before, after, broken }) => `${dialect} ${seed}: ${broken.join('; ')}\n${before}\n--- fixed ---\n${after}`)
          .join('\n'),
      );
    });
  }

  it('come from every rule that can prove them', () => {
    const few = Object.entries(fixes).filter(([rule, least]) => (applied.get(rule) ?? 0) < least);
    assert.deepEqual(few, [], `applied: ${JSON.stringify(Object.fromEntries(applied))}`);
  });
});
