/**
 * The run as a Chrome trace, which Perfetto and chrome://tracing open: a curve of memory, the life of every array, the calls.
 *
 * Lines of JSON as the changes come, so that a long run needs no memory; the file is an array that readers accept open
 * or closed. Times are microseconds. Depends on: ledger, by-site.
 */
import { siteOf } from './by-site.ts';
import type { Frame } from './event.ts';
import type { Allocation, Change } from './ledger.ts';

export interface TraceLines {
  /** Lines for one change, each ended by a comma. */
  take(change: Change): readonly string[];
}

export const traceHead = '[\n';
/** Ends the array: the last element has no comma after it. */
export const traceEnd = `${JSON.stringify({ name: 'process_name', ph: 'M', pid: 1, tid: 1, args: { name: 'tidemark' } })}\n]\n`;

export function traceLines(places: ReadonlyMap<number, readonly Frame[]>): TraceLines {
  let peak = 0;
  const at = (place: number): string => {
    const { file, line } = siteOf(places, place);
    return `${file}:${line}`;
  };

  const counter = (change: Change, inUse: number): object => ({
    name: 'memory',
    ph: 'C',
    ts: change.at * 1000,
    pid: 1,
    args: { 'in use': inUse, reserved: change.reserved },
  });

  const life = (ph: 'b' | 'e', allocation: Allocation, ts: number): object => ({
    name: arrayName(allocation),
    cat: 'array',
    ph,
    id: allocation.id,
    ts: ts * 1000,
    pid: 1,
    tid: 1,
    args: { bytes: allocation.bytes, at: at(allocation.place) },
  });

  function rise(change: Change, bytes: number, place: number): readonly object[] {
    if (bytes <= peak) return [];
    peak = bytes;
    return [{ name: `peak ${bytes} bytes at ${at(place)}`, cat: 'peak', ph: 'i', s: 'g', ts: change.at * 1000, pid: 1, tid: 1 }];
  }

  function entries(change: Change): readonly object[] {
    switch (change.kind) {
      case 'born':
        return [
          counter(change, change.inUse),
          life('b', change.allocation, change.at),
          ...rise(change, change.inUse, change.allocation.place),
        ];
      case 'died':
        return [counter(change, change.inUse), life('e', change.allocation, change.at)];
      case 'moved':
        return [life('e', change.from, change.at), life('b', change.to, change.at)];
      case 'reserved':
        return [counter(change, change.inUse)];
      case 'ran': {
        const ms = change.ms ?? 0;
        const call = {
          name: change.program.name,
          cat: 'compiled',
          ph: 'X',
          ts: change.at * 1000,
          dur: ms * 1000,
          pid: 1,
          tid: 1,
          args: { at: at(change.place), 'peak bytes': change.program.profile.peakBytes },
        };
        const high = change.inUse + change.duringBytes;
        return [call, counter(change, high), ...rise(change, high, change.place)];
      }
      case 'noted': {
        const { event } = change;
        if (event.kind !== 'mark') return [];
        return [{ name: `${event.name}: ${event.text}`, cat: 'mark', ph: 'i', s: 'p', ts: event.at * 1000, pid: 1, tid: 1 }];
      }
    }
  }

  return { take: (change) => entries(change).map((entry) => `${JSON.stringify(entry)},\n`) };
}

function arrayName({ what, shape, dtype, label }: Allocation): string {
  const kind = shape === undefined ? what : `${dtype ?? what}[${shape.join(',')}]`;
  return label === undefined ? kind : `${kind} ${label}`;
}
