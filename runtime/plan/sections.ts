/**
 * Time cut into sections, each a largest set of buffers that are alive together.
 *
 * Steps whose buffers are all alive at another step too say nothing new; what is left is far shorter than the time axis,
 * and every lifetime is a run of sections. Depends on: problem (types).
 */
import type { Buffer } from './problem.ts';

export interface Sections {
  readonly count: number;
  /** First and last section of each buffer, both inclusive. */
  readonly first: Int32Array;
  readonly last: Int32Array;
}

/** Every buffer must live for a while (born < dies). */
export function sections(buffers: readonly Buffer[]): Sections {
  const births = buffers.map((_, i) => i).sort((i, j) => buffers[i]!.born - buffers[j]!.born);
  const deaths = buffers.map((_, i) => i).sort((i, j) => buffers[i]!.dies - buffers[j]!.dies);
  const first = new Int32Array(buffers.length);
  const last = new Int32Array(buffers.length);
  let count = 0;
  let grew = false;
  let born = 0;
  // A section ends at the first death after a birth: up to there its set only grew.
  for (const dying of deaths) {
    for (; born < births.length && buffers[births[born]!]!.born < buffers[dying]!.dies; born++) {
      first[births[born]!] = count;
      grew = true;
    }
    last[dying] = grew ? count : count - 1;
    if (grew) {
      count++;
      grew = false;
    }
  }
  return { count, first, last };
}
