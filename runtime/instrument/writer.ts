/**
 * Writes events so that a kill loses next to nothing and a burst costs next to nothing.
 *
 * A line goes out at once while the program stays under a steady rate, which costs one system call. Above it lines are
 * gathered into blocks of some milliseconds. So whoever is killed, or loops for ever, has its last events on disk unless it
 * made hundreds a second. Depends on: events, wire.
 */
import type { Event } from '../events/event.ts';
import { createEncoder } from './wire.ts';

export interface Writer {
  write(event: Event): void;
  flush(): void;
}

/** Lines that may go out at once in a row, and how many more for each millisecond: a write takes 3 to 70 µs, by the machine. */
const burst = 500;
const linesPerMs = 0.1;
/** What a kill may cost in the middle of a burst: a few hundred events, and none that is older. */
const blockLength = 1 << 16;
const blockMs = 20;

export function createWriter(append: (text: string) => void, now: () => number): Writer {
  const encoder = createEncoder();
  let credit = burst;
  let last = now();
  let written = last;
  let gathered = '';

  function flush(): void {
    if (gathered === '') return;
    const text = gathered;
    gathered = '';
    written = last;
    append(text);
  }

  return {
    write(event) {
      const time = 'at' in event ? event.at : now();
      credit = Math.min(burst, credit + (time - last) * linesPerMs);
      last = time;
      gathered += encoder.line(event);
      if (credit < 1 && gathered.length < blockLength && time - written < blockMs) return;
      if (credit >= 1) credit -= 1;
      flush();
    },
    flush,
  };
}
