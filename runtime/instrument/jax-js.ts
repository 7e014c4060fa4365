/**
 * Watches the arrays of jax-js, on its cpu, wasm, webgl and webgpu backends.
 *
 * Its arrays are views of slots that a backend counts references to, so the backend's `malloc`, `incRef` and `decRef`
 * are followed: a slot is in use from the one to the last of the other, pending work included. Backends aren't exported;
 * a line added to the library's modules as they are loaded (never to its files) hands them over, and another tells which
 * array looks at which slot, for shape, dtype and reachability. Depends on: events, recorder.
 */
import type { Recorder, Watched } from './recorder.ts';

interface Backend {
  readonly type: string;
  malloc(bytes: number, initial?: Uint8Array): number;
  incRef(slot: number): void;
  decRef(slot: number): void;
}

/** An array of the library, as far as it counts its references. */
interface Counted {
  readonly refCount: number;
}

interface ArrayFields {
  readonly source: unknown;
  readonly st: { readonly shape: readonly number[] };
  readonly dtype: string;
  readonly backend: object;
}

/** What the added lines call. */
export interface JaxJsHook {
  /** The watched `malloc` of a backend that is met for the first time. */
  backend(backend: Backend): Backend['malloc'] | undefined;
  array(array: object, fields: ArrayFields): void;
}

export const hookName = 'tidemark.jax-js';

interface Slot {
  readonly id: number;
  readonly bytes: number;
  readonly place: number;
  readonly at: number;
  references: number;
  lost: boolean;
  shape?: readonly number[];
  dtype?: string;
}

/** Slots whose `allocate` event waits for the shape at most; a compiled call makes all of its outputs before their arrays. */
const mostWaiting = 256;

/** Returns what writes the events that still wait for their shapes. */
export function watchJaxJs(recorder: Recorder, target: object): () => void {
  const slots = new WeakMap<object, Map<number, Slot>>();
  const met = new WeakSet<object>();
  const told = new Set<string>();
  let waiting: Slot[] = [];
  let shapeless = 0;

  /** A free must not overtake an allocation, so this comes before any free. */
  function flush(): void {
    for (const { id, bytes, place, at, shape, dtype } of waiting) {
      const seen = shape !== undefined && dtype !== undefined ? { shape: [...shape], dtype } : {};
      recorder.emit({ kind: 'allocate', at, id, bytes, place, layer: 'jax-js', what: 'array', ...seen });
    }
    waiting = [];
    shapeless = 0;
  }

  function slotsOf(backend: object): Map<number, Slot> {
    let known = slots.get(backend);
    if (known === undefined) slots.set(backend, (known = new Map()));
    return known;
  }

  function tellDevice(type: string): void {
    if (told.has(type)) return;
    told.add(type);
    const device = type === 'webgpu' || type === 'webgl' || type === 'wasm' ? type : 'cpu';
    recorder.emit({
      kind: 'device',
      at: recorder.now(),
      device,
      adapter: `jax-js ${type}`,
      software: device === 'cpu' || device === 'wasm',
      layer: 'jax-js',
    });
  }

  function follow(prototype: Backend): void {
    const { malloc, incRef, decRef } = prototype;
    prototype.malloc = function tidemarkMalloc(this: Backend, bytes, initial) {
      const slot = malloc.call(this, bytes, initial);
      tellDevice(this.type);
      const { place } = recorder.stack(tidemarkMalloc);
      const made: Slot = { id: recorder.nextId(), bytes, place, at: recorder.now(), references: 1, lost: false };
      slotsOf(this).set(slot, made);
      waiting.push(made);
      shapeless += 1;
      if (waiting.length > mostWaiting) flush();
      return slot;
    };
    prototype.incRef = function tidemarkIncRef(this: Backend, slot) {
      incRef.call(this, slot);
      const known = slotsOf(this).get(slot);
      if (known !== undefined) known.references += 1;
    };
    prototype.decRef = function tidemarkDecRef(this: Backend, slot) {
      decRef.call(this, slot);
      const known = slotsOf(this).get(slot);
      if (known === undefined || --known.references > 0) return;
      flush();
      slotsOf(this).delete(slot);
      recorder.emit({ kind: 'free', at: recorder.now(), id: known.id, how: 'consume' });
    };
  }

  const disposing = new WeakSet<object>();

  /** An array whose last reference was given back holds no slot any more; pending work may, for a while. */
  function followDisposal(array: object): void {
    const prototype = Object.getPrototypeOf(array) as { dispose?: (this: Counted) => void };
    const { dispose } = prototype;
    if (disposing.has(prototype) || typeof dispose !== 'function') return;
    disposing.add(prototype);
    prototype.dispose = function tidemarkDispose() {
      dispose.call(this);
      const watched = this.refCount > 0 ? undefined : watches.get(this);
      if (watched === undefined) return;
      watches.delete(this);
      recorder.forget(watched);
    };
  }

  const watches = new WeakMap<object, Watched>();

  /** The backend holds on to a slot for good when an array that looks at it was collected with references left. */
  function watch(array: object, slot: Slot): void {
    const before = watches.get(array);
    if (before !== undefined) recorder.forget(before);
    const watched = recorder.watch(array, () => {
      if (slot.references <= 0 || slot.lost) return;
      slot.lost = true;
      recorder.emit({
        kind: 'mark',
        at: recorder.now(),
        name: 'leak',
        text: 'an array was collected without being consumed or disposed',
        id: slot.id,
      });
    });
    watches.set(array, watched);
  }

  const hook: JaxJsHook = {
    backend(backend) {
      const prototype = Object.getPrototypeOf(backend) as Backend;
      if (met.has(prototype)) return undefined;
      met.add(prototype);
      follow(prototype);
      return prototype.malloc;
    },
    array(array, { source, st, dtype, backend }) {
      followDisposal(array);
      if (typeof source !== 'number') return;
      const slot = slotsOf(backend).get(source);
      if (slot === undefined) return;
      if (slot.shape === undefined) {
        slot.shape = st.shape;
        slot.dtype = dtype;
        if (waiting.includes(slot)) shapeless -= 1;
        if (shapeless === 0) flush();
      }
      watch(array, slot);
    },
  };
  Object.defineProperty(target, Symbol.for(hookName), { value: hook, configurable: true });
  return flush;
}

/**
 * The source of one of the library's modules with the lines added; undefined when there is nothing to add.
 * All go where the text is what it is expected to be, and are left out otherwise: the profile then lacks these arrays,
 * never is the program broken.
 */
export function hookedSource(source: string): string | undefined {
  const hook = `globalThis[Symbol.for(${JSON.stringify(hookName)})]`;
  // The first allocation of a backend hands its class over, and is done again by the wrapper.
  const allocating = /\bmalloc\((\w+), ?(\w+)\) ?\{/g;
  const constructed = /this\.#committed = args\.committed;/;
  // An array that was only an expression so far gets a slot when its values are asked for.
  const realized = /this\.#source = (?:output|this\.#backend\.malloc\([^;]*\));/g;
  const isBackend = /\bincRef\(/.test(source) && /\bdecRef\(/.test(source) && source.search(allocating) !== -1;
  if (!isBackend && !constructed.test(source)) return undefined;
  return source
    .replace(constructed, (text) => `${text}${hook}?.array(this,args);`)
    .replace(realized, (text) => `${text}${hook}?.array(this,{source:this.#source,st:this.#st,dtype:this.#dtype,backend:this.#backend});`)
    .replace(allocating, (text, bytes: string, initial: string) =>
      isBackend
        ? `${text}const $watched=${hook}?.backend(this);if($watched!==undefined)return $watched.call(this,${bytes},${initial});`
        : text,
    );
}
