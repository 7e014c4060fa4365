/**
 * Tables over a lowered function's graph, made once: blocks by id, and the innermost loop of each block.
 *
 * Depends on: lower/ir.
 */
import { successors, type Block, type BlockId, type LoweredFunction } from '../lower/ir.ts';

const blockTables = new WeakMap<LoweredFunction, ReadonlyMap<BlockId, Block>>();
export function blocksOf(fn: LoweredFunction): ReadonlyMap<BlockId, Block> {
  let table = blockTables.get(fn);
  if (table === undefined) blockTables.set(fn, (table = new Map(fn.blocks.map((block) => [block.id, block]))));
  return table;
}

const loopTables = new WeakMap<LoweredFunction, ReadonlyMap<BlockId, readonly BlockId[]>>();
/** The innermost loop of each block. */
export function loopsOf(fn: LoweredFunction): ReadonlyMap<BlockId, readonly BlockId[]> {
  let table = loopTables.get(fn);
  if (table === undefined) {
    const inner = new Map<BlockId, readonly BlockId[]>();
    const loops = fn.blocks
      .flatMap((block) => (block.loop === undefined ? [] : [goingRound(fn, block)]))
      .toSorted((a, b) => b.length - a.length);
    for (const loop of loops) for (const id of loop) inner.set(id, loop);
    loopTables.set(fn, (table = inner));
  }
  return table;
}

/** The blocks from which the head is reached again. */
function goingRound(fn: LoweredFunction, head: Block): readonly BlockId[] {
  const before = new Map<BlockId, BlockId[]>();
  for (const block of fn.blocks) for (const next of successors(block.end)) before.set(next, [...(before.get(next) ?? []), block.id]);
  const inside = new Set(head.loop);
  const found = new Set([head.id]);
  for (const id of found) for (const former of before.get(id) ?? []) if (inside.has(former)) found.add(former);
  return [...found];
}
