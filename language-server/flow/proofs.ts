/**
 * What the lowered text of one function proves by itself, for every execution: the ground on which a fix is called safe.
 *
 * The walk says what can happen in some run; a fix that is applied unasked needs more. So these proofs look at every event
 * that touches a local, know only calls that a built-in library model describes, and give up on anything else: captured
 * variables, aliases, user functions, `try`, a promise that isn't a copying reader's. Depends on: known-calls, lower/ir.
 */
import { callOf, type ArgumentVerb } from '../libraries/model.ts';
import { reads, writes, type CallEvent, type Event, type Local, type LoweredFunction, type Project, type Span } from '../lower/ir.ts';
import {
  byId,
  creates,
  endsWith,
  isCall,
  isTry,
  knownCall,
  onlyReads,
  placesOf,
  sameSpan,
  verbOf,
  within,
  writerOf,
  type Place,
} from './known-calls.ts';

export interface OwnArray {
  /** The last place in the text that uses it; its declaration when nothing does. */
  readonly lastUse: Span;
}

/**
 * A constant that a library call made, which nothing but library calls ever sees, and those only read it: it may be freed
 * anywhere behind its last use. `also` allows one more thing to be done with it.
 */
export function ownArray(project: Project, fn: LoweredFunction, declaration: Span, also?: ArgumentVerb): OwnArray | undefined {
  const local = fn.locals.findIndex(({ span }) => span !== undefined && span.start === declaration.start);
  const fact = fn.locals[local];
  if (fact === undefined || fact.kind !== 'constant' || fact.captured || fact.type.holds !== 'array' || fact.type.nullable)
    return undefined;
  const places = placesOf(fn);
  const declared = writerOf(places, local);
  if (declared?.kind !== 'copy') return undefined;
  const made = writerOf(places, declared.from);
  if (made === undefined || !creates(project, fn, made)) return undefined;
  const uses = usesOf(fn, places, local, declared, also);
  if (uses === undefined) return undefined;
  const last = uses.toSorted((a, b) => b.end - a.end)[0];
  return { lastUse: last ?? declaration };
}

/** The spans of all uses, when each is allowed. */
function usesOf(
  fn: LoweredFunction,
  places: readonly Place[],
  local: Local,
  declared: Event & { readonly kind: 'copy' },
  also: ArgumentVerb | undefined,
): readonly Span[] | undefined {
  const holders = new Set<Local>([local, declared.from]);
  const uses: Span[] = [];
  const model = byId.get(fn.locals[local]?.type.library ?? '');
  if (model === undefined) return undefined;
  const work = [local, declared.from];
  while (work.length > 0) {
    const at = work.pop()!;
    if (endsWith(fn, at)) return undefined;
    for (const { event, block } of places) {
      if (event === declared || event.kind === 'exit' || event.kind === 'enter' || !reads(event).includes(at)) continue;
      if (isTry(fn, block)) return undefined;
      if (event.kind === 'copy') {
        const to = fn.locals[event.to];
        if (to?.kind !== 'temporary' || to.captured || writerOf(places, event.to) === undefined) return undefined;
        if (!holders.has(event.to)) {
          holders.add(event.to);
          work.push(event.to);
        }
        continue;
      }
      if (event.kind === 'property' && event.object === at && event.key.kind === 'name') {
        if (model.metadata.includes(event.key.name)) {
          uses.push(event.span);
          continue;
        }
        if (also === 'consumes' && event.key.name === model.retain) {
          uses.push(event.span);
          continue;
        }
        return undefined;
      }
      if (event.kind !== 'call' || !onlyReads(fn, event, holders, also)) return undefined;
      uses.push(event.span);
    }
  }
  return uses;
}

/** Where a variable or field (`total`, `this.value`) gets another value than its first, when the text has one such place. */
export function replacedAt(
  project: Project,
  fn: LoweredFunction,
  name: string,
): { readonly span: Span; readonly optional: boolean } | undefined {
  const field = /^this\.([\w$]+)$/.exec(name)?.[1];
  if (field === undefined) {
    const local = fn.locals.findIndex((fact) => fact.name === name && fact.kind === 'variable');
    const written = placesOf(fn).filter(({ event }) => event.kind === 'copy' && event.to === local);
    const [, second] = written;
    return written.length === 2 ? { span: second!.event.span, optional: fn.locals[local]!.type.nullable === true } : undefined;
  }
  const methods = [...(project.units.get(fn.file)?.functions.values() ?? [])].filter(
    (other) => other.class !== undefined && other.class === fn.class && other.kind !== 'fields' && other.kind !== 'constructor',
  );
  const written = methods.flatMap((method) =>
    placesOf(method).filter(
      ({ event }) => event.kind === 'setProperty' && event.key.kind === 'name' && event.key.name === field && event.declares !== true,
    ),
  );
  return written.length === 1 ? { span: written[0]!.event.span, optional: true } : undefined;
}

/** The last place in the text where the function itself does something with a local, whatever that is. */
export function lastUseIn(fn: LoweredFunction, declaration: Span): Span | undefined {
  const local = fn.locals.findIndex(({ span }) => span !== undefined && span.start === declaration.start);
  if (local < 0) return undefined;
  const events = placesOf(fn).map(({ event }) => event);
  const holders = new Set<Local>([local]);
  for (const event of events)
    if (event.kind === 'copy' && holders.has(event.from) && fn.locals[event.to]?.kind === 'temporary') holders.add(event.to);
  return events
    .filter((event) => event.kind !== 'enter' && event.kind !== 'exit' && reads(event).some((read) => holders.has(read)))
    .map(({ span }) => span)
    .toSorted((a, b) => b.end - a.end)[0];
}

/** Is this `.ref` of a local array the last that the text does with it, so that the array itself can be given instead? */
export function isLastReference(project: Project, fn: LoweredFunction, declaration: Span, reference: Span): boolean {
  const own = ownArray(project, fn, declaration, 'consumes');
  if (own === undefined) return false;
  const places = placesOf(fn);
  const at = places.filter(({ event }) => event.kind === 'property' && sameSpan(event.span, reference));
  const local = fn.locals.findIndex(({ span }) => span !== undefined && span.start === declaration.start);
  const made = places.find(({ event }) => event.kind === 'copy' && event.to === local);
  const [only] = at;
  // In one block: no loop, branch or `try` between where it is made and where the reference is taken.
  if (at.length !== 1 || only === undefined || made === undefined || only.block !== made.block) return false;
  const later = (place: Place): boolean => place.block !== only.block || place.index > only.index;
  return !places.some((place) => later(place) && place.event.kind === 'copy' && place.event.from === local);
}

export interface EarlierUse {
  /** The argument that the earlier call was given; the whole call when it was its receiver. */
  readonly span: Span;
  readonly receiver: boolean;
  /** The later use follows on every path and in every execution. */
  readonly straight: boolean;
}

/** The use that took an array away: the argument of the call at `diedAt` that is what is used again at `use`. */
export function earlierUse(fn: LoweredFunction, diedAt: Span, use: Span): EarlierUse | undefined {
  const places = placesOf(fn);
  const taken = places.filter((place) => isCall(place) && sameSpan(place.event.span, diedAt)) as (Place & { event: CallEvent })[];
  const later = places.filter((place): place is Place & { readonly event: Using } => isUseAt(place.event, use));
  const [first] = taken;
  const [second] = later;
  const name = second === undefined ? undefined : pathOf(fn, places, givenAt(second.event, use));
  if (second === undefined || name === undefined) return undefined;
  const from = first ?? takenByFunction(fn, places, second, name);
  if (from === undefined) return undefined;
  const own = from.event;
  const isIt = (local: Local | undefined): boolean => local !== undefined && pathOf(fn, places, local) === name && isArray(fn, local);
  const index = own.arguments.findIndex(({ local, spread, span }) => !spread && isIt(local) && !sameSpan(span, use));
  const receiver = isIt(own.receiver) && !(own === second.event && sameSpan(use, own.span));
  if (!receiver && index < 0) return undefined;
  const known = knownCall(own);
  const straight =
    known?.model.convention === 'consumes' &&
    taken.length === 1 &&
    later.length === 1 &&
    isLocalName(fn, name) &&
    from.block === second.block &&
    !isTry(fn, from.block) &&
    from.index <= second.index &&
    knownBetween(fn, from, second, name);
  return { span: receiver ? own.span : own.arguments[index]!.span, receiver, straight };
}

/** A function of the project took it: the last call in the text before the use that is given the array itself. */
function takenByFunction(
  fn: LoweredFunction,
  places: readonly Place[],
  second: Place,
  name: string,
): (Place & { readonly event: CallEvent }) | undefined {
  return places
    .filter(isCall)
    .filter(
      ({ event }) =>
        event.span.end <= second.event.span.start &&
        event.callee.kind !== 'library' &&
        event.arguments.some(({ local, spread }) => !spread && pathOf(fn, places, local) === name),
    )
    .toSorted((a, b) => b.event.span.start - a.event.span.start)[0];
}

const isArray = (fn: LoweredFunction, local: Local): boolean => fn.locals[local]?.type.holds === 'array';

type Using = CallEvent | Extract<Event, { kind: 'property' }>;

/** The event that uses an array at `span`: a call of it or with it, or the reference that is taken. */
function isUseAt(event: Event, span: Span): event is Using {
  if (event.kind === 'property') return event.key.kind === 'name' && sameSpan(event.span, span);
  return event.kind === 'call' && (sameSpan(event.span, span) || event.arguments.some((argument) => sameSpan(argument.span, span)));
}

/** What the event is given at `span`. */
function givenAt(event: Using, span: Span): Local | undefined {
  if (event.kind === 'property') return event.object;
  return event.arguments.find((argument) => sameSpan(argument.span, span))?.local ?? event.receiver;
}

/** Between two events of a block: no unknown call, no `await`, and nothing that gives the name another value. */
function knownBetween(fn: LoweredFunction, from: Place, to: Place, name: string): boolean {
  const block = fn.blocks.find(({ id }) => id === from.block)!;
  return block.events.slice(from.index, to.index).every((event, i) => {
    if (event.kind === 'call') return i === 0 || knownCall(event) !== undefined || isPlainData(fn, event);
    if (event.kind === 'await' || event.kind === 'yield' || event.kind === 'opaque' || event.kind === 'setOuter') return false;
    const to_ = writes(event);
    return to_ === undefined || fn.locals[to_]?.unique !== name || fn.locals[to_]?.kind === 'temporary';
  });
}

/** A call of the language that a line describes, and that is given no function to call. */
function isPlainData(fn: LoweredFunction, event: CallEvent): boolean {
  const standard = byId.get('standard');
  if (standard === undefined || event.callee.kind !== 'library' || event.callee.library !== standard.id) return false;
  const call = callOf(standard, event.callee.name);
  const plain = (local: Local): boolean => {
    const type = fn.locals[local]?.type;
    return type !== undefined && type.holds !== 'unknown' && type.callable !== true;
  };
  return (
    call !== undefined && (call.role === undefined || call.role.kind === 'collection') && event.arguments.every(({ local }) => plain(local))
  );
}

const isLocalName = (fn: LoweredFunction, name: string): boolean =>
  fn.locals.some((local) => local.unique === name && local.kind !== 'temporary' && !local.captured);

/** `x`, `x.a`, `this.held`: where a value was read from; undefined when it has no such place. */
function pathOf(fn: LoweredFunction, places: readonly Place[], local: Local | undefined): string | undefined {
  if (local === undefined) return undefined;
  const fact = fn.locals[local];
  if (fact === undefined) return undefined;
  if (fact.kind !== 'temporary') return fact.unique;
  const writer = writerOf(places, local);
  switch (writer?.kind) {
    case 'copy':
      return pathOf(fn, places, writer.from);
    case 'outer':
      return `${writer.variable.function} ${writer.variable.name}`;
    case 'property': {
      const of = writer.key.kind === 'name' ? pathOf(fn, places, writer.object) : undefined;
      return of === undefined || writer.key.kind !== 'name' ? undefined : `${of}.${writer.key.name}`;
    }
    default:
      return undefined;
  }
}

/** Does the dispose at `again` follow in one line on what took the same local array at `diedAt`? */
export function isDisposedAgain(fn: LoweredFunction, diedAt: Span, again: Span): boolean {
  const places = placesOf(fn);
  const taken = places.filter((place) => isCall(place) && sameSpan(place.event.span, diedAt)) as (Place & { event: CallEvent })[];
  const freed = places.filter((place) => isCall(place) && sameSpan(place.event.span, again)) as (Place & { event: CallEvent })[];
  const [first] = taken;
  const [second] = freed;
  if (first === undefined || second === undefined || taken.length !== 1 || freed.length !== 1) return false;
  const name = pathOf(fn, places, second.event.receiver);
  const known = knownCall(first.event);
  if (name === undefined || known === undefined || !isLocalName(fn, name)) return false;
  const { callee } = first.event;
  const takes = (key: number | 'receiver', local: Local | undefined): boolean =>
    pathOf(fn, places, local) === name &&
    ['consumes', 'disposes', 'donates'].includes(verbOf(known, key, callee.kind === 'library' ? callee.name : ''));
  return (
    first.block === second.block &&
    first.index < second.index &&
    !isTry(fn, first.block) &&
    (takes('receiver', first.event.receiver) || first.event.arguments.some(({ local }, i) => takes(i, local))) &&
    knownBetween(fn, first, second, name)
  );
}

export interface Chain {
  /** The largest expression around the intermediate that only library calls make, and that yields an array or host data. */
  readonly span: Span;
  readonly proven: boolean;
}

/** The expression that a scope has to stand around so that what is made at `made` is freed at its end. */
export function chainAround(fn: LoweredFunction, made: Span): Chain | undefined {
  const places = placesOf(fn);
  const start = places.filter((place) => isCall(place) && sameSpan(place.event.span, made)) as (Place & { event: CallEvent })[];
  const [first] = start;
  if (first === undefined || start.length !== 1) return undefined;
  let at: Place & { event: CallEvent } = first;
  let best: Span | undefined;
  for (;;) {
    const { to } = at.event;
    if (endsWith(fn, to)) break;
    const readers = places.filter(({ event }) => reads(event).includes(to));
    const [reader] = readers;
    if (readers.length !== 1 || reader === undefined || !isCall(reader) || reader.block !== first.block) break;
    if (!onlyReads(fn, reader.event, new Set([to])) || fn.locals[reader.event.to]?.type.promise === true) break;
    if (!within(at.event.span, reader.event.span)) break;
    at = reader;
    best = reader.event.span;
  }
  if (best === undefined) return undefined;
  return { span: best, proven: !isTry(fn, first.block) && isPlain(fn, places, best, first.event) };
}

/** In `span`: nothing but calls of one library that read and create, and plain data; nothing is stored, awaited or narrowed. */
function isPlain(fn: LoweredFunction, places: readonly Place[], span: Span, first: CallEvent): boolean {
  const library = first.callee.kind === 'library' ? first.callee.library : '';
  const inside = places.filter(({ event }) => within(event.span, span));
  return inside.every(({ event }) => {
    const to = writes(event);
    if (to !== undefined && fn.locals[to]?.kind !== 'temporary') return false;
    switch (event.kind) {
      case 'literal':
      case 'outer':
      case 'external':
      case 'array':
      case 'object':
      case 'template':
      case 'unary':
      case 'binary':
        return true;
      case 'copy': {
        const from = fn.locals[event.from];
        return from !== undefined && !((from.kind === 'variable' || from.kind === 'parameter') && from.type.nullable === true);
      }
      case 'property':
        return event.callee === undefined;
      case 'call':
        return (
          event.callee.kind === 'library' &&
          event.callee.library === library &&
          onlyReads(fn, event, new Set(reads(event).filter((local) => local !== event.function)))
        );
      default:
        return false;
    }
  });
}

/** Is what the call at `made` makes taken by nobody at all, so that it can be freed on the spot? */
export function isDropped(project: Project, fn: LoweredFunction, made: Span): boolean {
  const places = placesOf(fn);
  const found = places.filter((place) => isCall(place) && sameSpan(place.event.span, made)) as (Place & { event: CallEvent })[];
  const [only] = found;
  return (
    only !== undefined &&
    found.length === 1 &&
    creates(project, fn, only.event) &&
    !endsWith(fn, only.event.to) &&
    !places.some(({ event }) => reads(event).includes(only.event.to))
  );
}

/** Is the text at `span` a call as a whole (whose receiver is what is spoken of), not one of its arguments? */
export const isCallAt = (fn: LoweredFunction, span: Span): boolean =>
  placesOf(fn).some((place) => isCall(place) && sameSpan(place.event.span, span) && place.event.receiver !== undefined);
