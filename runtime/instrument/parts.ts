/**
 * The file of events of one thread, in parts: who reads them while the program runs can take each away that is full.
 *
 * Depends on: node.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';

export interface Parts {
  append(text: string): void;
  close(): void;
}

/** `base` names the thread; parts are numbered from `base.000000.ndjson` on. */
export function appendInParts(folder: string, base: string, mostBytes: number): Parts {
  const open = (part: number): number => openSync(join(folder, `${base}.${String(part).padStart(6, '0')}.ndjson`), 'a');
  let part = 0;
  let file = open(part);
  let written = 0;
  return {
    append(text) {
      written += writeSync(file, text);
      if (written < mostBytes) return;
      closeSync(file);
      file = open((part += 1));
      written = 0;
    },
    close: () => closeSync(file),
  };
}

/** Large enough for every short run to be one part. */
export const partBytes = 1 << 26;
