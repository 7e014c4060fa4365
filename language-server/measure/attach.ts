/**
 * From positions of the program as it ran to lines of the person's files, relative to the working directory.
 *
 * Maps come from beside the events (files that a loader translated), else from the file itself or next to it (files that
 * a compiler wrote). A position that no map knows stays as it is: a wrong line is worse than a line of generated code.
 * Depends on: events, the source-map library, node.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { originalPositionFor, TraceMap } from '@jridgewell/trace-mapping';
import type { SourceMapInput } from '@jridgewell/trace-mapping';
import type { Event, Frame } from '../../runtime/events/event.ts';

export interface Attach {
  /** The event with its frames mapped to sources; other events as they are. */
  event(event: Event): Event;
  frame(frame: Frame): Frame;
}

export interface AttachOptions {
  readonly cwd: string;
  /** Folder of maps that the run left, if any. */
  readonly maps: string | undefined;
}

export function createAttach({ cwd, maps }: AttachOptions): Attach {
  const sources = new Map<string, TraceMap | undefined>();
  const names = new Map<string, string>();
  const frames = new Map<string, Frame>();

  const kept = new Map<string, Kept | undefined>();
  /** What the run left about a file; it is there before the first event that names the file. */
  const beside = (file: string): Kept | undefined => {
    if (!kept.has(file)) kept.set(file, keptOf(maps, file));
    return kept.get(file);
  };

  function mapOf(file: string): TraceMap | undefined {
    if (sources.has(file)) return sources.get(file);
    const map = beside(file)?.map;
    const found =
      map === undefined ? writtenMap(pathOf(file)) : traceMap(map, /^[a-z-]+:\/\//i.test(file) ? file : pathToFileURL(file).href);
    sources.set(file, found);
    return found;
  }

  function nameOf(file: string): string {
    let name = names.get(file);
    if (name === undefined) names.set(file, (name = relativeName(cwd, pathOf(beside(file)?.local ?? file))));
    return name;
  }

  function mapped(frame: Frame): Frame {
    const map = frame.library === undefined ? mapOf(frame.file) : undefined;
    const { functionLine, functionColumn, ...rest } = frame;
    if (map === undefined) return { ...frame, file: nameOf(frame.file) };
    const at = originalPositionFor(map, { line: frame.line, column: frame.column - 1 });
    if (at.source === null) return { ...frame, file: nameOf(frame.file) };
    // A loader may call its source otherwise; what runs under the name of a TypeScript file is a translation of that file.
    const source = /\.[cm]ts$/.test(pathOf(frame.file)) ? frame.file : at.source;
    const begins =
      functionLine === undefined ? undefined : originalPositionFor(map, { line: functionLine, column: (functionColumn ?? 1) - 1 });
    return {
      ...rest,
      file: nameOf(source),
      line: at.line,
      column: at.column + 1,
      ...(begins?.source === at.source ? { functionLine: begins.line, functionColumn: begins.column + 1 } : {}),
    };
  }

  function frame(one: Frame): Frame {
    const key = `${one.line}:${one.column}:${one.functionLine ?? 0}:${one.functionColumn ?? 0}:${one.function ?? ''}:${one.compiled === true ? 'c' : ''}:${one.file}`;
    let result = frames.get(key);
    if (result === undefined) frames.set(key, (result = mapped(one)));
    return result;
  }

  return {
    frame,
    event: (event) => (event.kind === 'place' ? { ...event, frames: event.frames.map(frame) } : event),
  };
}

/** The path of what a stack calls a file: an address, a path, with or without a query. */
export function pathOf(file: string): string {
  const bare = file.replace(/\?.*$/, '');
  if (!bare.startsWith('file:')) return bare;
  try {
    return fileURLToPath(bare);
  } catch {
    return bare;
  }
}

function relativeName(cwd: string, path: string): string {
  if (/^[a-z][a-z+.-]+:/i.test(path) && !/^[a-z]:[\\/]/i.test(path)) return path;
  if (path.startsWith('(')) return path;
  const name = relative(cwd, resolve(cwd, path)).replaceAll('\\', '/');
  return name === '' ? path : name;
}

function traceMap(map: SourceMapInput, url: string): TraceMap | undefined {
  try {
    return new TraceMap(map, url);
  } catch {
    return undefined;
  }
}

/** What a run left about a file that it loaded: its map, or only where it lies. */
interface Kept {
  readonly map?: SourceMapInput;
  readonly local?: string;
}

function keptOf(folder: string | undefined, file: string): Kept | undefined {
  if (folder === undefined) return undefined;
  return readJson(join(folder, `${createHash('sha1').update(file).digest('hex')}.json`)) as Kept | undefined;
}

/** The map that a generated file names in its last line: inside the file, or beside it. */
function writtenMap(path: string): TraceMap | undefined {
  if (!/\.[cm]?js$/.test(path) || !existsSync(path)) return undefined;
  const text = readFileSync(path, 'utf8');
  const address = [...text.matchAll(/^\/\/[#@] sourceMappingURL=(\S+)\s*$/gm)].at(-1)?.[1];
  if (address === undefined) return undefined;
  const inline = /^data:application\/json[^,]*?(;base64)?,(.*)$/.exec(address);
  const url = pathToFileURL(path).href;
  if (inline !== null) {
    const encoded = inline[2]!;
    const json = inline[1] === undefined ? decodeURIComponent(encoded) : Buffer.from(encoded, 'base64').toString('utf8');
    return traceMap(json, url);
  }
  const beside = resolve(dirname(path), decodeURIComponent(address));
  return existsSync(beside) ? traceMap(readFileSync(beside, 'utf8'), pathToFileURL(beside).href) : undefined;
}

function readJson(path: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
