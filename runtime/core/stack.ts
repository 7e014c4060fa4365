/**
 * The line of the user's program that is running now.
 *
 * The engine's structured stack is asked for few frames, those of the runtime itself are skipped, and the first other
 * one is the place. Places are interned: equal frames are one object, so they can be compared and counted by identity.
 * Depends on: source.
 */
import type { Place } from './source.ts';

const framesAsked = 40;
/** Where this runtime's own files lie: `…/runtime/` in sources, the bundle's directory in a build. */
const own = import.meta.url.replace(/core\/stack\.[jt]s$/, '').replace(/[^/]*\.[cm]?[jt]s$/, '');
const ownPath = own.replace(/^file:\/\//, '');
/** Where source maps of a build say that they lie. */
const sources = /^(.*[\\/])dist[\\/]runtime[\\/]$/.exec(ownPath)?.[1];
const packaged = /[\\/]node_modules[\\/]tidemark[\\/]/;

/** Errors whose stack does not show who made them. */
const ours = new WeakSet<Error>();

/** Was this error made by a line of the runtime itself, and not by one of the user's functions that it called? */
export function madeHere(fault: Error): boolean {
  if (ours.has(fault)) return true;
  const first = /\n\s*at (?:.*\()?(.+?):\d+:\d+\)?\s*(?:\n|$)/.exec(fault.stack ?? '')?.[1];
  return first !== undefined && isOwn(first);
}

/**
 * The error, whose `stack` begins at the line of the user's program: the frames of the runtime say nothing to its users, and
 * ten of them would hide every other one. Made when it is read. Where no other frame is known, all stay.
 */
export function withUsersStack<E extends Error>(error: E): E {
  ours.add(error);
  if (typeof Error.captureStackTrace !== 'function') return error;
  const holder: { stack?: string } = {};
  const formerLimit = Error.stackTraceLimit;
  Error.stackTraceLimit = framesAsked;
  Error.captureStackTrace(holder, withUsersStack);
  Error.stackTraceLimit = formerLimit;
  let text: string | undefined;
  Object.defineProperty(error, 'stack', {
    configurable: true,
    get: () => (text ??= `${error.name}: ${error.message}\n${usersLines(String(holder.stack))}`),
    set: (given: string) => void (text = given),
  });
  return error;
}

function usersLines(stack: string): string {
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line));
  const fileOf = (line: string): string => /^\s+at (?:.*\()?(?:async )?(.+?)(?::\d+)*\)?$/.exec(line)?.[1] ?? '';
  const first = frames.findIndex((line) => !isOwn(fileOf(line)) && fileOf(line) !== '<anonymous>');
  const rest = frames.slice(Math.max(0, first)).filter((line) => first < 0 || fileOf(line).startsWith('node:') || !isOwn(fileOf(line)));
  return rest.slice(0, 10).join('\n');
}

const isOwn = (file: string): boolean =>
  file.startsWith(own) ||
  file.startsWith(ownPath) ||
  file.startsWith('node:') ||
  packaged.test(file) ||
  (sources !== undefined && file.startsWith(`${sources}runtime/`));

const interned = new Map<string, Place>();

export function intern(place: Place): Place {
  const key = `${place.file}:${place.line}:${place.column}:${place.function ?? ''}`;
  const known = interned.get(key);
  if (known !== undefined) return known;
  interned.set(key, place);
  return place;
}

/** All frames of the user's program, innermost first, at most `limit`. */
export function userStack(limit: number): readonly Place[] {
  const formerLimit = Error.stackTraceLimit;
  const formerPrepare = Error.prepareStackTrace;
  Error.stackTraceLimit = framesAsked;
  try {
    if (typeof Error.captureStackTrace !== 'function') return fromText(new Error().stack ?? '', limit);
    Error.prepareStackTrace = (_, sites) => fromSites(sites, limit);
    const holder: { stack?: unknown } = {};
    Error.captureStackTrace(holder, userStack);
    const frames = holder.stack;
    return Array.isArray(frames) ? (frames as readonly Place[]) : [];
  } finally {
    Error.prepareStackTrace = formerPrepare;
    Error.stackTraceLimit = formerLimit;
  }
}

/** The innermost frame of the user's program. */
export const userPlace = (): Place | undefined => userStack(1)[0];

function fromSites(sites: readonly NodeJS.CallSite[], limit: number): readonly Place[] {
  const found: Place[] = [];
  for (const site of sites) {
    const file = site.getFileName() ?? site.getScriptNameOrSourceURL?.();
    const line = site.getLineNumber();
    if (!file || line === null || isOwn(file)) continue;
    const name = site.getFunctionName();
    found.push(intern({ file, line, column: site.getColumnNumber() ?? 1, ...(name ? { function: name } : {}) }));
    if (found.length === limit) break;
  }
  return found;
}

/** Engines without structured stacks (Firefox, Safari): `name@file:line:column` per line. */
function fromText(stack: string, limit: number): readonly Place[] {
  const found: Place[] = [];
  for (const text of stack.split('\n')) {
    const match = /^(.*?)@?((?:https?|file|blob):.*?):(\d+):(\d+)$/.exec(text.trim());
    if (!match || isOwn(match[2]!)) continue;
    found.push(intern({ file: match[2]!, line: Number(match[3]), column: Number(match[4]), ...(match[1] ? { function: match[1] } : {}) }));
    if (found.length === limit) break;
  }
  return found;
}

interface SourceMaps {
  findSourceMap(
    file: string,
  ): { findEntry(line: number, column: number): { originalSource?: string; originalLine?: number; originalColumn?: number } } | undefined;
}

/** Where the text was written, when Node knows the file's source map (TypeScript run by a loader); else the place as it ran. */
export function written<P extends Place>(place: P): P {
  const node = (globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } }).process;
  const maps = node?.getBuiltinModule?.('node:module') as SourceMaps | undefined;
  const map = maps?.findSourceMap(place.file) ?? maps?.findSourceMap(place.file.replace(/^file:\/\//, ''));
  const entry = map?.findEntry(place.line - 1, place.column - 1);
  if (entry?.originalSource === undefined || entry.originalLine === undefined) return place;
  return { ...place, file: entry.originalSource, line: entry.originalLine + 1, column: (entry.originalColumn ?? 0) + 1 };
}

/** `train.ts:41:16`, in the sources as the user wrote them. */
export function printPlace(place: Place | undefined): string {
  if (place === undefined) return 'an unknown place';
  const { file, line, column } = written(place);
  return `${file.replace(/^file:\/\//, '')}:${line}:${column}`;
}
