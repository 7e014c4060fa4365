/**
 * Events on their way from the program to the profiler: the kinds that come by the million in a few letters, others as JSON.
 *
 *     r 12 1073741830 1024 webgpu 1073741825    reserve: µs since the line before, id, bytes, layer, place
 *     b buffer                                  the same bytes are in use too
 *     a 3 7 4096 12 tfjs array float32 32,32    allocate: …, place, layer, what, dtype, shape
 *     s 3 7 4096 12 tidemark array float32 2 5 0  the same, then the reservation that it is a piece of, and at which byte
 *     f 40 1073741830 destroy                   free
 *     v                                         its reservation is gone too
 *     u 5 9                                     unreserve
 *     e 0 1073741826                            enter, of a place that was entered before
 *     p 8 5 1073741827                          run, of a program, without a duration
 *
 * Writing this takes an eighth of the time and of the bytes that JSON takes, and so does reading. Both ends keep the time
 * and a little of the line before; a last line that is cut off is dropped, as in any stream of events. Times are kept to
 * the microsecond. Depends on: events.
 */
import type { ArrayKind, Event } from '../events/event.ts';
import { readEvent, writeEvent } from '../events/ndjson.ts';

export interface Encoder {
  /** The line of the event, with its end. */
  line(event: Event): string;
}

export interface Decoder {
  /** The event on a line without its end; undefined when the line holds none. */
  event(line: string): Event | undefined;
}

type Of<Kind extends Event['kind']> = Extract<Event, { kind: Kind }>;
type How = Of<'free'>['how'];

/** Words that may stand between blanks. */
const plain = /^[\w.-]+$/;

export function createEncoder(): Encoder {
  let last = 0;
  let reserved: Of<'reserve'> | undefined;
  let freed: Of<'free'> | undefined;
  const words = new Map<string, boolean>();
  const entered = new Map<number, string>();

  const isPlain = (word: string): boolean => {
    let known = words.get(word);
    if (known === undefined) words.set(word, (known = plain.test(word)));
    return known;
  };

  function since(at: number): number {
    const time = Math.round(at * 1000);
    const passed = time - last;
    last = time;
    return passed;
  }

  function whole(event: Event): string {
    if ('at' in event) last = Math.round(event.at * 1000);
    return writeEvent(event);
  }

  function allocated(event: Of<'allocate'>, before: Of<'reserve'> | undefined): string {
    const { id, bytes, place, layer, what, shape, dtype, slab, offset } = event;
    if (event.label !== undefined || event.role !== undefined || !isPlain(layer)) return whole(event);
    if ((slab === undefined) !== (offset === undefined)) return whole(event);
    const isSame = before !== undefined && before.id === id && before.bytes === bytes && before.place === place && before.layer === layer;
    if (isSame && before.at === event.at && shape === undefined && dtype === undefined && slab === undefined) return `b ${what}\n`;
    if ((dtype !== undefined && !isPlain(dtype)) || dtype === '-') return whole(event);
    const piece = slab === undefined ? '' : ` ${slab} ${offset}`;
    return `${slab === undefined ? 'a' : 's'} ${since(event.at)} ${id} ${bytes} ${place} ${layer} ${what} ${dtype ?? '-'} ${shapeText(shape)}${piece}\n`;
  }

  return {
    line(event) {
      const before = reserved;
      reserved = undefined;
      switch (event.kind) {
        case 'reserve': {
          const { id, bytes, layer, place } = event;
          if (!isPlain(layer)) return whole(event);
          reserved = event;
          return `r ${since(event.at)} ${id} ${bytes} ${layer} ${place ?? '-'}\n`;
        }
        case 'allocate':
          return allocated(event, before);
        case 'free':
          freed = event;
          return `f ${since(event.at)} ${event.id} ${event.how}\n`;
        case 'unreserve': {
          const isSame = freed !== undefined && freed.id === event.id && freed.at === event.at;
          freed = undefined;
          return isSame ? 'v\n' : `u ${since(event.at)} ${event.id}\n`;
        }
        case 'enter':
          if (entered.get(event.place) === event.name) return `e ${since(event.at)} ${event.place}\n`;
          entered.set(event.place, event.name);
          return whole(event);
        case 'run':
          return event.ms === undefined ? `p ${since(event.at)} ${event.program} ${event.place}\n` : whole(event);
        case 'start':
        case 'device':
        case 'place':
        case 'reuse':
        case 'donate':
        case 'program':
        case 'leave':
        case 'count':
        case 'mark':
        case 'end':
          return whole(event);
      }
    },
  };
}

const shapeText = (shape: readonly number[] | undefined): string =>
  shape === undefined ? '-' : shape.length === 0 ? '.' : shape.join(',');

export function createDecoder(): Decoder {
  let last = 0;
  let reserved: Of<'reserve'> | undefined;
  let freed = 0;
  const entered = new Map<number, string>();

  function after(passed: string | undefined): number {
    last += Number(passed);
    return last / 1000;
  }

  function read(letter: string, words: readonly string[]): Event | undefined {
    const id = Number(words[2]);
    switch (letter) {
      case 'r': {
        const place = words[5] === '-' ? {} : { place: Number(words[5]) };
        reserved = { kind: 'reserve', at: after(words[1]), id, bytes: Number(words[3]), layer: words[4]!, ...place };
        return reserved;
      }
      case 'b': {
        if (reserved === undefined) return undefined;
        const { at, id: same, bytes, layer, place } = reserved;
        return { kind: 'allocate', at, id: same, bytes, place: place ?? 0, layer, what: words[1] as ArrayKind };
      }
      case 'a':
      case 's': {
        const [, passed, , bytes, place, layer, what, dtype, shape, slab, offset] = words;
        return {
          kind: 'allocate',
          at: after(passed),
          id,
          bytes: Number(bytes),
          place: Number(place),
          layer: layer!,
          what: what as ArrayKind,
          ...(shape === '-' ? {} : { shape: shape === '.' ? [] : shape!.split(',').map(Number) }),
          ...(dtype === '-' ? {} : { dtype: dtype! }),
          ...(slab === undefined ? {} : { slab: Number(slab), offset: Number(offset) }),
        };
      }
      case 'f':
        freed = id;
        return { kind: 'free', at: after(words[1]), id, how: words[3] as How };
      case 'v':
        return { kind: 'unreserve', at: last / 1000, id: freed };
      case 'u':
        return { kind: 'unreserve', at: after(words[1]), id };
      case 'e':
        return { kind: 'enter', at: after(words[1]), name: entered.get(id) ?? '', place: id };
      case 'p':
        return { kind: 'run', at: after(words[1]), program: id, place: Number(words[3]) };
      default:
        return undefined;
    }
  }

  return {
    event(line) {
      if (!line.startsWith('{')) {
        const words = line.split(' ');
        return words.length === lengths[words[0]!] ? read(words[0]!, words) : undefined;
      }
      const event = readEvent(line);
      if (event !== undefined && 'at' in event) last = Math.round(event.at * 1000);
      if (event?.kind === 'enter') entered.set(event.place, event.name);
      return event;
    },
  };
}

/** How many words each kind of line has: a line that was cut off has fewer. */
const lengths: Readonly<Record<string, number>> = { r: 6, b: 2, a: 9, s: 11, f: 4, v: 1, u: 3, e: 3, p: 4 };
