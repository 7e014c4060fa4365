/**
 * Which functions can have anything to do with arrays: the others need no walk, path by path, to know what they do.
 *
 * A function is beside the point when nothing in it, or in what it calls or declares, makes, holds or hands on an array:
 * its types say so, and it calls no library but the language's. Small ones are walked all the same, since their results
 * tie tests together; what a large one (loops, many branches) may change of host data is listed, so that a caller can
 * forget just that. Depends on: lower/ir.
 */
import {
  fileOf,
  type CallEvent,
  type ClassId,
  type Event,
  type FunctionId,
  type LoweredFunction,
  type Project,
  type TypeFact,
  type Unit,
  type Variable,
} from '../lower/ir.ts';

/** What a function without arrays may do to the rest. */
export interface Beside {
  /** Values of unknown type pass through: arrays may be among them when arguments hold some. */
  readonly unknowns: boolean;
  /** Host variables of others that it sets. */
  readonly sets: readonly Variable[];
  /** It changes objects that it may have got from outside. */
  readonly changes: boolean;
  readonly throws: boolean;
  /** Worth to be skipped. */
  readonly large: boolean;
  /** Where what it does is written. */
  readonly files: ReadonlySet<string>;
}

interface Direct extends Omit<Beside, 'files'> {
  readonly touches: boolean;
  readonly calls: readonly { readonly function: FunctionId; readonly handled: boolean }[];
  readonly classes: readonly { readonly class: ClassId; readonly handled: boolean }[];
  readonly branches: number;
}

const directs = new WeakMap<LoweredFunction, Direct>();
const closed = new WeakMap<Project, Map<FunctionId, Beside | undefined>>();
const branchesOfSmall = 5;

/** What is known of a function that has nothing to do with arrays; undefined for the others. */
export function beside(project: Project, fn: LoweredFunction): Beside | undefined {
  const known = closed.get(project) ?? new Map<FunctionId, Beside | undefined>();
  closed.set(project, known);
  if (known.has(fn.id)) return known.get(fn.id);
  const reached = new Set<FunctionId>([fn.id]);
  const work = [fn];
  const sum = { unknowns: false, sets: [] as Variable[], changes: false, branches: 0, loops: false };
  for (let at = work.pop(); at !== undefined; at = work.pop()) {
    const own = direct(at);
    // A part that was found to matter before settles it; so does a part that does.
    if (own.touches || (known.has(at.id) && known.get(at.id) === undefined)) {
      known.set(fn.id, undefined);
      return undefined;
    }
    sum.unknowns ||= own.unknowns;
    sum.changes ||= own.changes;
    sum.loops ||= own.large;
    sum.branches += own.branches;
    sum.sets.push(...own.sets);
    for (const call of callsOf(project, own)) {
      if (reached.has(call.function)) continue;
      reached.add(call.function);
      const callee = project.function(call.function);
      if (callee === undefined) sum.unknowns = true;
      else work.push(callee);
    }
  }
  const made: Beside = {
    unknowns: sum.unknowns,
    sets: sum.sets.filter(({ function: owner }) => !reached.has(owner)),
    changes: sum.changes,
    throws: throwsOut(project, fn.id, new Set()),
    large: sum.loops || sum.branches > branchesOfSmall,
    files: new Set([...reached].map(fileOf)),
  };
  known.set(fn.id, made);
  return made;
}

/** With what `new` runs. */
function callsOf(project: Project, own: Direct): Direct['calls'] {
  if (own.classes.length === 0) return own.calls;
  const made = own.classes.flatMap(({ class: id, handled }) => {
    const found: { function: FunctionId; handled: boolean }[] = [];
    for (let cls = project.class(id); cls !== undefined; cls = cls.base === undefined ? undefined : project.class(cls.base)) {
      for (const fn of [cls.initialiser, cls.constructor_]) if (fn !== undefined) found.push({ function: fn, handled });
    }
    return found;
  });
  return [...own.calls, ...made];
}

function throwsOut(project: Project, id: FunctionId, seen: Set<FunctionId>): boolean {
  const fn = project.function(id);
  if (fn === undefined || seen.has(id)) return false;
  seen.add(id);
  const own = direct(fn);
  return own.throws || callsOf(project, own).some((call) => !call.handled && throwsOut(project, call.function, seen));
}

function direct(fn: LoweredFunction): Direct {
  const known = directs.get(fn);
  if (known !== undefined) return known;
  const made = look(fn);
  directs.set(fn, made);
  return made;
}

function look(fn: LoweredFunction): Direct {
  let touches = fn.kind === 'module' || fn.generator || fn.locals.some(({ type }) => matters(type));
  let unknowns = fn.locals.some(({ type }) => type.holds === 'unknown');
  let changes = false;
  let throws = false;
  let branches = 0;
  const sets: Variable[] = [];
  const calls: { function: FunctionId; handled: boolean }[] = [];
  const classes: { class: ClassId; handled: boolean }[] = [];
  const call = (event: CallEvent, handled: boolean): void => {
    const { callee } = event;
    if (callee.kind === 'user') calls.push({ function: callee.function, handled });
    else if (callee.kind === 'class') classes.push({ class: callee.class, handled });
    else if (callee.kind === 'library') {
      // Its operands and its result are locals, whose types were asked.
      changes ||= event.receiver !== undefined;
    } else {
      unknowns = true;
      changes = true;
    }
  };
  const resolved = new Set(
    fn.blocks.flatMap(({ events }) =>
      events.flatMap((event) =>
        event.kind === 'call' && event.callee.kind !== 'value' && event.function !== undefined ? [event.function] : [],
      ),
    ),
  );
  const see = (event: Event, handled: boolean): void => {
    switch (event.kind) {
      case 'call':
        return call(event, handled);
      case 'closure':
        return void calls.push({ function: event.function, handled: true });
      case 'class':
      case 'opaque':
      case 'dispose':
        touches = true;
        return;
      case 'external':
        touches ||= event.library !== undefined && event.library !== 'standard';
        return;
      case 'outer': {
        const type = fn.locals[event.to]?.type;
        touches ||= !resolved.has(event.to) && (type?.holds === 'unknown' || type?.callable === true);
        return;
      }
      case 'setOuter':
        return void sets.push(event.variable);
      case 'setProperty':
      case 'delete':
        changes = true;
        if ('callee' in event && event.callee !== undefined) touches = true;
        return;
      case 'property':
        if (event.callee?.kind === 'user') calls.push({ function: event.callee.function, handled });
        return;
      default:
        return;
    }
  };
  for (const block of fn.blocks) {
    for (const event of block.events) see(event, block.handler !== undefined);
    if (block.end.kind === 'branch' || block.end.kind === 'next') branches++;
    throws ||= block.end.kind === 'throw' && block.handler === undefined;
  }
  return { touches, unknowns, sets, changes, throws, large: fn.blocks.some((block) => block.loop !== undefined), calls, classes, branches };
}

/** Does a type say that arrays are or may come to be here? */
function matters(type: TypeFact): boolean {
  return (
    type.holds === 'array' ||
    type.holds === 'owner' ||
    type.holds === 'tree' ||
    (type.class !== undefined && type.holds !== 'nothing') ||
    (type.result !== undefined && matters(type.result))
  );
}

/** What a file's text calls. */
interface Calls {
  /** By function, those that it calls by name, itself left out. */
  readonly byFunction: ReadonlyMap<FunctionId, ReadonlySet<FunctionId>>;
  /** All that some function calls by name. */
  readonly called: ReadonlySet<FunctionId>;
  /** Names of methods that are called on values whose type says nothing, with the class that is known of the value (`` where none is). */
  readonly unresolved: ReadonlyMap<string, ReadonlySet<ClassId>>;
}

const callsIn = new WeakMap<Unit, Calls>();

function callsOfUnit(unit: Unit): Calls {
  const known = callsIn.get(unit);
  if (known !== undefined) return known;
  const byFunction = new Map<FunctionId, Set<FunctionId>>();
  const called = new Set<FunctionId>();
  const unresolved = new Map<string, Set<ClassId>>();
  for (const fn of unit.functions.values()) {
    const own = new Set<FunctionId>();
    for (const { events } of fn.blocks)
      for (const event of events) {
        if (event.kind !== 'call') continue;
        if (event.callee.kind === 'user') (event.callee.function === fn.id ? called : own).add(event.callee.function);
        if (event.callee.kind !== 'value' || event.key?.kind !== 'name') continue;
        const of = event.receiver === undefined ? undefined : fn.locals[event.receiver]?.type.class;
        unresolved.set(event.key.name, (unresolved.get(event.key.name) ?? new Set()).add(of ?? ''));
      }
    for (const id of own) called.add(id);
    if (own.size > 0) byFunction.set(fn.id, own);
  }
  const calls = { byFunction, called, unresolved };
  callsIn.set(unit, calls);
  return calls;
}

/** Does any text of the project call it by name? */
export function isCalled(project: Project, id: FunctionId): boolean {
  for (const unit of project.units.values()) if (callsOfUnit(unit).called.has(id)) return true;
  return false;
}

/** A caller that may stand in a scope, for all that the text says. */
export const hiddenCaller: FunctionId = '';

/** Functions that some text of the project calls, reached by a walk or not, and the functions in whose text the calls stand. */
export function callersInText(project: Project): ReadonlyMap<FunctionId, ReadonlySet<FunctionId>> {
  const all = new Map<FunctionId, Set<FunctionId>>();
  const add = (id: FunctionId, caller: FunctionId): void => {
    const callers = all.get(id) ?? new Set();
    callers.add(caller);
    all.set(id, callers);
  };
  const unresolved = new Map<string, Set<ClassId>>();
  for (const unit of project.units.values()) {
    const calls = callsOfUnit(unit);
    for (const [caller, callees] of calls.byFunction) {
      const fn = unit.functions.get(caller)!;
      // What stands in another function may be what a scope calls.
      const nested = fn.parent !== undefined && !fn.parent.endsWith('#') && !prototypeMethod.test(fn.name);
      for (const id of callees) add(id, nested ? hiddenCaller : caller);
    }
    for (const [name, classes] of calls.unresolved) unresolved.set(name, new Set([...(unresolved.get(name) ?? []), ...classes]));
  }
  // A method that was assigned to a prototype may be meant wherever its name is called, and so may one that no other call means.
  for (const unit of project.units.values())
    for (const fn of unit.functions.values()) {
      const name =
        prototypeMethod.exec(fn.name)?.[1] ??
        (fn.class !== undefined && !all.has(fn.id) ? fn.name.slice(fn.name.lastIndexOf('.') + 1) : undefined);
      const receivers = name === undefined ? undefined : unresolved.get(name);
      if (receivers?.has('') === true || (receivers !== undefined && isOneOf(project, fn.class, receivers))) add(fn.id, hiddenCaller);
    }
  return all;
}

/** Is the class, or one that it extends, among these? */
function isOneOf(project: Project, id: ClassId | undefined, classes: ReadonlySet<ClassId>): boolean {
  for (let at = id; at !== undefined; at = project.class(at)?.base) if (classes.has(at)) return true;
  return false;
}

const prototypeMethod = /\.prototype\.([\w$]+)$/;
