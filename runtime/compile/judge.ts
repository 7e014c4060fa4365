/**
 * What is wrong with the steps of an executable, found by running them on labels instead of numbers.
 *
 * Memory is a list of labelled stretches. A launch must find every operand whole under its label; it may write over an
 * operand only where its kernel allows it; what it writes gets the result's label. At the end every output is whole and
 * every argument that was not donated is untouched. Shares nothing with the planner but types.
 * Depends on: core (types), kernel (types).
 */
import type { Variable } from '../core/program.ts';
import type { Location } from './executable.ts';

export interface Stretch {
  readonly variable: Variable;
  readonly at: Location;
  readonly bytes: number;
}

export interface Act {
  readonly name: string;
  readonly reads: readonly Stretch[];
  readonly writes: readonly Stretch[];
  /** Overwritten with nothing that anybody may read. */
  readonly scratch?: { readonly at: Location; readonly bytes: number };
  /** Positions (write, read) that may be one stretch. */
  readonly mayOverwrite: readonly { readonly write: number; readonly read: number }[];
}

export interface Trial {
  readonly start: readonly Stretch[];
  readonly acts: readonly Act[];
  readonly end: readonly Stretch[];
  /** Bytes of each region that has an end. */
  readonly capacity: ReadonlyMap<number, number>;
}

export function faultsOf({ start, acts, end, capacity }: Trial): string[] {
  const faults: string[] = [];
  const memory = new Map<number, { from: number; to: number; label: Variable | undefined }[]>();
  const write = ({ at, bytes }: { readonly at: Location; readonly bytes: number }, label: Variable | undefined, who: string): void => {
    const from = at.offset;
    const to = from + bytes;
    if (from < 0 || to > (capacity.get(at.region) ?? Infinity))
      faults.push(`${who}: bytes ${from}..${to} lie outside of region ${at.region}`);
    const kept = (memory.get(at.region) ?? []).flatMap((one) => {
      if (one.to <= from || to <= one.from) return [one];
      return [...(one.from < from ? [{ ...one, to: from }] : []), ...(to < one.to ? [{ ...one, from: to }] : [])];
    });
    if (bytes > 0) kept.push({ from, to, label });
    memory.set(at.region, kept);
  };
  const read = ({ variable, at, bytes }: Stretch, who: string): void => {
    let covered = 0;
    for (const one of memory.get(at.region) ?? []) {
      const from = Math.max(one.from, at.offset);
      const to = Math.min(one.to, at.offset + bytes);
      if (from < to && one.label === variable) covered += to - from;
    }
    if (covered !== bytes)
      faults.push(`${who}: of ${bytes} bytes at region ${at.region}, offset ${at.offset}, ${bytes - covered} hold something else`);
  };
  for (const stretch of start) write(stretch, stretch.variable, 'start');
  acts.forEach((act, step) => {
    const who = `step ${step} (${act.name})`;
    for (const stretch of act.reads) read(stretch, who);
    act.writes.forEach((own, i) => {
      act.reads.forEach((other, j) => {
        if (!meet(own, other)) return;
        const same = own.at.offset === other.at.offset && own.bytes === other.bytes;
        if (!same || !act.mayOverwrite.some((pair) => pair.write === i && pair.read === j))
          faults.push(`${who}: result ${i} lies over operand ${j}`);
      });
      act.writes.slice(i + 1).forEach((other, j) => {
        if (meet(own, other)) faults.push(`${who}: results ${i} and ${i + 1 + j} overlap`);
      });
    });
    if (act.scratch !== undefined) {
      for (const stretch of [...act.reads, ...act.writes])
        if (meet(stretch, act.scratch)) faults.push(`${who}: scratch lies over an operand or a result`);
      write(act.scratch, undefined, who);
    }
    for (const stretch of act.writes) write(stretch, stretch.variable, who);
  });
  for (const stretch of end) read(stretch, 'end');
  return faults;
}

const meet = (a: { readonly at: Location; readonly bytes: number }, b: { readonly at: Location; readonly bytes: number }): boolean =>
  a.at.region === b.at.region && a.at.offset < b.at.offset + b.bytes && b.at.offset < a.at.offset + a.bytes && a.bytes > 0 && b.bytes > 0;
