/**
 * What nobody holds any more: noted when it is dropped, reported once the path goes on.
 *
 * Depends on: arrays, state, values.
 */
import { consumes, named } from './arrays.ts';
import type { State } from './state.ts';
import type { Life, Node, ObjectId } from './values.ts';
import type { Walker } from './walk.ts';

/** Nobody holds this object any more. */
export function drop(walker: Walker, state: State, id: ObjectId, node: Node): void {
  const life = node.life;
  if (life === undefined || life.dead || life.escaped || life.traced || life.part !== undefined || life.empty || node.many) return;
  const scope = state.scopes[life.scope - 1];
  if (scope !== undefined) state.scopes[life.scope - 1] = { ...scope, frees: true };
  if (life.scope > 0 || life.refs <= 0 || life.raced || life.lent !== undefined) return;
  if (life.origin === 'field') return;
  if (life.origin === 'caller' && !consumes(walker, life.library)) return;
  if (life.opened && !leavesPart(state, id, node)) {
    const taken = [...node.fields.keys()].filter((name) => /^\d+$/.test(name)).length;
    if (node.count === undefined || node.count <= taken) return walker.collector.silent('leak: part of a tree was freed by itself');
  }
  state.lost.set(`${id} ${life.made?.start ?? ''}`, { id, node, how: 'end', context: state.frame.context });
}

/** Was a part that the text names left alive, where another was freed by itself? */
const leavesPart = (state: State, id: ObjectId, node: Node): boolean =>
  [...node.fields].some(([name, value]) => {
    const life = /^\d+$/.test(name) ? state.node(value)?.life : undefined;
    return life?.part === id && !life.dead && !life.escaped && life.opened !== true;
  });

/** What an object held was read by reference, and each reference was given back: the object's own is what is left. */
const keptWhole = (life: Life): boolean => life.refOfKept === true && life.refs === 1;

/** What was lost on a path that goes on: reported once. */
export function reportLost(walker: Walker, state: State): void {
  for (const lost of state.lost.values()) {
    const life = lost.node.life!;
    const consuming = consumes(walker, life.library);
    const common = {
      function: life.function,
      array: named(life, lost.id),
      what: life.owner ? ('owner' as const) : ('array' as const),
      ...(life.declaration === undefined ? {} : { declaration: life.declaration }),
      ...(life.lastUse === undefined ? {} : { lastUse: life.lastUse }),
      ...(state.caught ? { path: 'catch' as const } : {}),
    };
    if (
      consuming &&
      life.lastRef !== undefined &&
      life.added === undefined &&
      !keptWhole(life) &&
      (life.origin === 'here' || life.refs > 1)
    )
      walker.collector.see({ kind: 'lost', span: life.lastRef, how: 'extraRef', ...common }, lost.context);
    else if (consuming && life.passed !== undefined)
      walker.collector.see(
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
    else if (life.lostAt !== undefined)
      walker.collector.see(
        { kind: 'lost', span: life.lostAt.span, how: life.lostAt.how, variable: life.lostAt.variable, ...common },
        lost.context,
      );
    else if (life.added !== undefined)
      walker.collector.see(
        {
          kind: 'retained',
          span: life.added,
          function: life.function,
          array: named(life, lost.id),
          collection: 'the list',
          where: 'loop',
          scalar: false,
        },
        lost.context,
      );
    else if (life.made !== undefined && life.origin === 'here')
      walker.collector.see(
        { kind: 'lost', span: life.made, how: lost.node.life?.opened ? 'part' : life.name === undefined ? 'dropped' : 'end', ...common },
        lost.context,
      );
  }
  state.lost.clear();
}
