/**
 * The events of a run in order of time, out of the files that its processes and threads wrote, on lines of the person's files.
 *
 * Each file is read as a stream, so a run of a million events needs no memory for them. Ids are unique within a file
 * only; they are moved apart here. The folder knows the working directory of its run. Depends on: events, attach, node.
 */
import { createReadStream, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { idsPerThread } from '../../runtime/events/event.ts';
import type { Event } from '../../runtime/events/event.ts';
import { readEvent } from '../../runtime/events/ndjson.ts';
import { createDecoder } from '../../runtime/instrument/wire.ts';
import type { Decoder } from '../../runtime/instrument/wire.ts';
import { createAttach } from './attach.ts';
import type { Attach } from './attach.ts';

const folderFile = 'run.json';
/** What is left of a long run: in order, on lines of the person's files, all ids apart. */
export const thinnedFile = 'thinned.jsonl';

/** Said once, when the folder is made: what the names of files are relative to. */
export const nameRun = (folder: string, cwd: string): void => writeFileSync(join(folder, folderFile), JSON.stringify({ cwd }));

/** What maps the events of a folder to the person's files. */
export function attachOf(folder: string): Attach {
  const { cwd } = JSON.parse(readFileSync(join(folder, folderFile), 'utf8')) as { cwd: string };
  return createAttach({ cwd, maps: join(folder, 'maps') });
}

export async function* readRun(folder: string): AsyncGenerator<Event> {
  const thinned = join(folder, thinnedFile);
  if (existsSync(thinned)) return yield* readLines([thinned], { event: readEvent });
  const attach = attachOf(folder);
  for await (const event of inOrder(folder)) yield attach.event(event);
}

async function* inOrder(folder: string): AsyncGenerator<Event> {
  const threads = [...partsOfThreads(folder).values()];
  if (threads.length === 1) return yield* readLines(threads[0]!, createDecoder());
  const heads = await Promise.all(threads.map((files, i) => open(files, i)));
  for (;;) {
    const open = heads.filter((head) => head.event !== undefined);
    if (open.length === 0) return;
    const first = open.reduce((a, b) => (b.at < a.at ? b : a));
    const event = first.event!;
    yield event;
    // What a thread or a process still held goes with it, when others go on.
    if (event.kind === 'end' && open.length > 1) yield* first.held.given(event.at);
    else first.held.take(event);
    await advance(first);
  }
}

/** The files of each thread in the order in which they were written; main threads first, in order of process. */
export function partsOfThreads(folder: string): ReadonlyMap<string, readonly string[]> {
  const parts = new Map<string, string[]>();
  for (const name of readdirSync(folder).toSorted()) {
    if (!name.endsWith('.ndjson')) continue;
    const thread = name.split('.')[0]!;
    const known = parts.get(thread) ?? [];
    known.push(join(folder, name));
    parts.set(thread, known);
  }
  return parts;
}

interface Head {
  readonly events: AsyncGenerator<Event>;
  readonly thread: number;
  readonly held: Held;
  event: Event | undefined;
  at: number;
}

interface Held {
  take(event: Event): void;
  /** The events that free all that is held, at that time. */
  given(at: number): readonly Event[];
}

function createHeld(): Held {
  const held = { allocate: new Set<number>(), reserve: new Set<number>() };
  return {
    take(event) {
      if (event.kind === 'allocate' || event.kind === 'reserve') held[event.kind].add(event.id);
      if (event.kind === 'free') held.allocate.delete(event.id);
      if (event.kind === 'unreserve') held.reserve.delete(event.id);
      if (event.kind === 'reuse' && held.allocate.delete(event.from)) held.allocate.add(event.to);
    },
    given: (at) => [
      ...[...held.allocate].map((id): Event => ({ kind: 'free', at, id, how: 'destroy' })),
      ...[...held.reserve].map((id): Event => ({ kind: 'unreserve', at, id })),
    ],
  };
}

async function open(files: readonly string[], thread: number): Promise<Head> {
  const head: Head = { events: readLines(files, createDecoder()), thread, held: createHeld(), event: undefined, at: 0 };
  await advance(head);
  return head;
}

async function advance(head: Head): Promise<void> {
  const next = await head.events.next();
  head.event = next.done === true ? undefined : apart(next.value, head.thread);
  // A place has no time of its own: it goes with the event before it.
  if (head.event !== undefined && head.event.kind !== 'place') head.at = head.event.at;
}

/** Lines that go through several files; a last one without an end was cut off, and is dropped. */
async function* readLines(files: readonly string[], decoder: Pick<Decoder, 'event'>): AsyncGenerator<Event> {
  let rest = '';
  for (const file of files) {
    for await (const chunk of createReadStream(file, { encoding: 'utf8', highWaterMark: 1 << 20 })) {
      const lines = (rest + (chunk as string)).split('\n');
      rest = lines.pop()!;
      for (const line of lines) {
        const event = decoder.event(line);
        if (event !== undefined) yield event;
      }
    }
  }
}

/** The event with all its ids moved to where those of a thread lie. */
export function apart(event: Event, thread: number): Event {
  const by = thread * idsPerThread;
  if (by === 0) return event;
  const placed = 'place' in event && typeof event.place === 'number' ? { place: event.place + by } : {};
  switch (event.kind) {
    case 'place':
    case 'free':
    case 'unreserve':
      return { ...event, id: event.id + by };
    case 'allocate':
    case 'donate':
    case 'reserve':
      return { ...event, id: event.id + by, ...placed };
    case 'reuse':
      return { ...event, from: event.from + by, to: event.to + by, place: event.place + by };
    case 'program':
      return {
        ...event,
        program: event.program + by,
        place: event.place + by,
        profile: {
          ...event.profile,
          values: event.profile.values.map((value) => ({ ...value, place: value.place + by })),
          copies: event.profile.copies.map((copy) => ({ ...copy, place: copy.place + by })),
        },
      };
    case 'run':
      return { ...event, program: event.program + by, place: event.place + by };
    case 'enter':
    case 'leave':
    case 'count':
      return { ...event, place: event.place + by };
    case 'mark':
      return { ...event, ...placed, ...(event.id === undefined ? {} : { id: event.id + by }) };
    case 'start':
    case 'device':
    case 'end':
      return event;
  }
}
