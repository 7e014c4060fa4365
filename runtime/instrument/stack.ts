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
  capture(below: (...args: never[]) => unknown): Stack;
}

/** What a file is to the person who profiles: theirs, a package's, or nothing to show. */
export type Owner = { readonly kind: 'user' } | { readonly kind: 'library'; readonly name: string } | { readonly kind: 'hidden' };

export interface StackOptions {
  owner(file: string): Owner;
  /** The last word on a frame, once per position. */
  settle(frame: Frame): Frame;
  /** A stack that has not been seen yet. */
  define(frames: readonly Frame[]): number;
}

/** Deep enough for the user's frame under a tensor library; taken again to `deepLimit` when there is none. */
const usualLimit = 30;
const deepLimit = 200;
/** Innermost library frames that are kept: enough to see which part of a library asked. */
const keptLibraryFrames = 4;
const keptUserFrames = 24;

interface Node {
  readonly children: Map<Frame, Node>;
  stack?: Stack;
}

type StackTraceError = ErrorConstructor & {
  stackTraceLimit: number;
  prepareStackTrace?: (error: Error, sites: readonly CallSite[]) => unknown;
};

export function createStacks({ owner, settle, define }: StackOptions): Stacks {
  const files = new Map<string, { readonly owner: Owner; readonly frames: Map<number, Frame | undefined> }>();
  const root: Node = { children: new Map() };
  const unknown: Stack = { place: -1, frames: [], caller: undefined };
  let nowhere: Stack | undefined;

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

  function intern(sites: readonly CallSite[]): Stack | undefined {
    let node = root;
    let libraries = 0;
    let users = 0;
    const frames: Frame[] = [];
    for (const site of sites) {
      const frame = frameOf(site);
      if (frame === undefined) continue;
      if (frame.library === undefined ? users++ >= keptUserFrames : users > 0 || libraries++ >= keptLibraryFrames) continue;
      frames.push(frame);
      let next = node.children.get(frame);
      if (next === undefined) {
        next = { children: new Map() };
        node.children.set(frame, next);
      }
      node = next;
    }
    if (frames.length === 0) return undefined;
    node.stack ??= { place: define(frames), frames, caller: frames[0]!.library };
    return node.stack;
  }

  function capture(below: (...args: never[]) => unknown): Stack {
    const usual = intern(callSites(below, usualLimit));
    if (usual !== undefined && usual.frames.some((frame) => frame.library === undefined)) return usual;
    const deep = intern(callSites(below, deepLimit)) ?? usual;
    if (deep !== undefined) return deep;
    nowhere ??= { ...unknown, place: define([]) };
    return nowhere;
  }

  return { capture };
}

/** Functions of ours that stand between the program and what they wrap are named for it; nobody wants to see them. */
const isWrapper = (site: CallSite): boolean => /^(\w+\.)?tidemark[A-Z]/.test(site.getFunctionName() ?? '');

function callSites(below: (...args: never[]) => unknown, limit: number): readonly CallSite[] {
  // The one place where V8's own fields of Error are touched; both are put back before anything else can run.
  const errors = Error as StackTraceError;
  const { prepareStackTrace, stackTraceLimit } = errors;
  const holder: { stack?: unknown } = {};
  errors.prepareStackTrace = (_error, sites) => sites;
  errors.stackTraceLimit = limit;
  try {
    errors.captureStackTrace(holder, below);
    return Array.isArray(holder.stack) ? (holder.stack as readonly CallSite[]) : [];
  } finally {
    if (prepareStackTrace === undefined) delete (errors as { prepareStackTrace?: unknown }).prepareStackTrace;
    else errors.prepareStackTrace = prepareStackTrace;
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
