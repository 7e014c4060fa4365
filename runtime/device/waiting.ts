/**
 * Waiting without spinning.
 *
 * Dawn in Node looks at its queue in a busy loop while a promise is pending, which takes a core from software Vulkan. A
 * pause of a millisecond between turns of the event loop gives that core back. Depends on: nothing.
 */
export async function paced<T>(promise: Promise<T>, pause: () => void): Promise<T> {
  let done = false;
  const ended = promise.finally(() => {
    done = true;
  });
  ended.catch(() => undefined);
  // One turn first: what is ready at once isn't kept waiting.
  await turn();
  while (!done) {
    pause();
    await turn();
  }
  return ended;
}

/** In the next turn of the event loop. */
export const soon = (work: () => void): void => void (typeof setImmediate === 'undefined' ? setTimeout(work, 0) : setImmediate(work));

/** One turn of the event loop. */
export const turn = (): Promise<void> => new Promise(soon);

/** Sleeps a millisecond in this thread; undefined where threads may not sleep (pages). */
export function makePause(): (() => void) | undefined {
  if (typeof SharedArrayBuffer === 'undefined' || typeof setImmediate === 'undefined') return undefined;
  const cell = new Int32Array(new SharedArrayBuffer(4));
  return () => void Atomics.wait(cell, 0, 0, 1);
}
