/**
 * One walk over a program from a root: the world that the walker lives in.
 *
 * Everything that a walk changes is here (modules, ledger, calls seen, decisions taken), so a walk can be made again with
 * other decisions and nothing remembered. Long because: a world is one object with one life. Depends on: core, lower/ir, libraries, walk, library, jitted, ledger, standard.
 */
import { at, currentInterpreter, under } from '../../runtime/core/interpreter.ts';
import { minus, named as dimNamed, plus, valueOf, type Dim } from '../../runtime/core/dim.ts';
import type { Place } from '../../runtime/core/source.ts';
import type { LibraryModel } from '../libraries/model.ts';
import type { BlockId, FunctionId, LoweredFunction, Project, Span } from '../lower/ir.ts';
import {
  argumentsOf,
  DonateMark,
  isArrayLike,
  resultOf,
  traceCall,
  withScalars,
  type CompiledFunction,
  type Leaf,
  type How,
  type ShapedCall,
  type TracedCall,
} from './jitted.ts';
import { allocated, Ledger } from './ledger.ts';
import { callArrays, readArray, unknownResult, type LibraryWorld } from './library.ts';
import { namedBytes, naming, withValues } from './named-calls.ts';
import { placeOf } from './places.ts';
import { bytesIn } from './ruled.ts';
import { runtimeFunction } from './names.ts';
import { planOf } from './plan.ts';
import { isShaped, shapeInterpreter, ShapedArray } from '../shapes/shaped.ts';
import { callStandard } from './standard.ts';
import {
  arraysIn,
  closureFacts,
  eachLeaf,
  instance,
  isObject,
  isUnknown,
  NamedNumber,
  plainArgument,
  Settling,
  Unknown,
  UnknownArray,
  unknownOf,
  type AnyFunction,
  type Environment,
  listOf,
} from '../shapes/values.ts';
import { CannotWalk, Walker, type LibraryCall, type World } from './walk.ts';

/** What walks have taken so far at each condition that isn't known. */
export type Coverage = Map<string, Set<BlockId>>;

export interface Decision {
  readonly site: string;
  readonly taken: BlockId;
  readonly others: readonly BlockId[];
}

/** An array from outside that a traced function uses. */
export interface CapturedUse {
  readonly array: ShapedArray;
  readonly span: Span;
  readonly jit: Span;
  readonly function: FunctionId | undefined;
  readonly name: string | undefined;
}

/** A call of a function of the project inside a trace: which equations belong to it is said by places. */
export interface RunOptions {
  readonly project: Project;
  readonly model: (id: string) => LibraryModel | undefined;
  readonly coverage: Coverage;
  /** Decisions to take first. */
  readonly prefix: readonly BlockId[];
  readonly eventLimit: number;
  /** Asked every few events; throws when nobody wants the answer any more. */
  readonly look?: (() => void) | undefined;
  /** Functions to be wrapped in `checkpoint`, to see what that would save. */
  readonly checkpointed?: FunctionId;
  /** Numbers of the text keep their names: each `name=value` is noted here with its value. For formulas. */
  readonly sizes?: Map<string, number>;
}

class TooLong extends Error {}

const roundsOfUnknownLoops = 5;
const plansPerFunction = 6;
const eventsPerLook = 32;

export class Run {
  readonly ledger = new Ledger();
  readonly calls: ShapedCall[] = [];
  readonly captured: CapturedUse[] = [];
  readonly decisions: Decision[] = [];
  readonly reached = new Set<FunctionId>();
  readonly walker: Walker;
  /** The walk went on too long, or something in it can't be walked. */
  ended: string | undefined;
  private readonly options: RunOptions;
  private readonly modules = new Map<FunctionId, { readonly environment: Environment; done: boolean }>();
  private readonly compiled = new WeakMap<object, CompiledFunction>();
  private readonly traced = new Map<string, TracedCall | string>();
  private readonly jits: CompiledFunction[] = [];
  private readonly planned = new Map<number, Set<TracedCall>>();
  private readonly open = new Set<Settling>();
  private serial = 0;
  private events = 0;
  /** Nobody wants the answer any more: whatever a rule or a library makes of the exception, the walk ends. */
  private stopped: { readonly why: unknown } | undefined;

  constructor(options: RunOptions) {
    this.options = options;
    this.walker = new Walker(this.world());
  }

  /** Runs a module's top level, or a function with unknown arguments after its module. */
  root(fn: LoweredFunction): void {
    under(shapeInterpreter, () => {
      try {
        const environment = this.moduleOf(`${fn.file}#`);
        if (fn.kind !== 'module') this.call(fn, environment);
      } catch (error) {
        this.ended = error instanceof Error ? error.message : String(error);
      }
      for (const { reads } of this.open) this.ledger.leftOpen(reads);
    });
    if (this.stopped !== undefined) throw this.stopped.why;
  }

  private look(): void {
    if (this.stopped === undefined) {
      try {
        this.options.look?.();
      } catch (why) {
        this.stopped = { why };
      }
    }
    if (this.stopped !== undefined) throw this.stopped.why;
  }

  private call(fn: LoweredFunction, environment: Environment): void {
    const args = fn.parameters.map(({ local, name, span, rest }) =>
      rest ? new Unknown('the rest of the arguments') : this.unknownArgument(fn, local, name, span),
    );
    const self =
      fn.class === undefined ? undefined : fn.static === true || fn.kind === 'constructor' ? this.emptyInstance(fn) : this.anyInstance(fn);
    this.walker.invoke(fn.id, environment, self, args);
  }

  private unknownArgument(fn: LoweredFunction, local: number, name: string | undefined, span: Span): unknown {
    const value = unknownOf(fn.locals[local]!.type, `the parameter \`${name ?? ''}\``, name, span);
    eachLeaf(value, (leaf) => {
      if (leaf instanceof UnknownArray) this.ledger.born(leaf, undefined, span);
    });
    return value;
  }

  private emptyInstance(fn: LoweredFunction): unknown {
    return instance({ class: fn.class!, environment: undefined, statics: {} });
  }

  private anyInstance(fn: LoweredFunction): unknown {
    const found = this.options.project.class(fn.class!);
    const facts = { class: fn.class!, environment: this.walker.homeOf(fn.id), statics: {} };
    const constructor = found?.constructor_ === undefined ? undefined : this.options.project.function(found.constructor_);
    const args = (constructor?.parameters ?? []).map(({ local, name, span }) => this.unknownArgument(constructor!, local, name, span));
    return this.walker.construct(facts, args);
  }

  private moduleOf(id: FunctionId): Environment {
    const known = this.modules.get(id);
    if (known !== undefined) return known.environment;
    const fn = this.options.project.function(id);
    if (fn === undefined) throw new CannotWalk(`the module \`${id}\` is not part of the project`);
    const { environment, run } = this.walker.moduleFrame(fn);
    this.modules.set(id, { environment, done: false });
    this.reached.add(id);
    // A module that a trace reaches first is still run outside of it.
    under(shapeInterpreter, run);
    return environment;
  }

  private readonly tracing = (): boolean => currentInterpreter() !== shapeInterpreter;

  private world(): World {
    const library = this.libraryWorld();
    return {
      project: this.options.project,
      tick: () => {
        if (++this.events > this.options.eventLimit) throw new TooLong('the walk is too long');
        if (this.events % eventsPerLook === 0 || this.stopped !== undefined) this.look();
      },
      decide: (fn, block, choices, stays, round) => this.decide(fn, block, choices, stays, round),
      callLibrary: (call) => (call.library === 'standard' ? callStandard(call) : this.callLibrary(library, call)),
      readLibrary: (object, key) => {
        if (key === 'ref' && isArrayLike(object) && !this.tracing()) this.ledger.retain(object);
        return this.read(readArray(object, key, 'ref'));
      },
      externalValue: (name, path, call) => constantOf(name, path) ?? call,
      dispose: (value, span, how) => this.dispose(value, span, how),
      entered: (fn) => this.entered(fn),
      named: (value, name, span) => this.named(value, name, span),
      tracing: this.tracing,
      ...(this.options.sizes === undefined ? {} : { sized: (value, name) => this.sized(this.options.sizes!, value, name) }),
      wrapped: (id, call) =>
        id === this.options.checkpointed && this.tracing() ? (runtimeFunction('checkpoint')?.(call) as AnyFunction | undefined) : undefined,
      suspended: (reads) => this.ledger.read(reads),
      alive: (reads) => this.ledger.alive(reads),
      settling: (promise, awaited, span) => this.settle(promise, awaited, span),
      module: (id) => this.moduleOf(id),
    };
  }

  private settle(promise: Settling, awaited: boolean, span: Span): void {
    if (!awaited) {
      this.open.add(promise);
      return;
    }
    this.open.delete(promise);
    for (const array of promise.reads) this.ledger.used(array, span);
  }

  private entered(fn: LoweredFunction): () => void {
    this.reached.add(fn.id);
    return this.tracing() ? () => undefined : this.ledger.enter(fn.id);
  }

  /** Variables of one name that have different values are different sizes. Zero and one are rarely sizes. */
  private sized(sizes: Map<string, number>, value: number, name: string): unknown {
    if (this.tracing() || !Number.isInteger(value) || value < 2) return value;
    const size = `${name}=${value}`;
    sizes.set(size, value);
    return new NamedNumber(value, dimNamed(size));
  }

  /** Sizes of arrays that are known by name only have values too. */
  private read(found: { readonly value: unknown } | undefined): { readonly value: unknown } | undefined {
    const { sizes } = this.options;
    if (sizes === undefined || found === undefined) return found;
    const valued = (value: unknown): unknown => {
      const number = isUnknown(value) && value.dim !== undefined ? valueOf(value.dim, sizes) : undefined;
      return number === undefined ? value : new NamedNumber(number, (value as Unknown).dim!);
    };
    return { value: Array.isArray(found.value) ? found.value.map(valued) : valued(found.value) };
  }

  private named(value: unknown, name: string, span: Span | undefined): void {
    const compiled = typeof value === 'function' ? this.compiled.get(value) : undefined;
    if (compiled !== undefined) compiled.bound ??= name;
    if (!isArrayLike(value)) return;
    const life = this.ledger.lifeOf(value);
    if (life === undefined || (life.name !== undefined && life.declaration !== undefined)) return;
    life.name ??= name;
    if (span !== undefined) life.declaration ??= span;
  }

  private dispose(value: unknown, span: Span, how: 'using' | 'dispose'): void {
    if (this.tracing()) return;
    if (isArrayLike(value)) this.ledger.freed(value, how, span);
  }

  private decide(fn: LoweredFunction, block: BlockId, choices: readonly BlockId[], stays: BlockId | undefined, round: number): BlockId {
    const site = `${fn.id}:${block}`;
    const covered = this.options.coverage.get(site) ?? new Set<BlockId>();
    this.options.coverage.set(site, covered);
    const planned = this.options.prefix[this.decisions.length];
    const taken = planned !== undefined && choices.includes(planned) ? planned : this.preferred(choices, covered, stays, round);
    covered.add(taken);
    this.decisions.push({ site, taken, others: choices.filter((choice) => choice !== taken) });
    return taken;
  }

  private preferred(choices: readonly BlockId[], covered: ReadonlySet<BlockId>, stays: BlockId | undefined, round: number): BlockId {
    if (stays !== undefined) return round < roundsOfUnknownLoops ? stays : choices.find((choice) => choice !== stays)!;
    return choices.find((choice) => !covered.has(choice)) ?? choices[0]!;
  }

  private callLibrary(library: LibraryWorld, call: LibraryCall): unknown {
    if (this.jits.length > 0 && this.tracing()) this.noteCaptured(call);
    return callArrays(library, call);
  }

  /** Arrays of the outer world among the operands of a call in a trace. */
  private noteCaptured({ receiver, hasReceiver, args, event, span }: LibraryCall): void {
    const jit = this.jits.at(-1)!;
    const note = (value: unknown, where: Span): void => {
      for (const array of arraysIn(value)) {
        if (
          !isShaped(array) ||
          this.ledger.lifeOf(array) === undefined ||
          this.captured.some((use) => use.array === array && use.jit.start === jit.jit.start && use.jit.file === jit.jit.file)
        )
          continue;
        this.captured.push({
          array,
          span: where,
          jit: jit.jit,
          function: this.walker.stack.at(-1)?.function.id,
          name: this.ledger.lifeOf(array)?.name,
        });
      }
    };
    if (hasReceiver) note(receiver, span);
    args.forEach((argument, i) => note(argument, event?.arguments[i]?.span ?? span));
  }

  private libraryWorld(): LibraryWorld {
    return {
      named: this.options.sizes !== undefined,
      tracing: this.tracing,
      model: this.options.model,
      made: (array, call) =>
        void this.ledger.born(
          array,
          array instanceof ShapedArray ? array.aval : undefined,
          call.span,
          array instanceof ShapedArray ? bytesIn(array, this.options.model(call.library)) : undefined,
        ),
      used: (value, call) => {
        if (this.tracing()) return;
        eachLeaf(value, (leaf) => {
          if (isArrayLike(leaf)) this.ledger.used(leaf, call.span);
        });
      },
      freed: (array, call, how) => this.ledger.freed(array, how, call.span),
      retained: (array) => this.ledger.retain(array),
      released: (array, call, how) => this.ledger.released(array, how, call.span),
      scope: (run, call) => (this.tracing() ? run() : this.ledger.scope(run, (value) => arrayLikesIn(value), call.span)),
      compiles: (call, role) => this.compile(call, role.function, role.options),
      transformed: (call, how, real) => this.transformed(call, how, real),
      placed: (call, run) => at(this.place(call), run),
    };
  }

  private place(call: LibraryCall): Place {
    const name = call.event?.nameSpan ?? call.span;
    return placeOf(this.options.project, name, this.walker.stack);
  }

  private compile(call: LibraryCall, position: number, optionsAt: number): unknown {
    const target = call.args[position];
    if (typeof target !== 'function') return unknownResult(this.libraryWorld(), call, 'the function that is compiled');
    if (this.tracing()) return target;
    const options = call.args[optionsAt];
    const facts = closureFacts(target) ?? this.compiled.get(target);
    const id = facts === undefined ? undefined : 'function' in facts ? facts.function : facts.target;
    const fn = id === undefined ? undefined : this.options.project.function(id);
    const parameterNames = (fn?.parameters ?? []).map(({ name }) => name ?? '');
    const how: How = call.name === 'pmap' ? 'pmap' : 'jit';
    return this.compiledFunction({
      call: target as AnyFunction,
      name: facts?.name ?? target.name,
      target: id,
      how,
      jit: call.span,
      donateArgnums: [
        ...numbersIn(options, 'donateArgnums'),
        ...namesIn(options, 'donateArgnames')
          .map((name) => parameterNames.indexOf(name))
          .filter((at) => at >= 0),
      ],
      staticArgnums: numbersIn(options, 'staticArgnums'),
      axisName: namesIn(options, 'axisName')[0],
      bound: undefined,
      serial: this.serial++,
      ...(this.options.model(call.library)?.convention === 'consumes' ? { consumes: true as const } : {}),
    });
  }

  /** Outside of a trace `grad(f)(x)` is one program, as if it were compiled. */
  private transformed(call: LibraryCall, how: string, real: AnyFunction): unknown {
    const target = call.args[0] as AnyFunction;
    const rest = call.args.slice(1);
    if (how === 'checkpoint')
      return (...args: unknown[]) =>
        this.tracing() ? at(this.place(call), () => real(target, ...rest) as AnyFunction)(...args) : target(...args);
    const inner = this.compiled.get(target)?.call ?? target;
    const facts = closureFacts(inner);
    return this.compiledFunction({
      call: (...args) => at(this.place(call), () => real(inner, ...rest) as AnyFunction)(...args),
      name: (real(inner, ...rest) as AnyFunction).name,
      target: facts?.function,
      how: how === 'vmap' ? 'vmap' : how.toLowerCase().includes('grad') ? 'grad' : 'other',
      jit: call.span,
      donateArgnums: how === 'vmap' ? (this.compiled.get(target)?.donateArgnums ?? []) : [],
      staticArgnums: [],
      axisName: undefined,
      bound: undefined,
      serial: this.serial++,
      ...(this.options.model(call.library)?.convention === 'consumes' ? { consumes: true as const } : {}),
    });
  }

  private compiledFunction(facts: CompiledFunction): AnyFunction {
    const call = (...args: unknown[]): unknown =>
      this.tracing() ? facts.call(...args) : this.callCompiled(facts, this.options.sizes === undefined ? args : args.map(plainArgument));
    this.compiled.set(call, facts);
    return call;
  }

  private callCompiled(compiled: CompiledFunction, args: readonly unknown[]): unknown {
    const site = this.walker.stack.at(-1);
    const span = site?.event.span ?? compiled.jit;
    const target = compiled.target === undefined ? undefined : this.options.project.function(compiled.target);
    const { sizes } = this.options;
    const given = argumentsOf(
      compiled,
      args,
      (target?.parameters ?? []).map(({ name }) => name ?? ''),
    );
    const taken = sizes === undefined ? given : withValues(given, sizes);
    const traced = this.trace(compiled, taken);
    const scalars = typeof traced === 'string' ? withScalars(taken) : undefined;
    const assumed = scalars === undefined ? undefined : this.trace(compiled, scalars);
    const program = typeof traced !== 'string' ? traced : typeof assumed === 'string' ? undefined : assumed;
    const shaped: ShapedCall = {
      span,
      function: compiled,
      leaves: taken.leaves,
      signature: taken.signature,
      traced: program,
      assumed: typeof traced === 'string' && program !== undefined,
      unknown: typeof traced === 'string' ? traced : undefined,
      time: this.ledger.time(),
    };
    this.calls.push(shaped);
    const donated = taken.leaves.filter((leaf) => leaf.donated !== undefined);
    if (typeof traced === 'string') {
      this.use(taken.leaves, span);
      shaped.time = this.ledger.time();
      for (const { array } of donated) if (array !== undefined) this.ledger.freed(array, 'donated', span);
      return site === undefined ? new Unknown(traced) : this.unknownOutputs(site.function, site.event.to, traced, span);
    }
    const during = this.duringBytes(compiled, traced, taken.leaves);
    this.ledger.ran(span, sizes === undefined ? during : namedBytes(during, traced, given, sizes), compiled.target);
    this.use(taken.leaves, span);
    shaped.time = this.ledger.time();
    for (const { array } of donated) if (array !== undefined) this.ledger.freed(array, 'donated', span);
    if (compiled.consumes === true)
      for (const { array } of taken.leaves) if (array !== undefined) this.ledger.released(array, 'consumed', span);
    const result = sizes === undefined ? resultOf(traced, taken.values) : resultOf(traced, taken.values, naming(given, sizes));
    for (const array of arraysIn(result)) if (isShaped(array)) this.ledger.born(array, array.aval, span);
    return result;
  }

  private use(leaves: readonly Leaf[], span: Span): void {
    for (const { array } of leaves) if (array !== undefined) this.ledger.used(array, span);
  }

  /** What the call needs on top of its arguments. A call that is traced ever again is planned a few times only. */
  private duringBytes(compiled: CompiledFunction, traced: TracedCall, leaves: readonly Leaf[]): Dim {
    const planned = this.planned.get(compiled.serial) ?? new Set();
    this.planned.set(compiled.serial, planned);
    const plan = planned.size < plansPerFunction || planned.has(traced) ? planOf(traced.program, leaves) : undefined;
    planned.add(traced);
    if (plan !== undefined) return minus(plan.peakWith(leaves.map(({ donated }) => donated !== undefined)), plan.argumentBytes);
    return traced.program.outputs.reduce<Dim>(
      (sum, output) => (traced.program.inputs.some((input) => input === output) ? sum : plus(sum, allocated(output.aval))),
      0,
    );
  }

  private unknownOutputs(fn: LoweredFunction, to: number, why: string, span: Span): unknown {
    const value = unknownOf(fn.locals[to]!.type, why, undefined, span);
    for (const array of arrayLikesIn(value)) this.ledger.born(array, undefined, span);
    return value;
  }

  private trace(compiled: CompiledFunction, taken: ReturnType<typeof argumentsOf>): TracedCall | string {
    const key = `${compiled.serial} ${taken.signature}`;
    const known = this.traced.get(key);
    if (known !== undefined) return known;
    let traced: TracedCall | string;
    this.jits.push(compiled);
    try {
      traced = traceCall(compiled, taken);
    } catch (error) {
      if (error instanceof TooLong) throw error;
      traced = error instanceof Error ? error.message : String(error);
    } finally {
      this.jits.pop();
    }
    this.traced.set(key, traced);
    return traced;
  }
}

const arrayLikesIn = (value: unknown): readonly object[] => {
  const found = new Set<object>();
  eachLeaf(value, (leaf) => {
    if (isArrayLike(leaf)) found.add(leaf);
    if (leaf instanceof DonateMark && isArrayLike(leaf.value)) found.add(leaf.value);
  });
  return [...found];
};

function numbersIn(options: unknown, key: string): readonly number[] {
  const value = optionOf(options, key);
  const list = typeof value === 'number' ? [value] : (listOf(value) ?? []);
  return list.filter((item): item is number => typeof item === 'number');
}

function namesIn(options: unknown, key: string): readonly string[] {
  const value = optionOf(options, key);
  const list = typeof value === 'string' ? [value] : (listOf(value) ?? []);
  return list.filter((item): item is string => typeof item === 'string');
}

const optionOf = (options: unknown, key: string): unknown =>
  isObject(options) && !isUnknown(options) && key in options ? (options as Record<string, unknown>)[key] : undefined;

/** Constants of the language; everything else external is called, or unknown. */
function constantOf(library: string | undefined, name: string): unknown {
  if (library !== undefined) return undefined;
  switch (name) {
    case 'undefined':
      return undefined;
    case 'NaN':
      return Number.NaN;
    case 'Infinity':
      return Number.POSITIVE_INFINITY;
  }
  const [owner, key] = name.split('.');
  if (key === undefined) return undefined;
  const holder = owner === 'Math' ? Math : owner === 'Number' ? Number : undefined;
  const value: unknown = holder === undefined ? undefined : Reflect.get(holder, key);
  return typeof value === 'number' ? value : undefined;
}
