/**
 * The most that is alive at any one step: no plan can need less.
 *
 * One sweep over births and deaths. Rounding every size up to `alignment` is right only where all offsets are multiples
 * of it, so per-buffer alignments are left out of the bound, which stays below every plan. Depends on: problem.
 */
import type { Buffer } from './problem.ts';
import { pieces, roundUp } from './problem.ts';

export function leastBytes(buffers: readonly Buffer[], alignment = 1): number {
  const lasting = buffers.flatMap((buffer) =>
    buffer.gaps === undefined && buffer.bytes > 0 && buffer.born < buffer.dies
      ? [buffer]
      : pieces(buffer).map(({ born, dies, from, to }) => ({ born, dies, bytes: to - from })),
  );
  const births = lasting.toSorted((a, b) => a.born - b.born);
  const deaths = lasting.toSorted((a, b) => a.dies - b.dies);
  let alive = 0;
  let most = 0;
  let gone = 0;
  for (const { bytes, born } of births) {
    for (; deaths[gone]!.dies <= born; gone++) alive -= roundUp(deaths[gone]!.bytes, alignment);
    alive += roundUp(bytes, alignment);
    most = Math.max(most, alive);
  }
  return buffers.reduce((least, { fixed, bytes }) => Math.max(least, fixed === undefined ? 0 : fixed + bytes), most);
}
