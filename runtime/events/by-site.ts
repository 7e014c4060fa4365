/**
 * Totals per line of user code: what it allocated over the run, and the most of it that was alive at one time.
 *
 * Several places lead to one line (columns, callers), so a place is resolved to its line once and the counting is done
 * on lines. A compiled call adds what its values hold while it runs, on top of what is alive. Depends on: ledger, program.
 */
import type { Frame } from './event.ts';
import { userFrame } from './ledger.ts';
import type { Allocation, Change, Fold } from './ledger.ts';
import type { Alive } from './peak.ts';
import { programShape } from './program.ts';
import type { PlaceInProgram } from './program.ts';

export interface SiteLine {
  readonly file: string;
  readonly line: number;
  readonly allocations: number;
  readonly allocatedBytes: number;
  readonly peakLiveBytes: number;
  readonly liveBytesAtPeak: number;
  /** The most that the whole program had in use right after an allocation of this line. */
  readonly inUseBytes: number;
}

interface Counting {
  readonly file: string;
  readonly line: number;
  allocations: number;
  allocatedBytes: number;
  liveBytes: number;
  peakLiveBytes: number;
  inUseBytes: number;
}

const none: PlaceInProgram['outputs'] = { count: 0, bytes: 0 };

type Places = ReadonlyMap<number, readonly Frame[]>;

/** `places` is the ledger's: a place is defined before anything names it. */
export function bySite(places: Places): Fold<readonly Omit<SiteLine, 'liveBytesAtPeak'>[]> {
  const lines = new Map<string, Counting>();
  const ofPlace = new Map<number, Counting>();
  const ofProgram = new Map<
    number,
    readonly {
      readonly line: Counting;
      readonly allocations: number;
      readonly bytes: number;
      readonly peakBytes: number;
      readonly inUseBytes: number;
      readonly outputs: PlaceInProgram['outputs'];
    }[]
  >();

  function lineOf(place: number): Counting {
    const known = ofPlace.get(place);
    if (known !== undefined) return known;
    const { file, line } = siteOf(places, place);
    const key = `${file}:${line}`;
    const counting = lines.get(key) ?? { file, line, allocations: 0, allocatedBytes: 0, liveBytes: 0, peakLiveBytes: 0, inUseBytes: 0 };
    lines.set(key, counting);
    ofPlace.set(place, counting);
    return counting;
  }

  function hold(counting: Counting, bytes: number): void {
    counting.liveBytes += bytes;
    counting.peakLiveBytes = Math.max(counting.peakLiveBytes, counting.liveBytes);
  }

  function allocated({ place, bytes }: Allocation, inUse: number): void {
    const counting = lineOf(place);
    counting.inUseBytes = Math.max(counting.inUseBytes, inUse);
    counting.allocations += 1;
    counting.allocatedBytes += bytes;
    hold(counting, bytes);
  }

  return {
    take(change: Change) {
      switch (change.kind) {
        case 'born':
          return allocated(change.allocation, change.inUse);
        case 'died':
          return hold(lineOf(change.allocation.place), -change.allocation.bytes);
        case 'moved':
          hold(lineOf(change.from.place), -change.from.bytes);
          return hold(lineOf(change.to.place), change.to.bytes);
        case 'ran': {
          const { program, profile } = change.program;
          let parts = ofProgram.get(program);
          if (parts === undefined) {
            parts = programShape(profile).places.map((part) => ({
              line: lineOf(part.place),
              allocations: part.allocations,
              bytes: part.allocatedBytes,
              peakBytes: part.peakBytes,
              inUseBytes: part.inUseBytes,
              outputs: part.outputs,
            }));
            ofProgram.set(program, parts);
          }
          const calling = lineOf(change.place);
          for (const part of parts) {
            // An output on the line of the call is that line's own array after the call, and counted then.
            const outputs = part.line === calling ? part.outputs : none;
            part.line.allocations += part.allocations - outputs.count;
            part.line.allocatedBytes += part.bytes - outputs.bytes;
            part.line.peakLiveBytes = Math.max(part.line.peakLiveBytes, part.line.liveBytes + part.peakBytes);
            part.line.inUseBytes = Math.max(part.line.inUseBytes, change.inUse + part.inUseBytes);
          }
          return;
        }
        case 'reserved':
        case 'noted':
          return;
      }
    },
    result: () =>
      [...lines.values()].map(({ file, line, allocations, allocatedBytes, peakLiveBytes, inUseBytes }) => ({
        file,
        line,
        allocations,
        allocatedBytes,
        peakLiveBytes,
        inUseBytes,
      })),
  };
}

/** The lines with what each held when the program stood at its highest, in order of file and line. */
export function linesAtPeak(
  lines: readonly Omit<SiteLine, 'liveBytesAtPeak'>[],
  alive: readonly Alive[],
  places: Places,
): readonly SiteLine[] {
  const held = new Map<string, number>();
  for (const one of alive) {
    const { file, line } = siteOf(places, placeOf(one));
    const key = `${file}:${line}`;
    held.set(key, (held.get(key) ?? 0) + bytesOf(one));
  }
  return lines
    .map((line) => ({ ...line, liveBytesAtPeak: held.get(`${line.file}:${line.line}`) ?? 0 }))
    .toSorted((a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : a.line - b.line));
}

export const placeOf = (alive: Alive): number => (alive.kind === 'allocation' ? alive.allocation.place : alive.value.place);

/** What it adds at the peak: a value that took over another's bytes adds none. */
export const bytesOf = (alive: Alive): number => (alive.kind === 'allocation' ? alive.allocation.bytes : alive.value.bytes);

/** File, line and column of the user's code that a place stands for; `(unknown)` when a stack had no frame at all. */
export function siteOf(places: Places, place: number): { file: string; line: number; column: number } {
  const frame = userFrame(places.get(place));
  return frame === undefined ? { file: '(unknown)', line: 1, column: 1 } : { file: frame.file, line: frame.line, column: frame.column };
}
