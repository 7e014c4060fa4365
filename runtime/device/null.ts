/**
 * A device with memory events and no memory: what a program would need, without running it.
 *
 * Reads give zeros. Loops of unknown length end at once. Depends on: backend.
 */
import type { Backend } from './backend.ts';

export function makeNull(limit: number): Backend {
  let slabIds = 0;
  return {
    kind: 'null',
    adapter: 'no device: memory is counted, nothing is computed',
    software: true,
    target: { device: 'null', adapter: 'software', float16: true },
    defaultLimit: limit,
    backing: { maxSlabBytes: Infinity, create: () => ++slabIds, destroy: () => undefined },
    write: () => undefined,
    copy: () => undefined,
    execute: () => undefined,
    read: (_spot, bytes) => Promise.resolve(new ArrayBuffer(bytes)),
    readSync: (_spot, bytes) => new ArrayBuffer(bytes),
    idle: () => Promise.resolve(),
    lost: new Promise(() => undefined),
    dispatches: () => 0,
    destroy: () => undefined,
  };
}
