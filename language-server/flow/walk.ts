/**
 * Runs functions with abstract values: block by block, path by path, through calls.
 *
 * Paths are kept apart and dropped as equal when their states have equal keys; loops end because places and generations
 * are finite. A path budget bounds each function and each run; what is dropped is counted, and accuses nobody.
 * Depends on: engine, events, calls, arrays, state, values, lower/ir.
 */
import { models as builtIn } from '../libraries/index.ts';
import type { LibraryModel } from '../libraries/model.ts';
import { type FunctionId, type LoweredClass, type LoweredFunction, type Project, type Span, type TypeFact } from '../lower/ir.ts';
import { escape } from './arrays.ts';
import { make, type Making } from './making.ts';
import { unknownCall } from './calls.ts';
import { Collector } from './collector.ts';
import { withinBudget } from './budget.ts';
import { compiledCall } from './compiled-calls.ts';
import { returned, then, type CallSite, type Engine, type Exit } from './engine.ts';
import type { Place } from './events.ts';
import { besideThePoint, enter, leave } from './frames.ts';
import { libraryCall } from './library-calls.ts';
import { drop, reportLost } from './losses.ts';
import { runFunction } from './paths.ts';
import { beside, type Beside } from './relevance.ts';
import { runLater } from './later.ts';
import { State, type Frame } from './state.ts';
import { anonymous, emptyFields, undefinedValue, type Later, type Node, type ObjectId, type Value } from './values.ts';

/** What bounds a run. */
export interface Limits {
  readonly depth: number;
  readonly pathsPerBlock: number;
  readonly exitsPerCall: number;
  readonly stepsPerRun: number;
  readonly stepsPerUnit: number;
}

export const defaultLimits: Limits = { depth: 14, pathsPerBlock: 16, exitsPerCall: 6, stepsPerRun: 12_000, stepsPerUnit: 120_000 };

export class Walker implements Engine {
  readonly project: Project;
  readonly collector: Collector;
  readonly models: ReadonlyMap<string, LibraryModel>;
  readonly base = new Map<ObjectId, Node>();
  readonly initialised = new Map<FunctionId, ObjectId>();
  readonly limits: Limits;
  private readonly contexts = new Map<string, string>();
  steps = 0;
  total = 0;
  /** How far `steps` may go in the call at hand. */
  cap: number;

  /** The budget of the file is used up. */
  get spent(): boolean {
    return this.total > this.limits.stepsPerUnit;
  }

  readonly look: () => void;

  constructor(
    project: Project,
    collector: Collector,
    models: readonly LibraryModel[] = builtIn,
    limits: Limits = defaultLimits,
    look: () => void = () => undefined,
  ) {
    this.look = look;
    this.project = project;
    this.collector = collector;
    this.models = new Map(models.map((model) => [model.id, model]));
    this.limits = limits;
    this.cap = limits.stepsPerRun;
  }

  /** What a function may do, when that is nothing to arrays. */
  beside(fn: LoweredFunction): Beside | undefined {
    const known = beside(this.project, fn);
    for (const file of known?.files ?? []) this.collector.consulted.add(file);
    return known;
  }

  /** A short name for a chain of calls. */
  context(parent: string, call: string): string {
    const long = `${parent}>${call}`;
    const known = this.contexts.get(long) ?? `c${this.contexts.size}`;
    this.contexts.set(long, known);
    return known;
  }

  rootFrame(fn: LoweredFunction, context: string, environment: ObjectId, self: Value | undefined): Frame {
    return {
      fn,
      locals: new Map(),
      environment,
      context,
      parent: undefined,
      repeated: false,
      callSpan: undefined,
      self,
      readLater: [],
      awaited: false,
      passedDead: new Map(),
      yields: [],
    };
  }

  dropped(state: State): (id: ObjectId, node: Node) => void {
    return (id, node) => drop(this, state, id, node);
  }

  callValue(state: State, target: Value, self: Value | undefined, args: readonly Value[], site: CallSite): readonly Exit[] {
    const place: Place = { fn: state.frame.fn, inLoop: site.repeated };
    switch (target.kind) {
      case 'closure': {
        const fn = this.project.function(target.function);
        return fn === undefined
          ? unknownCall(this, state, self, args, site)
          : this.callFunction(state, fn, target.environment, target.self ?? self, args, site);
      }
      case 'compiled':
        return compiledCall(this, state, target, args, site, place);
      case 'external':
        return target.library === undefined
          ? libraryCall(
              this,
              state,
              'standard',
              target.name,
              self,
              args,
              args.map(() => site.span),
              site,
              place,
            )
          : libraryCall(
              this,
              state,
              target.library,
              target.name,
              undefined,
              args,
              args.map(() => site.span),
              site,
              place,
            );
      case 'class': {
        const cls = this.project.class(target.class);
        return cls === undefined
          ? unknownCall(this, state, self, args, site)
          : this.construct(state, cls, args, site, undefined, target.environment);
      }
      case 'literal':
        return [{ state, kind: 'throw', value: anonymous }];
      case 'host':
      case 'object':
      case 'marked':
        return unknownCall(this, state, self, args, site);
    }
  }

  callFunction(
    state: State,
    fn: LoweredFunction,
    environment: ObjectId | undefined,
    self: Value | undefined,
    args: readonly Value[],
    site: CallSite,
  ): readonly Exit[] {
    let depth = 0;
    let again = 0;
    for (let frame: Frame | undefined = state.frame; frame !== undefined; frame = frame.parent) {
      depth++;
      if (frame.fn.id === fn.id) again++;
    }
    if (depth > this.limits.depth || again > 1) {
      for (const argument of args)
        escape(this, state, argument, site.span, again > 1 ? 'passed to a recursion' : 'passed to a call too deep');
      this.collector.silent(again > 1 ? 'recursion' : 'calls too deep');
      return returned(state, this.unknown(state, site.type, `${state.frame.context}:${site.span.start}rec`, 'caller', site.span));
    }
    const skipped = besideThePoint(this, state, fn, self, args, site);
    if (skipped !== undefined) return skipped;
    this.collector.visited.add(fn.id);
    if (site.event !== undefined && this.collector.muted === 0) {
      const seen = this.collector.called.get(fn.id) ?? { inScope: 0, outside: new Set() };
      if (state.scopes.length > 0 || state.tracing > 0) seen.inScope++;
      else seen.outside.add(this.collector.root);
      this.collector.called.set(fn.id, seen);
    }
    const context = this.context(state.frame.context, `${site.span.file}:${site.span.start}${site.tag ?? ''} ${fn.id}`);
    const scopesBefore = state.scopes.length;
    const exits = withinBudget(this, state, fn, self === undefined ? args : [...args, self], site, () => {
      enter(this, state, fn, environment, self, args, context, site);
      return runFunction(this, state, fn);
    });
    return exits.map((exit) => (exit.state.frame.context === context ? leave(this, exit, fn, site, scopesBefore) : exit));
  }

  construct(
    state: State,
    cls: LoweredClass,
    args: readonly Value[],
    site: CallSite,
    instance?: Value,
    environment?: ObjectId,
  ): readonly Exit[] {
    const env = environment ?? this.moduleEnvironment(state, `${cls.file}#`);
    const classValue: Value = { kind: 'class', class: cls.id, environment: env, key: `class ${cls.id} ${env ?? ''}` };
    const own =
      instance ??
      state.allocate(
        `${state.frame.context}:${site.span.start}new${site.tag ?? ''}`,
        {
          shape: 'instance',
          fields: new Map([['@class', classValue]]),
          pool: [],
          open: cls.foreignBase,
          many: false,
          type: site.type,
          class: cls.id,
          made: site.span,
          ...(state.tracing > 0 ? { traced: true } : {}),
        },
        this.dropped(state),
      );
    const slot = -900_000 - site.span.start;
    state.frame.locals.set(slot, own);
    const base = cls.base === undefined ? undefined : this.project.class(cls.base);
    const initialise = (next: State): readonly Exit[] => this.ownFields(next, cls, next.frame.locals.get(slot), args, site, env);
    const ctor = cls.constructor_ === undefined ? undefined : this.project.function(cls.constructor_);
    const explicitSuper = ctor !== undefined && base !== undefined;
    const first =
      base === undefined
        ? initialise(state)
        : explicitSuper
          ? returned(state, undefinedValue)
          : then(this.construct(state, base, args, { ...site, tag: `${site.tag ?? ''} base` }, own), (next) => initialise(next));
    const second = then(first, (next) =>
      ctor === undefined
        ? returned(next, undefinedValue)
        : this.callFunction(next, ctor, env, next.frame.locals.get(slot), args, { ...site, tag: `${site.tag ?? ''} new` }),
    );
    return second.map((exit) => {
      const value = exit.state.frame.locals.get(slot) ?? own;
      // A base class shares the slot of the instance that is being made.
      if (instance === undefined) exit.state.frame.locals.delete(slot);
      return exit.kind === 'throw' ? exit : { state: exit.state, kind: 'return', value };
    });
  }

  /** The initialisers of a class's own fields, which run once its base is made; its constructor's arguments may be fields too. */
  ownFields(
    state: State,
    cls: LoweredClass,
    self: Value | undefined,
    args: readonly Value[],
    site: CallSite,
    environment?: ObjectId,
  ): readonly Exit[] {
    const fn = cls.initialiser === undefined ? undefined : this.project.function(cls.initialiser);
    const env = environment ?? this.moduleEnvironment(state, `${cls.file}#`);
    return fn === undefined
      ? returned(state, undefinedValue)
      : this.callFunction(state, fn, env, self, args, { ...site, tag: `${site.tag ?? ''} fields` });
  }

  moduleEnvironment(_state: State, module: FunctionId): ObjectId | undefined {
    this.initialise(module);
    return this.initialised.get(module);
  }

  /** Runs the top level of a module once; what it makes is there before every other run. */
  initialise(module: FunctionId): void {
    if (this.initialised.has(module)) return;
    const fn = this.project.function(module);
    if (fn === undefined) return;
    const id = `env@${module}`;
    this.initialised.set(module, id);
    this.base.set(id, {
      shape: 'environment',
      fields: emptyFields,
      pool: [],
      open: false,
      many: false,
      type: { holds: 'nothing' },
      function: module,
    });
    const rootBefore = this.collector.root;
    const stepsBefore = this.steps;
    const capBefore = this.cap;
    this.cap = this.limits.stepsPerRun;
    const tracingBefore = this.collector.tracingJit;
    this.collector.tracingJit = undefined;
    this.collector.root = module;
    this.collector.visited.add(module);
    this.steps = 0;
    const state = new State(this.rootFrame(fn, this.context('', module), id, undefined), this.base);
    state.put(id, this.base.get(id)!);
    const exits = runFunction(this, state, fn);
    const exit = exits.find((candidate) => candidate.kind === 'return') ?? exits[0];
    if (exit !== undefined) {
      const end = exit.state;
      for (const next of this.runLater(end).slice(0, 1)) this.settle(next);
      for (const [object, node] of end.heap)
        this.base.set(
          object,
          node.life === undefined
            ? node
            : { ...node, life: { ...node.life, origin: node.life.origin === 'here' ? 'field' : node.life.origin } },
        );
    }
    this.collector.root = rootBefore;
    this.collector.tracingJit = tracingBefore;
    this.steps = stepsBefore;
    this.cap = capBefore;
  }

  /** The end of a run: what is lost is reported, what others hold is noted. */
  settle(state: State, value: Value = undefinedValue): void {
    state.collect(this.dropped(state), [value]);
    reportLost(this, state);
    for (const node of state.heap.values())
      if (node.life !== undefined && !node.life.dead && node.life.watches.length > 0) this.collector.keptAfter(node.life.watches);
  }

  later(state: State, value: Value, span: Span, how: Later['how'] = 'once'): void {
    if (state.tracing > 0) return;
    if (value.kind === 'closure') {
      if (state.laterDone.has(value.key)) state.again.set(value.key, value);
      else if (!state.later.some((entry) => entry.key === value.key)) state.later.push({ value, key: value.key, how });
      return;
    }
    const visit = (tree: Value, depth: number): void => {
      const node = state.node(tree);
      if (node?.shape !== 'object' && node?.shape !== 'list') return;
      for (const member of [...node.fields.values(), ...node.pool])
        if (member.kind === 'closure') this.later(state, member, span, how);
        else if (depth > 0) visit(member, depth - 1);
    };
    visit(value, 2);
  }

  runLater(state: State): readonly State[] {
    return runLater(this, state);
  }

  unknown(state: State, type: TypeFact, site: string, origin: 'here' | 'caller', span: Span | undefined, name?: string): Value {
    const making: Making = {
      walk: this,
      state,
      site,
      span,
      origin,
      function: state.frame.fn.id,
      dropped: this.dropped(state),
      ...(name === undefined ? {} : { name }),
    };
    state.renew(site);
    return make(making, type);
  }
}
