/**
 * The documents and workers of a page, each with events of its own: what one held is free when it ends.
 *
 * A page that is loaded again, or left for another, begins anew with everything; so each document has a file like a thread
 * of a program has. What is alive is followed as the events come in, since nobody else can say it once a document is gone.
 * Depends on: events, wire, node.
 */
import { writeEvent } from '../../runtime/events/ndjson.ts';
import { appendInParts, partBytes } from '../../runtime/instrument/parts.ts';
import type { Parts } from '../../runtime/instrument/parts.ts';
import { createDecoder } from '../../runtime/instrument/wire.ts';
import type { Decoder } from '../../runtime/instrument/wire.ts';

export interface Worlds {
  write(name: string, text: string): void;
  /** The world is gone, with all that it held. */
  end(name: string): void;
  /** All whose names begin so. */
  endAll(prefix: string): void;
}

interface World {
  readonly parts: Parts;
  readonly decoder: Decoder;
  readonly alive: Set<number>;
  readonly reserved: Set<number>;
  at: number;
}

/** One document or worker: the session it is spoken with in, and its own number there. */
export const worldName = (session: string | undefined, context: unknown): string => `${session ?? 'page'} ${String(context)}`;

export function createWorlds(events: string, mostBytes = partBytes): Worlds {
  const worlds = new Map<string, World>();
  let count = 0;

  function worldOf(name: string): World {
    let world = worlds.get(name);
    if (world === undefined) {
      const parts = appendInParts(events, `page-${String((count += 1)).padStart(6, '0')}`, mostBytes);
      worlds.set(name, (world = { parts, decoder: createDecoder(), alive: new Set(), reserved: new Set(), at: 0 }));
    }
    return world;
  }

  function end(name: string): void {
    const world = worlds.get(name);
    if (world === undefined) return;
    worlds.delete(name);
    const { at, alive, reserved } = world;
    const freed = [...alive].map((id) => writeEvent({ kind: 'free', at, id, how: 'destroy' }));
    const given = [...reserved].map((id) => writeEvent({ kind: 'unreserve', at, id }));
    world.parts.append([...freed, ...given].join(''));
    world.parts.close();
  }

  return {
    write(name, text) {
      const world = worldOf(name);
      world.parts.append(text);
      for (const line of text.split('\n')) follow(world, line);
    },
    end,
    endAll(prefix) {
      for (const name of [...worlds.keys()]) if (name.startsWith(prefix)) end(name);
    },
  };
}

function follow(world: World, line: string): void {
  const event = line === '' ? undefined : world.decoder.event(line);
  if (event === undefined) return;
  if ('at' in event) world.at = event.at;
  if (event.kind === 'allocate') world.alive.add(event.id);
  if (event.kind === 'free') world.alive.delete(event.id);
  if (event.kind === 'reuse') {
    world.alive.delete(event.from);
    world.alive.add(event.to);
  }
  if (event.kind === 'reserve') world.reserved.add(event.id);
  if (event.kind === 'unreserve') world.reserved.delete(event.id);
}
