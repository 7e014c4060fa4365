/**
 * A program's output on its way to the editor: gathered for a moment, and cut in the middle when it floods.
 *
 * A program may print a million lines; an editor that gets each of them stops answering. What is left out is counted.
 * Depends on: protocol.
 */
import type { OutputParams } from '../protocol.ts';

export interface BoundedOutput {
  readonly write: (stream: 'stdout' | 'stderr', chunk: Uint8Array) => void;
  readonly end: () => void;
}

/** The most characters of one stream that are passed on at one time, ten times a second. */
const most = 16 * 1024;
const everyMs = 100;

interface Pending {
  head: string;
  tail: string;
  left: number;
  readonly decoder: TextDecoder;
}

export function boundedOutput(send: (line: OutputParams) => void): BoundedOutput {
  const pending = { stdout: empty(), stderr: empty() };
  let timer: NodeJS.Timeout | undefined;
  const flush = (): void => {
    timer = undefined;
    for (const stream of ['stdout', 'stderr'] as const) {
      const { head, tail, left } = pending[stream];
      if (head === '') continue;
      const text = left === 0 ? head + tail : `${upToLine(head)}… ${left.toLocaleString('en')} characters left out …\n${fromLine(tail)}`;
      Object.assign(pending[stream], { head: '', tail: '', left: 0 });
      send({ stream, text });
    }
  };
  return {
    write(stream, chunk) {
      const to = pending[stream];
      let text = to.decoder.decode(chunk, { stream: true });
      const room = most - to.head.length;
      if (room > 0) {
        to.head += text.slice(0, room);
        text = text.slice(room);
      }
      if (text !== '') {
        const all = to.tail + text;
        to.left += Math.max(0, all.length - most);
        to.tail = all.slice(-most);
      }
      timer ??= setTimeout(flush, everyMs);
    },
    end() {
      clearTimeout(timer);
      flush();
    },
  };
}

const empty = (): Pending => ({ head: '', tail: '', left: 0, decoder: new TextDecoder() });

const upToLine = (text: string): string => text.slice(0, text.lastIndexOf('\n') + 1);
const fromLine = (text: string): string => text.slice(text.indexOf('\n') + 1);
