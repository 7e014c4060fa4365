/**
 * Random choices that a seed repeats.
 *
 * Depends on: nothing.
 */
export interface Random {
  /** A whole number, 0 <= n < below. */
  below(below: number): number;
  chance(probability: number): boolean;
  pick<T>(of: readonly T[]): T;
}

export function seeded(seed: number): Random {
  let state = (seed * 2654435761 + 0x9e3779b9) >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    below,
    chance: (probability) => next() < probability,
    pick: (of) => {
      const chosen = of[below(of.length)];
      if (chosen === undefined) throw new RangeError('nothing to pick from');
      return chosen;
    },
  };
}
