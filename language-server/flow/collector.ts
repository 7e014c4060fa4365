/**
 * Gathers what the walk sees, over all paths and runs, into facts.
 *
 * An observation is certain when, in the run and call context that saw it, no path passed the same place without it.
 * Depends on: facts, lower/ir.
 */
import type { FunctionId, Span } from '../lower/ir.ts';
import type { Capture, CompiledArgument, CompiledCall, Facts, Observation } from './facts.ts';

type Plain<T> = T extends unknown ? Omit<T, 'certain'> : never;
export type Seen = Plain<Observation>;

interface Entry {
  readonly observation: Seen;
  readonly root: FunctionId;
  readonly contexts: Map<string, number>;
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

const at = (span: Span): string => `${span.file}:${span.start}:${span.end}`;

export class Collector {
  private readonly entries = new Map<string, Entry>();
  private readonly fine = new Set<string>();
  private readonly compiled = new Map<string, CallFacts>();
  private readonly captures = new Map<string, Capture>();
  private readonly silences = new Map<string, number>();
  /** Functions walked, and how often they were called inside and outside a scope. */
  readonly visited = new Set<FunctionId>();
  readonly called = new Map<FunctionId, { inScope: number; outside: number }>();
  /** `function:position` of parameters that some path consumes. */
  readonly consumed = new Set<string>();
  /** Homes of collections that lose members, or are handed to somebody who may empty them. */
  readonly emptied = new Set<string>();
  readonly added = new Map<string, { readonly observation: Extract<Seen, { kind: 'retained' }>; readonly root: FunctionId }>();
  /** Fields of classes that hold arrays, and the classes that free some. */
  readonly owners = new Map<string, Extract<Seen, { kind: 'ownerWithoutDispose' }>>();
  readonly freeing = new Set<string>();
  root: FunctionId = '';
  /** The compiled function that is being traced now. */
  tracingJit: Span | undefined;
  /** Dry runs collect nothing. */
  muted = 0;

  see(observation: Seen, context: string): void {
    if (this.muted > 0) return;
    const key = `${observation.kind} ${at(observation.span)} ${'how' in observation ? observation.how : ''}${'death' in observation ? observation.death : ''}`;
    const entry = this.entries.get(key) ?? { observation, root: this.root, contexts: new Map<string, number>() };
    entry.contexts.set(context, (entry.contexts.get(context) ?? 0) + 1);
    this.entries.set(key, entry);
  }

  /** The same place was passed without a fault. */
  pass(span: Span, context: string): void {
    if (this.muted === 0) this.fine.add(`${at(span)} ${context}`);
  }

  silent(reason: string): void {
    if (this.muted === 0) this.silences.set(reason, (this.silences.get(reason) ?? 0) + 1);
  }

  capture(capture: Capture): void {
    if (this.muted === 0) this.captures.set(at(capture.span), capture);
  }

  call(call: Omit<CompiledCall, 'arguments'>, args: readonly Pick<CompiledArgument, 'position' | 'span' | 'name' | 'donated' | 'arrays' | 'owner'>[]): string {
    const key = at(call.span);
    if (this.muted > 0) return key;
    if (!this.compiled.has(key)) this.compiled.set(key, { call, arguments: args.map((a) => ({ position: a.position, span: a.span, name: a.name, donated: a.donated, arrays: a.arrays, read: undefined, kept: false, freed: new Map(), owner: a.owner })) });
    const known = this.compiled.get(key)!;
    for (const [i, argument] of args.entries()) if (known.arguments[i] !== undefined && argument.owner !== 'here') known.arguments[i].owner = argument.owner === 'caller' ? 'caller' : known.arguments[i].owner === 'caller' ? 'caller' : 'field';
    return key;
  }

  private watched(watch: string): ArgumentFacts | undefined {
    const cut = watch.lastIndexOf('#');
    return this.compiled.get(watch.slice(0, cut))?.arguments[Number(watch.slice(cut + 1))];
  }

  readAfter(watches: readonly string[], span: Span): void {
    if (this.muted === 0) for (const watch of watches) {
      const argument = this.watched(watch);
      if (argument !== undefined) argument.read ??= span;
    }
  }

  keptAfter(watches: readonly string[], span?: Span): void {
    if (this.muted === 0) for (const watch of watches) {
      const argument = this.watched(watch);
      if (argument !== undefined && argument.kept === false) argument.kept = span ?? true;
    }
  }

  freedAfter(watches: readonly string[], span: Span): void {
    if (this.muted === 0) for (const watch of watches) this.watched(watch)?.freed.set(span.start, span);
  }

  facts(): Facts {
    const observations: Observation[] = [];
    for (const { observation, root, contexts } of this.entries.values()) {
      if (observation.kind === 'lost') {
        // A helper that is only ever called inside scopes leaves its intermediates to them.
        const calls = this.called.get(root);
        if (calls !== undefined && calls.inScope > 0 && calls.outside === 0) {
          this.silences.set('leak: every known call is inside a scope', (this.silences.get('leak: every known call is inside a scope') ?? 0) + 1);
          continue;
        }
      }
      if (observation.kind === 'lost' && observation.how === 'argument' && observation.passed !== undefined && !this.consumed.has(`${observation.passed.function}:${observation.passed.position}`)) {
        // The function only ever borrows it: whoever made it drops it.
        if (observation.declaration !== undefined) {
          const { passed: _, ...rest } = observation;
          observations.push({ ...rest, span: observation.declaration, how: 'dropped', certain: true });
        }
        continue;
      }
      const certain = [...contexts.keys()].some((context) => !this.fine.has(`${at(observation.span)} ${context}`));
      observations.push({ ...observation, certain } as Observation);
    }
    for (const [home, { observation }] of this.added) if (!this.emptied.has(home.slice(0, home.lastIndexOf(' ')))) observations.push({ ...observation, certain: true });
    for (const [className, observation] of this.owners) if (!this.freeing.has(className)) observations.push({ ...observation, certain: true });
    const calls: CompiledCall[] = [...this.compiled.values()].map(({ call, arguments: args }) => ({
      ...call,
      arguments: args.map((a) => ({
        position: a.position, span: a.span, donated: a.donated, arrays: a.arrays, owner: a.owner,
        after: a.kept !== false ? 'kept' as const : a.read !== undefined ? 'read' as const : 'dead' as const,
        freedAt: [...a.freed.values()],
        ...(a.name === undefined ? {} : { name: a.name }),
        ...(a.read !== undefined ? { because: a.read } : typeof a.kept === 'object' ? { because: a.kept } : {}),
      })),
    }));
    return { observations, calls, captures: [...this.captures.values()], silences: this.silences };
  }
}
