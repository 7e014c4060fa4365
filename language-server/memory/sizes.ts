/**
 * How many bytes an array has, by the place that makes it: what all walks that came by agree on.
 *
 * Depends on: core (dim), analysis, lower/ir.
 */
import { isKnown, same, type Dim } from '../../runtime/core/dim.ts';
import type { Span } from '../lower/ir.ts';
import { spanKey, type Analysis } from './analysis.ts';

type Sizes = (made: Span) => number | undefined;

const known = new WeakMap<Analysis, Sizes>();

/** Bytes of the arrays that each place makes; nothing of places of several sizes, or of unknown ones. */
export function sizesOf(analysis: Analysis): Sizes {
  const sizes = known.get(analysis) ?? sizesIn(analysis);
  known.set(analysis, sizes);
  return sizes;
}

function sizesIn({ exploration }: Analysis): Sizes {
  const found = new Map<string, Dim | undefined>();
  for (const { ledger } of exploration.runs)
    for (const { made, bytes } of ledger.lives) {
      const key = spanKey(made);
      const before = found.get(key);
      if (!found.has(key)) found.set(key, bytes);
      else if (before !== undefined && (bytes === undefined || same(before, bytes) !== 'yes')) found.set(key, undefined);
    }
  return (made) => {
    const bytes = found.get(spanKey(made));
    return bytes !== undefined && isKnown(bytes) ? bytes : undefined;
  };
}
