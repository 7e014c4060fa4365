/**
 * Which donation is worth a word: the one that saves most, and of those the one that gives away fewest arguments.
 *
 * Depends on: protocol.
 */
import type { JitReport } from '../protocol.ts';

export interface BestDonation {
  readonly donateArgnums: readonly number[];
  readonly peakBytes: number;
  readonly savesBytes: number;
}

/** Undefined when no donation lowers the peak. */
export function bestDonation({ peakBytes, whatIf }: Pick<JitReport, 'peakBytes' | 'whatIf'>): BestDonation | undefined {
  const best = whatIf.toSorted((a, b) => a.peakBytes - b.peakBytes || a.donateArgnums.length - b.donateArgnums.length)[0];
  return best === undefined || best.peakBytes >= peakBytes ? undefined : { ...best, savesBytes: peakBytes - best.peakBytes };
}
