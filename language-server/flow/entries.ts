/**
 * Where the walk begins: top levels, exported functions and methods in any order, and whatever nothing else reached.
 *
 * Unknown callers pass arrays that are theirs and may call any number of times, so exported functions run again on the
 * states they leave behind; a state in which a variable or field holds an array that was disposed or given away on
 * purpose ends there, since nobody need use it again. Depends on: walk, collector, state, values.
 */
import type { LibraryModel } from '../libraries/model.ts';
import type { FunctionId, LoweredClass, LoweredFunction, Project, Unit } from '../lower/ir.ts';
import { finish, givenUp } from './aftermath.ts';
import { Collector } from './collector.ts';
import { noteForgotten } from './forgotten.ts';
import { thisOf } from './frames.ts';
import { isCalled } from './relevance.ts';
import { State } from './state.ts';
import { emptyFields, objectValue, undefinedValue, type Node, type Value } from './values.ts';
import { Walker, defaultLimits, type Limits } from './walk.ts';

const rounds = 3;
const statesPerRound = 4;

export interface Running {
  readonly models?: readonly LibraryModel[];
  readonly limits?: Limits;
  /** Asked every few steps; throws when nobody wants the answer any more. */
  readonly look?: () => void;
}

export interface Walked {
  readonly collector: Collector;
  /** Runs one entry at each step, so that the caller may stop in between. */
  readonly entries: Iterable<FunctionId>;
}

/** Of the steps that a file may take: one that names no library itself can only pass on what others make. */
const shareOfStrangers = 1 / 8;

function walkerOf(project: Project, unit: Unit, collector: Collector, { models, limits = defaultLimits, look }: Running): Walker {
  const stepsPerUnit = unit.libraries.size > 0 ? limits.stepsPerUnit : limits.stepsPerUnit * shareOfStrangers;
  return new Walker(project, collector, models, { ...limits, stepsPerUnit }, look);
}

/** The entries of one file: its top level, exported functions, classes and compiled functions. */
export function walkUnit(project: Project, unit: Unit, running: Running = {}): Walked {
  const collector = new Collector(unit.file);
  const walker = walkerOf(project, unit, collector, running);
  return { collector, entries: entriesOf(walker, collector, unit) };
}

function* entriesOf(walker: Walker, collector: Collector, unit: Unit): Generator<FunctionId> {
  walker.initialise(unit.module);
  yield unit.module;
  yield* moduleEntries(
    walker,
    collector,
    [...unit.functions.values()].filter((fn) => fn.exported && (fn.class === undefined || fn.static === true)),
    unit.module,
  );
  for (const cls of unit.classes.values()) if (cls.exported) yield* classEntries(walker, collector, cls);
  collector.supposing = false;
  exportedValues(walker, collector, unit.module);
  yield unit.module;
}

/** Functions of a file that no entry of the project reached; not those in code that cannot run (walked around them, never came by). */
export function walkLeftovers(
  project: Project,
  unit: Unit,
  visited: ReadonlySet<FunctionId>,
  created: ReadonlySet<FunctionId>,
  running: Running = {},
): Walked {
  const collector = new Collector(`${unit.file} rest`);
  const walker = walkerOf(project, unit, collector, running);
  return { collector, entries: leftoversOf(project, walker, collector, unit, visited, created) };
}

function* leftoversOf(
  project: Project,
  walker: Walker,
  collector: Collector,
  unit: Unit,
  visited: ReadonlySet<FunctionId>,
  created: ReadonlySet<FunctionId>,
): Generator<FunctionId> {
  const reachedHere = (id: FunctionId | undefined): boolean => id !== undefined && (visited.has(id) || collector.visited.has(id));
  for (const cls of unit.classes.values())
    if (!cls.exported && ![cls.initialiser, cls.constructor_, ...Object.values(cls.methods)].some(reachedHere))
      yield* classEntries(walker, collector, cls);
  // Outer functions first: what they call or declare is then seen in its context.
  const depth = (fn: LoweredFunction): number => {
    const parent = fn.parent === undefined ? undefined : unit.functions.get(fn.parent);
    return parent === undefined ? 0 : 1 + depth(parent);
  };
  const left = [...unit.functions.values()].filter(({ id }) => !reachedHere(id)).map((fn) => ({ fn, depth: depth(fn) }));
  for (const { fn } of left.sort((a, b) => a.depth - b.depth)) {
    if (
      reachedHere(fn.id) ||
      fn.kind === 'fields' ||
      fn.kind === 'constructor' ||
      fn.kind === 'module' ||
      walker.beside(fn)?.large === true
    )
      continue;
    if (fn.class === undefined && fn.parent !== undefined && reachedHere(fn.parent) && !created.has(fn.id) && !collector.created.has(fn.id))
      continue;
    if (walker.spent) return;
    // A part of something that was not understood, or called from there: perhaps in a scope that frees what it leaves.
    collector.blind = (fn.parent !== undefined && !fn.parent.endsWith('#')) || isCalled(project, fn.id);
    runAlone(walker, collector, fn, freshState(walker, fn));
    collector.blind = false;
    yield fn.id;
  }
}

function freshState(walker: Walker, fn: LoweredFunction): State {
  const id = `env@root ${fn.id}`;
  const module = walker.moduleEnvironment(undefined as never, `${fn.file}#`);
  const frame = walker.rootFrame(rootOf(fn), walker.context('', `root ${fn.id}`), id, undefined);
  const state = new State(frame, walker.base);
  state.put(id, {
    shape: 'environment',
    fields: module === undefined ? emptyFields : new Map([['@parent', objectValue(module)]]),
    pool: [],
    open: false,
    many: false,
    type: { holds: 'nothing' },
    function: '',
  });
  return state;
}

/** A stand-in for the unknown caller of an entry. */
function rootOf(fn: LoweredFunction): LoweredFunction {
  return { ...fn, id: `${fn.id} (caller)`, kind: 'function', name: '', locals: [], blocks: [], parameters: [] };
}

function parametersFor(walker: Walker, state: State, fn: LoweredFunction): readonly Value[][] {
  let sets: Value[][] = [[]];
  fn.parameters.forEach((p, i) => {
    const type = fn.locals[p.local]?.type ?? { holds: 'unknown' as const };
    const value =
      p.optional && type.holds === 'nothing'
        ? undefined
        : walker.unknown(state, { ...type, nullable: false }, `param ${fn.id} ${i}`, 'caller', undefined, p.name);
    const absent = (p.optional || type.nullable === true) && (type.holds === 'array' || type.holds === 'tree') && sets.length < 3;
    const given = value ?? walker.unknown(state, type, `param ${fn.id} ${i}`, 'caller', undefined, p.name);
    sets = sets.flatMap((set) =>
      absent
        ? [
            [...set, given],
            [...set, undefinedValue],
          ]
        : [[...set, given]],
    );
  });
  return sets;
}

/** Calls `fn` on a state with unknown arguments: the states it leaves. */
function runAlone(walker: Walker, collector: Collector, fn: LoweredFunction, state: State, given?: Value): readonly State[] {
  const self = given ?? thisOf(walker, state, fn);
  collector.root = fn.id;
  walker.steps = 0;
  const site = { span: fn.span, nameSpan: fn.span, repeated: false, type: { holds: 'unknown' as const }, tag: ' entry' };
  const after: State[] = [];
  const sets = parametersFor(walker, state, fn);
  for (const [i, args] of sets.entries()) {
    const own = i === sets.length - 1 ? state : state.fork();
    own.frame.locals.set(-7, self ?? undefinedValue);
    args.forEach((value, k) => own.frame.locals.set(-100 - k, value));
    for (const exit of walker.callFunction(own, fn, undefined, self, args, site)) {
      args.forEach((_, k) => exit.state.frame.locals.delete(-100 - k));
      if (exit.kind === 'throw') continue;
      after.push(...finish(walker, fn, exit, self));
    }
  }
  return after;
}

function* moduleEntries(
  walker: Walker,
  collector: Collector,
  functions: readonly LoweredFunction[],
  module: FunctionId,
): Generator<FunctionId> {
  const env = walker.moduleEnvironment(undefined as never, module);
  let states: (State | undefined)[] = [undefined];
  const seen = new Set<string>();
  const stateful = env !== undefined && functions.length > 0;
  for (let round = 0; round < rounds; round++) {
    const next: State[] = [];
    collector.supposing = round > 0;
    for (const before of states) {
      for (const fn of functions) {
        if (walker.spent) return;
        const state = before === undefined ? freshState(walker, fn) : rebased(walker, before, fn);
        for (const after of runAlone(walker, collector, fn, state, classOf(fn, env))) {
          if (!stateful || givenUp(after) || !changedGlobals(walker, after)) continue;
          const left = globals(after);
          const key = left.key(undefined, false);
          if (seen.has(key) || next.length >= statesPerRound) continue;
          seen.add(key);
          next.push(left);
        }
        yield fn.id;
      }
    }
    if (next.length === 0) return;
    states = next;
  }
}

/** What `this` is in a static method. */
const classOf = (fn: LoweredFunction, environment: string | undefined): Value | undefined =>
  fn.static === true && fn.class !== undefined
    ? { kind: 'class', class: fn.class, environment, key: `class ${fn.class} ${environment ?? ''}` }
    : undefined;

/** Only what was there before the run, and what it leads to, outlives it. */
function globals(state: State): State {
  state.frame = { ...state.frame, locals: new Map() };
  state.facts.clear();
  state.lost.clear();
  state.later.length = 0;
  for (const id of [...state.heap.keys()]) if (id.startsWith('env@root')) state.heap.delete(id);
  state.collect(() => undefined);
  state.forgetSymbols();
  for (const [id, node] of state.heap)
    if (node.life !== undefined && node.life.watches.length > 0) state.put(id, { ...node, life: { ...node.life, watches: [] } });
  return state;
}

function rebased(walker: Walker, before: State, fn: LoweredFunction): State {
  const fresh = freshState(walker, fn);
  const state = new State(fresh.frame, walker.base, before);
  for (const [id, node] of fresh.heap) state.put(id, node);
  return state;
}

function changedGlobals(walker: Walker, state: State): boolean {
  for (const [id, node] of state.heap) if (walker.base.has(id) && walker.base.get(id) !== node) return true;
  return false;
}

/** An instance of a class made by unknown code, its methods called in any order. */
function* classEntries(walker: Walker, collector: Collector, cls: LoweredClass): Generator<FunctionId> {
  const methods = methodsOf(walker.project, cls);
  const representative = walker.project.function(cls.constructor_ ?? cls.initialiser ?? methods[0]?.id ?? '');
  if (representative === undefined) return;
  collector.root = representative.id;
  collector.supposing = false;
  walker.steps = 0;
  const start = freshState(walker, representative);
  const site = { span: cls.head, nameSpan: cls.head, repeated: false, type: { holds: 'nothing' as const, class: cls.id }, tag: ' entry' };
  const ctor = constructorOf(walker.project, cls);
  const args = ctor === undefined ? [] : (parametersFor(walker, start, ctor)[0] ?? []);
  args.forEach((value, k) => start.frame.locals.set(-100 - k, value));
  let states = walker.construct(start, cls, args, site).flatMap((exit) => {
    if (exit.kind === 'throw') return [];
    exit.state.frame.locals.set(-7, exit.value);
    return walker.runLater(exit.state).slice(0, 2);
  });
  yield representative.id;
  noteOwner(walker, collector, cls, states);
  const seen = new Set<string>();
  for (let round = 0; round < rounds; round++) {
    const next: State[] = [];
    collector.supposing = round > 0;
    for (const before of states.slice(0, statesPerRound)) {
      for (const fn of methods) {
        if (walker.spent) return;
        const state = before.fork();
        const self = state.frame.locals.get(-7);
        const base = walker.rootFrame(rootOf(fn), walker.context('', `method ${fn.id}`), state.frame.environment, undefined);
        state.frame = { ...base, locals: new Map(state.frame.locals) };
        collector.blind = scopedByBase(walker, cls, fn);
        const exits = runAlone(walker, collector, fn, state, self);
        collector.blind = false;
        for (const after of exits) {
          noteOwner(walker, collector, cls, [after]);
          noteForgotten(collector, cls, fn, before, after);
          if (givenUp(after)) continue;
          after.forgetSymbols();
          const key = after.key(undefined, false);
          if (seen.has(key) || next.length >= 2 * statesPerRound) continue;
          seen.add(key);
          next.push(after);
        }
        yield fn.id;
      }
    }
    if (next.length === 0) return;
    states = next;
  }
}

/** Does the library that the class extends call this method in a scope of its own? */
function scopedByBase(walker: Walker, cls: LoweredClass, fn: LoweredFunction): boolean {
  let base: LoweredClass | undefined = cls;
  while (base?.base !== undefined) base = walker.project.class(base.base);
  const name = fn.name.slice(fn.name.lastIndexOf('.') + 1);
  const of = [...walker.models.values()].filter(({ id }) => base?.baseLibrary === undefined || base.baseLibrary === id);
  return base?.foreignBase === true && of.some(({ scopedMethods }) => scopedMethods?.includes(name) === true);
}

function methodsOf(project: Project, cls: LoweredClass): readonly LoweredFunction[] {
  const found = new Map<string, LoweredFunction>();
  for (let at: LoweredClass | undefined = cls; at !== undefined; at = at.base === undefined ? undefined : project.class(at.base)) {
    const setters = Object.entries(at.setters).map(([name, id]) => [`set ${name}`, id] as const);
    for (const [name, id] of [...Object.entries(at.methods), ...Object.entries(at.getters), ...setters]) {
      const fn = project.function(id);
      // A class that a module keeps to itself hands its methods to those that extend it.
      const inherited = at !== cls && !at.exported && fn?.private !== true;
      if (fn !== undefined && !found.has(name) && (fn.exported || !cls.exported || inherited)) found.set(name, fn);
    }
  }
  return [...found.values()];
}

function constructorOf(project: Project, cls: LoweredClass): LoweredFunction | undefined {
  for (let at: LoweredClass | undefined = cls; at !== undefined; at = at.base === undefined ? undefined : project.class(at.base)) {
    const fn =
      at.constructor_ === undefined
        ? at.base === undefined && at.initialiser !== undefined
          ? project.function(at.initialiser)
          : undefined
        : project.function(at.constructor_);
    if (fn !== undefined) return fn;
  }
  return undefined;
}

/** Fields of an exported class that hold arrays it made. */
function noteOwner(walker: Walker, collector: Collector, cls: LoweredClass, states: readonly State[]): void {
  if (!cls.exported || collector.muted > 0) return;
  for (const state of states) {
    const node = state.node(state.frame.locals.get(-7));
    if (node === undefined) continue;
    const fields = [...node.fields].flatMap(([name, value]) => {
      const held: Node | undefined = state.node(value);
      return held?.life !== undefined && held.life.origin === 'here' && !held.life.dead && !held.life.escaped
        ? [{ name, library: held.life.library }]
        : [];
    });
    const library = fields[0]?.library;
    if (library === undefined) continue;
    const before = collector.owners.get(cls.id);
    const names = [...new Set([...(before?.fields ?? []), ...fields.map((field) => field.name)])];
    collector.owners.set(cls.id, {
      kind: 'ownerWithoutDispose',
      span: cls.head,
      function: cls.initialiser ?? cls.id,
      className: cls.name,
      fields: names,
      verb: walker.models.get(library)?.free[0] ?? 'dispose',
      library,
    });
  }
}

/** Compiled functions that a module exports are called by somebody: a look at their bodies. */
function exportedValues(walker: Walker, collector: Collector, module: FunctionId): void {
  const fn = walker.project.function(module);
  const env = walker.moduleEnvironment(undefined as never, module);
  if (fn === undefined || env === undefined) return;
  for (const value of walker.base.get(env)?.fields.values() ?? []) {
    if (value.kind !== 'compiled') continue;
    const inner = bottomClosure(value);
    const target = walker.project.function(inner ?? '');
    if (target === undefined || collector.visited.has(target.id)) continue;
    const state = freshState(walker, target);
    [collector.root, walker.steps] = [target.id, 0];
    const args = target.parameters.map((p, i) =>
      walker.unknown(
        state,
        { ...(target.locals[p.local]?.type ?? { holds: 'unknown' as const }), nullable: false },
        `param ${target.id} ${i}`,
        'caller',
        undefined,
        p.name,
      ),
    );
    walker.callValue(state, value, undefined, args, {
      span: value.jit,
      nameSpan: value.jit,
      repeated: false,
      type: { holds: 'nothing' },
      tag: ' exported',
    });
  }
}

function bottomClosure(value: Value): FunctionId | undefined {
  return value.kind === 'compiled' ? bottomClosure(value.of) : value.kind === 'closure' ? value.function : undefined;
}
