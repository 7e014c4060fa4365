/**
 * Whose bytes a value of a compiled program lies in: fresh ones, those of a value that it overwrites, or a dead one's.
 *
 *     h1   |######|              alive for steps 0 to 3
 *     h2          |#####|        the same bytes from step 3 on: reuses the space of h1
 *
 * Read from births, deaths and places, so it says the same of a measured program and of a planned one. Depends on: event.
 */
import type { ProgramProfile } from './event.ts';

type Values = ProgramProfile['values'];

export interface Reuse {
  /**
   * `inPlace`: the result of a step is written over one of its operands. `takesOver`: an argument that was donated goes
   * on as this value. `space`: another value lay there before and is dead.
   */
  readonly kind: 'inPlace' | 'takesOver' | 'space';
  /** Position of the other value. */
  readonly of: number;
}

/** Undefined for arguments, for values without a place, and for those whose bytes nothing used before. */
export function reuseOf(values: Values, index: number): Reuse | undefined {
  const value = values[index];
  if (value === undefined || value.what === 'argument') return undefined;
  if (value.reuses !== undefined) return { kind: values[value.reuses]?.what === 'argument' ? 'takesOver' : 'inPlace', of: value.reuses };
  const { region, offset, bytes, born } = value;
  if (region === undefined || offset === undefined) return undefined;
  let best: number | undefined;
  values.forEach((other, i) => {
    if (i === index || other.region !== region || other.offset === undefined || other.dies > born) return;
    const shared = Math.min(offset + bytes, other.offset + other.bytes) - Math.max(offset, other.offset);
    if (shared <= 0) return;
    if (best === undefined || other.dies > values[best]!.dies) best = i;
  });
  return best === undefined ? undefined : { kind: 'space', of: best };
}

export interface ReuseCounts {
  /** Values written over an operand or a donated argument. */
  readonly inPlace: number;
  /** Values that lie where a dead one lay. */
  readonly space: number;
}

export function countReuse(values: Values): ReuseCounts {
  const kinds = values.map((_, i) => reuseOf(values, i)?.kind);
  return {
    inPlace: kinds.filter((kind) => kind === 'inPlace' || kind === 'takesOver').length,
    space: kinds.filter((kind) => kind === 'space').length,
  };
}
