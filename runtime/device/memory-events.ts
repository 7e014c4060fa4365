/**
 * Writes what happens to memory to whoever listens, and costs next to nothing when nobody does.
 *
 * The sink is looked for at every event: the instrument may come late, and is shared with other copies of this runtime.
 * Depends on: core, events.
 */
import type { Place } from '../core/source.ts';
import type { Event, Sink } from '../events/event.ts';

const key: unique symbol = Symbol.for('tidemark.events.1') as never;

/** A platform value that another program set: its shape is checked. */
export function currentSink(): Sink | undefined {
  const sink: unknown = (globalThis as { readonly [key]?: unknown })[key];
  return typeof sink === 'function' ? (sink as Sink) : undefined;
}

export const nowMs = (): number => performance.now();

type Unplaced<E> = E extends { readonly place?: number } & { readonly at: number } & (
    { readonly place: number } | { readonly kind: 'reserve' }
  )
  ? Omit<E, 'at' | 'place'> & { readonly place: Place | undefined }
  : E extends { readonly at: number }
    ? Omit<E, 'at'>
    : never;

export interface EventWriter {
  readonly listening: () => boolean;
  readonly write: (event: Unplaced<Event>) => void;
  readonly placeId: (place: Place | undefined) => number;
}

/** Numbers for events of this copy of the runtime; they share one space with whoever else writes to the sink. */
let ids = 0;
export const nextId = (): number => ++ids;

/** Listeners inside this copy of the runtime: a profile at the peak. */
const listeners = new Set<Sink>();
let generation = 0;
export function listen(listener: Sink): () => void {
  listeners.add(listener);
  generation++;
  return () => {
    listeners.delete(listener);
  };
}

export function makeEventWriter(): EventWriter {
  let sink: Sink | undefined;
  let told = generation;
  let places = new Map<string, number>();
  const listening = (): boolean => {
    const now = currentSink();
    // Whoever comes late is told all places again.
    if (now !== sink || told !== generation) {
      sink = now;
      told = generation;
      places = new Map();
    }
    return sink !== undefined || listeners.size > 0;
  };
  const tell = (event: Event): void => {
    sink?.(event);
    for (const listener of listeners) listener(event);
  };
  const placeId = (place: Place | undefined): number => {
    if (place === undefined || !listening()) return 0;
    const name = `${place.file}:${place.line}:${place.column}`;
    const known = places.get(name);
    if (known !== undefined) return known;
    const id = nextId();
    places.set(name, id);
    tell({ kind: 'place', id, frames: [place] });
    return id;
  };
  return {
    listening,
    placeId,
    write(event) {
      if (!listening()) return;
      const place =
        'place' in event
          ? { place: typeof event.place === 'object' || event.place === undefined ? placeId(event.place) : event.place }
          : {};
      tell({ ...event, ...place, at: nowMs() } as Event);
    },
  };
}
