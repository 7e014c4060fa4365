/**
 * The events of a run in order of time, out of the files that its processes and threads wrote, on lines of the person's files.
 *
 * Each file is read as a stream, so a run of a million events needs no memory for them. Ids are unique within a file
 * only; they are moved apart here. The folder knows the working directory of its run. Depends on: events, attach, node.
 */
import { createReadStream, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Event } from '../../runtime/events/event.ts';
import { createDecoder } from '../../runtime/instrument/wire.ts';
import { createAttach } from './attach.ts';

/** Room for the ids of one file: the instrument's start at 2^40. */
const idsPerFile = 2 ** 42;

const folderFile = 'run.json';

/** Said once, when the folder is made: what the names of files are relative to. */
export const nameRun = (folder: string, cwd: string): void => writeFileSync(join(folder, folderFile), JSON.stringify({ cwd }));

export async function* readRun(folder: string): AsyncGenerator<Event> {
  const { cwd } = JSON.parse(readFileSync(join(folder, folderFile), 'utf8')) as { cwd: string };
  const attach = createAttach({ cwd, maps: join(folder, 'maps') });
  for await (const event of inOrder(folder)) yield attach.event(event);
}

async function* inOrder(folder: string): AsyncGenerator<Event> {
  const files = eventFiles(folder);
  if (files.length === 1) return yield* readFile(join(folder, files[0]!));
  const heads = await Promise.all(files.map((file, i) => open(join(folder, file), i)));
  for (;;) {
    const open = heads.filter((head) => head.event !== undefined);
    if (open.length === 0) return;
    const first = open.reduce((a, b) => (b.at < a.at ? b : a));
    yield first.event!;
    await advance(first);
  }
}

/** Main threads first, in order of process. */
function eventFiles(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.ndjson'))
    .toSorted();
}

interface Head {
  readonly events: AsyncGenerator<Event>;
  readonly file: number;
  event: Event | undefined;
  at: number;
}

async function open(path: string, file: number): Promise<Head> {
  const head: Head = { events: readFile(path), file, event: undefined, at: 0 };
  await advance(head);
  return head;
}

async function advance(head: Head): Promise<void> {
  const next = await head.events.next();
  head.event = next.done === true ? undefined : apart(next.value, head.file * idsPerFile);
  // A place has no time of its own: it goes with the event before it.
  if (head.event !== undefined && head.event.kind !== 'place') head.at = head.event.at;
}

/** A last line without an end was cut off, and is dropped. */
async function* readFile(path: string): AsyncGenerator<Event> {
  const decoder = createDecoder();
  let rest = '';
  for await (const chunk of createReadStream(path, { encoding: 'utf8', highWaterMark: 1 << 20 })) {
    const lines = (rest + (chunk as string)).split('\n');
    rest = lines.pop()!;
    for (const line of lines) {
      const event = decoder.event(line);
      if (event !== undefined) yield event;
    }
  }
}

/** The event with all its ids moved by `by`. */
function apart(event: Event, by: number): Event {
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
