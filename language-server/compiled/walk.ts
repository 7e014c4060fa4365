/**
 * Runs lowered functions, event by event, with the values of `values.ts`.
 *
 * One walker serves two worlds. While a function is traced everything must be known: an unknown value in a condition
 * ends the walk with a reason (`CannotWalk`), never with a guess. Outside of traces the world decides which way an
 * unknown condition goes, and several walks together visit every branch. Calls of libraries and of the language are
 * the world's business. Long because: every kind of event and of call is one step over the same frame and stack.
 * Depends on: lower/ir, values, host, loops.
 */
import type {
  Block,
  BlockId,
  CallEvent,
  ClassId,
  Event,
  FunctionId,
  Local,
  LoweredFunction,
  Project,
  Span,
  TypeFact,
  Variable,
} from '../lower/ir.ts';
import { blocksOf, loopsOf } from './loops.ts';
import { binary, entriesOf, keysOf, readProperty, rest, template, unary, writeProperty } from './host.ts';
import {
  classFacts,
  classValue,
  closure,
  closureFacts,
  instance,
  instanceFacts,
  isIterator,
  isUnknown,
  listOf,
  plain,
  Settling,
  Unknown,
  unknownOf,
  UnknownArray,
  type AnyFunction,
  type Cell,
  type ClassFacts,
  type Environment,
} from '../shapes/values.ts';

/** Why a function can't be walked with what the text says. */
export class CannotWalk extends Error {
  readonly at: Span | undefined;
  constructor(why: string, at?: Span) {
    super(why);
    this.name = 'CannotWalk';
    this.at = at;
  }
}

/** An exception of the walked program. */
class Thrown extends Error {
  readonly value: unknown;
  constructor(value: unknown) {
    super('thrown by the walked program');
    this.value = value;
  }
}

export interface CallSite {
  readonly function: LoweredFunction;
  readonly event: CallEvent;
}

export interface World {
  readonly project: Project;
  /** Counts one event; throws when the walk has gone on too long. */
  readonly tick: () => void;
  /** Which of the successors is taken when the condition isn't known; `stays` is the one that stays in the loop. */
  readonly decide: (fn: LoweredFunction, block: BlockId, choices: readonly BlockId[], stays: BlockId | undefined, round: number) => BlockId;
  readonly callLibrary: (call: LibraryCall) => unknown;
  readonly readLibrary: (object: unknown, key: string, span: Span) => { readonly value: unknown } | undefined;
  readonly externalValue: (library: string | undefined, name: string, call: AnyFunction) => unknown;
  readonly dispose: (value: unknown, span: Span, how: 'using' | 'dispose') => void;
  readonly entered: (fn: LoweredFunction, args: readonly unknown[]) => () => void;
  /** An array came into a named local (for messages), or was used. */
  readonly named: (value: unknown, name: string, span: Span | undefined) => void;
  readonly tracing: () => boolean;
  /** A number came into a local outside of traces: what it is from now on. Absent where numbers stay themselves. */
  readonly sized?: (value: number, name: string) => unknown;
  /** What a function of the project is wrapped in while it is traced, to see what that would change. */
  readonly wrapped: (id: FunctionId, call: AnyFunction) => AnyFunction | undefined;
  /** An asynchronous function has come to its first `await`: what it reads from now on is in `reads`. */
  readonly suspended: (reads: Set<object>) => () => void;
  readonly alive: (arrays: Iterable<object>) => readonly object[];
  /** A promise is made that reads arrays until it settles, or has been waited for. */
  readonly settling: (promise: Settling, awaited: boolean, span: Span) => void;
  /** Cells of a module, run on first use. */
  readonly module: (id: FunctionId) => Environment;
}

export interface LibraryCall {
  readonly library: string;
  readonly name: string;
  readonly receiver: unknown;
  readonly hasReceiver: boolean;
  readonly args: readonly unknown[];
  readonly event: CallEvent | undefined;
  readonly span: Span;
  readonly construct: boolean;
  readonly resultType: TypeFact | undefined;
}

interface Frame {
  readonly fn: LoweredFunction;
  readonly cells: Cell[];
  readonly environment: Environment;
  readonly entered: Set<Local>;
  readonly rounds: Map<BlockId, number>;
  readonly yields: unknown[];
  readonly args: readonly unknown[];
  /** Set at the first `await` of an asynchronous function. */
  reads: Set<object> | undefined;
  resumed: (() => void) | undefined;
  caught: unknown;
}

const mostDepth = 80;

export class Walker {
  readonly world: World;
  /** Calls that are running, outermost first. */
  readonly stack: CallSite[] = [];
  private depth = 0;
  /** Static fields of the classes that a call has declared. */
  private readonly statics = new WeakMap<Environment, Map<ClassId, Record<string, unknown>>>();

  constructor(world: World) {
    this.world = world;
  }

  /** A closure of `id` whose variables are in `environment`. */
  closureOf(id: FunctionId, environment: Environment | undefined): AnyFunction {
    // eslint-disable-next-line @typescript-eslint/no-this-alias -- the function below has a `this` of its own
    const self = this;
    const call = function (this: unknown, ...args: unknown[]): unknown {
      return self.invoke(id, environment, this, args);
    };
    const fn = this.world.project.function(id);
    const declared = fn === undefined || fn.kind === 'arrow' || fn.kind === 'fields' ? '' : fn.name.slice(fn.name.lastIndexOf('.') + 1);
    const facts = { function: id, environment, name: declared };
    naming(call, declared);
    return closure(facts, call);
  }

  invoke(id: FunctionId, environment: Environment | undefined, self: unknown, args: readonly unknown[]): unknown {
    const fn = this.world.project.function(id);
    if (fn === undefined) return this.unknown(`the function \`${id}\` is not part of the project`);
    if (this.depth > mostDepth) return this.unknown(`calls nest deeper than ${mostDepth}`);
    const wrapped = this.world.wrapped(id, (...given) => this.enterFunction(fn, environment, self, given));
    return wrapped === undefined ? this.enterFunction(fn, environment, self, args) : wrapped(...args);
  }

  private enterFunction(fn: LoweredFunction, environment: Environment | undefined, self: unknown, args: readonly unknown[]): unknown {
    this.depth++;
    const leave = this.world.entered(fn, args);
    try {
      const frame = this.frame(fn, environment, args);
      if (fn.self !== undefined) this.set(frame, fn.self, self);
      fn.parameters.forEach((parameter, i) => this.set(frame, parameter.local, parameter.rest ? args.slice(i) : args[i]));
      const value = this.runToEnd(frame);
      if (fn.generator) return frame.yields[Symbol.iterator]();
      // What the function itself has freed by now, nobody else can free too early.
      const reads = new Set(this.world.alive(frame.reads ?? []));
      if (reads.size === 0) return value;
      const promise = new Settling(value, reads);
      this.world.settling(promise, false, fn.span);
      return promise;
    } finally {
      leave();
      this.depth--;
    }
  }

  private runToEnd(frame: Frame): unknown {
    try {
      return this.run(frame);
    } finally {
      frame.resumed?.();
    }
  }

  /** Runs the top level of a file; its cells are the module's variables. */
  runModule(fn: LoweredFunction): Environment {
    const frame = this.frame(fn, undefined);
    return this.startModule(frame).environment;
  }

  /** The frame first, so that modules that import each other find what is there. */
  moduleFrame(fn: LoweredFunction): { environment: Environment; run: () => void } {
    const frame = this.frame(fn, undefined);
    return { environment: frame.environment, run: () => void this.startModule(frame) };
  }

  private startModule(frame: Frame): Frame {
    const leave = this.world.entered(frame.fn, []);
    try {
      this.run(frame);
    } catch (error) {
      if (!(error instanceof Thrown)) throw error;
    } finally {
      leave();
    }
    return frame;
  }

  private frame(fn: LoweredFunction, parent: Environment | undefined, args: readonly unknown[] = []): Frame {
    const cells = fn.locals.map((): Cell => ({ value: undefined }));
    const own = new Map<string, Cell>();
    fn.locals.forEach((local, i) => {
      if (local.captured || local.kind === 'this' || fn.kind === 'module') own.set(local.unique, cells[i]!);
    });
    return {
      fn,
      cells,
      environment: { function: fn.id, cells: own, parent },
      entered: new Set(),
      rounds: new Map(),
      yields: [],
      args,
      reads: undefined,
      resumed: undefined,
      caught: undefined,
    };
  }

  private run(frame: Frame): unknown {
    const blocks = blocksOf(frame.fn);
    let block = frame.fn.blocks[0];
    while (block !== undefined) {
      try {
        for (const event of block.events) {
          this.world.tick();
          this.step(frame, event);
        }
        const { end } = block;
        switch (end.kind) {
          case 'goto':
            block = blocks.get(end.target);
            break;
          case 'branch':
            block = blocks.get(this.branch(frame, block, frame.cells[end.condition]!.value, end.then, end.else, end.span));
            break;
          case 'next':
            block = blocks.get(this.next(frame, block, end));
            break;
          case 'return':
            return end.value === undefined ? undefined : frame.cells[end.value]!.value;
          case 'throw':
            throw new Thrown(frame.cells[end.value]!.value);
          case 'unreachable':
            return undefined;
        }
      } catch (error) {
        if (!(error instanceof Thrown) || block?.handler === undefined) throw error;
        frame.caught = error.value;
        block = blocks.get(block.handler);
      }
    }
    return undefined;
  }

  private branch(frame: Frame, block: Block, tested: unknown, then: BlockId, other: BlockId, span: Span): BlockId {
    const condition = plain(tested);
    if (isUnknown(condition)) return this.choose(frame, block, [then, other], condition.why, span);
    if (condition instanceof UnknownArray) return then;
    // A loop outside of traces that is known to go round very often shows nothing new after some rounds.
    const loops = loopsOf(frame.fn).get(block.id);
    if (loops !== undefined && !this.world.tracing() && loops.includes(then) !== loops.includes(other)) {
      const round = (frame.rounds.get(block.id) ?? 0) + 1;
      frame.rounds.set(block.id, round);
      if (round > mostRounds) return loops.includes(then) ? other : then;
    }
    return condition ? then : other;
  }

  private choose(frame: Frame, block: Block, choices: readonly BlockId[], why: string, span: Span): BlockId {
    if (this.world.tracing()) throw new CannotWalk(`the condition depends on ${why}`, span);
    const loop = loopsOf(frame.fn).get(block.id);
    const staying = loop === undefined ? [] : choices.filter((choice) => loop.includes(choice));
    const round = frame.rounds.get(block.id) ?? 0;
    frame.rounds.set(block.id, round + 1);
    return this.world.decide(frame.fn, block.id, choices, staying.length === 1 ? staying[0] : undefined, round);
  }

  private next(frame: Frame, block: Block, end: Extract<Block['end'], { kind: 'next' }>): BlockId {
    const iterator = frame.cells[end.iterator]!.value;
    if (!isIterator(iterator)) {
      const chosen = this.choose(frame, block, [end.body, end.done], 'what is iterated over', end.span);
      if (chosen === end.body) this.set(frame, end.to, this.unknownLocal(frame, end.to, 'an element of something unknown', end.span));
      return chosen;
    }
    const round = (frame.rounds.get(block.id) ?? 0) + 1;
    frame.rounds.set(block.id, round);
    if (!this.world.tracing() && round > mostRounds) return end.done;
    const { done, value } = iterator.next();
    if (done === true) return end.done;
    this.set(frame, end.to, value);
    return end.body;
  }

  private get(frame: Frame, local: Local): unknown {
    return frame.cells[local]!.value;
  }

  private set(frame: Frame, local: Local, value: unknown): void {
    const { name, span, kind } = frame.fn.locals[local]!;
    const isSize = typeof value === 'number' && name !== undefined && (kind === 'constant' || kind === 'parameter');
    frame.cells[local]!.value = isSize && this.world.sized !== undefined ? this.world.sized(value, name) : value;
    if (name !== undefined) this.world.named(value, name, span);
  }

  private unknownLocal(frame: Frame, local: Local, why: string, span: Span): unknown {
    const { type, name } = frame.fn.locals[local]!;
    return unknownOf(type, why, name, span);
  }

  private unknown(why: string, at?: Span): Unknown {
    if (this.world.tracing()) throw new CannotWalk(why, at);
    return new Unknown(why);
  }

  private step(frame: Frame, event: Event): void {
    switch (event.kind) {
      case 'literal':
        return this.set(frame, event.to, event.value);
      case 'copy':
        return this.set(frame, event.to, this.get(frame, event.from));
      case 'outer':
        return this.set(frame, event.to, this.outer(frame, event.variable).value);
      case 'setOuter':
        this.outer(frame, event.variable).value = this.get(frame, event.from);
        return;
      case 'external':
        return this.set(frame, event.to, this.external(event.library, event.name, event.span));
      case 'property':
        return this.set(
          frame,
          event.to,
          this.property(this.get(frame, event.object), this.key(frame, event.key), event.span, () =>
            this.unknownLocal(frame, event.to, 'a property of something unknown', event.span),
          ),
        );
      case 'setProperty':
        return this.setProperty(this.get(frame, event.object), this.key(frame, event.key), this.get(frame, event.from));
      case 'delete': {
        const object = this.get(frame, event.object);
        const key = this.key(frame, event.key);
        if (typeof object === 'object' && object !== null && typeof key === 'string') Reflect.deleteProperty(object, key);
        return this.set(frame, event.to, true);
      }
      case 'rest':
        return this.set(frame, event.to, rest(this.get(frame, event.object), event.taken, event.start));
      case 'call':
        return this.set(frame, event.to, this.call(frame, event));
      case 'closure':
        return this.set(frame, event.to, this.closureOf(event.function, this.snapshot(frame)));
      case 'class':
        return this.set(frame, event.to, this.classOf(event.class, this.snapshot(frame), frame.environment));
      case 'object': {
        const made: Record<string, unknown> = {};
        for (const entry of event.entries) {
          if (entry.kind === 'property') {
            const key = this.key(frame, entry.key);
            if (isUnknown(key)) continue;
            made[String(key)] = this.get(frame, entry.value);
            nameClosure(made[String(key)], String(key));
          } else Object.assign(made, entriesOf(this.get(frame, entry.from)));
        }
        return this.set(frame, event.to, made);
      }
      case 'array': {
        const made: unknown[] = [];
        for (const element of event.elements) {
          if (element === undefined) made.push(undefined);
          else if (!element.spread) made.push(this.get(frame, element.local));
          else {
            const items = listOf(this.get(frame, element.local));
            if (items === undefined) return this.set(frame, event.to, this.unknown('a list with an unknown part', event.span));
            made.push(...items);
          }
        }
        return this.set(frame, event.to, made);
      }
      case 'template':
        return this.set(
          frame,
          event.to,
          template(
            event.parts,
            event.values.map((local) => this.get(frame, local)),
          ),
        );
      case 'unary':
        return this.set(frame, event.to, unary(event.operator, this.get(frame, event.value)));
      case 'binary':
        return this.set(frame, event.to, binary(event.operator, this.get(frame, event.left), this.get(frame, event.right), isInstance));
      case 'await':
        return this.set(frame, event.to, this.awaited(frame, this.get(frame, event.value), event.span));
      case 'yield': {
        const value = event.value === undefined ? undefined : this.get(frame, event.value);
        if (!event.delegate) frame.yields.push(value);
        else frame.yields.push(...(listOf(value) ?? []));
        return this.set(frame, event.to, undefined);
      }
      case 'iterate':
        return this.set(frame, event.to, iteratorOf(this.get(frame, event.from), event.over));
      case 'dispose':
        return this.disposeUsing(this.get(frame, event.value), event.span);
      case 'caught':
        return this.set(frame, event.to, frame.caught);
      case 'enter':
        return this.enter(frame, event.locals);
      case 'exit':
        return;
      case 'opaque':
        return this.set(frame, event.to, this.unknownLocal(frame, event.to, event.what, event.span));
    }
  }

  private awaited(frame: Frame, value: unknown, span: Span): unknown {
    if (frame.fn.async && frame.reads === undefined && !this.world.tracing()) {
      frame.reads = new Set();
      frame.resumed = this.world.suspended(frame.reads);
    }
    if (!(value instanceof Settling)) return value;
    this.world.settling(value, true, span);
    return value.value instanceof Settling ? this.awaited(frame, value.value, span) : value.value;
  }

  private enter(frame: Frame, locals: readonly Local[]): void {
    for (const local of locals) {
      const { captured, unique } = frame.fn.locals[local]!;
      if (!frame.entered.has(local)) frame.entered.add(local);
      else if (captured) {
        // A new round of a loop: closures of former rounds keep the former cell.
        const cell: Cell = { value: undefined };
        frame.cells[local] = cell;
        frame.environment.cells.set(unique, cell);
      }
    }
  }

  private snapshot(frame: Frame): Environment {
    return frame.fn.kind === 'module' ? frame.environment : { ...frame.environment, cells: new Map(frame.environment.cells) };
  }

  private outer(frame: Frame, { function: owner, name }: Variable): Cell {
    for (let environment: Environment | undefined = frame.environment; environment !== undefined; environment = environment.parent) {
      if (environment.function !== owner) continue;
      const cell = environment.cells.get(name);
      if (cell !== undefined) return cell;
    }
    const fn = this.world.project.function(owner);
    if (fn?.kind === 'module') {
      const { cells } = this.world.module(owner);
      const cell = cells.get(name);
      if (cell !== undefined) return cell;
    }
    return { value: new Unknown(`the variable \`${name}\``) };
  }

  private key(frame: Frame, key: Extract<Event, { kind: 'property' }>['key']): unknown {
    return key.kind === 'name' ? key.name : plain(this.get(frame, key.local));
  }

  private external(library: string | undefined, name: string, span: Span): unknown {
    const call = (...args: unknown[]): unknown =>
      this.world.callLibrary({
        library: library ?? 'standard',
        name,
        receiver: undefined,
        hasReceiver: false,
        args,
        event: undefined,
        span,
        construct: false,
        resultType: undefined,
      });
    return this.world.externalValue(library, name, call);
  }

  property(object: unknown, key: unknown, span: Span, otherwise: () => unknown): unknown {
    if (isUnknown(key)) return otherwise();
    const facts = instanceFacts(object) ?? classFacts(object);
    if (facts !== undefined && typeof key === 'string') {
      const own = classFacts(object) === undefined ? (object as Record<string, unknown>) : facts.statics;
      if (Object.hasOwn(own, key)) return own[key];
      const member = this.member(facts, key, classFacts(object) !== undefined);
      if (member === undefined) return undefined;
      return member.getter
        ? this.invoke(member.function, member.environment, object, [])
        : this.closureOf(member.function, member.environment);
    }
    if (typeof key === 'string' || typeof key === 'number') {
      const known = this.world.readLibrary(object, String(key), span);
      if (known !== undefined) return known.value;
    }
    if (isUnknown(object)) return otherwise();
    return readProperty(object, key, otherwise);
  }

  private setProperty(object: unknown, key: unknown, value: unknown): void {
    const facts = classFacts(object);
    if (facts !== undefined && typeof key === 'string') {
      facts.statics[key] = value;
      return;
    }
    const own = instanceFacts(object);
    if (own !== undefined && typeof key === 'string') {
      const setter = this.memberIn(own.class, key, (c) => c.setters);
      if (setter !== undefined) {
        this.invoke(setter, own.environment, object, [value]);
        return;
      }
      this.world.named(value, `this.${key}`, undefined);
    }
    writeProperty(object, key, value);
  }

  private member(
    facts: ClassFacts,
    key: string,
    ofClass: boolean,
  ): { function: FunctionId; environment: Environment | undefined; getter: boolean } | undefined {
    const method = this.memberIn(facts.class, key, (c) => (ofClass ? c.staticMethods : c.methods));
    if (method !== undefined) return { function: method, environment: facts.environment, getter: false };
    const getter = ofClass ? undefined : this.memberIn(facts.class, key, (c) => c.getters);
    return getter === undefined ? undefined : { function: getter, environment: facts.environment, getter: true };
  }

  private memberIn(
    id: ClassId,
    key: string,
    table: (of: NonNullable<ReturnType<Project['class']>>) => Readonly<Record<string, FunctionId>>,
  ): FunctionId | undefined {
    for (let at: ClassId | undefined = id; at !== undefined;) {
      const found = this.world.project.class(at);
      if (found === undefined) return undefined;
      const members = table(found);
      if (Object.hasOwn(members, key)) return members[key];
      at = found.base;
    }
    return undefined;
  }

  private classOf(id: ClassId, environment: Environment, home: Environment): AnyFunction {
    const all = this.statics.get(home) ?? new Map<ClassId, Record<string, unknown>>();
    this.statics.set(home, all);
    const statics = all.get(id) ?? {};
    all.set(id, statics);
    const facts: ClassFacts = { class: id, environment, statics };
    return classValue(facts, (...args) => this.construct(facts, args));
  }

  construct(facts: ClassFacts, args: readonly unknown[]): unknown {
    const made = instance(facts);
    this.initialise(facts.class, facts.environment, made, args);
    return made;
  }

  private initialise(id: ClassId, environment: Environment | undefined, made: unknown, args: readonly unknown[]): void {
    const found = this.world.project.class(id);
    if (found === undefined) return;
    const { initialiser, constructor_: constructor, base } = found;
    if (constructor === undefined) {
      if (base !== undefined) this.initialise(base, environment, made, args);
      if (initialiser !== undefined) this.invoke(initialiser, environment, made, args);
      return;
    }
    // A derived class's fields are set when `super(…)` has run: see `call`.
    if (base === undefined && initialiser !== undefined) this.invoke(initialiser, environment, made, args);
    this.invoke(constructor, environment, made, args);
  }

  private disposeUsing(value: unknown, span: Span): void {
    const facts = instanceFacts(value);
    if (facts !== undefined) {
      const method =
        this.memberIn(facts.class, '@@dispose', (c) => c.methods) ?? this.memberIn(facts.class, '@@asyncDispose', (c) => c.methods);
      if (method !== undefined) this.invoke(method, facts.environment, value, []);
      return;
    }
    this.world.dispose(value, span, 'using');
  }

  private call(frame: Frame, event: CallEvent): unknown {
    const args = this.arguments(frame, event);
    if (args === undefined) return this.unknownCall(frame, event, 'spread of something unknown');
    this.stack.push({ function: frame.fn, event });
    try {
      return this.dispatch(frame, event, args);
    } finally {
      this.stack.pop();
    }
  }

  private dispatch(frame: Frame, event: CallEvent, args: readonly unknown[]): unknown {
    const { callee } = event;
    const receiver = event.receiver === undefined ? undefined : this.get(frame, event.receiver);
    switch (callee.kind) {
      case 'library':
        return this.callLibrary(frame, event, callee.library, callee.name, receiver, args);
      case 'class': {
        if (event.construct) {
          const value = event.function === undefined ? undefined : this.get(frame, event.function);
          return this.construct(
            classFacts(value) ?? { class: callee.class, environment: this.homeOfClass(callee.class), statics: {} },
            args,
          );
        }
        return this.superCall(frame, callee.class, args);
      }
      case 'user': {
        const value = event.function === undefined ? undefined : this.get(frame, event.function);
        if (typeof value === 'function') return this.callFunction(value as AnyFunction, undefined, args);
        const facts = instanceFacts(receiver) ?? classFacts(receiver);
        if (facts !== undefined && event.key !== undefined) {
          const method = this.property(receiver, this.key(frame, event.key), event.span, () => undefined);
          if (typeof method === 'function') return this.callFunction(method as AnyFunction, receiver, args);
        }
        if (isPlainMethod(receiver, event, frame)) {
          const method = readProperty(receiver, this.key(frame, event.key!), () => undefined);
          if (typeof method === 'function') return this.callFunction(method as AnyFunction, receiver, args);
        }
        if (callee.overridable)
          return this.unknownCall(frame, event, `which \`${event.key?.kind === 'name' ? event.key.name : 'method'}\` is called`);
        return this.invoke(callee.function, this.homeOf(callee.function), receiver ?? new Unknown('the object of the method'), args);
      }
      case 'value': {
        const value =
          event.function !== undefined
            ? this.get(frame, event.function)
            : this.property(receiver, this.key(frame, event.key!), event.span, () => undefined);
        if (typeof value !== 'function') return this.unknownCall(frame, event, `what \`${callee.name}\` is`);
        const named = classFacts(value);
        if (event.construct && named !== undefined) return this.construct(named, args);
        return this.callFunction(value as AnyFunction, receiver, args);
      }
    }
  }

  private callFunction(value: AnyFunction, self: unknown, args: readonly unknown[]): unknown {
    const facts = closureFacts(value);
    return facts === undefined ? value.apply(self, [...args]) : this.invoke(facts.function, facts.environment, self, args);
  }

  private callLibrary(frame: Frame, event: CallEvent, library: string, name: string, receiver: unknown, args: readonly unknown[]): unknown {
    return this.world.callLibrary({
      library,
      name,
      receiver: receiver ?? (event.function === undefined ? undefined : this.get(frame, event.function)),
      hasReceiver: event.receiver !== undefined,
      args,
      event,
      span: event.span,
      construct: event.construct,
      resultType: frame.fn.locals[event.to]!.type,
    });
  }

  private superCall(frame: Frame, id: ClassId, args: readonly unknown[]): unknown {
    const made = frame.fn.self === undefined ? undefined : this.get(frame, frame.fn.self);
    this.initialise(id, this.homeOfClass(id), made, args);
    const derived = frame.fn.class === undefined ? undefined : this.world.project.class(frame.fn.class);
    if (derived?.initialiser !== undefined) this.invoke(derived.initialiser, frame.environment.parent, made, frame.args);
    return undefined;
  }

  private arguments(frame: Frame, event: CallEvent): readonly unknown[] | undefined {
    const args: unknown[] = [];
    for (const { local, spread } of event.arguments) {
      const value = this.get(frame, local);
      if (!spread) args.push(value);
      else {
        const items = listOf(value);
        if (items === undefined) return undefined;
        args.push(...items);
      }
    }
    return args;
  }

  private unknownCall(frame: Frame, event: CallEvent, why: string): unknown {
    if (this.world.tracing()) throw new CannotWalk(why, event.span);
    return this.unknownLocal(frame, event.to, why, event.span);
  }

  /** The environment of a function that is called by name without its closure at hand: its module's. */
  homeOf(id: FunctionId): Environment | undefined {
    const fn = this.world.project.function(id);
    const module = fn === undefined ? undefined : moduleIdOf(fn);
    return module === undefined || this.world.project.function(module) === undefined ? undefined : this.world.module(module);
  }

  private homeOfClass(id: ClassId): Environment | undefined {
    const found = this.world.project.class(id);
    return found === undefined ? undefined : this.world.module(`${found.file}#`);
  }
}

const mostRounds = 70;

/** What the runtime reads as a function's name; an accessor would give every closure a form of its own. */
const naming = (call: AnyFunction, name: string): void => void Object.defineProperty(call, 'name', { value: name, configurable: true });

/** An arrow gets the name of the first variable or property that it is the value of. */
function nameClosure(value: unknown, name: string | undefined): void {
  const facts = closureFacts(value);
  if (facts !== undefined && facts.name === '' && name !== undefined) {
    facts.name = name;
    naming(value as AnyFunction, name);
  }
}

const moduleIdOf = (fn: LoweredFunction): FunctionId => `${fn.file}#`;

function isPlainMethod(receiver: unknown, event: CallEvent, _frame: Frame): boolean {
  return typeof receiver === 'object' && receiver !== null && !isUnknown(receiver) && event.key !== undefined;
}

function isInstance(value: unknown, of: unknown): boolean | undefined {
  const [own, wanted] = [instanceFacts(value), classFacts(of)];
  return own !== undefined && wanted !== undefined ? own.class === wanted.class : undefined;
}

function iteratorOf(value: unknown, over: 'of' | 'in' | 'await'): unknown {
  if (over === 'in') return keysOf(value)?.[Symbol.iterator]() ?? new Unknown('the keys of something unknown');
  if (isIterator(value)) return value;
  return listOf(value)?.[Symbol.iterator]() ?? new Unknown('something unknown');
}
