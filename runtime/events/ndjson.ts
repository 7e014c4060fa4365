/**
 * Events one a line: what the watched program writes, and what a saved profile holds.
 *
 * A program may be killed in the middle of a line, so a last line that is cut off is no error; anything else that isn't
 * an event is counted and skipped, and readers skip kinds they do not know. Depends on: event.
 */
import type { Event } from './event.ts';

const kinds: ReadonlySet<string> = new Set([
  'start',
  'device',
  'place',
  'allocate',
  'free',
  'reuse',
  'donate',
  'reserve',
  'unreserve',
  'program',
  'run',
  'enter',
  'leave',
  'count',
  'mark',
  'end',
] satisfies readonly Event['kind'][]);

export const writeEvent = (event: Event): string => JSON.stringify(event) + '\n';

/** The event on a line; undefined when the line holds none. */
export function readEvent(line: string): Event | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isEvent(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Only the kind and the time are looked at: the writer is the same version of this program, and a fold ignores unknown ids. */
function isEvent(value: unknown): value is Event {
  if (typeof value !== 'object' || value === null || !('kind' in value)) return false;
  return (
    typeof value.kind === 'string' && kinds.has(value.kind) && (value.kind === 'place' || ('at' in value && typeof value.at === 'number'))
  );
}
