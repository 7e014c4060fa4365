/**
 * How many bytes an array has, by the place that makes it: what all walks that came by agree on.
 *
 * Depends on: core (dim), analysis, lower/ir.
 */
import { isKnown, same, type Dim } from '../../runtime/core/dim.ts';
import type { Span } from '../lower/ir.ts';
import { spanKey, type Analysis } from './analysis.ts';

/** Bytes of the arrays that each place makes, by `spanKey`; places of several sizes, or of unknown ones, are left out. */
export function sizesOf({ exploration }: Analysis): (made: Span) => number | undefined {
  const found = new Map<string, Dim | undefined>();
  for (const { ledger } of exploration.runs)
    for (const { made, bytes } of ledger.lives) {
      const key = spanKey(made);
      const known = found.get(key);
      if (!found.has(key)) found.set(key, bytes);
      else if (known !== undefined && (bytes === undefined || same(known, bytes) !== 'yes')) found.set(key, undefined);
    }
  return (made) => {
    const bytes = found.get(spanKey(made));
    return bytes !== undefined && isKnown(bytes) ? bytes : undefined;
  };
}
