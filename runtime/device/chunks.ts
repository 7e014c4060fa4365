/**
 * Free pieces of slabs, found by how many bytes are wanted.
 *
 * Bin b holds pieces of at least 256·2^b bytes, sorted by bytes, then address; so the first that is large enough, looked
 * for from the bin of the request upwards, is the best fit. Depends on: nothing.
 */
export interface Chunk {
  readonly slab: number;
  readonly offset: number;
  bytes: number;
  free: boolean;
  previous: Chunk | undefined;
  next: Chunk | undefined;
}

export interface Bins {
  readonly add: (chunk: Chunk) => void;
  readonly remove: (chunk: Chunk) => void;
  readonly bestFit: (bytes: number) => Chunk | undefined;
  /** Bytes of the largest pieces, `count` of them at most, the largest first. */
  readonly largest: (count: number) => readonly number[];
}

const bins = 32;
const binOf = (bytes: number): number => Math.min(bins - 1, Math.max(0, Math.floor(Math.log2(bytes / 256))));
const before = (a: Chunk, b: Chunk): boolean =>
  a.bytes < b.bytes || (a.bytes === b.bytes && (a.slab < b.slab || (a.slab === b.slab && a.offset < b.offset)));

export function makeBins(): Bins {
  const lists: Chunk[][] = Array.from({ length: bins }, () => []);
  const position = (list: readonly Chunk[], chunk: Chunk): number => {
    let low = 0;
    for (let high = list.length; low < high;) {
      const middle = (low + high) >> 1;
      if (before(list[middle]!, chunk)) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return {
    add(chunk) {
      const list = lists[binOf(chunk.bytes)]!;
      list.splice(position(list, chunk), 0, chunk);
    },
    remove(chunk) {
      const list = lists[binOf(chunk.bytes)]!;
      const at = position(list, chunk);
      if (list[at] !== chunk) throw new Error('internal: runtime/device: a free piece is not in its bin');
      list.splice(at, 1);
    },
    bestFit(bytes) {
      for (let bin = binOf(bytes); bin < bins; bin++) {
        const found = lists[bin]!.find((chunk) => chunk.bytes >= bytes);
        if (found !== undefined) return found;
      }
      return undefined;
    },
    largest(count) {
      const found: number[] = [];
      for (let bin = bins - 1; bin >= 0 && found.length < count; bin--) {
        const list = lists[bin]!;
        for (let i = list.length - 1; i >= 0 && found.length < count; i--) found.push(list[i]!.bytes);
      }
      return found;
    },
  };
}
