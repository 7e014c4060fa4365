/**
 * Slabs of which it isn't known yet whether they exist, and what depends on them.
 *
 * WebGPU says only later that a buffer could not be made; until then work is queued on it that will not run. Whatever was
 * written by such work, or from its results, is in doubt with the slab: if the slab fails, those arrays are dead with an
 * out-of-memory error, and everything else stays as it is. Nothing is kept once a slab is known to exist.
 * Depends on: core, device.
 */
import type { OutOfMemoryError } from '../core/errors.ts';
import type { Buffer } from './device.ts';

interface Context {
  readonly verdict: ((slab: number) => Promise<string | undefined>) | undefined;
  /** Ends what depends on the slab; returns the error for its readers, and the most bytes that may be asked for from now on. */
  readonly failed: (slab: number, bytes: number) => { readonly error: OutOfMemoryError; readonly limit: number };
}

export function makeDoubts({ verdict, failed }: Context) {
  const open = new Map<number, Promise<void>>();
  const errors = new Map<number, OutOfMemoryError>();
  const inherited = new WeakMap<Buffer, ReadonlySet<number>>();
  let limit = Infinity;
  let unreported: OutOfMemoryError | undefined;

  /** Slabs in doubt on which a buffer depends. */
  const slabsOf = (buffer: Buffer): readonly number[] =>
    [buffer.allocation.slab, ...(inherited.get(buffer) ?? [])].filter((slab) => open.has(slab) || errors.has(slab));
  const settle = async (slabs: readonly number[]): Promise<void> => {
    await Promise.all(slabs.map((slab) => open.get(slab)));
    const error = slabs.map((slab) => errors.get(slab)).find((one) => one !== undefined);
    if (error === undefined) return;
    if (unreported === error) unreported = undefined;
    throw error;
  };
  return {
    add(slab: number, bytes: number): void {
      if (verdict === undefined) return;
      const settled = verdict(slab).then((reason) => {
        if (reason !== undefined) {
          const { error, limit: known } = failed(slab, bytes);
          errors.set(slab, error);
          limit = Math.min(limit, known);
          unreported = error;
        }
        open.delete(slab);
      });
      open.set(slab, settled);
    },
    touches: (buffer: Buffer, slab: number): boolean => buffer.allocation.slab === slab || inherited.get(buffer)?.has(slab) === true,
    /** Results of a call that ran in `slabs` on `operands`. */
    inherit(results: readonly Buffer[], operands: readonly Buffer[], slabs: readonly number[]): void {
      if (open.size === 0) return;
      const doubtful = new Set([...slabs.filter((slab) => open.has(slab)), ...operands.flatMap(slabsOf)]);
      if (doubtful.size > 0) for (const result of results) inherited.set(result, doubtful);
    },
    /** What was read, once it is known that it is what was meant. */
    async settled<T>(buffer: Buffer, reading: Promise<T>): Promise<T> {
      const slabs = slabsOf(buffer);
      if (slabs.length === 0) return reading;
      const [outcome] = await Promise.allSettled([reading]);
      await settle(slabs);
      if (outcome.status === 'rejected') throw outcome.reason;
      return outcome.value;
    },
    /** Fails, once, when a slab could not be had. */
    async allSettled(): Promise<void> {
      await Promise.all(open.values());
      const error = unreported;
      unreported = undefined;
      if (error !== undefined) throw error;
    },
    /** What the device was found not to have, less one byte. */
    knownLimit: (): number => limit,
  };
}
