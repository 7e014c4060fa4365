/**
 * A `.tidemark` file: the report on the first line, then the events of the run, one a line, in order of time.
 *
 * Depends on: measure/stream, events/ndjson, node.
 */
import { createWriteStream } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { readRun } from '../measure/stream.ts';
import type { ProfileReport } from '../protocol.ts';

/** Writes beside the target and renames, so that a reader never sees half a file. */
export async function saveProfile(file: string, report: ProfileReport, events: string): Promise<string> {
  await mkdir(path.dirname(file), { recursive: true });
  const part = `${file}.part`;
  async function* lines(): AsyncGenerator<string> {
    yield `${JSON.stringify(report)}\n`;
    for await (const event of readRun(events)) yield `${JSON.stringify(event)}\n`;
  }
  await pipeline(Readable.from(lines()), createWriteStream(part));
  await rename(part, file);
  return file;
}
