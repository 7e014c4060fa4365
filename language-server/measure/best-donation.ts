/**
 * Which donation is worth a word: of those that save about as much as any the one that gives away fewest arguments.
 *
 * Depends on: core, protocol.
 */
import { leastShare } from '../../runtime/core/donation.ts';
import type { JitReport } from '../protocol.ts';

export interface BestDonation {
  readonly donateArgnums: readonly number[];
  readonly peakBytes: number;
  readonly savesBytes: number;
}

/** Undefined when no donation lowers the peak by as much as is worth a word: `leastShare` of it. */
export function bestDonation({ peakBytes, whatIf }: Pick<JitReport, 'peakBytes' | 'whatIf'>): BestDonation | undefined {
  const most = Math.max(0, ...whatIf.map((choice) => peakBytes - choice.peakBytes));
  const best = whatIf
    .filter((choice) => peakBytes - choice.peakBytes >= (1 - leastShare) * most)
    .toSorted((a, b) => a.donateArgnums.length - b.donateArgnums.length || a.peakBytes - b.peakBytes)[0];
  return most === 0 || most < leastShare * peakBytes || best === undefined
    ? undefined
    : { ...best, savesBytes: peakBytes - best.peakBytes };
}
