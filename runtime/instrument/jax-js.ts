/**
 * Watches the arrays of jax-js, on its cpu, wasm, webgl and webgpu backends.
 *
 * Its arrays are views of slots that a backend counts references to, so the backend's `malloc`, `incRef` and `decRef`
 * are followed: a slot is in use from the one to the last of the other, pending work included. Backends aren't exported;
 * a line added to the library's modules as they are loaded (never to its files) hands them over, and another tells which
 * array looks at which slot, for shape, dtype and reachability. Depends on: events, recorder.
 */
import type { Recorder } from './recorder.ts';

interface Backend {
  readonly type: string;
  malloc(bytes: number, initial?: Uint8Array): number;
  incRef(slot: number): void;
  decRef(slot: number): void;
}

interface ArrayFields {
  readonly source: unknown;
  readonly st: { readonly shape: readonly number[] };
  readonly dtype: string;
  readonly backend: object;
}

/** What the added lines call. */
export interface JaxJsHook {
  backend(prototype: Backend): void;
  array(array: object, fields: ArrayFields): void;
}

export const hookName = 'tidemark.jax-js';

interface Slot {
  readonly id: number;
  readonly bytes: number;
  readonly place: number;
  readonly at: number;
  references: number;
  viewers: number;
  shape?: readonly number[];
  dtype?: string;
}

/** Slots whose `allocate` event waits for the shape at most; a compiled call makes all of its outputs before their arrays. */
const mostWaiting = 256;

/** Returns what writes the events that still wait for their shapes. */
export function watchJaxJs(recorder: Recorder, target: object): () => void {
  const slots = new WeakMap<object, Map<number, Slot>>();
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
      const made: Slot = { id: recorder.nextId(), bytes, place, at: recorder.now(), references: 1, viewers: 0 };
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

  const hook: JaxJsHook = {
    backend(prototype) {
      if (['malloc', 'incRef', 'decRef'].every((name) => typeof (prototype as unknown as Record<string, unknown>)[name] === 'function'))
        follow(prototype);
    },
    array(array, { source, st, dtype, backend }) {
      if (typeof source !== 'number') return;
      const slot = slotsOf(backend).get(source);
      if (slot === undefined) return;
      slot.viewers += 1;
      if (slot.shape === undefined) {
        slot.shape = st.shape;
        slot.dtype = dtype;
        if (waiting.includes(slot)) shapeless -= 1;
        if (shapeless === 0) flush();
      }
      recorder.watch(array, recorder.nextId(), () => {
        slot.viewers -= 1;
        if (slot.viewers > 0 || slot.references <= 0) return;
        // The backend holds on to a slot for good when its last array was collected without being consumed.
        recorder.emit({
          kind: 'mark',
          at: recorder.now(),
          name: 'leak',
          text: 'an array was collected without being consumed or disposed',
          id: slot.id,
        });
      });
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
  const backends = [...source.matchAll(/^(?:var|let|const) (\w*Backend) = class\b/gm)].map((found) => found[1]!);
  const constructed = /this\.#committed = args\.committed;/;
  // An array that was only an expression so far gets a slot when its values are asked for.
  const realized = /this\.#source = (?:output|this\.#backend\.malloc\([^;]*\));/g;
  if (backends.length === 0 && !constructed.test(source)) return undefined;
  const lines = source
    .replace(constructed, (text) => `${text}${hook}?.array(this,args);`)
    .replace(realized, (text) => `${text}${hook}?.array(this,{source:this.#source,st:this.#st,dtype:this.#dtype,backend:this.#backend});`);
  const handed = backends.map((name) => `${hook}?.backend(${name}.prototype);`).join('');
  return handed === '' ? lines : `${lines}\n;${handed}\n`;
}
