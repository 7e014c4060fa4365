/**
 * Who asked for the memory: a stack of the running program, interned, with the package of every frame that is a library's.
 *
 * V8's call sites are read instead of the text of a stack: four times as fast, and no matter what source maps are on.
 * A frame is made once per position and a stack once per sequence of frames, so a million allocations of one loop cost
 * one `place` event. Mapping to sources happens where a report is written. Depends on: core, events.
 */
import type { Frame } from '../events/event.ts';

/** The part of V8's `CallSite` that is read here; the enclosing position is missing from Node's types. */
export interface CallSite {
  getScriptNameOrSourceURL(): string | null | undefined;
  getFileName(): string | null | undefined;
  getPosition(): number;
  getLineNumber(): number | null;
  getColumnNumber(): number | null;
  getFunctionName(): string | null;
  getTypeName(): string | null;
  isConstructor(): boolean;
  isToplevel(): boolean;
  getEnclosingLineNumber?(): number;
  getEnclosingColumnNumber?(): number;
}

export interface Stack {
  readonly place: number;
  readonly frames: readonly Frame[];
  /** Package of the innermost frame, when it is a library's: who made the call that is being watched. */
  readonly caller: string | undefined;
}

export interface Stacks {
  /** The stack above `below`, a function of ours that the program called. */
  capture(below: Below): Stack;
}

export type Below = (...args: never[]) => unknown;

/** What a file is to the person who profiles: theirs, a package's, or nothing to show. */
export type Owner = { readonly kind: 'user' } | { readonly kind: 'library'; readonly name: string } | { readonly kind: 'hidden' };

export interface StackOptions {
  owner(file: string): Owner;
  /** The last word on a frame, once per position. */
  settle(frame: Frame): Frame;
  /** The counted function that a frame lies in; undefined when it is not counted. */
  functionOf(frame: Frame): object | undefined;
  /** Rises whenever a counted function is entered. */
  entries(): number;
  /** A stack that has not been seen yet. */
  define(frames: readonly Frame[]): number;
}

/** A stack is walked so far, and again further when the user's frame was not met: libraries nest deeply. */
const limits = [40, 200] as const;
const firstDepth = 12;
/** Innermost library frames that are kept: enough to see which part of a library asked. */
const keptLibraryFrames = 4;
const keptUserFrames = 24;

interface Node {
  readonly children: Map<Frame, Node>;
  stack?: Stack;
}

interface StackTraceError {
  stackTraceLimit: number;
  prepareStackTrace: unknown;
  captureStackTrace(holder: object, below: Below): void;
}

export function createStacks({ owner, settle, define, functionOf, entries }: StackOptions): Stacks {
  const files = new Map<string, { readonly owner: Owner; readonly frames: Map<number, Frame | undefined> }>();
  const root: Node = { children: new Map() };
  /** How deep the user's frame usually lies under each of our wrappers. */
  const depths = new Map<Below, number>();
  let last: { readonly frames: readonly Frame[]; readonly entries: number } | undefined;

  function frameOf(site: CallSite): Frame | undefined {
    const file = site.getScriptNameOrSourceURL() ?? site.getFileName();
    if (file === null || file === undefined || file === '') return undefined;
    let known = files.get(file);
    if (known === undefined) {
      known = { owner: owner(file), frames: new Map() };
      files.set(file, known);
    }
    if (known.owner.kind === 'hidden') return undefined;
    const position = site.getPosition();
    if (known.frames.has(position)) return known.frames.get(position);
    const frame = isWrapper(site) ? undefined : settle(readFrame(site, file, known.owner));
    known.frames.set(position, frame);
    return frame;
  }

  /** Frames worth keeping: a few of the innermost library, then the user's; `nearest` ends with the first of those. */
  function kept(sites: readonly CallSite[], nearest: boolean): readonly Frame[] {
    let libraries = 0;
    let users = 0;
    const frames: Frame[] = [];
    for (const site of sites) {
      const frame = frameOf(site);
      if (frame === undefined) continue;
      if (frame.library === undefined ? users++ >= keptUserFrames : users > 0 || libraries++ >= keptLibraryFrames) continue;
      frames.push(frame);
      if (nearest && users > 0) break;
    }
    return frames;
  }

  function intern(frames: readonly Frame[]): Stack {
    let node = root;
    for (const frame of frames) {
      let next = node.children.get(frame);
      if (next === undefined) {
        next = { children: new Map() };
        node.children.set(frame, next);
      }
      node = next;
    }
    node.stack ??= { place: define(frames), frames, caller: frames[0]?.library };
    return node.stack;
  }

  /**
   * The callers of the function that `frame` lies in, known from the last stack: no function was entered since, so this
   * one is still the same call. Walking a deep stack costs more than all the rest.
   */
  function knownCallers(frame: Frame): readonly Frame[] | undefined {
    const own = functionOf(frame);
    if (own === undefined || last === undefined || last.entries !== entries()) return undefined;
    const at = last.frames.findIndex((other) => functionOf(other) === own);
    if (at === -1 || last.frames.findLastIndex((other) => functionOf(other) === own) !== at) return undefined;
    return last.frames.slice(at + 1);
  }

  function walk(below: Below): readonly Frame[] {
    for (const limit of limits) {
      const sites = callSites(below, limit);
      const frames = kept(sites, false);
      const user = sites.findIndex((site) => frameOf(site)?.library === undefined && frameOf(site) !== undefined);
      if (user !== -1) depths.set(below, Math.min(user + 2, limits[0]));
      if (user !== -1 || sites.length < limit) return frames;
    }
    return [];
  }

  function capture(below: Below): Stack {
    const depth = depths.get(below) ?? firstDepth;
    const sites = callSites(below, depth);
    const near = kept(sites, true);
    const innermost = near.at(-1);
    const callers = innermost === undefined || innermost.library !== undefined ? undefined : knownCallers(innermost);
    // A stack that ended before the limit is known whole.
    const frames = callers !== undefined ? [...near, ...callers] : sites.length < depth ? kept(sites, false) : walk(below);
    last = { frames, entries: entries() };
    return intern(frames);
  }

  return { capture };
}

/** Functions of ours that stand between the program and what they wrap are named for it; nobody wants to see them. */
const isWrapper = (site: CallSite): boolean => /^(\w+\.)?tidemark[A-Z]/.test(site.getFunctionName() ?? '');

const asSites = (_error: Error, sites: readonly CallSite[]): readonly CallSite[] => sites;

function callSites(below: (...args: never[]) => unknown, limit: number): readonly CallSite[] {
  // The one place where V8's own fields of Error are touched; both are put back before anything else can run.
  const errors = Error as unknown as StackTraceError;
  const { prepareStackTrace, stackTraceLimit } = errors;
  const holder: { stack?: unknown } = {};
  errors.prepareStackTrace = asSites;
  errors.stackTraceLimit = limit;
  try {
    errors.captureStackTrace(holder, below);
    return Array.isArray(holder.stack) ? (holder.stack as readonly CallSite[]) : [];
  } finally {
    // Set to undefined is as good as absent, and deleting would slow every later access down.
    errors.prepareStackTrace = prepareStackTrace;
    errors.stackTraceLimit = stackTraceLimit;
  }
}

function readFrame(site: CallSite, file: string, owner: Owner): Frame {
  const name = functionName(site);
  const line = site.getEnclosingLineNumber?.();
  const column = site.getEnclosingColumnNumber?.();
  return {
    file,
    line: site.getLineNumber() ?? 1,
    column: site.getColumnNumber() ?? 1,
    ...(name === undefined ? {} : { function: name }),
    ...(owner.kind === 'library' ? { library: owner.name } : {}),
    ...(line === undefined || line < 1 ? {} : { functionLine: line }),
    ...(column === undefined || column < 1 ? {} : { functionColumn: column }),
  };
}

const receivers: ReadonlySet<string> = new Set([
  'Object',
  'global',
  'globalThis',
  'Window',
  'Module',
  'Function',
  'Undefined',
  'process',
  'Promise',
  'Array',
]);

/** The name that a function is bound to: `step`, `Net.forward`. */
function functionName(site: CallSite): string | undefined {
  const name = site.getFunctionName() ?? undefined;
  if (name === undefined || name === '') return undefined;
  if (site.isConstructor()) return `${name}.constructor`;
  if (site.isToplevel() || name.includes('.')) return name;
  const type = site.getTypeName() ?? undefined;
  return type === undefined || type === '' || receivers.has(type) ? name : `${type}.${name}`;
}

/** The package that a path lies in: what follows the last `node_modules`. */
export function packageOf(path: string): string | undefined {
  const found = /^.*[/\\]node_modules[/\\]((?:@[^/\\]+[/\\])?[^/\\]+)/.exec(path);
  return found?.[1]?.replace('\\', '/');
}
