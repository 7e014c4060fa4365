/**
 * Turns what is watched into events: hands out ids, interns stacks, and knows which objects are still within reach.
 *
 * A watched object is held weakly, so that watching never keeps it alive. When the collector takes it, that is an event;
 * at exit a forced collection tells what was alive but out of reach. Depends on: core, events, stack, calls.
 */
import type { Event, Frame } from '../events/event.ts';
import { watchCalls } from './calls.ts';
import type { Calls } from './calls.ts';
import { createStacks } from './stack.ts';
import type { Owner, Stack } from './stack.ts';

/** Ids and places of the instrument start here, far from those that the runtime hands out itself. */
const firstId = 2 ** 40;

export interface RecorderOptions {
  emit(event: Event): void;
  /** Milliseconds since the start of the run. */
  now(): number;
  owner(file: string): Owner;
  /** Where the code that is added to modules finds what it calls. */
  readonly target: object;
}

export interface Recorder {
  emit(event: Event): void;
  /** Takes an event of the runtime, whose places are those of a stack. */
  relay(event: Event): void;
  readonly calls: Calls;
  now(): number;
  nextId(): number;
  stack(below: (...args: never[]) => unknown): Stack;
  /** Holds `object` weakly under `id` and says when it was collected before `forget`. */
  watch(object: object, id: number, collected: () => void): void;
  forget(id: number): void;
  /** The program has nothing left to do: after a forced collection, reports what nobody can reach. */
  exit(collect: (() => void) | undefined): void;
  /** Something was allocated since the start. */
  readonly busy: boolean;
}

export function createRecorder({ emit, now, owner, target }: RecorderOptions): Recorder {
  let next = firstId;
  let busy = false;
  const watched = new Map<number, { readonly ref: WeakRef<object>; readonly collected: () => void }>();
  const registry = new FinalizationRegistry<number>(gone);
  const nextId = (): number => next++;

  const calls = watchCalls(target, { emit, now, nextId });
  const relayed = new Map<number, readonly Frame[]>();

  const stacks = createStacks({
    owner,
    settle: calls.settle,
    define(frames) {
      const id = nextId();
      emit({ kind: 'place', id, frames });
      return id;
    },
  });

  function gone(id: number): void {
    const known = watched.get(id);
    if (known === undefined) return;
    watched.delete(id);
    known.collected();
  }

  function send(event: Event): void {
    busy ||= event.kind === 'allocate' || event.kind === 'run';
    emit(event);
  }

  return {
    emit: send,
    relay(event) {
      if (event.kind === 'place') {
        const frames = event.frames.map(calls.settle);
        relayed.set(event.id, frames);
        return send({ ...event, frames });
      }
      if (event.kind === 'allocate' || event.kind === 'run' || event.kind === 'reuse') calls.enter(relayed.get(event.place) ?? []);
      send(event);
    },
    calls,
    now,
    nextId,
    stack(below) {
      const stack = stacks.capture(below);
      calls.enter(stack.frames);
      return stack;
    },
    watch(object, id, collected) {
      watched.set(id, { ref: new WeakRef(object), collected });
      registry.register(object, id);
    },
    forget(id) {
      watched.delete(id);
    },
    exit(collect) {
      calls.flush();
      emit({ kind: 'mark', at: now(), name: 'exit', text: 'the program had nothing left to do' });
      if (collect === undefined) return;
      collect();
      for (const [id, { ref }] of watched) if (ref.deref() === undefined) gone(id);
    },
    get busy() {
      return busy;
    },
  };
}
