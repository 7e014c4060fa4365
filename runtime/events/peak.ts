/**
 * The highest point of a run, and who was alive there.
 *
 * No copy of the live set is made at each new peak: what was alive there is what is alive now and was born before it,
 * and what died since. So memory stays in proportion to what is alive at the peak. Depends on: event, ledger, program.
 */
import { threadOf } from './event.ts';
import type { Allocation, Change, Fold } from './ledger.ts';
import { programShape } from './program.ts';
import type { ProgramShape, ProgramValue } from './program.ts';

/** Something alive at the peak: an allocation, or a value inside a compiled call that ran there. */
export type Alive =
  | { readonly kind: 'allocation'; readonly allocation: Allocation }
  | { readonly kind: 'value'; readonly value: ProgramValue; readonly program: string };

export interface Peak {
  readonly bytes: number;
  readonly reservedBytes: number;
  readonly at: number;
  /** Place of what reached the peak. */
  readonly place: number | undefined;
  readonly alive: readonly Alive[];
  /** What was alive when the program had nothing left to do, each thread at its own end; else when the stream ended. */
  readonly atEnd: readonly Allocation[];
  readonly atEndBytes: number;
}

export function peak(): Fold<Peak> {
  const shapes = new Map<number, ProgramShape>();
  const live = new Map<number, Allocation>();
  let gone: Allocation[] = [];
  let born = -1;
  let best = { bytes: 0, at: 0, place: undefined as number | undefined };
  let during: { shape: ProgramShape; program: string } | undefined;
  let reservedBytes = 0;
  let last = -1;
  const exited = new Map<number, { alive: readonly Allocation[]; bytes: number }>();

  function reach(bytes: number, at: number, place: number): boolean {
    if (bytes <= best.bytes) return false;
    best = { bytes, at, place };
    gone = [];
    born = last;
    during = undefined;
    return true;
  }

  /** Of a single thread all that is in use is its own. */
  function exit(id: number | undefined, inUse: number): void {
    const thread = threadOf(id ?? 0);
    if (exited.has(thread)) return;
    const alive = [...live.values()].filter((one) => threadOf(one.id) === thread);
    exited.set(thread, { alive, bytes: alive.length === live.size ? inUse : sum(alive.map(({ bytes }) => bytes)) });
  }

  function leave(allocation: Allocation): void {
    live.delete(allocation.id);
    if (allocation.order <= born) gone.push(allocation);
  }

  function enter(allocation: Allocation): void {
    live.set(allocation.id, allocation);
    last = allocation.order;
  }

  return {
    take(change: Change) {
      reservedBytes = Math.max(reservedBytes, change.reserved);
      switch (change.kind) {
        case 'born':
          enter(change.allocation);
          reach(change.inUse, change.at, change.allocation.place);
          return;
        case 'died':
          leave(change.allocation);
          return;
        case 'moved':
          leave(change.from);
          enter(change.to);
          return;
        case 'ran': {
          const { program } = change.program;
          const shape = shapes.get(program) ?? programShape(change.program.profile);
          shapes.set(program, shape);
          const place = shape.highest?.place ?? change.place;
          if (reach(change.inUse + change.duringBytes, change.at, place)) during = { shape, program: change.program.name };
          return;
        }
        case 'noted':
          if (change.event.kind === 'mark' && change.event.name === 'exit') exit(change.event.id, change.inUse);
          return;
        case 'reserved':
          return;
      }
    },
    result: () => {
      const alive: Alive[] = [...gone, ...[...live.values()].filter((allocation) => allocation.order <= born)]
        .toSorted((a, b) => a.order - b.order)
        .map((allocation) => ({ kind: 'allocation', allocation }));
      const inside: Alive[] = (during?.shape.aliveAtPeak ?? []).map((value) => ({ kind: 'value', value, program: during!.program }));
      const ends = [...exited.values()];
      const left = [...live.values()].filter(({ id }) => !exited.has(threadOf(id)));
      const atEnd = [...ends.flatMap((one) => one.alive), ...left];
      return {
        ...best,
        reservedBytes,
        alive: [...alive, ...inside],
        atEnd,
        atEndBytes: sum([...ends, ...left].map(({ bytes }) => bytes)),
      };
    },
  };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, n) => total + n, 0);
