/**
 * Turns what is watched into events: hands out ids, interns stacks, and knows which objects are still within reach.
 *
 * A watched object is held weakly, so that watching never keeps it alive. When the collector takes it, that is an event;
 * at exit a forced collection tells what was alive but out of reach. Depends on: core, events, stack.
 */
import type { Event } from '../events/event.ts';
import { createStacks } from './stack.ts';
import type { Owner, Stack } from './stack.ts';

/** Ids and places of the instrument start here, far from those that the runtime hands out itself. */
const firstId = 2 ** 40;

export interface RecorderOptions {
  emit(event: Event): void;
  /** Milliseconds since the start of the run. */
  now(): number;
  owner(file: string): Owner;
}

export interface Recorder {
  emit(event: Event): void;
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

export function createRecorder({ emit, now, owner }: RecorderOptions): Recorder {
  let next = firstId;
  let busy = false;
  const watched = new Map<number, { readonly ref: WeakRef<object>; readonly collected: () => void }>();
  const registry = new FinalizationRegistry<number>(gone);
  const nextId = (): number => next++;

  const stacks = createStacks({
    owner,
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

  return {
    emit(event) {
      busy ||= event.kind === 'allocate' || event.kind === 'run';
      emit(event);
    },
    now,
    nextId,
    stack: stacks.capture,
    watch(object, id, collected) {
      watched.set(id, { ref: new WeakRef(object), collected });
      registry.register(object, id);
    },
    forget(id) {
      watched.delete(id);
    },
    exit(collect) {
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
