/**
 * `donate(x)`: the next call takes the buffer.
 *
 * Depends on: core, trace, array.
 */
import { currentInterpreter } from '../core/interpreter.ts';
import { flatten, rebuild } from '../core/tree.ts';
import { Tracer } from '../trace/tracer.ts';
import { DeviceArray, DonatedArray } from './array.ts';

let warned = false;

/**
 * Marks arrays as moved into the next call: a jitted, pmapped or eager operation may reuse their buffers, and the caller
 * may not use them again (`ArrayDeletedError`). Works on trees. A handle that is never used has no effect; one that is
 * used twice is a `DonationError`. Inside of a traced function it has no effect, and says so once.
 */
export function donate<T>(x: T): T {
  const flat = flatten(x);
  const traced = currentInterpreter().run === undefined || flat.leaves.some((leaf) => leaf instanceof Tracer);
  if (traced) {
    if (!warned)
      console.warn(
        'donate() inside of a traced function has no effect: memory in there is planned as a whole; donate to the call from outside',
      );
    warned = true;
    return x;
  }
  return rebuild(
    flat.structure,
    flat.leaves.map((leaf) => (leaf instanceof DeviceArray ? new DonatedArray(leaf) : leaf)),
  ) as T;
}
