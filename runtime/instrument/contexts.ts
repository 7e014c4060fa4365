/**
 * Global objects that a program makes for itself: a test runner gives each file one of its own.
 *
 * Depends on: events, jax-js, node.
 */
import module from 'node:module';
import vm from 'node:vm';
import { sinkKey } from '../events/event.ts';
import { hookName } from './jax-js.ts';

/** Calls `made` with each context that is made from now on. */
export function watchContexts(made: (context: object) => void): void {
  const { createContext } = vm;
  vm.createContext = function tidemarkCreateContext(...args: Parameters<typeof createContext>) {
    const context = createContext(...args);
    try {
      made(context);
    } catch {
      // A context that lets nobody add to it is not watched.
    }
    return context;
  };
  module.syncBuiltinESMExports();
}

/** What the code that is added to modules, and the runtime, look for on their global object. */
const isOurs = (key: string | symbol): boolean =>
  typeof key === 'string' ? key.startsWith('$tidemark') : key === sinkKey || key === Symbol.for(hookName);

/** Puts into the context what lies on the program's own global object. */
export function share(context: object): void {
  for (const key of Reflect.ownKeys(globalThis).filter(isOurs)) {
    const property = Object.getOwnPropertyDescriptor(globalThis, key);
    if (property !== undefined) Object.defineProperty(context, key, { ...property, configurable: true });
  }
}
