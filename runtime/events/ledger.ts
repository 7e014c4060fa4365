/**
 * What is in use after each event: the one place that knows what an event does to the totals.
 *
 * Folds don't read events; they read the `Change`s that the ledger makes of them, with the bytes in use and reserved
 * after each. So a free of something unknown, an id that comes twice, or a buffer that changes hands is settled once,
 * here. Memory stays in proportion to what is alive, however long the stream. Depends on: event.
 */
import type { ArrayKind, Event, Frame, Layer, ProgramProfile } from './event.ts';

/** Something alive, from its allocation on. `order` counts allocations, so that "alive since before" is a comparison. */
export interface Allocation {
  readonly id: number;
  readonly bytes: number;
  readonly place: number;
  readonly layer: Layer;
  readonly what: ArrayKind;
  readonly at: number;
  readonly order: number;
  readonly shape?: readonly number[];
  readonly dtype?: string;
  readonly role?: 'gradient' | 'again';
  readonly label?: string;
  /** The reservation that it is a piece of, and at which byte. */
  readonly slab?: number;
  readonly offset?: number;
}

export interface Program {
  readonly program: number;
  readonly name: string;
  readonly place: number;
  readonly profile: ProgramProfile;
}

export type How = Extract<Event, { kind: 'free' }>['how'];

/** One event and its effect. `inUse` and `reserved` are the totals right after it. */
export type Change = { readonly at: number; readonly inUse: number; readonly reserved: number } & (
  | { readonly kind: 'born'; readonly allocation: Allocation }
  | { readonly kind: 'died'; readonly allocation: Allocation; readonly how: How }
  /** The buffer of `from` belongs to `to` from now on. */
  | { readonly kind: 'moved'; readonly from: Allocation; readonly to: Allocation }
  | { readonly kind: 'reserved'; readonly bytes: number; readonly place: number | undefined }
  /** A compiled call: `duringBytes` are in use on top of `inUse` while it runs. */
  | {
      readonly kind: 'ran';
      readonly program: Program;
      readonly place: number;
      readonly duringBytes: number;
      readonly ms: number | undefined;
    }
  | { readonly kind: 'noted'; readonly event: Exclude<Event, { kind: 'allocate' | 'free' | 'reuse' | 'reserve' | 'unreserve' | 'run' }> }
);

export interface Ledger {
  /** Takes the next event and says what it did; nothing when it changed nothing (a free of something unknown). */
  take(event: Event): Change | undefined;
  readonly inUse: number;
  readonly reserved: number;
  readonly live: ReadonlyMap<number, Allocation>;
  readonly places: ReadonlyMap<number, readonly Frame[]>;
}

export function createLedger(): Ledger {
  const live = new Map<number, Allocation>();
  const reservations = new Map<number, number>();
  const places = new Map<number, readonly Frame[]>();
  const programs = new Map<number, Program>();
  let inUse = 0;
  let reserved = 0;
  let order = 0;

  const totals = (at: number) => ({ at, inUse, reserved });

  function take(event: Event): Change | undefined {
    switch (event.kind) {
      case 'allocate': {
        if (live.has(event.id)) return undefined;
        const { kind: _kind, ...fields } = event;
        const allocation: Allocation = { ...fields, order: order++ };
        live.set(event.id, allocation);
        inUse += event.bytes;
        return { kind: 'born', allocation, ...totals(event.at) };
      }
      case 'free': {
        const allocation = live.get(event.id);
        if (allocation === undefined) return undefined;
        live.delete(event.id);
        inUse -= allocation.bytes;
        return { kind: 'died', allocation, how: event.how, ...totals(event.at) };
      }
      case 'reuse': {
        const from = live.get(event.from);
        if (from === undefined || live.has(event.to)) return undefined;
        const to = successor(from, event, order++);
        live.delete(event.from);
        live.set(event.to, to);
        return { kind: 'moved', from, to, ...totals(event.at) };
      }
      case 'reserve': {
        if (reservations.has(event.id)) return undefined;
        reservations.set(event.id, event.bytes);
        reserved += event.bytes;
        return { kind: 'reserved', bytes: event.bytes, place: event.place, ...totals(event.at) };
      }
      case 'unreserve': {
        const bytes = reservations.get(event.id);
        if (bytes === undefined) return undefined;
        reservations.delete(event.id);
        reserved -= bytes;
        return { kind: 'reserved', bytes: -bytes, place: undefined, ...totals(event.at) };
      }
      case 'run': {
        const program = programs.get(event.program);
        if (program === undefined) return undefined;
        const duringBytes = Math.max(0, program.profile.peakBytes - program.profile.argumentBytes);
        return { kind: 'ran', program, place: event.place, duringBytes, ms: event.ms, ...totals(event.at) };
      }
      case 'program':
        programs.set(event.program, { program: event.program, name: event.name, place: event.place, profile: event.profile });
        return { kind: 'noted', event, ...totals(event.at) };
      case 'place':
        places.set(event.id, event.frames);
        return { kind: 'noted', event, at: 0, inUse, reserved };
      case 'start':
      case 'device':
      case 'donate':
      case 'enter':
      case 'leave':
      case 'count':
      case 'mark':
      case 'end':
        return { kind: 'noted', event, ...totals(event.at) };
    }
  }

  return {
    take,
    get inUse() {
      return inUse;
    },
    get reserved() {
      return reserved;
    },
    live,
    places,
  };
}

/** What a buffer is called after it changed hands: the new owner's place and shape, the old one's bytes. */
function successor(from: Allocation, event: Extract<Event, { kind: 'reuse' }>, order: number): Allocation {
  const { shape: _shape, dtype: _dtype, role: _role, label: _label, ...kept } = from;
  return {
    ...kept,
    id: event.to,
    place: event.place,
    at: event.at,
    order,
    ...(event.shape === undefined ? {} : { shape: event.shape }),
    ...(event.dtype === undefined ? {} : { dtype: event.dtype }),
    ...(event.role === undefined ? {} : { role: event.role }),
  };
}

/** A reader of changes that keeps what it needs and answers at the end. */
export interface Fold<Result> {
  take(change: Change): void;
  result(): Result;
}

/** The user's frame of a stack: the first that no library owns; a library's own when there is no other. */
export function userFrame(frames: readonly Frame[] | undefined): Frame | undefined {
  return frames?.find((frame) => frame.library === undefined) ?? frames?.[0];
}
