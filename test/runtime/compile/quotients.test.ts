/**
 * Products and shifts in the place of quotients: the same numbers over the whole range.
 *
 * Depends on: runtime/compile.
 */
import assert from 'node:assert/strict';
import { evaluate } from '../../../runtime/compile/evaluate.ts';
import { makeKeys } from '../../../runtime/compile/keys.ts';
import { withoutDivision } from '../../../runtime/compile/quotients.ts';
import { divided, intDiv, rest } from '../../../runtime/ops/arithmetic.ts';
import { coordinate, type Scalar } from '../../../runtime/ops/scalar.ts';

const boundsFor = (extent: number) => ({ extents: [extent], counters: new Map<symbol, number>(), keys: makeKeys() });
const valueAt = (scalar: Scalar, x: number): number => evaluate(scalar, { coordinates: [x], load: () => 0 });

describe('quotients by constants', () => {
  for (const extent of [2, 7, 288, 3136, 65536, 1000003])
    it(`of numbers below ${extent}`, () => {
      const quick = withoutDivision(boundsFor(extent));
      for (const by of [2, 3, 5, 7, 9, 14, 49, 64, 100, 196, 784, 1000, 4097]) {
        const [quotient, left] = [quick(divided(coordinate(0), by)), quick(rest(coordinate(0), by))];
        for (let x = 0; x < extent; x += Math.max(1, Math.floor(extent / 4999)))
          for (const one of [x, extent - 1 - x]) {
            assert.equal(valueAt(quotient, one), Math.floor(one / by), `${one} / ${by}`);
            assert.equal(valueAt(left, one), one % by, `${one} % ${by}`);
          }
      }
    });

  it('stay divisions where a product would need more than 32 bits', () => {
    const quick = withoutDivision(boundsFor(2 ** 30));
    const quotient = quick(divided(coordinate(0), 7));
    assert.ok(quotient.kind === 'apply' && quotient.apply === intDiv);
  });
});
