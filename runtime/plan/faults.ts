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

interface Block {
  readonly buffer: number;
  readonly born: number;
  readonly dies: number;
  readonly start: number;
  readonly end: number;
}

/** The rectangles of bytes and time that a buffer takes: one, or what its gaps leave. */
function* blocks(b: Buffer, buffer: number, offset: number): Iterable<Block> {
  const times = [b.born, b.dies, ...(b.gaps ?? []).flatMap(({ from, to }) => [from, to])].sort((x, y) => x - y);
  for (let i = 1; i < times.length; i++) {
    const [born, dies] = [times[i - 1]!, times[i]!];
    const gap = b.gaps?.find(({ from, to }) => from <= born && dies <= to);
    const [from, to] = gap === undefined ? [0, b.bytes] : [gap.keeps?.from ?? 0, gap.keeps?.to ?? 0];
    if (born < dies && from < to) yield { buffer, born, dies, start: offset + from, end: offset + to };
  }
}

function overlaps(buffers: readonly Buffer[], offsets: ArrayLike<number>): Fault[] {
  const found: Fault[] = [];
  const all = buffers.flatMap((b, i) => (offsets[i] === undefined ? [] : [...blocks(b, i, offsets[i])]));
  // Deaths come before births of the same step: lifetimes are half-open.
  const steps = all
    .flatMap((block, id) => [
      { time: block.born, birth: true, id, block },
      { time: block.dies, birth: false, id, block },
    ])
    .sort((a, b) => a.time - b.time || Number(a.birth) - Number(b.birth));
  const alive: { readonly id: number; readonly block: Block }[] = [];
  const place = (id: number, { start }: Block): number => {
    let low = 0;
    for (let high = alive.length; low < high;) {
      const middle = (low + high) >> 1;
      const other = alive[middle]!;
      if (other.block.start < start || (other.block.start === start && other.id < id)) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  for (const { time, birth, id, block } of steps) {
    const at = place(id, block);
    if (!birth) {
      alive.splice(at, 1);
      continue;
    }
    const below = alive[at - 1];
    const above = alive[at];
    const { buffer } = block;
    if (below !== undefined && below.block.end > block.start) found.push({ kind: 'overlap', buffer, other: below.block.buffer, at: time });
    if (above !== undefined && block.end > above.block.start) found.push({ kind: 'overlap', buffer, other: above.block.buffer, at: time });
    alive.splice(at, 0, { id, block });
  }
  return found;
}
