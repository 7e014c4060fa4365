/**
 * Who owns what in jax-js: every operation takes a reference of its operands, and `.ref` makes another one.
 *
 * `variance` is right; `tidemark check examples/refs-in-jax-js.ts` finds the two mistakes below it.
 * Depends on: @jax-js/jax.
 */
import { defaultDevice, init, numpy as np } from '@jax-js/jax';

/** `x` is used twice: the first use takes a further reference, the last one the caller's. */
function variance(x: np.Array): np.Array {
  const mean = np.mean(x.ref);
  return np.mean(np.square(np.subtract(x, mean)));
}

/** The second use finds the array gone. */
function twice(x: np.Array): np.Array {
  return np.add(x, np.sin(x));
}

/** The reference that `.ref` takes is never given back. */
function copyOfMean(x: np.Array): np.Array {
  const kept = x.ref;
  console.log(kept.shape);
  return np.mean(x);
}

await init('wasm');
defaultDevice('wasm');
const numbers = np.array([1, 2, 3, 4]);
console.log('variance', variance(numbers.ref).js());
console.log('mean', copyOfMean(numbers).js());
try {
  twice(np.array([1, 2])).dispose();
} catch (error) {
  console.log(error instanceof Error ? error.message.split('\n')[0] : String(error));
}
