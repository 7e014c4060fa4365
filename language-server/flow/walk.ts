/**
 * Runs functions with abstract values: block by block, path by path, through calls.
 *
 * Paths are kept apart and dropped as equal when their states have equal keys; loops end because places and generations
 * are finite. A path budget bounds each function and each run; what is dropped is counted, and accuses nobody.
 * Depends on: engine, events, calls, arrays, state, values, lower/ir.
 */
import { models as builtIn } from '../libraries/index.ts';
import type { LibraryModel } from '../libraries/model.ts';
import {
  reads,
  successors,
  writes,
  type Block,
  type BlockId,
  type FunctionId,
  type Local,
  type LoweredClass,
  type LoweredFunction,
  type Project,
  type Span,
  type TypeFact,
} from '../lower/ir.ts';
import { consumes, escape, leaves, make, named, read, type Making } from './arrays.ts';
import { unknownCall } from './calls.ts';
import { Collector } from './collector.ts';
import { compiledCall } from './compiled-calls.ts';
import { returned, then, type CallSite, type Engine, type Exit } from './engine.ts';
import { assume, environmentOf, environmentOfClass, step, truthOf, type Place } from './events.ts';
import { libraryCall } from './library-calls.ts';
import { beside } from './relevance.ts';
import { State, type Frame } from './state.ts';
import {
  anonymous,
  emptyFields,
  externalValue,
  hostValue,
  objectValue,
  undefinedValue,
  type Node,
  type ObjectId,
  type Value,
} from './values.ts';

/** What bounds a run. */
export interface Limits {
  readonly depth: number;
  readonly pathsPerBlock: number;
  readonly exitsPerCall: number;
  readonly stepsPerRun: number;
  readonly stepsPerUnit: number;
}

export const defaultLimits: Limits = { depth: 14, pathsPerBlock: 16, exitsPerCall: 6, stepsPerRun: 12_000, stepsPerUnit: 120_000 };

interface Shape_ {
  readonly live: readonly ReadonlySet<Local>[];
  readonly joins: ReadonlySet<BlockId>;
  readonly inLoop: ReadonlySet<BlockId>;
}

export class Walker implements Engine {
  readonly project: Project;
  readonly collector: Collector;
  readonly models: ReadonlyMap<string, LibraryModel>;
  readonly base = new Map<ObjectId, Node>();
  readonly initialised = new Map<FunctionId, ObjectId>();
  private readonly limits: Limits;
  private readonly shapes = new Map<FunctionId, Shape_>();
  private readonly contexts = new Map<string, string>();
  steps = 0;
  total = 0;

  /** The budget of the file is used up. */
  get spent(): boolean {
    return this.total > this.limits.stepsPerUnit;
  }

  constructor(project: Project, collector: Collector, models: readonly LibraryModel[] = builtIn, limits: Limits = defaultLimits) {
    this.project = project;
    this.collector = collector;
    this.models = new Map(models.map((model) => [model.id, model]));
    this.limits = limits;
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
      yields: [],
    };
  }

  dropped(state: State): (id: ObjectId, node: Node) => void {
    return (id, node) => this.drop(state, id, node);
  }

  /** Nobody holds this object any more. */
  private drop(state: State, id: ObjectId, node: Node): void {
    const life = node.life;
    if (life === undefined || life.dead || life.escaped || life.traced || life.part !== undefined || node.many) return;
    if (life.scope > 0 || life.refs <= 0) return;
    if (life.origin === 'field') return;
    if (life.origin === 'caller' && !consumes(this, life.library)) return;
    if (life.opened) {
      const taken = [...node.fields.keys()].filter((name) => /^\d+$/.test(name)).length;
      if (node.count === undefined || node.count <= taken) return this.collector.silent('leak: part of a tree was freed by itself');
    }
    state.lost.set(`${id} ${life.made?.start ?? ''}`, { id, node, how: 'end', context: state.frame.context });
  }

  /** What was lost on a path that goes on: reported once. */
  private reportLost(state: State): void {
    for (const lost of state.lost.values()) {
      const life = lost.node.life!;
      const consuming = consumes(this, life.library);
      const common = {
        function: life.function,
        array: named(life),
        what: life.owner ? ('owner' as const) : ('array' as const),
        ...(life.declaration === undefined ? {} : { declaration: life.declaration }),
        ...(life.lastUse === undefined ? {} : { lastUse: life.lastUse }),
        ...(state.caught ? { path: 'catch' as const } : {}),
      };
      if (consuming && life.lastRef !== undefined && (life.origin === 'here' || life.refs > 1))
        this.collector.see({ kind: 'lost', span: life.lastRef, how: 'extraRef', ...common }, lost.context);
      else if (consuming && life.passed !== undefined)
        this.collector.see(
          {
            kind: 'lost',
            span: life.passed.signature,
            how: 'argument',
            passed: life.passed,
            ...common,
            ...(life.origin === 'here' && life.made !== undefined ? { declaration: life.made } : {}),
          },
          lost.context,
        );
      else if (life.added !== undefined)
        this.collector.see(
          {
            kind: 'retained',
            span: life.added,
            function: life.function,
            array: named(life),
            collection: 'the list',
            where: 'loop',
            scalar: false,
          },
          lost.context,
        );
      else if (life.made !== undefined && life.origin === 'here')
        this.collector.see(
          { kind: 'lost', span: life.made, how: lost.node.life?.opened ? 'part' : life.name === undefined ? 'dropped' : 'end', ...common },
          lost.context,
        );
    }
    state.lost.clear();
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
      for (const argument of args) escape(this, state, argument, site.span);
      this.collector.silent(again > 1 ? 'recursion' : 'calls too deep');
      return returned(state, this.unknown(state, site.type, `${state.frame.context}:${site.span.start}rec`, 'caller', site.span));
    }
    const skipped = this.besideThePoint(state, fn, environment, self, args, site);
    if (skipped !== undefined) return skipped;
    this.collector.visited.add(fn.id);
    if (site.event !== undefined && this.collector.muted === 0) {
      const seen = this.collector.called.get(fn.id) ?? { inScope: 0, outside: 0 };
      if (state.scopes.length > 0 || state.tracing > 0) seen.inScope++;
      else seen.outside++;
      this.collector.called.set(fn.id, seen);
    }
    const context = this.context(state.frame.context, `${site.span.file}:${site.span.start}${site.tag ?? ''} ${fn.id}`);
    const scopesBefore = state.scopes.length;
    this.enter(state, fn, environment, self, args, context, site);
    const exits = this.run(state, fn);
    return exits.map((exit) => this.leave(exit, fn, site, scopesBefore));
  }

  /** A large function that has nothing to do with arrays is not walked: what it may change of host data is forgotten. */
  private besideThePoint(
    state: State,
    fn: LoweredFunction,
    environment: ObjectId | undefined,
    self: Value | undefined,
    args: readonly Value[],
    site: CallSite,
  ): readonly Exit[] | undefined {
    const known = beside(this.project, fn);
    if (known === undefined || !known.large || fn.kind === 'constructor' || fn.kind === 'fields') return undefined;
    const given = self === undefined ? args : [...args, self];
    if (given.some((value) => !this.harmless(state, value, known.unknowns))) return undefined;
    const mark = `${state.frame.context}:${site.span.start}${site.tag ?? ''} beside`;
    if (known.changes) for (const value of given) this.forget(state, value, mark);
    for (const variable of known.sets) {
      const holder = environmentOf(this, state, variable.function);
      if (holder === undefined && !variable.function.endsWith('#')) return undefined;
      if (holder === undefined) continue;
      state.renew(`${mark} ${variable.name}`);
      state.setField(holder, variable.name, hostValue(`${mark} ${variable.name};`));
      for (let frame: Frame | undefined = state.frame; frame !== undefined; frame = frame.parent) {
        const local = frame.environment === holder ? frame.fn.locals.findIndex((candidate) => candidate.unique === variable.name) : -1;
        if (local >= 0) frame.locals.set(local, hostValue(`${mark} ${variable.name};`));
      }
    }
    void environment;
    const thrown: readonly Exit[] = known.throws ? [{ state: state.fork(), kind: 'throw', value: anonymous }] : [];
    const result = this.unknown(state, { ...site.type, nullable: false }, mark, 'caller', undefined);
    return [...thrown, ...returned(state, result)];
  }

  /** Nothing behind this value can reach an array. */
  private harmless(state: State, value: Value, unknowns: boolean): boolean {
    switch (value.kind) {
      case 'literal':
      case 'host':
        return true;
      case 'closure': {
        const fn = this.project.function(value.function);
        return fn !== undefined && beside(this.project, fn) !== undefined;
      }
      case 'external':
        return value.library === undefined || value.library === 'standard';
      case 'class':
      case 'compiled':
      case 'marked':
        return false;
      case 'object': {
        if (!unknowns && state.get(value.id)?.class !== undefined) return true;
        const seen = new Set<ObjectId>();
        const go = (inner: Value): boolean => {
          if (inner.kind !== 'object') return inner.kind === 'class' || this.harmless(state, inner, unknowns);
          if (seen.has(inner.id)) return true;
          seen.add(inner.id);
          const node = state.get(inner.id);
          return node === undefined || (node.life === undefined && [...node.fields.values(), ...node.pool].every(go));
        };
        return go(value);
      }
    }
  }

  /** Host data in an object may be anything now. */
  private forget(state: State, value: Value, mark: string, seen = new Set<ObjectId>()): void {
    if (value.kind !== 'object' || seen.has(value.id)) return;
    seen.add(value.id);
    const node = state.get(value.id);
    if (node === undefined || node.shape === 'array') return;
    const fields = new Map<string, Value>();
    for (const [name, member] of node.fields) {
      this.forget(state, member, `${mark} ${name}`, seen);
      fields.set(name, member.kind === 'literal' || member.kind === 'host' ? hostValue(`${mark} ${value.id} ${name};`) : member);
    }
    state.renew(`${mark} ${value.id}`);
    state.change(value.id, {
      fields,
      pool: node.pool.map((member) =>
        member.kind === 'literal' || member.kind === 'host' ? hostValue(`${mark} ${value.id} [];`) : member,
      ),
      open: true,
    });
  }

  /** Makes the frame of a call and binds its parameters. */
  private enter(
    state: State,
    fn: LoweredFunction,
    environment: ObjectId | undefined,
    self: Value | undefined,
    args: readonly Value[],
    context: string,
    site: CallSite,
  ): void {
    const parentEnvironment = environment ?? this.enclosing(state, fn);
    const fields = new Map<string, Value>();
    if (parentEnvironment !== undefined) fields.set('@parent', objectValue(parentEnvironment));
    const traced = state.tracing > 0;
    const held: Value[] = [...args, ...(self === undefined ? [] : [self])];
    state.frame.locals.set(
      -1,
      state.allocate(
        `args@${context}`,
        { shape: 'list', fields: emptyFields, pool: held, open: false, many: false, type: { holds: 'nothing' } },
        () => undefined,
      ),
    );
    const value = state.allocate(
      `env@${context}`,
      {
        shape: 'environment',
        fields,
        pool: [],
        open: environment === undefined && fn.parent !== undefined && !fn.parent.endsWith('#') && parentEnvironment === undefined,
        many: false,
        type: { holds: 'nothing' },
        function: fn.id,
        ...(traced ? { traced: true } : {}),
      },
      this.dropped(state),
    );
    const arguments_ = (state.node(state.frame.locals.get(-1))?.pool ?? held).slice(0, args.length);
    const self_ = self === undefined ? undefined : (state.node(state.frame.locals.get(-1))?.pool ?? held)[args.length];
    state.frame.locals.delete(-1);
    const id = value.kind === 'object' ? value.id : '';
    state.enterFrame({
      fn,
      locals: new Map(),
      environment: id,
      context,
      parent: state.frame,
      repeated: site.repeated,
      callSpan: site.span,
      self: self_,
      readLater: [],
      awaited: false,
      yields: [],
    });
    if (fn.self !== undefined) state.set(fn.self, self_ ?? anonymous);
    fn.parameters.forEach((p, i) => {
      if (p.rest) {
        const rest = arguments_.slice(i);
        state.set(
          p.local,
          state.allocate(
            `rest@${context}`,
            {
              shape: 'list',
              fields: new Map(rest.map((v, k) => [String(k), v] as const)),
              pool: [],
              open: false,
              many: false,
              type: fn.locals[p.local]?.type ?? { holds: 'nothing' },
            },
            this.dropped(state),
          ),
        );
        return;
      }
      const given = arguments_[i] ?? undefinedValue;
      leaves(state, given, (leaf, node, life) => {
        if (consumes(this, life.library) && life.passed?.function !== fn.id)
          state.put(leaf, { ...node, life: { ...life, passed: { function: fn.id, position: i, signature: fn.signature } } });
      });
      state.set(p.local, given);
    });
  }

  /** The environment a function was declared in, when only the function is known. */
  private enclosing(state: State, fn: LoweredFunction): ObjectId | undefined {
    if (fn.parent === undefined) return undefined;
    if (fn.parent.endsWith('#')) return this.moduleEnvironment(state, fn.parent);
    for (let frame: Frame | undefined = state.frame; frame !== undefined; frame = frame.parent) {
      if (frame.fn.id === fn.parent) return frame.environment;
      for (let id: ObjectId | undefined = frame.environment; id !== undefined;) {
        const node: Node | undefined = state.get(id);
        if (node?.function === fn.parent) return id;
        const up: Value | undefined = node?.fields.get('@parent');
        id = up?.kind === 'object' ? up.id : undefined;
      }
    }
    return undefined;
  }

  private leave(exit: Exit, fn: LoweredFunction, site: CallSite, scopes: number): Exit {
    const { state } = exit;
    state.scopes.length = scopes;
    const readLater = state.frame.readLater;
    const yields = state.frame.yields;
    state.leaveFrame();
    let value = exit.value;
    if (exit.kind === 'return') {
      if (fn.generator)
        value = state.allocate(
          `${state.frame.context}:${site.span.start}gen${site.tag ?? ''}`,
          { shape: 'generator', fields: emptyFields, pool: yields, open: false, many: false, type: site.type },
          this.dropped(state),
        );
      state.collect(this.dropped(state), [value]);
      this.reportLost(state);
      // What a function hands out was made, for its caller, by the call.
      leaves(state, value, (id, node, life) => {
        if (
          life.origin === 'here' &&
          life.made !== undefined &&
          life.made.file === fn.file &&
          life.made.start >= fn.span.start &&
          life.made.end <= fn.span.end
        ) {
          const { name: _, declaration: __, added: ___, ...rest } = life;
          state.put(id, { ...node, life: { ...rest, made: site.span, function: state.frame.fn.id } });
        }
      });
      const pending = readLater.filter(({ id }) => state.get(id) !== undefined).slice(0, 12);
      const promised = state.node(value);
      if (fn.async && promised?.shape === 'promise' && value.kind === 'object')
        state.change(value.id, { pending: [...(promised.pending ?? []), ...pending] });
      else if (fn.async && !fn.generator) {
        value = state.allocate(
          `${state.frame.context}:${site.span.start}async${site.tag ?? ''}`,
          { shape: 'promise', fields: new Map([['value', value]]), pool: [], open: false, many: false, type: site.type, pending },
          this.dropped(state),
        );
      }
    } else state.lost.clear();
    return { state, kind: exit.kind, value };
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
    const initialise = (next: State): readonly Exit[] => {
      const fn = cls.initialiser === undefined ? undefined : this.project.function(cls.initialiser);
      return fn === undefined
        ? returned(next, undefinedValue)
        : this.callFunction(next, fn, env, next.frame.locals.get(slot), args, { ...site, tag: `${site.tag ?? ''} fields` });
    };
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
    const third = explicitSuper ? then(second, (next) => initialise(next)) : second;
    return third.map((exit) => {
      const value = exit.state.frame.locals.get(slot) ?? own;
      // A base class shares the slot of the instance that is being made.
      if (instance === undefined) exit.state.frame.locals.delete(slot);
      return exit.kind === 'throw' ? exit : { state: exit.state, kind: 'return', value };
    });
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
    const tracingBefore = this.collector.tracingJit;
    this.collector.tracingJit = undefined;
    this.collector.root = module;
    this.collector.visited.add(module);
    this.steps = 0;
    const state = new State(this.rootFrame(fn, this.context('', module), id, undefined), this.base);
    state.put(id, this.base.get(id)!);
    const exits = this.run(state, fn);
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
  }

  /** The end of a run: what is lost is reported, what others hold is noted. */
  settle(state: State, value: Value = undefinedValue): void {
    state.collect(this.dropped(state), [value]);
    this.reportLost(state);
    for (const node of state.heap.values())
      if (node.life !== undefined && !node.life.dead && node.life.watches.length > 0) this.collector.keptAfter(node.life.watches);
  }

  later(state: State, value: Value, _span: Span): void {
    if (state.tracing > 0) return;
    if (value.kind === 'closure') {
      if (!state.laterDone.has(value.key) && !state.later.some((entry) => entry.key === value.key))
        state.later.push({ value, key: value.key });
      return;
    }
    const node = state.node(value);
    if (node !== undefined && (node.shape === 'object' || node.shape === 'list'))
      for (const member of [...node.fields.values(), ...node.pool]) if (member.kind === 'closure') this.later(state, member, _span);
  }

  runLater(state: State): readonly State[] {
    let states: State[] = [state];
    for (let round = 0; round < 6; round++) {
      const next: State[] = [];
      let any = false;
      for (const at of states) {
        const entry = at.later.shift();
        if (entry === undefined || at.laterDone.has(entry.key) || entry.value.kind !== 'closure') {
          next.push(at);
          continue;
        }
        any = true;
        at.laterDone.add(entry.key);
        const fn = this.project.function(entry.value.function);
        if (fn === undefined) {
          next.push(at);
          continue;
        }
        const args = fn.parameters.map((p, i) =>
          this.unknown(
            at,
            { ...(fn.locals[p.local]?.type ?? { holds: 'unknown' }), nullable: false },
            `later ${fn.id} ${i}`,
            'caller',
            undefined,
            p.name,
          ),
        );
        const exits = this.callFunction(at, fn, entry.value.environment, entry.value.self, args, {
          span: fn.span,
          nameSpan: fn.span,
          repeated: true,
          type: { holds: 'nothing' },
          tag: ' later',
        });
        const normal = exits.filter((exit) => exit.kind === 'return').slice(0, 3);
        for (const exit of normal) {
          // Whoever called it may keep what it returned: a cleanup, a promise.
          const without = exit.state.reachable();
          for (const id of exit.state.reachable([exit.value])) {
            const held = exit.state.heap.get(id);
            if (held?.life !== undefined && !without.has(id)) exit.state.put(id, { ...held, life: { ...held.life, escaped: true } });
          }
          exit.state.collect(this.dropped(exit.state));
          this.reportLost(exit.state);
          next.push(exit.state);
        }
      }
      states = next.slice(0, 6);
      if (!any) break;
    }
    return states;
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

  private shape(fn: LoweredFunction): Shape_ {
    const known = this.shapes.get(fn.id);
    if (known !== undefined) return known;
    const made = { live: liveness(fn), joins: joins(fn), inLoop: new Set(fn.blocks.flatMap((block) => block.loop ?? [])) };
    this.shapes.set(fn.id, made);
    return made;
  }

  run(start: State, fn: LoweredFunction): readonly Exit[] {
    const shape = this.shape(fn);
    const exits: Exit[] = [];
    const exitKeys = new Set<string>();
    const visited = new Map<BlockId, Set<string>>();
    const work: { readonly state: State; readonly block: BlockId; readonly index: number; readonly back: boolean }[] = [
      { state: start, block: 0, index: 0, back: false },
    ];
    const leave = (exit: Exit): void => {
      if (exit.kind === 'return' && start.frame.fn === fn && fn.kind !== 'module') {
        exit.state.frame.locals.clear();
        exit.state.facts.forEach((_, fact) => {
          if (fact.includes(`${exit.state.frame.context}:`)) exit.state.facts.delete(fact);
        });
        exit.state.collect(this.dropped(exit.state), [exit.value]);
      }
      const key = `${exit.kind}${exit.value.key} ${exit.state.key(new Set(), false)}`;
      if (exitKeys.has(key)) return;
      if (exits.length >= this.limits.exitsPerCall) return this.collector.silent('too many ways out');
      exitKeys.add(key);
      exits.push(exit);
    };
    while (work.length > 0) {
      const item = work.pop()!;
      const { state } = item;
      const block = fn.blocks[item.block]!;
      if (this.steps > this.limits.stepsPerRun) {
        this.collector.silent('run too long');
        break;
      }
      if (item.index === 0 && shape.joins.has(block.id)) {
        const live = shape.live[block.id]!;
        for (const local of [...state.frame.locals.keys()])
          if (local >= 0 && !live.has(local) && fn.locals[local]?.kind !== 'this') state.frame.locals.delete(local);
        state.collect(this.dropped(state));
        if (item.back && block.loop !== undefined) this.reportLost(state);
        const seen = visited.get(block.id) ?? new Set<string>();
        visited.set(block.id, seen);
        const crowded = seen.size >= this.limits.pathsPerBlock;
        const key = state.key(undefined, !crowded);
        if (seen.has(key)) continue;
        if (seen.size >= this.limits.pathsPerBlock * 2) {
          this.collector.silent('too many paths');
          continue;
        }
        seen.add(key);
        if (crowded) state.facts.clear();
      }
      this.block(state, block, item.index, fn, shape, work, leave);
    }
    return exits;
  }

  private block(
    state: State,
    block: Block,
    from: number,
    fn: LoweredFunction,
    shape: Shape_,
    work: { state: State; block: BlockId; index: number; back: boolean }[],
    leave: (exit: Exit) => void,
  ): void {
    const place: Place = { fn, inLoop: shape.inLoop.has(block.id) };
    const throwTo = (exit: Exit): void => {
      if (block.handler === undefined) return leave(exit);
      exit.state.caught = true;
      work.push({ state: exit.state, block: block.handler, index: 0, back: false });
    };
    for (let i = from; i < block.events.length; i++) {
      this.steps++;
      this.total++;
      const event = block.events[i]!;
      if (block.handler !== undefined && (event.kind === 'await' || (event.kind === 'call' && event.callee.kind === 'value'))) {
        const other = state.fork();
        other.caught = true;
        work.push({ state: other, block: block.handler, index: 0, back: false });
      }
      const exits = step(this, state, event, place);
      if (exits.length === 1 && exits[0]!.kind === 'return' && exits[0]!.state === state) continue;
      const keys = new Set<string>();
      for (const exit of exits) {
        if (exit.kind === 'throw') {
          throwTo(exit);
          continue;
        }
        const key = exits.length > 1 ? exit.state.key(undefined, true) : '';
        if (keys.has(key)) continue;
        keys.add(key);
        work.push({ state: exit.state, block: block.id, index: i + 1, back: false });
      }
      return;
    }
    const end = block.end;
    const go = (next: State, target: BlockId): void => {
      work.push({ state: next, block: target, index: 0, back: fn.blocks[target]!.loop?.includes(block.id) ?? false });
    };
    switch (end.kind) {
      case 'goto':
        return go(state, end.target);
      case 'branch': {
        const condition = state.local(end.condition);
        const truth = truthOf(state, condition);
        if (truth !== undefined) return go(state, truth ? end.then : end.else);
        const other = state.fork();
        assume(state, condition, true);
        assume(other, condition, false);
        go(other, end.else);
        return go(state, end.then);
      }
      case 'next': {
        const iterator = state.local(end.iterator);
        const node = state.node(iterator);
        if (node === undefined || iterator.kind !== 'object') {
          const other = state.fork();
          go(other, end.done);
          state.set(end.to, hostValue(`${state.frame.context}:${end.span.start};`, fn.locals[end.to]?.type));
          return go(state, end.body);
        }
        const [first, ...others] = node.pool;
        const before = node.fields.get('at');
        if (before?.kind === 'object') state.iterating.delete(before.id);
        if (first === undefined) {
          this.drained(state, node);
          return go(state, end.done);
        }
        if (first.kind === 'object' && state.get(first.id)?.many) state.iterating.add(first.id);
        const fields = new Map(node.fields);
        fields.set('at', first);
        state.change(iterator.id, { pool: others, fields, count: (node.count ?? 0) + 1 });
        state.set(end.to, first);
        return go(state, end.body);
      }
      case 'return':
        if (end.value !== undefined) handsOutDead(this, state, state.local(end.value), end.span);
        return leave({ state, kind: 'return', value: end.value === undefined ? undefinedValue : state.local(end.value) });
      case 'throw':
        return throwTo({ state, kind: 'throw', value: state.local(end.value) });
      case 'unreachable':
        return;
    }
  }

  /** A loop over a list of unknown length has freed the members it saw: it has freed the list. */
  private drained(state: State, iterator: Node): void {
    const source = iterator.fields.get('source');
    const node = state.node(source);
    if (node?.life === undefined || source?.kind !== 'object' || !node.open || node.life.dead) return;
    const seen = ['[each]', '[next]'].flatMap((name) => {
      const life = state.node(node.fields.get(name))?.life;
      return life === undefined ? [] : [life];
    });
    const last = seen.at(-1);
    if (last !== undefined && seen.every((life) => life.dead))
      state.put(source.id, {
        ...node,
        life: {
          ...node.life,
          dead: true,
          ...(last.death === undefined ? {} : { death: last.death }),
          ...(last.diedAt === undefined ? {} : { diedAt: last.diedAt }),
        },
      });
  }
}

/** A `return` that hands out an array that is gone. */
function handsOutDead(walker: Walker, state: State, value: Value, span: Span): void {
  const node = state.node(value);
  const life = node?.life;
  if (node?.shape !== 'array' || life === undefined || value.kind !== 'object' || state.tracing > 0) return;
  if (!life.dead) return walker.collector.pass(span, state.frame.context);
  if (life.origin !== 'here' || life.traced || (life.death !== 'donated' && life.death !== 'disposed' && life.death !== 'using')) return;
  read(walker, state, value, { span, use: 'return' });
  state.put(value.id, { ...node, life: { ...life, escaped: true } });
}

/** The locals that may still be read at the start of each block. */
function liveness(fn: LoweredFunction): readonly ReadonlySet<Local>[] {
  const live = fn.blocks.map(() => new Set<Local>());
  for (let changed = true; changed;) {
    changed = false;
    for (let b = fn.blocks.length - 1; b >= 0; b--) {
      const block = fn.blocks[b]!;
      const now = new Set<Local>();
      for (const next of [...successors(block.end), ...(block.handler === undefined ? [] : [block.handler])])
        for (const local of live[next] ?? []) now.add(local);
      const { end } = block;
      if (end.kind === 'next') now.delete(end.to);
      if (end.kind === 'branch') now.add(end.condition);
      if (end.kind === 'next') now.add(end.iterator);
      if ((end.kind === 'return' || end.kind === 'throw') && end.value !== undefined) now.add(end.value);
      for (let i = block.events.length - 1; i >= 0; i--) {
        const event = block.events[i]!;
        const to = writes(event);
        if (to !== undefined && block.handler === undefined) now.delete(to);
        for (const local of reads(event)) now.add(local);
      }
      const before = live[b]!;
      if (now.size > before.size) {
        live[b] = now;
        changed = true;
      }
    }
  }
  return live;
}

/** Blocks that several ways lead to, and heads of loops: where paths are compared. */
function joins(fn: LoweredFunction): ReadonlySet<BlockId> {
  const count = new Map<BlockId, number>();
  for (const block of fn.blocks)
    for (const next of [...successors(block.end), ...(block.handler === undefined ? [] : [block.handler])])
      count.set(next, (count.get(next) ?? 0) + 1);
  return new Set(fn.blocks.filter((block) => (count.get(block.id) ?? 0) > 1 || block.loop !== undefined).map((block) => block.id));
}

export { environmentOfClass, externalValue, emptyFields };
