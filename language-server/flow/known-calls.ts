/**
 * Calls that a built-in library model describes, and nothing else: what they do to the locals they are given.
 *
 * The ground of `proofs`: an event whose effect isn't known for certain is no known call. Depends on: lower/ir, libraries.
 */
import { models } from '../libraries/index.ts';
import { callOf, type ArgumentVerb, type Call, type LibraryModel } from '../libraries/model.ts';
import {
  reads,
  successors,
  writes,
  type CallEvent,
  type Event,
  type Local,
  type LoweredFunction,
  type Project,
  type Span,
} from '../lower/ir.ts';

export const byId = new Map(models.map((model) => [model.id, model]));

export interface Place {
  readonly event: Event;
  readonly block: number;
  readonly index: number;
}

export const sameSpan = (a: Span, b: Span): boolean => a.file === b.file && a.start === b.start && a.end === b.end;
export const within = (inner: Span, outer: Span): boolean => outer.start <= inner.start && inner.end <= outer.end;

/** All events, each text once: what `finally` copied onto several ways out counts as standing in a `try`. */
export function placesOf(fn: LoweredFunction): readonly Place[] {
  return fn.blocks.flatMap((block) => block.events.map((event, index) => ({ event, block: block.id, index })));
}

export const isCall = (place: Place): place is Place & { readonly event: CallEvent } => place.event.kind === 'call';

/** The only event that writes a local, when there is only one. */
export function writerOf(places: readonly Place[], local: Local): Event | undefined {
  const found = places.filter(({ event }) => writes(event) === local && event.kind !== 'enter' && event.kind !== 'exit');
  return found.length === 1 ? found[0]!.event : undefined;
}

/** Is the local read where a block ends: returned, thrown, tested, iterated? */
export function endsWith(fn: LoweredFunction, local: Local): boolean {
  return fn.blocks.some(({ end }) => {
    switch (end.kind) {
      case 'return':
      case 'throw':
        return end.value === local;
      case 'branch':
        return end.condition === local;
      case 'next':
        return end.iterator === local;
      case 'goto':
      case 'unreachable':
        return false;
    }
  });
}

const isRead = (fn: LoweredFunction, local: Local): boolean =>
  endsWith(fn, local) || fn.blocks.some(({ events }) => events.some((event) => reads(event).includes(local)));

interface KnownCall {
  readonly model: LibraryModel;
  readonly call: Call | undefined;
}

export function knownCall(event: CallEvent): KnownCall | undefined {
  if (event.callee.kind !== 'library') return undefined;
  const model = byId.get(event.callee.library);
  if (model === undefined || model.id === 'standard') return undefined;
  const call = callOf(model, event.callee.name);
  return call?.role === undefined && call?.readsUntilSettled !== true ? { model, call } : undefined;
}

/** Whatever the call yields is new: no part of what it was given, no host data that refers to it. */
const isFresh = (result: Call['result']): boolean =>
  result === undefined ||
  result === 'creates' ||
  result === 'host' ||
  (typeof result === 'object' && 'settles' in result && isFresh(result.settles));

export function verbOf({ model, call }: KnownCall, key: number | 'receiver', name: string): ArgumentVerb | 'records' {
  const given = call?.arguments;
  const told = given?.[key] ?? (key === 'receiver' ? undefined : given?.rest);
  if (told !== undefined) return told;
  if (key === 'receiver' && call === undefined && model.free.includes(name.slice(name.lastIndexOf('.') + 1))) return 'disposes';
  return model.convention === 'consumes' ? 'consumes' : 'reads';
}

/** Does the call only look at, or read at once, every value among `locals`; `also`: a further verb that is allowed. */
export function onlyReads(fn: LoweredFunction, event: CallEvent, locals: ReadonlySet<Local>, also?: ArgumentVerb): boolean {
  const known = knownCall(event);
  if (known === undefined || event.callee.kind !== 'library' || !isFresh(known.call?.result)) return false;
  const type = fn.locals[event.to]?.type;
  // Host data may show what the array holds (a mapped range), unless the call copies; nobody may look at it then.
  if (known.call?.reader !== true && (type?.promise === true || (type?.holds !== 'array' && isRead(fn, event.to)))) return false;
  const { name } = event.callee;
  const fine = (verb: ArgumentVerb | 'records'): boolean => verb === 'reads' || verb === 'inspects' || verb === also;
  if (event.function !== undefined && locals.has(event.function)) return false;
  if (event.receiver !== undefined && locals.has(event.receiver) && !fine(verbOf(known, 'receiver', name))) return false;
  return event.arguments.every(({ local, spread }, i) => !locals.has(local) || (!spread && fine(verbOf(known, i, name))));
}

/** Does the call make its result, for its caller alone? A scope does when its callback returns what a call in it made. */
export function creates(project: Project, fn: LoweredFunction, event: Event): boolean {
  if (event.kind !== 'call') return false;
  const type = fn.locals[event.to]?.type;
  if (type?.holds !== 'array' || type.nullable === true || type.promise === true) return false;
  const known = knownCall(event);
  if (known !== undefined) return known.call?.result === undefined || known.call.result === 'creates';
  const callback = scoped(project, fn, event);
  return (
    callback !== undefined &&
    callback.blocks.every(({ id, end }) => end.kind !== 'return' || !isReached(callback, id) || returnsNew(project, callback, end.value))
  );
}

/** The callback of a call that opens a scope, when the text says which function it is. */
function scoped(project: Project, fn: LoweredFunction, event: CallEvent): LoweredFunction | undefined {
  if (event.callee.kind !== 'library') return undefined;
  const model = byId.get(event.callee.library);
  const [given] = event.arguments;
  if (model === undefined || given === undefined || callOf(model, event.callee.name)?.role?.kind !== 'scope') return undefined;
  const made = writerOf(placesOf(fn), given.local);
  const callback = made?.kind === 'closure' ? project.function(made.function) : undefined;
  return callback?.async === true || callback?.generator === true ? undefined : callback;
}

function returnsNew(project: Project, fn: LoweredFunction, value: Local | undefined): boolean {
  if (value === undefined) return false;
  const places = placesOf(fn);
  const made = writerOf(places, value);
  return made !== undefined && creates(project, fn, made) && !places.some(({ event }) => reads(event).includes(value));
}

/** Blocks behind the last `return` are lowered too, and never run. */
function isReached(fn: LoweredFunction, block: number): boolean {
  const first = fn.blocks[0]?.id;
  return block === first || fn.blocks.some(({ end, handler }) => successors(end).includes(block) || handler === block);
}

export const isTry = (fn: LoweredFunction, block: number): boolean => fn.blocks.find(({ id }) => id === block)?.handler !== undefined;
