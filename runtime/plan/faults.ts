/**
 * What is wrong with a plan, without knowing how it was made.
 *
 * A sweep in time keeps the buffers that are alive sorted by offset; whoever is born looks at its two neighbours.
 * Shares nothing with the planner but types, so a mistake there cannot hide here. Depends on: problem (types).
 */
import type { Buffer } from './problem.ts';

export type Fault =
  | { readonly kind: 'missing'; readonly buffer: number }
  | { readonly kind: 'misaligned'; readonly buffer: number; readonly offset: number; readonly alignment: number }
  | { readonly kind: 'outside'; readonly buffer: number; readonly offset: number; readonly capacity: number }
  | { readonly kind: 'moved'; readonly buffer: number; readonly offset: number; readonly fixed: number }
  | { readonly kind: 'overlap'; readonly buffer: number; readonly other: number; readonly at: number };

/** An empty list is a sound plan. Without `capacity` the arena has no end. */
export function faults(buffers: readonly Buffer[], offsets: ArrayLike<number>, capacity = Infinity): Fault[] {
  const found: Fault[] = [];
  buffers.forEach((buffer, i) => found.push(...faultsAlone(buffer, i, offsets[i], capacity)));
  return [...found, ...overlaps(buffers, offsets)];
}

function* faultsAlone(b: Buffer, buffer: number, offset: number | undefined, capacity: number): Iterable<Fault> {
  if (offset === undefined || !Number.isFinite(offset)) {
    yield { kind: 'missing', buffer };
    return;
  }
  const alignment = b.alignment ?? 1;
  if (offset % alignment !== 0) yield { kind: 'misaligned', buffer, offset, alignment };
  if (offset < 0 || offset + b.bytes > capacity) yield { kind: 'outside', buffer, offset, capacity };
  if (b.fixed !== undefined && b.fixed !== offset) yield { kind: 'moved', buffer, offset, fixed: b.fixed };
}

function overlaps(buffers: readonly Buffer[], offsets: ArrayLike<number>): Fault[] {
  const found: Fault[] = [];
  const steps: { readonly time: number; readonly birth: boolean; readonly buffer: number }[] = [];
  buffers.forEach(({ bytes, born, dies }, buffer) => {
    if (bytes <= 0 || born >= dies || offsets[buffer] === undefined) return;
    steps.push({ time: born, birth: true, buffer }, { time: dies, birth: false, buffer });
  });
  // Deaths come before births of the same step: lifetimes are half-open.
  steps.sort((a, b) => a.time - b.time || Number(a.birth) - Number(b.birth));
  const alive: number[] = [];
  const place = (buffer: number): number => {
    let low = 0;
    for (let high = alive.length; low < high; ) {
      const middle = (low + high) >> 1;
      const other = alive[middle]!;
      if (offsets[other]! < offsets[buffer]! || (offsets[other] === offsets[buffer] && other < buffer)) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  for (const { time, birth, buffer } of steps) {
    const at = place(buffer);
    if (!birth) {
      alive.splice(at, 1);
      continue;
    }
    const below = alive[at - 1];
    const above = alive[at];
    if (below !== undefined && offsets[below]! + buffers[below]!.bytes > offsets[buffer]!)
      found.push({ kind: 'overlap', buffer, other: below, at: time });
    if (above !== undefined && offsets[buffer]! + buffers[buffer]!.bytes > offsets[above]!)
      found.push({ kind: 'overlap', buffer, other: above, at: time });
    alive.splice(at, 0, buffer);
  }
  return found;
}
