/**
 * Leaves out of a long stream what nobody will miss: so that an hour's run has a file of a bounded size, with its peaks as they were.
 *
 *     in use   ▁▂▂▃▂▁▂▃▅▃▂▁▂▂▁▂      window of many thousand events
 *                      ↑             its highest moment
 *     kept     what is alive there, what was there before, what is there after
 *
 * Whatever was born and died within a window and was not alive at its highest moment is dropped, with all that was said of
 * it. So the highest moment of every window is exact, the holders with it; totals by line are not to be had from what is
 * left, and are counted before. Events must come in order of time, with ids that are unique. Depends on: events.
 */
import type { Event } from '../../runtime/events/event.ts';

export interface Thinner {
  /** What can be said for certain to stay, once a window is full. */
  take(event: Event): readonly Event[];
  /** The rest. */
  end(): readonly Event[];
  readonly dropped: number;
}

/** What one buffer is called from birth to death, with the events that speak of it. */
interface Life {
  readonly bytes: number;
  readonly events: number[];
  /** It began in this window, and ended in it. */
  readonly born: boolean;
  died: boolean;
}

const outlasts = ({ born, died }: Life): boolean => !born || !died;

/** Alive right after the event of this index; of a life that is whole within the window. */
const isAliveAt = ({ events }: Life, index: number | undefined): boolean =>
  index !== undefined && events[0]! <= index && index < events.at(-1)!;

export function createThinner(windowEvents: number): Thinner {
  const bytesInUse = new Map<number, number>();
  const bytesReserved = new Map<number, number>();
  const duringOf = new Map<number, number>();
  let window: Event[] = [];
  let dropped = 0;

  function reduced(): readonly Event[] {
    const events = window;
    window = [];
    const use = livesOf(events, bytesInUse, useOf);
    const reserve = livesOf(events, bytesReserved, reserveOf);
    const run = highestRun(events, use.sums, duringOf);
    const keep = new Set(
      [
        ...use.lives.filter((life) => outlasts(life) || isAliveAt(life, use.highest) || isAliveAt(life, run)),
        ...reserve.lives.filter((life) => outlasts(life) || isAliveAt(life, reserve.highest)),
      ].flatMap((life) => life.events),
    );
    const left = events.filter((event, i) => keep.has(i) || i === run || isNeeded(event));
    dropped += events.length - left.length;
    return left;
  }

  return {
    take(event) {
      window.push(event);
      return window.length < windowEvents ? [] : reduced();
    },
    end: () => reduced(),
    get dropped() {
      return dropped;
    },
  };
}

/** What defines something, and what is said once. */
function isNeeded({ kind, ...event }: Event): boolean {
  switch (kind) {
    case 'start':
    case 'device':
    case 'place':
    case 'program':
    case 'end':
      return true;
    case 'mark':
      return 'name' in event && event.name !== 'round' && event.name !== 'retrace';
    case 'allocate':
    case 'free':
    case 'reserve':
    case 'unreserve':
    case 'reuse':
    case 'donate':
    case 'run':
    case 'enter':
    case 'leave':
    case 'count':
      return false;
  }
}

/** What an event does to a sum: `from` and `to` are ids. */
type Effect =
  | { readonly kind: 'birth'; readonly to: number; readonly bytes: number }
  | { readonly kind: 'death'; readonly from: number }
  | { readonly kind: 'move'; readonly from: number; readonly to: number }
  | { readonly kind: 'word'; readonly of: number };

function useOf(event: Event): Effect | undefined {
  if (event.kind === 'allocate') return { kind: 'birth', to: event.id, bytes: event.bytes };
  if (event.kind === 'free') return { kind: 'death', from: event.id };
  if (event.kind === 'reuse') return { kind: 'move', from: event.from, to: event.to };
  if (event.kind === 'donate' || (event.kind === 'mark' && event.id !== undefined)) return { kind: 'word', of: event.id! };
  return undefined;
}

function reserveOf(event: Event): Effect | undefined {
  if (event.kind === 'reserve') return { kind: 'birth', to: event.id, bytes: event.bytes };
  return event.kind === 'unreserve' ? { kind: 'death', from: event.id } : undefined;
}

interface Lives {
  readonly lives: readonly Life[];
  /** Index of the event after which the sum stood highest, if it rose at all; and the sum after each event. */
  readonly highest: number | undefined;
  readonly sums: Float64Array;
}

/** Lives that the window's events speak of; `alive` has the bytes of what is alive, and is brought up to the window's end. */
function livesOf(events: readonly Event[], alive: Map<number, number>, effectOf: (event: Event) => Effect | undefined): Lives {
  const lives: Life[] = [];
  const current = new Map<number, Life>();
  const sums = new Float64Array(events.length);
  let sum = 0;
  for (const bytes of alive.values()) sum += bytes;
  let highest: number | undefined;
  let most = sum;

  function lifeOf(id: number, bytes: number, born: boolean): Life {
    let life = current.get(id);
    if (life === undefined || born) {
      life = { bytes, events: [], born, died: false };
      lives.push(life);
      current.set(id, life);
    }
    return life;
  }

  events.forEach((event, i) => {
    const effect = effectOf(event);
    if (effect?.kind === 'birth') {
      lifeOf(effect.to, effect.bytes, true).events.push(i);
      alive.set(effect.to, effect.bytes);
      sum += effect.bytes;
    } else if (effect?.kind === 'death') {
      const bytes = alive.get(effect.from);
      if (bytes !== undefined) {
        const life = lifeOf(effect.from, bytes, false);
        life.events.push(i);
        life.died = true;
        current.delete(effect.from);
        alive.delete(effect.from);
        sum -= bytes;
      }
    } else if (effect?.kind === 'move') {
      const bytes = alive.get(effect.from);
      if (bytes !== undefined) {
        const life = lifeOf(effect.from, bytes, false);
        life.events.push(i);
        current.delete(effect.from);
        current.set(effect.to, life);
        alive.delete(effect.from);
        alive.set(effect.to, bytes);
      }
    } else if (effect?.kind === 'word') {
      const bytes = alive.get(effect.of);
      if (bytes !== undefined) lifeOf(effect.of, bytes, false).events.push(i);
      else current.get(effect.of)?.events.push(i);
    }
    sums[i] = sum;
    if (sum > most) {
      most = sum;
      highest = i;
    }
  });
  return { lives, highest, sums };
}

/** The compiled call during which the window's sum stood highest. */
function highestRun(events: readonly Event[], sums: Float64Array, duringOf: Map<number, number>): number | undefined {
  let best: number | undefined;
  let highest = -1;
  events.forEach((event, i) => {
    if (event.kind === 'program') duringOf.set(event.program, Math.max(0, event.profile.peakBytes - event.profile.argumentBytes));
    const bytes = event.kind === 'run' ? sums[i]! + (duringOf.get(event.program) ?? 0) : -1;
    if (bytes <= highest) return;
    highest = bytes;
    best = i;
  });
  return best;
}
