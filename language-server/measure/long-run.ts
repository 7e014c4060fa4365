/**
 * Reads the events of a run while it goes on, once they are many: so that an hour's run needs neither an hour's disk nor an hour's memory.
 *
 * The report takes in every event, and is exact; what is kept for the timeline is thinned out, and thinned again over wider
 * windows when it has grown too much. Parts that were read are removed. A run that ends within its first part is left
 * alone. Across threads, order is kept to within a second. Depends on: stream, thin, report, events, node.
 */
import { appendFileSync, closeSync, existsSync, openSync, readSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import type { Event } from '../../runtime/events/event.ts';
import { writeEvent } from '../../runtime/events/ndjson.ts';
import { createDecoder } from '../../runtime/instrument/wire.ts';
import type { Decoder } from '../../runtime/instrument/wire.ts';
import type { ProfileReport } from '../protocol.ts';
import { createReporter } from './report.ts';
import type { Reporter, RunFacts } from './report.ts';
import { apart, attachOf, partsOfThreads, readRun, thinnedFile } from './stream.ts';
import type { Attach } from './attach.ts';
import { createThinner } from './thin.ts';

export interface LongRun {
  /** The program ended: reads what is left, if anything was read before. */
  stop(): Promise<void>;
  /** The report of all that was read; undefined when the run was short, and its files are as they were. */
  report(facts: RunFacts): ProfileReport | undefined;
}

const lookEveryMs = 1000;
const quietMs = 1000;
const chunkBytes = 1 << 22;
const windowEvents = 1 << 16;
/** What is kept may grow to this many events, and to twice what was left when it was last thinned. */
const mostKept = 1 << 20;

interface Thread {
  readonly number: number;
  readonly decoder: Decoder;
  readonly text: StringDecoder;
  rest: string;
  file: string | undefined;
  offset: number;
  queue: Event[];
  /** Time of the last event that was taken. */
  at: number;
}

interface Reading {
  readonly threads: Map<string, Thread>;
  readonly reporter: Reporter;
  readonly attach: Attach;
  keeping: Keeping;
}

export function watchLongRun(
  folder: string,
  start: number,
  windows: { readonly events: number; readonly most: number } = { events: windowEvents, most: mostKept },
): LongRun {
  let reading: Reading | undefined;
  let busy: Promise<void> = Promise.resolve();

  async function look(isLast: boolean): Promise<void> {
    if (reading === undefined) {
      if (![...partsOfThreads(folder).values()].some((parts) => parts.length > 1)) return;
      reading = { threads: new Map(), reporter: createReporter(), attach: attachOf(folder), keeping: createKeeping(folder, windows) };
    }
    const now = Date.now() - start;
    while (readMore(folder, reading)) {
      merge(reading, now - quietMs);
      await reading.keeping.shrink();
    }
    merge(reading, isLast ? Number.POSITIVE_INFINITY : now - quietMs);
  }

  const timer = setInterval(() => (busy = busy.then(() => look(false))), lookEveryMs);
  timer.unref();

  return {
    async stop() {
      clearInterval(timer);
      await busy;
      await look(true);
      reading?.keeping.end();
    },
    report(facts) {
      if (reading === undefined) return undefined;
      const { dropped } = reading.keeping;
      const note = `the run was long: its timeline lacks ${dropped.toLocaleString('en-US')} events of arrays that were born and freed between its peaks; all figures are exact`;
      return reading.reporter.report(dropped === 0 ? facts : { ...facts, notes: [...facts.notes, note] });
    },
  };
}

/** Reads a chunk of each thread's events; false when there was nothing more. */
function readMore(folder: string, { threads }: Reading): boolean {
  let more = false;
  for (const [name, parts] of partsOfThreads(folder)) {
    let thread = threads.get(name);
    if (thread === undefined) {
      thread = {
        number: threads.size,
        decoder: createDecoder(),
        text: new StringDecoder('utf8'),
        rest: '',
        file: undefined,
        offset: 0,
        queue: [],
        at: 0,
      };
      threads.set(name, thread);
    }
    if (readChunk(thread, parts)) more = true;
  }
  return more;
}

function readChunk(thread: Thread, parts: readonly string[]): boolean {
  thread.file ??= parts[0];
  if (thread.file === undefined) return false;
  const buffer = Buffer.allocUnsafe(chunkBytes);
  const file = openSync(thread.file, 'r');
  const bytes = readSync(file, buffer, 0, chunkBytes, thread.offset);
  closeSync(file);
  thread.offset += bytes;
  if (bytes === 0) {
    const next = parts[parts.indexOf(thread.file) + 1];
    if (next === undefined) return false;
    rmSync(thread.file);
    thread.file = next;
    thread.offset = 0;
    return true;
  }
  const lines = (thread.rest + thread.text.write(buffer.subarray(0, bytes))).split('\n');
  thread.rest = lines.pop()!;
  for (const line of lines) {
    const event = thread.decoder.event(line);
    if (event !== undefined) thread.queue.push(apart(event, thread.number));
  }
  return true;
}

/** Takes in, in order of time, what no thread can precede any more: each has gone further, or was quiet since `quietSince`. */
function merge({ threads, reporter, attach, keeping }: Reading, quietSince: number): void {
  const all = [...threads.values()];
  const last = ({ queue, at }: Thread): number =>
    queue.reduceRight((known, event) => (known < 0 && 'at' in event ? event.at : known), -1) || at;
  const horizon = Math.min(...all.map((thread) => Math.max(quietSince, last(thread))));
  const next = new Map(all.map((thread) => [thread, 0]));
  const timeOf = (thread: Thread): number => {
    const event = thread.queue[next.get(thread)!];
    return event === undefined ? Number.POSITIVE_INFINITY : 'at' in event ? event.at : thread.at;
  };
  for (;;) {
    const first = all.reduce<Thread | undefined>((best, one) => (best === undefined || timeOf(one) < timeOf(best) ? one : best), undefined);
    if (first === undefined || timeOf(first) > horizon || timeOf(first) === Number.POSITIVE_INFINITY) break;
    first.at = timeOf(first);
    const index = next.get(first)!;
    const event = attach.event(first.queue[index]!);
    next.set(first, index + 1);
    reporter.take(event);
    keeping.take(event);
  }
  for (const [thread, index] of next) thread.queue = index === 0 ? thread.queue : thread.queue.slice(index);
}

interface Keeping {
  take(event: Event): void;
  /** Thins what is kept once more when it has grown too much. */
  shrink(): Promise<void>;
  end(): void;
  readonly dropped: number;
}

function createKeeping(folder: string, { events: firstWindow, most }: { readonly events: number; readonly most: number }): Keeping {
  const file = join(folder, thinnedFile);
  const part = `${file}.part`;
  let window = firstWindow;
  const thinner = createThinner(firstWindow);
  let kept = 0;
  let allowed = most;
  let dropped = 0;
  const append = (events: readonly Event[], to: string): void => {
    if (events.length > 0) appendFileSync(to, events.map(writeEvent).join(''));
  };
  return {
    take(event) {
      const left = thinner.take(event);
      kept += left.length;
      append(left, part);
    },
    async shrink() {
      if (kept <= allowed || !existsSync(part)) return;
      window *= 2;
      const again = createThinner(window);
      renameSync(part, file);
      kept = 0;
      for await (const event of readRun(folder)) {
        const left = again.take(event);
        kept += left.length;
        append(left, part);
      }
      const left = again.end();
      kept += left.length;
      append(left, part);
      rmSync(file);
      dropped += again.dropped;
      allowed = Math.max(most, 2 * kept);
    },
    end() {
      append(thinner.end(), part);
      if (existsSync(part)) renameSync(part, file);
    },
    get dropped() {
      return dropped + thinner.dropped;
    },
  };
}
