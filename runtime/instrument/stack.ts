/**
 * Who asked for the memory: a stack of the running program, interned, with the package of every frame that is a library's.
 *
 * V8's call sites are read instead of the text of a stack: four times as fast, and no matter what source maps are on.
 * A frame is made once per position and a stack once per sequence of frames, so a million allocations of one loop cost
 * one `place` event. Mapping to sources happens where a report is written. Depends on: events, calls.
 */
import type { Frame } from '../events/event.ts';
import type { Counted } from './calls.ts';

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
  /** The counted function that each frame lies in. */
  readonly functions: readonly (Counted | undefined)[];
  /** Package of the innermost frame, when it is a library's: who made the call that is being watched. */
  readonly caller: string | undefined;
}

export interface Stacks {
  /** The stack above `below`, a function of ours that the program called. */
  capture(below: Below): Stack;
  /** A stack that was captured before and is known to be there again. */
  again(stack: Stack): Stack;
}

export type Below = (...args: never[]) => unknown;

/** What a file is to the person who profiles: theirs, a package's, or nothing to show. */
export type Owner = { readonly kind: 'user' } | { readonly kind: 'library'; readonly name: string } | { readonly kind: 'hidden' };

export interface StackOptions {
  owner(file: string): Owner;
  /** The last word on a frame, once per position. */
  settle(frame: Frame): Frame;
  /** The counted function that a frame lies in; undefined when it is not counted. */
  functionOf(frame: Frame): Counted | undefined;
  /** A counted function was called again since it was last met on a stack. */
  reentered(own: Counted): boolean;
  /** A stack that has not been seen yet. */
  define(frames: readonly Frame[]): number;
}

/** A stack is walked so far, and again further when the user's frame was not met: libraries nest deeply. */
const limits = [40, 200] as const;
const firstDepth = 12;
/** After so many stacks that needed less, less is asked for. */
const steadyStacks = 64;
/** Innermost library frames that are kept: enough to see which part of a library asked. */
const keptLibraryFrames = 4;
const keptUserFrames = 24;

interface Node {
  readonly children: Map<Frame, Node>;
  stack?: Stack;
}

/** How many frames a wrapper asks V8 for: as few as were enough lately, since every frame costs a microsecond. */
interface Depth {
  ask: number;
  /** The most that was needed in the last `count` stacks. */
  needed: number;
  count: number;
}

interface StackTraceError {
  stackTraceLimit: number;
  prepareStackTrace: unknown;
  captureStackTrace(holder: object, below: Below): void;
}

export function createStacks({ owner, settle, define, functionOf, reentered }: StackOptions): Stacks {
  const files = new Map<string, { readonly owner: Owner; readonly frames: Map<number, Frame | undefined> }>();
  const root: Node = { children: new Map() };
  const depths = new Map<Below, Depth>();
  let last: Stack | undefined;

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
    const before = known.frames.get(position);
    if (before !== undefined || known.frames.has(position)) return before;
    const frame = isWrapper(site) ? undefined : settle(readFrame(site, file, known.owner));
    known.frames.set(position, frame);
    return frame;
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
    node.stack ??= {
      place: define(frames),
      frames,
      functions: frames.map(functionOf),
      caller: frames[0]?.library,
    };
    return node.stack;
  }

  /**
   * The callers of the function that `frame` lies in, known from the last stack: it was on that one, once, and was not
   * called since, so this is still the same call. Walking a deep stack costs more than all the rest.
   */
  function knownCallers(frame: Frame): readonly Frame[] | undefined {
    const own = functionOf(frame);
    if (own === undefined || last === undefined || reentered(own)) return undefined;
    const at = last.functions.indexOf(own);
    return at === -1 || last.functions.lastIndexOf(own) !== at ? undefined : last.frames.slice(at + 1);
  }

  /**
   * Frames worth keeping: a few of the innermost library, then the user's up to one whose callers are known. Undefined
   * when the sites end before the stack does and before such a one.
   */
  function kept(sites: readonly CallSite[], whole: boolean): { readonly frames: readonly Frame[]; readonly used: number } | undefined {
    let libraries = 0;
    const frames: Frame[] = [];
    let users = 0;
    for (let i = 0; i < sites.length; i += 1) {
      const frame = frameOf(sites[i]!);
      if (frame === undefined) continue;
      if (frame.library !== undefined) {
        if (users === 0 && libraries++ < keptLibraryFrames) frames.push(frame);
        continue;
      }
      frames.push(frame);
      if ((users += 1) === keptUserFrames) return { frames, used: i + 1 };
      const callers = knownCallers(frame);
      if (callers !== undefined) return { frames: frames.concat(callers.slice(0, keptUserFrames - users)), used: i + 1 };
    }
    // One more than there are tells that there are no more.
    return whole ? { frames, used: sites.length + 1 } : undefined;
  }

  function remember(depth: Depth, needed: number): void {
    depth.needed = Math.max(depth.needed, needed);
    depth.count += 1;
    if (needed <= depth.ask && depth.count < steadyStacks) return;
    depth.ask = Math.min(depth.needed, limits[0]);
    depth.needed = 0;
    depth.count = 0;
  }

  function capture(below: Below): Stack {
    let depth = depths.get(below);
    if (depth === undefined) depths.set(below, (depth = { ask: firstDepth, needed: 0, count: 0 }));
    for (const limit of [depth.ask, ...limits]) {
      const sites = callSites(below, limit);
      const found = kept(sites, sites.length < limit || limit === limits[1]);
      if (found === undefined && !(limit === limits[0] && sites.some((site) => isUsers(frameOf(site))))) continue;
      const { frames, used } = found ?? kept(sites, true)!;
      remember(depth, used);
      return (last = intern(frames));
    }
    return intern([]);
  }

  return { capture, again: (stack) => (last = stack) };
}

const isUsers = (frame: Frame | undefined): boolean => frame !== undefined && frame.library === undefined;

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
