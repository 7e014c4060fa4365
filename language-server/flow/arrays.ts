/**
 * What happens to arrays: reads, deaths, escapes, and the makings of new ones.
 *
 * Every function takes a value and works on each array in it, through trees. Depends on: state, values, collector, libraries.
 */
import { models } from '../libraries/index.ts';
import type { LibraryModel } from '../libraries/model.ts';
import type { LoweredFunction, Span } from '../lower/ir.ts';
import type { Collector } from './collector.ts';
import type { Death, Named, Words } from './facts.ts';
import type { Frame, State } from './state.ts';
import { objectValue, undefinedValue, type Life, type Node, type ObjectId, type Value } from './values.ts';

export interface Walk {
  readonly collector: Collector;
  readonly models: ReadonlyMap<string, LibraryModel>;
}

const byId = new Map(models.map((model) => [model.id, model]));
export const modelOf = (walk: Walk, library: string): LibraryModel =>
  walk.models.get(library) ?? byId.get(library) ?? byId.get('standard')!;

export const consumes = (walk: Walk, library: string): boolean => modelOf(walk, library).convention === 'consumes';

/** Every object with a life that a value leads to, through trees (not through closures). */
export function leaves(state: State, value: Value, visit: (id: ObjectId, node: Node, life: Life) => void, deep = 6, recorded = true): void {
  const top = state.node(value);
  if (top === undefined) return;
  // Most values are one array, or hold nothing.
  if (value.kind === 'object' && top.fields.size === 0 && top.pool.length === 0) {
    if (top.life !== undefined && deep >= 0) visit(value.id, top, top.life);
    return;
  }
  const seen = new Set<ObjectId>();
  const go = (v: Value, depth: number): void => {
    if (v.kind === 'marked') return go(v.of, depth);
    if (v.kind !== 'object' || seen.has(v.id) || depth < 0) return;
    seen.add(v.id);
    const node = state.get(v.id);
    if (node === undefined) return;
    if (node.life !== undefined) visit(v.id, node, node.life);
    if (node.shape === 'environment' || (!recorded && node.shape === 'recorder')) return;
    node.fields.forEach((member) => go(member, depth - 1));
    node.pool.forEach((member) => go(member, depth - 1));
  };
  go(value, deep);
}

export function wordsOf(library: string): Words {
  const model = byId.get(library);
  return {
    noun: model?.noun ?? 'array',
    free: model?.free[0] ?? 'dispose',
    consumes: model?.convention === 'consumes',
    ...(model?.copy === undefined ? {} : { copy: model.copy }),
    ...(model?.scopeName === undefined ? {} : { scope: model.scopeName }),
  };
}

export function named(life: Life, id?: ObjectId): Named {
  return {
    ...(id === undefined ? {} : { id: id.replace(/~+$/, '') }),
    library: life.library,
    words: wordsOf(life.library),
    ...(life.name === undefined ? {} : { name: life.name }),
    ...(byId.get(life.library)?.unscoped?.includes(life.typeName ?? '') === true ? { unscoped: true as const } : {}),
    ...(life.made === undefined ? {} : { made: life.made }),
  };
}

export function setLife(state: State, id: ObjectId, patch: Partial<Life>): void {
  const node = state.get(id);
  if (node?.life !== undefined) state.put(id, { ...node, life: Object.assign({ ...node.life }, patch) });
}

export interface Use {
  readonly span: Span;
  /** The call that uses it, for "twice in one call". */
  readonly call?: Span;
  readonly use: 'read' | 'consume' | 'donate' | 'dispose' | 'return';
  /** What was dead before the call began: what died in it is used twice in one call. */
  readonly before?: ReadonlySet<ObjectId>;
}

/** The dead arrays among some values. */
export function deadAmong(state: State, values: readonly Value[]): ReadonlySet<ObjectId> {
  const dead = new Set<ObjectId>();
  for (const value of values)
    leaves(state, value, (id, _, life) => {
      if (life.dead) dead.add(id);
    });
  return dead;
}

const contextOf = (state: State): string => state.frame.context;

/** The contents of every array in `value` are needed here. */
export function read(walk: Walk, state: State, value: Value, use: Use): void {
  leaves(state, value, (id, node, life) => {
    if (life.dead) return deadUse(walk, state, id, node, life, use);
    walk.collector.pass(use.span, contextOf(state));
    walk.collector.readAfter(life.watches, use.span);
    if (!life.traced && state.frame.awaited) state.frame.readLater.push({ id, span: use.span });
    if (life.lastUse?.start !== use.span.start) setLife(state, id, { lastUse: use.span });
  });
}

function deadUse(walk: Walk, state: State, id: ObjectId, node: Node, life: Life, use: Use): void {
  if ((life.escaped && life.sure !== true) || (node.many && !state.iterating.has(id)))
    return walk.collector.silent('use-after: one of many arrays');
  const caller = passing(state, id);
  if (life.misused && caller !== undefined) return;
  setLife(state, id, { misused: true });
  if (caller !== undefined && use.use !== 'dispose') {
    const again = caller.repeated && life.diedAt?.file === caller.fn.file && within(life.diedAt, caller.fn.span);
    return walk.collector.see(
      {
        kind: 'deadUse',
        span: caller.span,
        function: caller.function,
        array: named(life, id),
        death: life.death ?? 'disposed',
        diedAt: life.diedAt ?? caller.span,
        use: use.use,
        sameCall: false,
        inLoop: again,
      },
      caller.context,
    );
  }
  const byThisCall = use.call !== undefined && life.diedAt?.start === use.call.start && life.diedAt.file === use.call.file;
  const sameCall = byThisCall && use.before !== undefined && !use.before.has(id);
  walk.collector.see(
    {
      kind: 'deadUse',
      span: use.span,
      function: state.frame.fn.id,
      array: named(life, id),
      death: life.death ?? 'disposed',
      diedAt: life.diedAt ?? use.span,
      use: use.use,
      sameCall,
      inLoop: !sameCall && (byThisCall || (life.diedAt?.start === use.span.start && life.diedAt.file === use.span.file)),
    },
    contextOf(state),
  );
}

const within = (inner: Span, outer: Span): boolean => inner.start >= outer.start && inner.end <= outer.end;

/** The outermost call that passes an array which is dead by then. */
function passing(state: State, id: ObjectId) {
  let found:
    | { readonly span: Span; readonly function: string; readonly context: string; readonly repeated: boolean; readonly fn: LoweredFunction }
    | undefined;
  for (let frame: Frame | undefined = state.frame; frame?.parent !== undefined; frame = frame.parent) {
    const span = frame.passedDead.get(id);
    if (span === undefined) break;
    found = { span, function: frame.parent.fn.id, context: frame.parent.context, repeated: frame.repeated, fn: frame.fn };
  }
  return found;
}

/** Ways of being shared that leave no doubt which array it is. */
const handedOn: ReadonlySet<string> = new Set(['passed to unknown code', 'stored by a library', 'stored in an unknown object', 'returned']);

/** Takes one reference of each array, or its life. */
export function kill(walk: Walk, state: State, value: Value, death: Death, use: Use): void {
  leaves(state, value, (id, node, life) => {
    const model = modelOf(walk, life.library);
    if (life.dead) {
      const legal = death === 'using' || (death === 'disposed' && model.freeTwice);
      if (!legal) deadUse(walk, state, id, node, life, use);
      return;
    }
    walk.collector.pass(use.span, contextOf(state));
    if (death === 'disposed' || death === 'using') walk.collector.freedAfter(life.watches, use.span);
    else walk.collector.readAfter(life.watches, use.span);
    if (model.convention === 'consumes' && life.refs > 1 && (death === 'consumed' || death === 'disposed'))
      return setLife(state, id, { refs: life.refs - 1 });
    if (life.passed !== undefined && death !== 'scope') walk.collector.consumed.add(`${life.passed.function}:${life.passed.position}`);
    freedOf(walk, state, id);
    if (life.added !== undefined) walk.collector.freedAdded.add(`${life.added.file}:${life.added.start}`);
    if (node.many && !state.iterating.has(id)) return setLife(state, id, { escaped: true, shared: 'one of many was freed' });
    const sure = life.escaped && model.convention !== 'consumes' && !life.owner && handedOn.has(life.shared ?? '');
    setLife(state, id, { dead: true, death, diedAt: use.call ?? use.span, refs: 0, ...(sure ? { sure } : {}) });
    if (node.open) withParts(state, id);
    for (let part = life.part; part !== undefined; part = state.get(part)?.life?.part) setLife(state, part, { opened: true });
  });
}

/** A tree of unknown form is gone, and so is what was split off it. */
function withParts(state: State, tree: ObjectId): void {
  const { death, diedAt } = state.get(tree)!.life!;
  for (const [id, node] of state.heap)
    if (node.life?.part === tree && !node.life.dead)
      setLife(state, id, { dead: true, refs: 0, ...(death === undefined ? {} : { death }), ...(diedAt === undefined ? {} : { diedAt }) });
}

/** Remembers that an object of a class, or a collection, gives up an array. */
function freedOf(walk: Walk, state: State, id: ObjectId): void {
  for (const node of state.heap.values()) {
    if (node.class === undefined && node.home === undefined) continue;
    if (![...node.fields.values(), ...node.pool].some((value) => holdsId(state, value, id, 3))) continue;
    if (node.class !== undefined) walk.collector.freeing.add(node.class);
    if (node.home !== undefined) walk.collector.emptied.add(node.home);
  }
}

function holdsId(state: State, value: Value, id: ObjectId, depth: number): boolean {
  if (value.kind !== 'object' || depth === 0) return false;
  if (value.id === id) return true;
  const node = state.get(value.id);
  return (
    node !== undefined &&
    node.shape !== 'environment' &&
    [...node.fields.values(), ...node.pool].some((member) => holdsId(state, member, id, depth - 1))
  );
}

/** Unknown code has it: nothing more is said about these arrays. `how` they came there is for counts of silence. */
export function escape(walk: Walk, state: State, value: Value, span: Span, how = 'passed to unknown code'): void {
  const handOut = (id: ObjectId, node: Node, life: Life): void => {
    if (life.dead) deadUse(walk, state, id, node, life, { span, use: 'read' });
    else walk.collector.pass(span, contextOf(state));
    walk.collector.keptAfter(life.watches, span);
    if (!life.escaped) setLife(state, id, { escaped: true, shared: how });
  };
  // What was recorded for a device, nobody gets out again.
  leaves(state, value, handOut, 6, false);
  const open = (v: Value, depth: number): void => {
    const node = state.node(v);
    if (node === undefined || v.kind !== 'object' || depth === 0 || node.escaped || node.shape === 'array') return;
    state.change(v.id, { escaped: true });
    if (node.home !== undefined) walk.collector.emptied.add(node.home);
    node.fields.forEach((member) => open(member, depth - 1));
    node.pool.forEach((member) => open(member, depth - 1));
  };
  open(value, 4);
}

export { objectValue, undefinedValue };
