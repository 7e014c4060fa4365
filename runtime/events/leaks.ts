/**
 * Memory that nobody gave back: by line, and only what can be told for certain.
 *
 * - `collected`: it was the garbage collector that freed it, while the program ran.
 * - `unreachable`: alive when the program had nothing left to do, and gone after a forced collection: nobody could have
 *   freed it any more.
 * - `growing`: still held, and the line's live bytes rose in each of its last rounds, up to the end of the run. A round
 *   is one allocation at the line; nothing that it made in those rounds was freed.
 * What names at module level still hold at exit is no leak, unless it grew. One line, one kind: the earliest certain
 * cause. Depends on: event, ledger, by-site.
 */
import { siteOf } from './by-site.ts';
import { threadOf } from './event.ts';
import type { Frame } from './event.ts';
import type { Allocation, Change, Fold } from './ledger.ts';

export interface Leak {
  readonly kind: 'collected' | 'unreachable' | 'growing';
  readonly bytes: number;
  readonly count: number;
  readonly file: string;
  readonly line: number;
}

/** Rounds that must all have risen; fewer is a handful of arrays that a program made at its start. */
const rounds = 16;
/** A line that has been quiet for this many of its own rounds is no longer growing. */
const quietRounds = 4;

interface Counting {
  readonly file: string;
  readonly line: number;
  readonly lost: Map<'collected' | 'unreachable', { bytes: number; count: number }>;
  liveBytes: number;
  liveCount: number;
  /** Rounds since something of this line was freed. */
  rising: number;
  /** Live bytes when the rise began. */
  baseBytes: number;
  /** Changes of the whole stream at the first and the last of the rising rounds. */
  firstChange: number;
  lastChange: number;
}

export function leaks(places: ReadonlyMap<number, readonly Frame[]>): Fold<readonly Leak[]> {
  const lines = new Map<string, Counting>();
  const ofPlace = new Map<number, Counting>();
  const live = new Map<number, Allocation>();
  let changes = 0;
  const exited = new Set<number>();
  const isOver = ({ id }: Allocation): boolean => exited.has(threadOf(id));

  function lineOf(place: number): Counting {
    const known = ofPlace.get(place);
    if (known !== undefined) return known;
    const { file, line } = siteOf(places, place);
    const key = `${file}:${line}`;
    const counting = lines.get(key) ?? {
      file,
      line,
      lost: new Map(),
      liveBytes: 0,
      liveCount: 0,
      rising: 0,
      baseBytes: 0,
      firstChange: 0,
      lastChange: 0,
    };
    lines.set(key, counting);
    ofPlace.set(place, counting);
    return counting;
  }

  function lose(kind: 'collected' | 'unreachable', { place, bytes }: Allocation): void {
    const { lost } = lineOf(place);
    const total = lost.get(kind) ?? { bytes: 0, count: 0 };
    lost.set(kind, { bytes: total.bytes + bytes, count: total.count + 1 });
  }

  function enter(allocation: Allocation): void {
    live.set(allocation.id, allocation);
    const counting = lineOf(allocation.place);
    if (counting.rising === 0) {
      counting.baseBytes = counting.liveBytes;
      counting.firstChange = changes;
    }
    counting.liveBytes += allocation.bytes;
    counting.liveCount += 1;
    counting.rising += 1;
    counting.lastChange = changes;
  }

  function leave(allocation: Allocation): void {
    live.delete(allocation.id);
    const counting = lineOf(allocation.place);
    counting.liveBytes -= allocation.bytes;
    counting.liveCount -= 1;
    if (!isOver(allocation)) counting.rising = 0;
  }

  function grows(one: Counting): boolean {
    if (one.rising < rounds || one.lost.size > 0 || one.liveBytes <= one.baseBytes) return false;
    const gap = (one.lastChange - one.firstChange) / (one.rising - 1);
    return changes - one.lastChange <= quietRounds * gap + quietRounds;
  }

  function afterExit(change: Change): boolean {
    if (change.kind === 'born' || change.kind === 'died') return isOver(change.allocation);
    return change.kind === 'moved' ? isOver(change.to) : exited.size > 0;
  }

  return {
    take(change: Change) {
      if (!afterExit(change) && change.kind !== 'noted' && change.kind !== 'reserved') changes += 1;
      switch (change.kind) {
        case 'born':
          return enter(change.allocation);
        case 'moved':
          leave(change.from);
          return enter(change.to);
        case 'died':
          if (change.how === 'collected') lose(isOver(change.allocation) ? 'unreachable' : 'collected', change.allocation);
          // What goes with its thread was there until the end.
          else if (isOver(change.allocation)) return void live.delete(change.allocation.id);
          return leave(change.allocation);
        case 'noted': {
          const { event } = change;
          if (event.kind !== 'mark') return;
          if (event.name === 'exit') exited.add(threadOf(event.id ?? 0));
          const allocation = event.name === 'leak' && event.id !== undefined ? live.get(event.id) : undefined;
          if (allocation !== undefined) lose(isOver(allocation) ? 'unreachable' : 'collected', allocation);
          return;
        }
        case 'ran':
        case 'reserved':
          return;
      }
    },
    result: () =>
      [...lines.values()].flatMap((one): readonly Leak[] => {
        const { file, line } = one;
        const lost = [...one.lost].map(([kind, { bytes, count }]) => ({ kind, bytes, count, file, line }));
        return grows(one) ? [{ kind: 'growing', bytes: one.liveBytes - one.baseBytes, count: one.rising, file, line }] : lost;
      }),
  };
}
