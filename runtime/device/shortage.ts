/**
 * What the error says when memory runs out: what was asked for, what is free, who holds the rest by line.
 *
 * Depends on: core, allocator, device.
 */
import { printAval } from '../core/aval.ts';
import { outOfMemory } from '../core/errors.ts';
import { printPlace } from '../core/stack.ts';
import type { Allocator } from './allocator.ts';
import type { Buffer } from './device.ts';

interface Memory {
  readonly allocator: Allocator;
  readonly live: Iterable<Buffer>;
  /** Bytes of the largest buffer that the device can make. */
  readonly largestBuffer: number;
  /** A collection was asked for and didn't help: a synchronous loop may hold what it no longer needs. */
  readonly synchronous: boolean;
}

export function shortage(request: number, { allocator, live, largestBuffer, synchronous }: Memory): Parameters<typeof outOfMemory>[0] {
  const stats = allocator.stats();
  const byPlace = new Map<string, { bytes: number; count: number; what: string }>();
  for (const { bytes, place, aval } of live) {
    const key = printPlace(place).replace(/:\d+$/, '');
    const entry = byPlace.get(key) ?? { bytes: 0, count: 0, what: printAval(aval) };
    entry.bytes += bytes;
    entry.count += 1;
    byPlace.set(key, entry);
  }
  return {
    request,
    limit: stats.bytesLimit,
    inUse: stats.bytesInUse,
    free: Math.max(0, stats.bytesLimit - stats.bytesInUse),
    largestHole: Math.max(stats.largestFreeBlockBytes, stats.bytesLimit - stats.bytesReserved),
    largestBuffer,
    arrays: [...byPlace].map(([place, entry]) => ({ place, ...entry })).toSorted((a, b) => b.bytes - a.bytes),
    synchronous,
  };
}
