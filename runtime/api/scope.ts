/**
 * Scopes: what was made inside and isn't returned is freed at the end, also when it throws.
 *
 * An asynchronous function is followed through its awaits where the platform can (Node's AsyncLocalStorage); elsewhere
 * it is a TypeError that says to split. Depends on: core.
 */
import { functionArg, typeError } from '../core/errors.ts';

/** What a scope owns; arrays add themselves when they are made. */
export interface Owned {
  readonly isDisposed: boolean;
  readonly release: (how: 'scope') => void;
}
interface Frame {
  readonly owned: Set<Owned>;
}

interface Storage {
  getStore(): Frame | undefined;
  run<T>(frame: Frame | undefined, call: () => T): T;
}

/** Frames by nesting of calls only: for platforms without a store that follows awaits. */
function nestingStorage(): Storage {
  let current: Frame | undefined;
  return {
    getStore: () => current,
    run(frame, call) {
      const former = current;
      current = frame;
      try {
        return call();
      } finally {
        current = former;
      }
    },
  };
}

interface Platform {
  readonly getBuiltinModule?: (name: string) => { readonly AsyncLocalStorage?: new () => Storage } | undefined;
}
const platform = (globalThis as { readonly process?: Platform }).process;
let storage: Storage | undefined;
let followsAwaits = false;
function store(): Storage {
  if (storage !== undefined) return storage;
  const Follower = platform?.getBuiltinModule?.('node:async_hooks')?.AsyncLocalStorage;
  followsAwaits = Follower !== undefined;
  storage = Follower === undefined ? nestingStorage() : new Follower();
  return storage;
}

/** Called for every array that is made. */
export function adopt(array: Owned): void {
  storage?.getStore()?.owned.add(array);
}

/** What `make` makes outlives the scope that is running: it belongs to something that is kept, a compiled program. */
export const kept = <T>(make: () => T): T => (storage === undefined ? make() : storage.run({ owned: new Set() }, make));

export function scope<T>(f: () => Promise<T>): Promise<T>;
export function scope<T>(f: () => T): T;
export function scope<T>(f: () => T | Promise<T>): T | Promise<T> {
  functionArg('scope', 'what it runs', f);
  const frames = store();
  const outer = frames.getStore();
  const frame: Frame = { owned: new Set() };
  const close = (result: unknown): void => {
    const returned = arraysIn(result);
    for (const array of frame.owned) {
      if (array.isDisposed) continue;
      if (returned.has(array)) outer?.owned.add(array);
      else array.release('scope');
    }
  };
  let result: T | Promise<T>;
  try {
    result = frames.run(frame, f);
  } catch (fault) {
    close(undefined);
    throw fault;
  }
  if (!isPromise(result)) {
    close(result);
    return result;
  }
  if (!followsAwaits) {
    void result.then(close, () => close(undefined));
    throw typeError(
      'scope(async …) needs a platform that follows awaits (Node): compute inside of scope(() => …), and await its result outside',
    );
  }
  return result.then(
    (value) => {
      close(value);
      return value;
    },
    (fault: unknown) => {
      close(undefined);
      throw fault;
    },
  );
}

const isPromise = (value: unknown): value is Promise<never> =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';

/** Arrays that can be reached from a value: through lists, maps, sets and fields of objects of any class. */
function arraysIn(value: unknown): ReadonlySet<unknown> {
  const seen = new Set<unknown>();
  const walk = (item: unknown): void => {
    if (typeof item !== 'object' || item === null || seen.has(item)) return;
    seen.add(item);
    if (ArrayBuffer.isView(item) || 'aval' in item) return;
    if (item instanceof Map)
      for (const [key, entry] of item) {
        walk(key);
        walk(entry);
      }
    else if (item instanceof Set || Array.isArray(item)) for (const entry of item) walk(entry);
    else for (const entry of Object.values(item)) walk(entry);
  };
  walk(value);
  return seen;
}
