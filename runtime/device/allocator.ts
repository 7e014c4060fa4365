/**
 * Gives pieces of large buffers (slabs): best fit, with neighbours that are free joined at once.
 *
 * The method is JAX's BFC allocator: pieces of 256 bytes, free ones in bins by powers of two, each bin sorted by bytes and
 * address. Two differences. A piece is always split, so bytes in use are what was asked for, rounded up to 256; and
 * slabs that become empty are given back before a new one is made, so what is reserved follows what is used.
 *
 *     slab 0   | a | free | b |        free       |
 *     slab 1   |        c        | d | free       |
 *
 * Depends on: chunks.
 */
import { makeBins, type Chunk } from './chunks.ts';

export const alignment = 256;
export const roundUp = (bytes: number): number => Math.ceil(bytes / alignment) * alignment;

/** A piece of a slab. */
export interface Allocation {
  readonly slab: number;
  readonly offset: number;
  readonly bytes: number;
  /** Handles on it: more than one only where an unchanged input was returned. */
  holders: number;
}

/** Where slabs come from. `create` throws when the device has no more. */
export interface Backing {
  readonly create: (bytes: number) => number;
  readonly destroy: (slab: number) => void;
  readonly maxSlabBytes: number;
}

export interface AllocatorOptions {
  readonly kind: 'bfc' | 'platform';
  /** Most bytes that may be reserved. */
  readonly limit: number;
  /** Reserved at the start, in as few slabs as there can be, and never given back; 0: none. */
  readonly preallocateBytes: number;
}

export interface AllocatorStats {
  readonly bytesInUse: number;
  readonly peakBytesInUse: number;
  readonly bytesReserved: number;
  readonly peakBytesReserved: number;
  readonly bytesLimit: number;
  readonly largestAllocSize: number;
  readonly largestFreeBlockBytes: number;
  readonly numAllocs: number;
  readonly slabs: number;
  readonly poolBytes: number;
  /** 1 - largest free block / all free bytes; 0 when nothing is free. */
  readonly fragmentation: number;
}

/** There was no room; nothing has changed. */
export class NoRoom extends Error {
  readonly request: number;
  constructor(request: number, cause?: unknown) {
    super(`internal: runtime/device: no room for ${request} bytes`, { cause });
    this.request = request;
  }
}

export interface Allocator {
  readonly options: AllocatorOptions;
  readonly allocate: (bytes: number) => Allocation;
  /** One piece, or one piece per segment when only holes are left: ends of segments, ascending, the last one being the bytes. */
  readonly allocateDivided: (
    bytes: number,
    cuts: readonly number[],
  ) => readonly { readonly from: number; readonly allocation: Allocation }[];
  /** Bytes of the largest pieces that could be had now, largest first: holes, and for `bytes` of them what may still be reserved. */
  readonly holes: (bytes: number) => readonly number[];
  /** One piece for each, or `NoRoom` and none. */
  readonly allocateAll: (bytes: readonly number[]) => readonly Allocation[];
  /** Cuts pieces out of an allocation, which is no more after it; what lies between them is free. */
  readonly carve: (allocation: Allocation, pieces: readonly { readonly offset: number; readonly bytes: number }[]) => readonly Allocation[];
  readonly free: (allocation: Allocation) => void;
  /** A slab that turned out not to exist: its pieces are gone. */
  readonly abandon: (slab: number) => void;
  /** Gives empty slabs back. */
  readonly trim: () => void;
  readonly stats: () => AllocatorStats;
  readonly resetPeak: () => void;
  /** Runs `run` and says the most that was in use meanwhile. */
  readonly measure: () => { readonly end: () => number };
}

const leastSlabBytes = 64 * 1024;
/** Pieces that are told of: an arena in more of them would bind more slabs than a kernel can. */
const mostHoles = 64;
/** Empty slabs are kept for the next request up to this, or up to what is in use. */
const keptEmptyBytes = 64 * 1024 * 1024;

interface Slab {
  readonly id: number;
  readonly bytes: number;
  first: Chunk;
}

export function makeAllocator(backing: Backing, options: AllocatorOptions): Allocator {
  const bins = makeBins();
  const slabs = new Map<number, Slab>();
  const chunks = new Map<Allocation, Chunk>();
  let inUse = 0;
  let peak = 0;
  let reserved = 0;
  let peakReserved = 0;
  let largest = 0;
  let count = 0;
  const meters = new Set<{ most: number }>();
  const preallocated = new Set<number>();

  const raised = (): void => {
    if (inUse > peak) peak = inUse;
    for (const meter of meters) if (inUse > meter.most) meter.most = inUse;
  };
  const take = (chunk: Chunk, bytes: number): Allocation => {
    bins.remove(chunk);
    if (chunk.bytes > bytes) split(chunk, bytes);
    chunk.free = false;
    const allocation: Allocation = { slab: chunk.slab, offset: chunk.offset, bytes, holders: 1 };
    chunks.set(allocation, chunk);
    inUse += bytes;
    count++;
    if (bytes > largest) largest = bytes;
    raised();
    return allocation;
  };
  /** Leaves `bytes` in the chunk; the rest becomes a free one behind it. */
  const split = (chunk: Chunk, bytes: number): void => {
    const rest: Chunk = {
      slab: chunk.slab,
      offset: chunk.offset + bytes,
      bytes: chunk.bytes - bytes,
      free: true,
      previous: chunk,
      next: chunk.next,
    };
    if (chunk.next !== undefined) chunk.next.previous = rest;
    chunk.next = rest;
    chunk.bytes = bytes;
    bins.add(rest);
  };
  const release = (chunk: Chunk): void => {
    chunk.free = true;
    let whole = chunk;
    if (whole.next?.free === true) {
      bins.remove(whole.next);
      absorb(whole, whole.next);
    }
    if (whole.previous?.free === true) {
      whole = whole.previous;
      bins.remove(whole);
      absorb(whole, whole.next!);
    }
    bins.add(whole);
    if (options.kind === 'platform' && isEmpty(whole)) giveBack(slabs.get(whole.slab)!);
  };
  const absorb = (left: Chunk, right: Chunk): void => {
    left.bytes += right.bytes;
    left.next = right.next;
    if (right.next !== undefined) right.next.previous = left;
  };
  const isEmpty = (chunk: Chunk): boolean => chunk.free && chunk.previous === undefined && chunk.next === undefined;
  const grow = (bytes: number, least: number): Chunk => {
    let id: number;
    try {
      id = backing.create(bytes);
    } catch (cause) {
      if (bytes <= least) throw new NoRoom(least, cause);
      return grow(least, least);
    }
    const first: Chunk = { slab: id, offset: 0, bytes, free: true, previous: undefined, next: undefined };
    slabs.set(id, { id, bytes, first });
    reserved += bytes;
    if (reserved > peakReserved) peakReserved = reserved;
    bins.add(first);
    return first;
  };
  const giveBack = (slab: Slab): void => {
    bins.remove(slab.first);
    slabs.delete(slab.id);
    reserved -= slab.bytes;
    backing.destroy(slab.id);
  };
  const empties = (): Slab[] => [...slabs.values()].filter(({ id, first }) => isEmpty(first) && !preallocated.has(id));
  const trim = (): void => {
    for (const slab of empties()) giveBack(slab);
  };
  /** A new slab for a request that fits nowhere. */
  const extended = (bytes: number): Chunk => {
    trim();
    if (bytes > backing.maxSlabBytes || reserved + bytes > options.limit) throw new NoRoom(bytes);
    if (options.kind === 'platform') return grow(bytes, bytes);
    const wanted = Math.max(bytes, roundUp(reserved / 8), leastSlabBytes);
    return grow(Math.max(bytes, Math.min(wanted, backing.maxSlabBytes, options.limit - reserved)), bytes);
  };
  const abandon = (id: number): void => {
    const slab = slabs.get(id);
    if (slab === undefined) return;
    for (const [allocation, chunk] of chunks) {
      if (chunk.slab !== id) continue;
      chunks.delete(allocation);
      inUse -= allocation.bytes;
    }
    for (let chunk: Chunk | undefined = slab.first; chunk !== undefined; chunk = chunk.next) if (chunk.free) bins.remove(chunk);
    slabs.delete(id);
    preallocated.delete(id);
    reserved -= slab.bytes;
    backing.destroy(id);
  };
  const nothing = (): Allocation => ({ slab: 0, offset: 0, bytes: 0, holders: 1 });
  const find = (bytes: number): Chunk | undefined => (options.kind === 'platform' ? undefined : bins.bestFit(bytes));
  const allocate = (request: number): Allocation => {
    const bytes = roundUp(request);
    if (bytes === 0) return nothing();
    return take(find(bytes) ?? extended(bytes), bytes);
  };
  const free = (allocation: Allocation): void => {
    const chunk = chunks.get(allocation);
    if (chunk === undefined) return;
    chunks.delete(allocation);
    inUse -= allocation.bytes;
    release(chunk);
    const empty = empties();
    const emptyBytes = empty.reduce((sum, { bytes }) => sum + bytes, 0);
    if (emptyBytes > Math.max(keptEmptyBytes, inUse)) giveBack(empty[0]!);
  };
  const allocateDivided: Allocator['allocateDivided'] = (request, cuts) => {
    const bytes = roundUp(request);
    const whole = bytes === 0 ? undefined : find(bytes);
    if (bytes === 0 || whole !== undefined || options.kind === 'platform' || cuts.length === 0)
      return [{ from: 0, allocation: bytes === 0 ? nothing() : take(whole ?? extended(bytes), bytes) }];
    return inHoles(bytes, cuts) ?? [{ from: 0, allocation: take(extended(bytes), bytes) }];
  };
  /** Segments between cuts, joined again wherever the same hole takes several. */
  const inHoles = (
    bytes: number,
    cuts: readonly number[],
  ): readonly { readonly from: number; readonly allocation: Allocation }[] | undefined => {
    const ends = [...cuts, bytes];
    const made: { from: number; allocation: Allocation }[] = [];
    const undo = undoing();
    let from = 0;
    while (from < bytes) {
      const end = ends.findLast((one) => one > from && bins.bestFit(one - from) !== undefined);
      if (end === undefined) {
        undo(made.map(({ allocation }) => allocation));
        return undefined;
      }
      made.push({ from, allocation: take(bins.bestFit(end - from)!, end - from) });
      from = end;
    }
    return made;
  };
  /** Gives back what was taken in vain from now on, and forgets that it was. */
  const undoing = (): ((made: readonly Allocation[]) => void) => {
    const before = { peak, count, largest, meters: [...meters].map((meter) => meter.most) };
    return (made) => {
      for (const allocation of made) free(allocation);
      ({ peak, count, largest } = before);
      [...meters].forEach((meter, i) => (meter.most = before.meters[i]!));
    };
  };
  const holes: Allocator['holes'] = (bytes) => {
    const found = options.kind === 'platform' ? [] : [...bins.largest(mostHoles)];
    let room = options.limit - reserved;
    for (let left = bytes; left > 0 && room >= alignment;) {
      const piece = Math.min(room, backing.maxSlabBytes);
      found.push(piece - (piece % alignment));
      room -= piece;
      left -= piece;
    }
    return found.toSorted((a, b) => b - a).slice(0, mostHoles);
  };
  /** Largest first: then what fits in one of the ways that there are fits in this one. */
  const allocateAll: Allocator['allocateAll'] = (bytes) => {
    const made = new Map<number, Allocation>();
    const undo = undoing();
    const order = bytes.map((_, i) => i).toSorted((i, j) => bytes[j]! - bytes[i]!);
    try {
      for (const i of order) made.set(i, allocate(bytes[i]!));
    } catch (fault) {
      undo([...made.values()]);
      throw fault;
    }
    return bytes.map((_, i) => made.get(i)!);
  };
  const carve: Allocator['carve'] = (allocation, pieces) => {
    const chunk = chunks.get(allocation);
    const real = pieces.filter(({ bytes }) => bytes > 0).toSorted((a, b) => a.offset - b.offset);
    if (chunk === undefined) return pieces.map(nothing);
    chunks.delete(allocation);
    inUse -= allocation.bytes;
    const made = new Map<number, Allocation>();
    let rest: Chunk | undefined = chunk;
    const loose: Chunk[] = [];
    for (const { offset, bytes } of real) {
      const start = allocation.offset + offset;
      if (rest!.offset < start) {
        const gap: Chunk = rest!;
        rest = divide(gap, start - gap.offset);
        loose.push(gap);
      }
      const piece: Chunk = rest!;
      rest = piece.bytes > bytes ? divide(piece, bytes) : undefined;
      const one: Allocation = { slab: piece.slab, offset: piece.offset, bytes, holders: 1 };
      chunks.set(one, piece);
      inUse += bytes;
      made.set(offset, one);
    }
    if (rest !== undefined) loose.push(rest);
    for (const gap of loose) release(gap);
    return pieces.map(({ offset, bytes }) => (bytes > 0 ? made.get(offset)! : nothing()));
  };
  /** Splits a chunk in use into two in use. */
  const divide = (chunk: Chunk, bytes: number): Chunk => {
    const rest: Chunk = {
      slab: chunk.slab,
      offset: chunk.offset + bytes,
      bytes: chunk.bytes - bytes,
      free: false,
      previous: chunk,
      next: chunk.next,
    };
    if (chunk.next !== undefined) chunk.next.previous = rest;
    chunk.next = rest;
    chunk.bytes = bytes;
    return rest;
  };
  for (let left = options.preallocateBytes - (options.preallocateBytes % alignment); left > 0;) {
    const bytes = Math.min(left, backing.maxSlabBytes);
    preallocated.add(grow(bytes, bytes).slab);
    left -= bytes;
  }
  return {
    options,
    allocate,
    allocateDivided,
    holes,
    allocateAll,
    carve,
    free,
    abandon,
    trim,
    stats: () => ({
      bytesInUse: inUse,
      peakBytesInUse: peak,
      bytesReserved: reserved,
      peakBytesReserved: peakReserved,
      bytesLimit: options.limit,
      largestAllocSize: largest,
      largestFreeBlockBytes: bins.largest(1)[0] ?? 0,
      numAllocs: count,
      slabs: slabs.size,
      poolBytes: reserved,
      fragmentation: reserved === inUse ? 0 : 1 - (bins.largest(1)[0] ?? 0) / (reserved - inUse),
    }),
    resetPeak() {
      peak = inUse;
      peakReserved = reserved;
    },
    measure() {
      const meter = { most: inUse };
      meters.add(meter);
      return {
        end() {
          meters.delete(meter);
          return meter.most;
        },
      };
    },
  };
}
