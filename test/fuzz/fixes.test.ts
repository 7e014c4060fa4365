/**
 * A safe fix changes memory and nothing else: generated programs run before and after.
 *
 * A hundred programs here; `node --import tsx test/fuzz/long.ts fixes 2000` runs as many as asked for.
 * Depends on: fixed.
 */
import assert from 'node:assert/strict';
import { fixAll } from './fixed.ts';

/** No leak fix claims to be safe yet, so nothing is applied; the first that does raises this. */
const recorded = 0;

describe('safe fixes', () => {
  for (const dialect of ['tfjs', 'jax-js', 'webgpu', 'tidemark'] as const) {
    it(`keep the numbers and lower the bytes of ${dialect} programs`, async () => {
      const fixed = await fixAll(
        dialect,
        Array.from({ length: 25 }, (_, index) => 500 + index),
      );
      assert.ok(fixed.length >= recorded, `only ${fixed.length} of 25 programs had a safe fix`);
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
});
