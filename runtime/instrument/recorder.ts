/**
 * Turns what is watched into events: hands out ids, interns stacks, and knows which objects are still within reach.
 *
 * A watched object is held weakly, so that watching never keeps it alive. When the collector takes it, that is an event;
 * at exit a forced collection tells what was alive but out of reach. Depends on: core, events, stack, calls.
 */
import type { Event, Frame } from '../events/event.ts';
import { watchCalls } from './calls.ts';
import type { Calls } from './calls.ts';
import { createSites } from './sites.ts';
import { createStacks } from './stack.ts';
import type { Owner, Stack } from './stack.ts';

/**
 * Ids and places of the instrument start here, far from those that the runtime hands out itself. Up to twice as many, V8
 * keeps them without an object of their own.
 */
const firstId = 2 ** 30;
/** So many objects are held weakly at once; a program that makes more than a few pays less when that waits a moment. */
const firstObjects = 1024;
const mostFresh = 256;

export interface Context {
  get(): Stack | undefined;
  set(stack: Stack): void;
}

export interface RecorderOptions {
  emit(event: Event): void;
  /** Milliseconds since the start of the run. */
  now(): number;
  owner(file: string): Owner;
  /** A value that follows the program through its awaits and timers. */
  readonly context: Context;
  /** Where the code that is added to modules finds what it calls. */
  readonly target: object;
}

export interface Recorder {
  emit(event: Event): void;
  /** Takes an event of the runtime, whose places are those of a stack. */
  relay(event: Event): void;
  /** The runtime's own GPU buffers are met as they are made; its word on them is not needed. */
  seeGPU(): void;
  readonly calls: Calls;
  now(): number;
  nextId(): number;
  stack(below: (...args: never[]) => unknown): Stack;
  /** The same, for a library that goes on by itself after an await: without a user's frame it is charged to who started it. */
  carriedStack(below: (...args: never[]) => unknown): Stack;
  /** Holds `object` weakly and says when it was collected before `forget`. */
  watch(object: object, collected: () => void): Watched;
  forget(watched: Watched): void;
  /** Holds weakly what was made lately and is still there; called every few moments. */
  settle(): void;
  /** The program has nothing left to do: after a forced collection, reports what nobody can reach. */
  exit(collect: (() => void) | undefined): void;
  /** Something was allocated since the start. */
  readonly busy: boolean;
}

/** An object that is watched until it is forgotten; strongly held while it is fresh. */
export interface Watched {
  object: object | undefined;
  ref: WeakRef<object> | undefined;
  readonly collected: () => void;
}

export function createRecorder({ emit, now, owner, context, target }: RecorderOptions): Recorder {
  let next = firstId;
  let busy = false;
  let relaysGPU = false;
  let seesGPU = false;
  const held = new Set<Watched>();
  // Most objects of a busy program are given back at once: those never cost a weak reference.
  let fresh: Watched[] = [];
  let met = 0;
  const registry = new FinalizationRegistry<Watched>(gone);
  const nextId = (): number => next++;

  const calls = watchCalls(target, { emit, now, nextId });
  const stacks = createStacks({
    owner,
    settle: calls.settle,
    functionOf: calls.functionOf,
    reentered: calls.reentered,
    define(frames) {
      const id = nextId();
      emit({ kind: 'place', id, frames });
      return id;
    },
  });

  function gone(watched: Watched): void {
    if (held.delete(watched)) watched.collected();
  }

  function hold(watched: Watched): void {
    const { object } = watched;
    if (object === undefined) return;
    watched.object = undefined;
    watched.ref = new WeakRef(object);
    held.add(watched);
    registry.register(object, watched);
  }

  function settle(): void {
    for (const watched of fresh) hold(watched);
    fresh = [];
  }

  /** The runtime says which line; the stack says who called it. Both together are the place, once per pair. */
  const places = createPlaces(calls, stacks.capture, (frames) => {
    const id = nextId();
    emit({ kind: 'place', id, frames });
    return id;
  });

  const stackOf = createSites(calls, stacks);

  function stack(below: (...args: never[]) => unknown): Stack {
    const found = stackOf(below);
    calls.enter(found.functions);
    return found;
  }

  const pairs = new Map<string, Stack>();

  function carried(own: Stack, origin: Stack): Stack {
    const key = `${own.place} ${origin.place}`;
    let both = pairs.get(key);
    if (both === undefined) {
      const frames = [...own.frames, ...origin.frames.filter((frame) => frame.library === undefined)];
      const place = nextId();
      emit({ kind: 'place', id: place, frames });
      pairs.set(key, (both = { ...own, place, frames }));
    }
    return both;
  }

  function send(event: Event): void {
    busy ||= event.kind === 'allocate' || event.kind === 'run';
    emit(event);
  }

  return {
    emit: send,
    relay: function tidemarkRelay(event) {
      switch (event.kind) {
        case 'place':
          places.define(event.id, event.frames);
          return send({ ...event, frames: event.frames.map(calls.settle).flatMap(calls.around) });
        case 'allocate':
        case 'reuse':
        case 'run':
          return send({ ...event, place: places.called(event.place, tidemarkRelay) });
        case 'device':
          relaysGPU = event.device === 'webgpu';
          return send(event);
        case 'reserve':
          // The same buffer was met when it was made.
          return relaysGPU && seesGPU ? undefined : send(event);
        default:
          return send(event);
      }
    },
    seeGPU() {
      seesGPU = true;
    },
    calls,
    now,
    nextId,
    stack,
    carriedStack(below) {
      const own = stack(below);
      const before = context.get();
      if (own.frames.some((frame) => frame.library === undefined)) {
        if (own !== before) context.set(own);
        return own;
      }
      return before === undefined ? own : carried(own, before);
    },
    watch(object, collected) {
      const watched: Watched = { object, ref: undefined, collected };
      if ((met += 1) <= firstObjects) hold(watched);
      else if (fresh.push(watched) >= mostFresh) settle();
      return watched;
    },
    forget(watched) {
      if (watched.object === undefined) held.delete(watched);
      watched.object = undefined;
    },
    settle,
    exit(collect) {
      calls.flush();
      emit({ kind: 'mark', at: now(), name: 'exit', text: 'the program had nothing left to do', id: nextId() });
      if (collect === undefined) return;
      collect();
      for (const watched of held) if (watched.ref?.deref() === undefined) gone(watched);
    },
    get busy() {
      return busy;
    },
  };
}

interface Places {
  define(id: number, frames: readonly Frame[]): void;
  /** The place for an event of the runtime at `id`, with the callers that are on the stack now. */
  called(id: number, below: (...args: never[]) => unknown): number;
}

function createPlaces(
  calls: Calls,
  capture: (below: (...args: never[]) => unknown) => Stack,
  define: (frames: readonly Frame[]) => number,
): Places {
  const frames = new Map<number, readonly Frame[]>();
  const pairs = new Map<string, number>();
  let last = { id: -1, total: -1, place: -1 };

  return {
    define(id, of) {
      frames.set(id, of.map(calls.settle));
    },
    called(id, below) {
      // The same line, and no function was entered since: the stack is the same.
      if (last.id === id && last.total === calls.total) return last.place;
      const stack = capture(below);
      calls.enter(stack.functions);
      const key = `${id} ${stack.place}`;
      let place = pairs.get(key);
      if (place === undefined) {
        const users = stack.frames.filter((frame) => frame.library === undefined);
        const [line] = frames.get(id) ?? [];
        const callers = line !== undefined && users[0] !== undefined && sameLine(line, users[0]) ? users.slice(1) : users;
        place =
          line === undefined
            ? stack.place
            : define([{ ...(users[0] !== undefined && sameLine(line, users[0]) ? users[0] : line) }, ...callers]);
        pairs.set(key, place);
      }
      last = { id, total: calls.total, place };
      return place;
    },
  };
}

const sameLine = (a: Frame, b: Frame): boolean => a.file === b.file && a.line === b.line && a.column === b.column;
