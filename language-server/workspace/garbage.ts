/**
 * Has V8 collect garbage at a moment when much has just become garbage: left alone, it lets the heap grow on top first.
 *
 * Depends on: node:v8, node:vm.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Less than this isn't worth the time, in bytes. */
const worthwhile = 96 * 2 ** 20;

export function collectGarbage(): void {
  if (process.memoryUsage().heapUsed < worthwhile) return;
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext("typeof gc === 'function' ? gc : undefined");
  if (typeof collect === 'function') collect();
}
