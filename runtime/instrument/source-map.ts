/**
 * The inline source map of a module, moved along with what is added to the module.
 *
 * Node and browsers map the lines of uncaught errors by it, and the runtime those of its messages: a map that knows nothing
 * of the additions would name wrong lines. Recorded places are put back before they are kept, so the map as the loader
 * made it stays in the new one, and is what goes beside the events. Depends on: sourcemap-codec, rewrite.
 */
import { decode, encode } from '@jridgewell/sourcemap-codec';
import { additionsByLine } from './rewrite.ts';
import type { RewriteTable } from './rewrite.ts';

const opening = '//# sourceMappingURL=';
const inline = /^\/\/# sourceMappingURL=data:application\/json(?:;charset=[-\w]+)?;base64,([A-Za-z0-9+/=]+)\s*$/;
/** An extension field, as the format allows: the mappings before anything was added. */
const kept = 'x_tidemark_mappings';

type SourceMap = Readonly<Record<string, unknown>>;

/** The text with its map moved; the text as it is where no map stands at its end. */
export function withMovedMap(source: string, added: RewriteTable['added']): string {
  const at = source.lastIndexOf(opening);
  const match = at < 0 ? null : inline.exec(source.slice(at));
  if (match === null) return source;
  const map = parsed(match[1]!);
  if (typeof map?.['mappings'] !== 'string') return source;
  const moved = { ...map, mappings: movedBy(map['mappings'], added), [kept]: map['mappings'] };
  return `${source.slice(0, at)}${opening}data:application/json;base64,${base64(JSON.stringify(moved))}\n`;
}

/** The map that belongs to places in which additions don't count. */
export function loadersMap<M extends object>(map: M): M {
  return kept in map ? { ...map, mappings: map[kept] } : map;
}

function movedBy(mappings: string, added: RewriteTable['added']): string {
  const lines = decode(mappings);
  for (const [line, additions] of additionsByLine(added)) {
    let [next, moved] = [0, 0];
    for (const segment of lines[line - 1] ?? []) {
      // Columns of segments count from 0, those of additions from 1.
      while (next < additions.length && additions[next]!.column <= segment[0] + 1) moved += additions[next++]!.length;
      segment[0] += moved;
    }
  }
  return encode(lines);
}

function parsed(base64Text: string): SourceMap | undefined {
  try {
    const bytes = Uint8Array.from(atob(base64Text), (letter) => letter.charCodeAt(0));
    const map: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof map === 'object' && map !== null ? (map as SourceMap) : undefined;
  } catch {
    return undefined;
  }
}

function base64(text: string): string {
  const chunk = 1 << 15;
  const bytes = new TextEncoder().encode(text);
  let letters = '';
  for (let at = 0; at < bytes.length; at += chunk) letters += String.fromCharCode(...bytes.subarray(at, at + chunk));
  return btoa(letters);
}
