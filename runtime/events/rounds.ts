/**
 * How memory changes from round to round, where a program has rounds: animation frames, training steps.
 *
 * A round ends where the next `round` mark stands. Only the last rounds are kept; growth is told when memory at their ends
 * rose in nearly all of them, as bytes per round. Depends on: ledger.
 */
import type { Change, Fold } from './ledger.ts';

export interface Growth {
  readonly rounds: number;
  /** Average over the last rounds. */
  readonly bytesPerRound: number;
}

const kept = 60;
const fewest = 10;
const share = 0.9;

export function rounds(): Fold<Growth | undefined> {
  let ends: number[] = [];
  let count = 0;
  return {
    take(change: Change) {
      if (change.kind !== 'noted' || change.event.kind !== 'mark' || change.event.name !== 'round') return;
      count += 1;
      ends = [...ends.slice(-kept), change.inUse];
    },
    result: () => {
      const rises = ends.slice(1).map((bytes, i) => bytes - ends[i]!);
      if (rises.length < fewest || rises.filter((bytes) => bytes > 0).length < share * rises.length) return undefined;
      return { rounds: count, bytesPerRound: (ends.at(-1)! - ends[0]!) / rises.length };
    },
  };
}
