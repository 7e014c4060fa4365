/**
 * A profile in the forms that other tools read: pprof, Chrome's trace, and our own saved form.
 *
 * Written piece by piece out of the run's events, so that a long run needs no memory. Depends on: events, measure, node.
 */
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import type { Writable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { createLedger } from '../../runtime/events/ledger.ts';
import { writeEvent } from '../../runtime/events/ndjson.ts';
import { peak } from '../../runtime/events/peak.ts';
import { pprof } from '../../runtime/events/pprof.ts';
import { traceEnd, traceHead, traceLines } from '../../runtime/events/trace.ts';
import { readRun } from '../measure/stream.ts';
import type { ProfileReport } from '../protocol.ts';

export type MachineFormat = 'pprof' | 'trace' | 'tidemark';

/** Writes to `path`, or to `stdout` without one. */
export async function writeProfile(
  format: MachineFormat,
  report: ProfileReport,
  events: string,
  path: string | undefined,
  stdout: Writable,
): Promise<void> {
  const target = path === undefined ? stdout : createWriteStream(path);
  if (path !== undefined) await once(target, 'open');
  for await (const piece of pieces(format, report, events)) if (!target.write(piece)) await once(target, 'drain');
  if (path !== undefined) {
    target.end();
    await once(target, 'finish');
  }
}

async function* pieces(format: MachineFormat, report: ProfileReport, events: string): AsyncGenerator<string | Uint8Array> {
  switch (format) {
    case 'tidemark':
      yield `${JSON.stringify(report)}\n`;
      for await (const event of readRun(events)) yield writeEvent(event);
      return;
    case 'trace': {
      const ledger = createLedger();
      const lines = traceLines(ledger.places);
      yield traceHead;
      for await (const event of readRun(events)) {
        const change = ledger.take(event);
        if (change !== undefined) yield* lines.take(change);
      }
      yield traceEnd;
      return;
    }
    case 'pprof': {
      const ledger = createLedger();
      const highest = peak();
      for await (const event of readRun(events)) {
        const change = ledger.take(event);
        if (change !== undefined) highest.take(change);
      }
      const { alive } = highest.result();
      const device = report.device?.kind ?? 'none';
      yield gzipSync(
        pprof(alive, {
          places: ledger.places,
          device,
          comment: `arrays alive at the peak of ${report.entry}`,
          timeNanos: BigInt(Date.now()) * 1_000_000n,
        }),
      );
    }
  }
}
