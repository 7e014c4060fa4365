/**
 * A `.tidemark` file: the report on the first line, then the events of the run, one a line, in order of time, at
 * lines of the person's sources.
 *
 * Depends on: measure/stream, measure/attach, events/ndjson, node.
 */
import { createWriteStream } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createAttach } from '../measure/attach.ts';
import { readRun } from '../measure/stream.ts';
import type { Event, Frame } from '../../runtime/events/event.ts';
import { writeEvent } from '../../runtime/events/ndjson.ts';
import type { Figures } from '../compiled/explain.ts';
import { measuredFigures } from '../compiled/measured.ts';
import type { ProfileReport } from '../protocol.ts';

/** Writes beside the target and renames, so that a reader never sees half a file. Resolves to the programs of the run. */
export async function saveProfile(
  file: string,
  report: ProfileReport,
  { events, cwd }: { readonly events: string; readonly cwd: string },
): Promise<readonly Figures[]> {
  const attach = createAttach({ cwd, maps: path.join(events, 'maps') });
  await mkdir(path.dirname(file), { recursive: true });
  const part = `${file}.part`;
  const places = new Map<number, readonly Frame[]>();
  const programs: Extract<Event, { kind: 'program' }>[] = [];
  async function* lines(): AsyncGenerator<string> {
    yield `${JSON.stringify(report)}\n`;
    for await (const event of readRun(events)) {
      const attached = named(attach.event(event), report);
      if (attached.kind === 'place') places.set(attached.id, attached.frames);
      if (attached.kind === 'program') programs.push(attached);
      yield writeEvent(attached);
    }
  }
  await pipeline(Readable.from(lines()), createWriteStream(part));
  await rename(part, file);
  return programs.map(({ profile }) => measuredFigures(profile, places));
}

/**
 * A compiled function that has no name of its own is called as in the report: at run time its line is one of the text that
 * was loaded, which need not be the person's.
 */
function named(event: Event, { functions }: ProfileReport): Event {
  if (event.kind !== 'program') return event;
  const { peakBytes, argumentBytes } = event.profile;
  const own = functions.filter(({ jit }) => jit?.peakBytes === peakBytes && jit.argumentBytes === argumentBytes);
  const [name, ...others] = new Set(own.map((one) => one.name).filter((one) => one !== '' && one !== 'anonymous'));
  return name === undefined || others.length > 0 ? event : { ...event, name };
}
