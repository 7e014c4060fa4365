/**
 * Gathers what the walk sees, over all paths and runs, into facts.
 *
 * An observation is certain when, in the run and call context that saw it, no path passed the same place without it.
 * Depends on: facts, lower/ir.
 */
import { fileOf, isWithin, type FunctionId, type Project, type Span } from '../lower/ir.ts';
import type { Value } from './values.ts';
import type { Capture, CompiledArgument, CompiledCall, Facts, Observation } from './facts.ts';
import { emptiedInText } from './emptying.ts';
import { at, consequences, type Seen } from './consequences.ts';
import { callersInText, hiddenCaller } from './relevance.ts';

export { at, type Seen };

interface Entry {
  readonly observation: Seen;
  readonly roots: Set<FunctionId>;
  readonly contexts: Map<string, number>;
  /** Seen only where functions were run in any order, one after another, as nobody in the project may call them. */
  supposed: boolean;
}

interface ArgumentFacts {
  readonly position: number;
  readonly span: Span;
  readonly name: string | undefined;
  readonly donated: 'options' | 'mark' | undefined;
  readonly arrays: boolean;
  read: Span | undefined;
  kept: Span | boolean;
  readonly freed: Map<number, Span>;
  owner: 'here' | 'caller' | 'field';
}

interface CallFacts {
  readonly call: Omit<CompiledCall, 'arguments'>;
  readonly arguments: ArgumentFacts[];
}

export class Collector {
  private readonly entries = new Map<string, Entry>();
  /** Places that some path passed without a fault, and the contexts in which one did. */
  private readonly fine = new Map<string, Set<string>>();
  private readonly compiled = new Map<string, CallFacts>();
  private readonly captures = new Map<string, Capture>();
  private readonly silences = new Map<string, number>();
  /** Functions walked, and their calls: how many in a scope, and the entries whose walk came by one outside. */
  readonly visited = new Set<FunctionId>();
  /** Files of functions that were not walked, for what they do not do. */
  readonly consulted = new Set<string>();
  /** Functions whose declaration a walk came by. */
  readonly created = new Set<FunctionId>();
  readonly called = new Map<FunctionId, { inScope: number; readonly outside: Set<FunctionId> }>();
  /** `function:position` of parameters that some path consumes. */
  readonly consumed = new Set<string>();
  /** Homes of collections that lose members, or are handed to somebody who may empty them. */
  readonly emptied = new Set<string>();
  readonly added = new Map<
    string,
    { readonly observation: Extract<Seen, { kind: 'retained' }>; readonly root: FunctionId; readonly keyed: boolean }
  >();
  /** Places of a loop that add to a list some of whose members are freed on some path. */
  readonly freedAdded = new Set<string>();
  /** Fields of classes that hold arrays, and the classes that free some. */
  readonly owners = new Map<string, Extract<Seen, { kind: 'ownerWithoutDispose' }>>();
  readonly freeing = new Set<string>();
  /** `class field`: fields whose arrays some method frees for good, or hands out. */
  readonly freedFields = new Set<string>();
  /** `class field`: what a field still held after its object was disposed. */
  readonly forgotten = new Map<string, Extract<Seen, { kind: 'lost' }>>();
  /** `home function`: a function that looks into a collection by key. */
  readonly looked = new Set<string>();
  /** What places free, and why its loss would go unnoticed there (undefined: on some path it would not). */
  readonly freed = new Map<string, string | undefined>();
  /** Call contexts are named per walk: this keeps those of several walks apart. */
  readonly prefix: string;
  root: FunctionId = '';
  /** The run goes on from what another entry left: whether anybody calls them in this order is not known. */
  supposing = false;
  /** The compiled function that is being traced now. */
  tracingJit: Span | undefined;
  /** The run can't see who frees what: nothing is said to be lost. */
  blind = false;
  /** Dry runs collect nothing. */
  muted = 0;

  constructor(prefix = '') {
    this.prefix = prefix;
  }

  see(observation: Seen, context: string): void {
    if (this.muted > 0) return;
    if (this.blind && (observation.kind === 'lost' || observation.kind === 'retained'))
      return this.silent('leak: who calls this is not known');
    const key = `${observation.kind} ${at(observation.span)} ${'how' in observation ? observation.how : ''}${'death' in observation ? observation.death : ''}`;
    const entry = this.entries.get(key) ?? {
      observation,
      roots: new Set<FunctionId>(),
      contexts: new Map<string, number>(),
      supposed: this.supposing,
    };
    entry.supposed &&= this.supposing;
    entry.roots.add(this.root);
    entry.contexts.set(context, (entry.contexts.get(context) ?? 0) + 1);
    this.entries.set(key, entry);
  }

  /** The same place was passed without a fault. */
  pass(span: Span, context: string): void {
    if (this.muted > 0) return;
    const place = at(span);
    const contexts = this.fine.get(place);
    if (contexts === undefined) this.fine.set(place, new Set([context]));
    else contexts.add(context);
  }

  /** A function that isn't worth a walk of its own. */
  skip(project: Project, value: Value): void {
    if (value.kind !== 'closure') return;
    const unit = project.units.get(fileOf(value.function));
    for (const id of unit?.functions.keys() ?? []) if (isWithin(id, value.function)) this.visited.add(id);
  }

  /** A place that frees something, with why nobody would miss it. */
  frees(span: Span, doubt: string | undefined): void {
    if (this.muted === 0 && (doubt === undefined || !this.freed.has(at(span)))) this.freed.set(at(span), doubt);
  }

  silent(reason: string): void {
    if (this.muted === 0) this.silences.set(reason, (this.silences.get(reason) ?? 0) + 1);
  }

  capture(capture: Capture): void {
    if (this.muted === 0) this.captures.set(at(capture.span), capture);
  }

  call(
    call: Omit<CompiledCall, 'arguments'>,
    args: readonly Pick<CompiledArgument, 'position' | 'span' | 'name' | 'donated' | 'arrays' | 'owner'>[],
  ): string {
    const key = at(call.span);
    if (this.muted > 0) return key;
    if (!this.compiled.has(key))
      this.compiled.set(key, {
        call,
        arguments: args.map((a) => ({
          position: a.position,
          span: a.span,
          name: a.name,
          donated: a.donated,
          arrays: a.arrays,
          read: undefined,
          kept: false,
          freed: new Map(),
          owner: a.owner,
        })),
      });
    const known = this.compiled.get(key)!;
    for (const [i, argument] of args.entries())
      if (known.arguments[i] !== undefined && argument.owner !== 'here')
        known.arguments[i].owner = argument.owner === 'caller' ? 'caller' : known.arguments[i].owner === 'caller' ? 'caller' : 'field';
    return key;
  }

  private watched(watch: string): ArgumentFacts | undefined {
    const cut = watch.lastIndexOf('#');
    return this.compiled.get(watch.slice(0, cut))?.arguments[Number(watch.slice(cut + 1))];
  }

  readAfter(watches: readonly string[], span: Span): void {
    if (this.muted === 0)
      for (const watch of watches) {
        const argument = this.watched(watch);
        if (argument !== undefined) argument.read ??= span;
      }
  }

  keptAfter(watches: readonly string[], span?: Span): void {
    if (this.muted === 0)
      for (const watch of watches) {
        const argument = this.watched(watch);
        if (argument !== undefined && argument.kept === false) argument.kept = span ?? true;
      }
  }

  freedAfter(watches: readonly string[], span: Span): void {
    if (this.muted === 0) for (const watch of watches) this.watched(watch)?.freed.set(span.start, span);
  }

  /** Where something is wrong on some path. */
  get faultyPlaces(): readonly string[] {
    return [...this.entries.values()].map(({ observation }) => at(observation.span));
  }

  /** Takes over what another gathered; of what it passed without a fault, only places in `wrong`. */
  absorb(other: Collector, wrong: ReadonlySet<string>): void {
    const inWalk = (context: string): string => `${other.prefix} ${context}`;
    for (const [key, entry] of other.entries) {
      const own = this.entries.get(key);
      if (own === undefined)
        this.entries.set(key, {
          observation: entry.observation,
          supposed: entry.supposed,
          roots: new Set(entry.roots),
          contexts: new Map([...entry.contexts].map(([context, count]) => [inWalk(context), count])),
        });
      else {
        own.supposed &&= entry.supposed;
        for (const root of entry.roots) own.roots.add(root);
        for (const [context, count] of entry.contexts) own.contexts.set(inWalk(context), (own.contexts.get(inWalk(context)) ?? 0) + count);
      }
    }
    for (const [place, contexts] of other.fine) {
      if (!wrong.has(place)) continue;
      const own = this.fine.get(place) ?? new Set();
      this.fine.set(place, own);
      for (const context of contexts) own.add(inWalk(context));
    }
    for (const [key, call] of other.compiled) {
      const own = this.compiled.get(key);
      if (own === undefined) {
        this.compiled.set(key, {
          call: call.call,
          arguments: call.arguments.map((argument) => ({ ...argument, freed: new Map(argument.freed) })),
        });
        continue;
      }
      for (const [i, argument] of call.arguments.entries()) {
        const mine = own.arguments[i];
        if (mine === undefined) continue;
        mine.read ??= argument.read;
        if (mine.kept === false) mine.kept = argument.kept;
        for (const [start, span] of argument.freed) mine.freed.set(start, span);
        if (argument.owner === 'caller' || (argument.owner === 'field' && mine.owner === 'here')) mine.owner = argument.owner;
      }
    }
    for (const [key, capture] of other.captures) this.captures.set(key, capture);
    for (const [key, count] of other.silences) this.silences.set(key, (this.silences.get(key) ?? 0) + count);
    for (const [key, doubt] of other.freed) if (doubt === undefined || !this.freed.has(key)) this.freed.set(key, doubt);
    for (const id of other.visited) this.visited.add(id);
    for (const id of other.created) this.created.add(id);
    for (const [id, { inScope, outside }] of other.called) {
      const own = this.called.get(id) ?? { inScope: 0, outside: new Set() };
      this.called.set(id, { inScope: own.inScope + inScope, outside: new Set([...own.outside, ...outside]) });
    }
    for (const key of other.consumed) this.consumed.add(key);
    for (const key of other.emptied) this.emptied.add(key);
    for (const key of other.freedAdded) this.freedAdded.add(key);
    for (const key of other.freeing) this.freeing.add(key);
    for (const key of other.freedFields) this.freedFields.add(key);
    for (const [key, forgotten] of other.forgotten) this.forgotten.set(key, forgotten);
    for (const key of other.looked) this.looked.add(key);
    for (const [key, added] of other.added) this.added.set(key, added);
    for (const [key, owner] of other.owners) this.owners.set(key, owner);
  }

  /**
   * Functions that are only ever called in scopes, or by functions that are: what they leave behind, a scope frees. Of calls
   * that no walk came by, the text says where they stand.
   */
  private scopedFunctions(callers: ReadonlyMap<FunctionId, ReadonlySet<FunctionId>>): ReadonlySet<FunctionId> {
    const scoped = new Set([hiddenCaller, ...this.called.keys(), ...callers.keys()]);
    for (let left = -1; left !== scoped.size;) {
      left = scoped.size;
      for (const [id, { inScope, outside }] of this.called) {
        const others = [...outside].filter((root) => root !== id);
        if (others.some((root) => !scoped.has(root)) || (inScope === 0 && others.length === 0)) scoped.delete(id);
      }
      for (const [id, from] of callers)
        if (!this.called.has(id) && [...from].some((caller) => caller !== id && !scoped.has(caller))) scoped.delete(id);
    }
    return scoped;
  }

  private onlyGrows(home: string, { function: fn }: Seen, keyed: boolean): boolean {
    const collection = home.slice(0, home.lastIndexOf(' '));
    return !this.emptied.has(collection) && !(keyed && this.looked.has(`${collection} ${fn}`));
  }

  facts(callers: ReadonlyMap<FunctionId, ReadonlySet<FunctionId>>): Facts {
    const observations: Observation[] = [];
    const scoped = this.scopedFunctions(callers);
    const growing = new Set<string>();
    for (const [home, { observation, keyed }] of this.added)
      if (this.onlyGrows(home, observation, keyed)) growing.add(at(observation.span));
    const consequent = consequences(
      [...this.entries.values()].map(({ observation }) => observation),
      growing,
      new Set([...this.entries.values()].filter(({ supposed }) => supposed).map(({ observation }) => observation)),
    );
    for (const { observation, roots, contexts } of this.entries.values()) {
      if (consequent(observation)) continue;
      // A helper that is only ever called inside scopes leaves its intermediates to them.
      if (
        (observation.kind === 'lost' || observation.kind === 'retained') &&
        observation.array.words.scope !== undefined &&
        [...roots].every((root) => scoped.has(root))
      ) {
        this.silent('leak: every known call is inside a scope');
        continue;
      }
      if (observation.kind === 'retained' && this.freedAdded.has(`${observation.span.file}:${observation.span.start}`)) {
        this.silences.set(
          'retained-in-loop: members are freed on some path',
          (this.silences.get('retained-in-loop: members are freed on some path') ?? 0) + 1,
        );
        continue;
      }
      if (
        observation.kind === 'lost' &&
        observation.how === 'argument' &&
        observation.passed !== undefined &&
        !this.consumed.has(`${observation.passed.function}:${observation.passed.position}`)
      ) {
        // The function only ever borrows it: whoever made it drops it.
        if (observation.declaration !== undefined) {
          const { passed: _, ...rest } = observation;
          observations.push({ ...rest, span: observation.declaration, how: 'dropped', certain: true });
        }
        continue;
      }
      // A use that is fine when called from elsewhere is no fault of every path here.
      const certain =
        [...contexts.keys()].some((context) => this.fine.get(at(observation.span))?.has(context) !== true) &&
        (observation.kind !== 'deadUse' || !this.fine.has(at(observation.span)));
      observations.push({ ...observation, certain } as Observation);
    }
    for (const [home, { observation, keyed }] of this.added)
      if (this.onlyGrows(home, observation, keyed)) observations.push({ ...observation, certain: true });
    for (const [className, observation] of this.owners)
      if (!this.freeing.has(className)) observations.push({ ...observation, certain: true });
    for (const [field, observation] of this.forgotten)
      if (!this.freedFields.has(field)) observations.push({ ...observation, certain: true });
    const calls: CompiledCall[] = [...this.compiled.values()].map(({ call, arguments: args }) => ({
      ...call,
      arguments: args.map((a) => ({
        position: a.position,
        span: a.span,
        donated: a.donated,
        arrays: a.arrays,
        owner: a.owner,
        after: a.kept !== false ? ('kept' as const) : a.read !== undefined ? ('read' as const) : ('dead' as const),
        freedAt: [...a.freed.values()],
        ...(a.name === undefined ? {} : { name: a.name }),
        ...(a.read !== undefined ? { because: a.read } : typeof a.kept === 'object' ? { because: a.kept } : {}),
      })),
    }));
    return {
      observations,
      calls,
      captures: [...this.captures.values()],
      silences: this.silences,
      freed: this.freed,
      visited: this.visited,
    };
  }
}

/** What several walks of one project found out together; `parts` are those of its files that have to do with each other. */
export function factsOf(
  project: Project,
  parts: Iterable<Project>,
  collectors: readonly Collector[],
  look: () => void = () => undefined,
): Facts {
  const all = new Collector();
  const wrong = new Set(collectors.flatMap((collector) => collector.faultyPlaces));
  for (const collector of collectors) {
    look();
    all.absorb(collector, wrong);
  }
  look();
  const homes = new Set([...all.added.keys()].map((key) => key.slice(0, key.lastIndexOf(' '))));
  for (const home of emptiedInText(project, homes)) all.emptied.add(home);
  return all.facts(new Map([...parts].flatMap((part) => [...callersInText(part)])));
}
