/**
 * One function, path by path: blocks, branches and loops, and where paths meet.
 *
 * Depends on: events, host-values, losses, arrays, state, values, lower/ir.
 */
import { reads, successors, writes, type Block, type BlockId, type Local, type LoweredFunction, type Span } from '../lower/ir.ts';
import { leaves, read } from './arrays.ts';
import type { Exit } from './engine.ts';
import { step, type Place } from './events.ts';
import { giveBack, lend } from './generators.ts';
import { assume, truthOf } from './host-values.ts';
import { reportLost } from './losses.ts';
import type { State } from './state.ts';
import { emptyFields, hostValue, undefinedValue, type Node, type Value } from './values.ts';
import type { Walker } from './walk.ts';

interface FunctionShape {
  readonly live: readonly ReadonlySet<Local>[];
  readonly joins: ReadonlySet<BlockId>;
  readonly inLoop: ReadonlySet<BlockId>;
  readonly endless: ReadonlySet<BlockId>;
}

const stepsPerLook = 16;

export function runFunction(walker: Walker, start: State, fn: LoweredFunction): readonly Exit[] {
  const shape = shapeOf(fn);
  const exits: Exit[] = [];
  const exitKeys = new Map<string, Exit>();
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
      exit.state.collect(walker.dropped(exit.state), [exit.value]);
    }
    const key = `${exit.kind}${exit.value.key} ${exit.state.key(new Set(), false)}`;
    const same = exitKeys.get(key);
    // Two paths that leave the same behind are one from here on, and it knows what both know.
    if (same !== undefined) return onlyCommon(same.state.facts, exit.state.facts);
    if (exits.length >= walker.limits.exitsPerCall) return walker.collector.silent('too many ways out');
    exitKeys.set(key, exit);
    exits.push(exit);
  };
  while (work.length > 0) {
    const item = work.pop()!;
    const { state } = item;
    const block = fn.blocks[item.block]!;
    if (walker.steps > walker.cap) {
      walker.collector.silent('run too long');
      break;
    }
    if (item.index === 0 && shape.joins.has(block.id)) {
      const live = shape.live[block.id]!;
      for (const local of [...state.frame.locals.keys()])
        if (local >= 0 && !live.has(local) && fn.locals[local]?.kind !== 'this') state.frame.locals.delete(local);
      state.collect(walker.dropped(state));
      state.forgetTests();
      if (item.back && block.loop !== undefined) reportLost(walker, state);
      const seen = visited.get(block.id) ?? new Set<string>();
      visited.set(block.id, seen);
      // Where there are too many, one path stands for those that differ in what they know: it goes on as the one it is.
      const crowded = seen.size >= walker.limits.pathsPerBlock;
      const key = state.key(undefined, !crowded);
      if (seen.has(key)) continue;
      if (seen.size >= walker.limits.pathsPerBlock * 2) {
        walker.collector.silent('too many paths');
        continue;
      }
      seen.add(key);
    }
    runBlock(walker, state, block, item.index, fn, shape, work, leave);
  }
  return exits;
}

function onlyCommon(facts: Map<string, boolean>, others: ReadonlyMap<string, boolean>): void {
  for (const [fact, truth] of facts) if (others.get(fact) !== truth) facts.delete(fact);
}

function runBlock(
  walker: Walker,
  state: State,
  block: Block,
  from: number,
  fn: LoweredFunction,
  shape: FunctionShape,
  work: { state: State; block: BlockId; index: number; back: boolean }[],
  leave: (exit: Exit) => void,
): void {
  const place: Place = { fn, inLoop: shape.inLoop.has(block.id), endless: shape.endless.has(block.id) };
  const throwTo = (exit: Exit): void => {
    if (block.handler === undefined) return leave(exit);
    exit.state.caught = true;
    work.push({ state: exit.state, block: block.handler, index: 0, back: false });
  };
  for (let i = from; i < block.events.length; i++) {
    walker.steps++;
    if (++walker.total % stepsPerLook === 0) walker.look();
    const event = block.events[i]!;
    if (block.handler !== undefined && (event.kind === 'await' || (event.kind === 'call' && event.callee.kind === 'value'))) {
      const other = state.fork();
      other.caught = true;
      if (event.kind === 'await') rejected(other, other.local(event.value));
      work.push({ state: other, block: block.handler, index: 0, back: false });
    }
    const exits = step(walker, state, event, place);
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
      if (before !== undefined) giveBack(state, before);
      if (first === undefined) {
        drained(walker, state, node);
        return go(state, end.done);
      }
      if (first.kind === 'object' && state.get(first.id)?.many) state.iterating.add(first.id);
      const fields = new Map(node.fields);
      fields.set('at', first);
      state.change(iterator.id, { pool: others, fields, count: (node.count ?? 0) + 1 });
      lend(state, first);
      state.set(end.to, first);
      return go(state, end.body);
    }
    case 'return':
      if (end.value !== undefined) handsOutDead(walker, state, state.local(end.value), end.span);
      return leave({ state, kind: 'return', value: end.value === undefined ? undefinedValue : state.local(end.value) });
    case 'throw':
      return throwTo({ state, kind: 'throw', value: state.local(end.value) });
    case 'unreachable':
      return;
  }
}

const shapes = new WeakMap<LoweredFunction, FunctionShape>();

function shapeOf(fn: LoweredFunction): FunctionShape {
  const known = shapes.get(fn);
  if (known !== undefined) return known;
  const inLoop = new Set(fn.blocks.flatMap((block) => block.loop ?? []));
  const made = { live: liveness(fn), joins: joins(fn), inLoop, endless: endlessBlocks(fn) };
  shapes.set(fn, made);
  return made;
}

/** The blocks of loops that no way leaves but an exception. */
function endlessBlocks(fn: LoweredFunction): ReadonlySet<BlockId> {
  const byId = new Map(fn.blocks.map((block) => [block.id, block]));
  // A condition that is always true has a way out in the text only.
  const ways = (id: BlockId): readonly BlockId[] => {
    const end = byId.get(id)?.end;
    return end === undefined ? [] : end.kind === 'branch' && isTrue(fn, end.condition) ? [end.then] : successors(end);
  };
  return new Set(
    fn.blocks.flatMap(({ id: head, loop = [] }) => {
      const around = new Set<BlockId>([head]);
      for (let size = 0; size !== around.size;) {
        size = around.size;
        for (const id of loop) if (ways(id).some((next) => around.has(next))) around.add(id);
      }
      return loop.length > 0 && [...around].every((id) => ways(id).every((next) => around.has(next))) ? [...around] : [];
    }),
  );
}

/** Is a local nothing but `true`? */
function isTrue(fn: LoweredFunction, local: Local): boolean {
  const written = fn.blocks.flatMap(({ events }) => events.filter((event) => writes(event) === local));
  return written.length > 0 && written.every((event) => event.kind === 'literal' && event.value === true);
}

/** A promise that fails yields nothing: what only its value would have held was never made. */
function rejected(state: State, promise: Value): void {
  const node = state.node(promise);
  const value = node?.fields.get('value');
  if (node?.shape !== 'promise' || promise.kind !== 'object' || value === undefined) return;
  state.change(promise.id, { fields: emptyFields });
  const held = state.reachable();
  leaves(state, value, (id) => void (held.has(id) || state.heap.delete(id)));
}

/** A loop over a list of unknown length has freed the members it saw: it has freed the list. */
function drained(walker: Walker, state: State, iterator: Node): void {
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

/** A `return` that hands out an array that is gone. */
function handsOutDead(walker: Walker, state: State, value: Value, span: Span, depth = 4): void {
  const node = state.node(value);
  const life = node?.life;
  // What an object or list made here hands out is handed out with it.
  if (node !== undefined && life === undefined && depth > 0 && !node.open && (node.shape === 'object' || node.shape === 'list')) {
    for (const member of node.fields.values()) handsOutDead(walker, state, member, span, depth - 1);
    return;
  }
  if (node?.shape !== 'array' || life === undefined || value.kind !== 'object' || state.tracing > 0) return;
  if (!life.dead) return walker.collector.pass(span, state.frame.context);
  if (life.origin !== 'here' || life.traced || life.misused) return;
  read(walker, state, value, { span, use: 'return' });
  state.put(value.id, { ...node, life: { ...life, escaped: true, sure: false } });
}

/** The locals that may still be read at the start of each block. */
function liveness(fn: LoweredFunction): readonly ReadonlySet<Local>[] {
  const blocks = fn.blocks.map(usesIn);
  const live = blocks.map(() => new Set<Local>());
  for (let changed = true; changed;) {
    changed = false;
    for (let b = blocks.length - 1; b >= 0; b--) {
      const { reads: own, writes: gone, next } = blocks[b]!;
      const now = new Set(own);
      for (const follower of next) for (const local of live[follower] ?? []) if (!gone.has(local)) now.add(local);
      if (now.size > live[b]!.size) {
        live[b] = now;
        changed = true;
      }
    }
  }
  return live;
}

/** What a block reads before it writes it, what it writes, and where it goes. */
function usesIn(block: Block): {
  readonly reads: ReadonlySet<Local>;
  readonly writes: ReadonlySet<Local>;
  readonly next: readonly BlockId[];
} {
  const { end, handler } = block;
  const [needed, written] = [new Set<Local>(), new Set<Local>()];
  if (end.kind === 'next') {
    written.add(end.to);
    needed.add(end.iterator);
  }
  if (end.kind === 'branch') needed.add(end.condition);
  if ((end.kind === 'return' || end.kind === 'throw') && end.value !== undefined) needed.add(end.value);
  for (let i = block.events.length - 1; i >= 0; i--) {
    const event = block.events[i]!;
    const to = writes(event);
    if (to !== undefined && handler === undefined) {
      needed.delete(to);
      written.add(to);
    }
    for (const local of reads(event)) needed.add(local);
  }
  return { reads: needed, writes: written, next: [...successors(end), ...(handler === undefined ? [] : [handler])] };
}

/** Blocks that several ways lead to, and heads of loops: where paths are compared. */
function joins(fn: LoweredFunction): ReadonlySet<BlockId> {
  const count = new Map<BlockId, number>();
  for (const block of fn.blocks)
    for (const next of [...successors(block.end), ...(block.handler === undefined ? [] : [block.handler])])
      count.set(next, (count.get(next) ?? 0) + 1);
  return new Set(fn.blocks.filter((block) => (count.get(block.id) ?? 0) > 1 || block.loop !== undefined).map((block) => block.id));
}
