/**
 * What an entry leaves behind: callbacks to come, closures handed out, arguments owed, arrays given away.
 *
 * Depends on: walk, arrays, state, values.
 */
import type { LoweredFunction } from '../lower/ir.ts';
import { consumes, leaves, named } from './arrays.ts';
import type { Exit } from './engine.ts';
import { homed } from './properties.ts';
import type { State } from './state.ts';
import { undefinedValue, type Life, type Node, type Value } from './values.ts';
import type { Walker } from './walk.ts';

/** After an entry returned: callbacks it left behind, closures it handed out, arguments it owes. */
export function finish(walker: Walker, fn: LoweredFunction, exit: Exit, self: Value | undefined): readonly State[] {
  const { state } = exit;
  ownedArguments(walker, fn, state, exit.value);
  state.frame.locals.set(-8, exit.value);
  atHome(state, [exit.value, ...state.later.map((later) => later.value)]);
  return walker.runLater(state).map((next) => {
    handedOut(walker, next, next.frame.locals.get(-8) ?? undefinedValue);
    const value = next.frame.locals.get(-8) ?? undefinedValue;
    next.frame.locals.delete(-8);
    if (self === undefined) next.frame.locals.delete(-7);
    walker.settle(next, value);
    givenAway(next, value);
    return next;
  });
}

/** What is returned, also through closures, belongs to the unknown caller now. */
export function givenAway(state: State, value: Value): void {
  const without = state.reachable();
  for (const id of state.reachable([value])) {
    const node = state.heap.get(id);
    if (node?.life !== undefined && !without.has(id)) state.put(id, { ...node, life: { ...node.life, escaped: true, shared: 'returned' } });
  }
  const give = (id: string, node: Node, life: Life): void =>
    state.put(id, { ...node, life: { ...life, escaped: true, shared: 'returned' } });
  // Who gets a bind group gets none of its buffers.
  leaves(state, value, give, 6, false);
}

/** Where operations consume, a parameter that some paths consume is owed on all. */
export function ownedArguments(walker: Walker, fn: LoweredFunction, state: State, value: Value): void {
  const held = state.reachable([value]);
  for (const [id, node] of state.heap) {
    const life = node.life;
    if (
      life === undefined ||
      life.origin !== 'caller' ||
      life.dead ||
      life.escaped ||
      life.traced ||
      life.part !== undefined ||
      node.shape !== 'array' ||
      !consumes(walker, life.library)
    )
      continue;
    if (life.passed?.function !== fn.id || held.has(id) || !id.startsWith('param ')) continue;
    const extra = life.refs > 1 && life.lastRef !== undefined;
    walker.collector.see(
      {
        kind: 'lost',
        span: extra ? life.lastRef! : life.passed.signature,
        function: fn.id,
        array: named(life, id),
        how: extra ? 'extraRef' : 'argument',
        what: 'array',
        ...(extra ? {} : { passed: life.passed }),
      },
      state.frame.context,
    );
  }
}

/** Collections that the closures of a function share once it has returned are at home in its variables. */
function atHome(state: State, values: readonly Value[]): void {
  for (const closure of values.flatMap((value) => closuresIn(state, value)))
    for (let id = closure.environment; id !== undefined;) {
      const node = state.get(id);
      if (node?.function === undefined || node.function === '' || node.function.endsWith('#')) break;
      for (const [variable, value] of node.fields) if (!variable.startsWith('@')) homed(state, value, `${node.function}:${variable}`);
      const parent = node.fields.get('@parent');
      id = parent?.kind === 'object' ? parent.id : undefined;
    }
}

function closuresIn(state: State, value: Value): readonly Extract<Value, { kind: 'closure' }>[] {
  const found: Extract<Value, { kind: 'closure' }>[] = [];
  const visit = (v: Value, depth: number): void => {
    if (v.kind === 'closure') found.push(v);
    const node = state.node(v);
    if (node === undefined || depth === 0 || node.shape === 'environment' || node.class !== undefined) return;
    node.fields.forEach((member) => visit(member, depth - 1));
    node.pool.forEach((member) => visit(member, depth - 1));
  };
  visit(value, 3);
  return found;
}

/** Closures in what an entry returns may be called, twice: once is not enough to see that a captured array is gone. */
export function handedOut(walker: Walker, state: State, value: Value): void {
  for (const closure of closuresIn(state, value).slice(0, 6)) {
    const fn = walker.project.function(closure.function);
    if (fn === undefined) continue;
    let states: State[] = [state.fork()];
    for (let round = 0; round < 2; round++) {
      const next: State[] = [];
      for (const at of states) {
        const args = fn.parameters.map((p, i) =>
          walker.unknown(
            at,
            { ...(fn.locals[p.local]?.type ?? { holds: 'unknown' as const }), nullable: false },
            `handed ${fn.id} ${i} ${round}`,
            'caller',
            undefined,
            p.name,
          ),
        );
        for (const exit of walker.callFunction(at, fn, closure.environment, closure.self, args, {
          span: fn.span,
          nameSpan: fn.span,
          repeated: true,
          type: { holds: 'unknown' },
          tag: ' handed',
        })) {
          if (exit.kind === 'throw') continue;
          if (round === 0 && givenUp(exit.state)) continue;
          givenAway(exit.state, exit.value);
          next.push(exit.state);
        }
      }
      states = next.slice(0, 4);
    }
  }
}

/** Something that outlives the call holds an array that was freed on purpose. */
export function givenUp(state: State): boolean {
  // A list that keeps what was donated from elsewhere was not given up: it goes on being used.
  const gone = (value: Value, collected: boolean, depth: number): boolean => {
    const node = state.node(value);
    if (node === undefined || node.shape === 'environment') return false;
    const { life } = node;
    if (life?.dead === true && (life.death === 'disposed' || (life.death === 'donated' && !collected))) return true;
    return depth > 0 && node.shape === 'object' && [...node.fields.values()].some((member) => gone(member, collected, depth - 1));
  };
  for (const node of state.heap.values()) {
    if (node.shape !== 'environment' && node.shape !== 'instance' && node.shape !== 'map' && node.shape !== 'list') continue;
    const collected = node.shape === 'list' || node.shape === 'map';
    if ([...node.fields.values(), ...node.pool].some((member) => gone(member, collected, 2))) return true;
  }
  return false;
}
