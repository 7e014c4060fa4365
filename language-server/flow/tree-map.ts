/**
 * `tree.map(f, tree, …rest)`: the result has the form of the first tree.
 *
 * A tree whose form is known is mapped leaf by leaf; of one that is not, and of a list of unknown length, one member stands
 * for all: what happens to it happened to the tree. Depends on: engine, collections, arrays, pinned, state, values.
 */
import type { TypeFact } from '../lower/ir.ts';
import { leaves, setLife } from './arrays.ts';
import { blur, iterated, members } from './collections.ts';
import { returned, then, type CallSite, type Engine, type Exit } from './engine.ts';
import { siteOf } from './events.ts';
import { pinned } from './pinned.ts';
import type { State } from './state.ts';
import { emptyFields, hostValue, type Life, type Node, type Value } from './values.ts';

interface Mapping {
  readonly engine: Engine;
  readonly target: Value;
  readonly site: CallSite;
  readonly library: string;
}

export function treeMap(
  engine: Engine,
  state: State,
  target: Value,
  trees: readonly Value[],
  site: CallSite,
  library: string,
): readonly Exit[] {
  return mapInto({ engine, target, site, library }, state, trees, '', 0);
}

function mapInto(mapping: Mapping, state: State, trees: readonly Value[], path: string, depth: number): readonly Exit[] {
  const { engine, target, site, library } = mapping;
  const node = state.node(trees[0]);
  if (node === undefined || node.shape === 'array' || depth > 5)
    return engine.callValue(state, target, undefined, trees, { ...site, type: arrayOf(library), repeated: true, tag: ` ${path}` });
  return node.open || node.pool.length > 0
    ? mapOne(mapping, state, trees, node, path, depth)
    : mapFields(mapping, state, trees, node, path, depth);
}

const arrayOf = (library: string): TypeFact => ({ holds: 'array', library });

/** One member for all of a tree of unknown form, or of a list of unknown length. */
function mapOne(mapping: Mapping, state: State, trees: readonly Value[], node: Node, path: string, depth: number): readonly Exit[] {
  const { engine, site, library } = mapping;
  const held = pinned(state, site, 2 + depth, trees);
  const one = trees.map((tree) => iterated(engine, state, tree, arrayOf(library))[0] ?? hostValue('leaf;'));
  const inside = state.node(one[0]);
  const nested = inside !== undefined && inside.shape !== 'array';
  return then(mapInto(mapping, state, one, `${path}.each`, depth + 1), (next, value) => {
    const now = trees.map((_, i) => held.at(next, i));
    held.release(next);
    for (const tree of now) {
      wholeTree(next, tree);
      const others = next.node(tree);
      if (others !== undefined && !others.open) for (const member of members(others).slice(1)) blur(next, member);
    }
    if (nested || node.pool.length > 0) {
      const empty: Node = { shape: 'list', fields: emptyFields, pool: [value], open: false, many: false, type: node.type };
      return returned(next, next.allocate(siteOf(next, site, `mapped${path}`), traced(next, empty), engine.dropped(next)));
    }
    const inner = next.node(value);
    if (inner?.life === undefined || inner.life.origin !== 'here') return returned(next, inner === undefined ? value : now[0]!);
    if (value.kind === 'object') next.change(value.id, { shape: 'tree', open: true, type: { ...node.type, nullable: false } });
    return returned(next, value);
  });
}

/** Field by field. */
function mapFields(mapping: Mapping, state: State, trees: readonly Value[], node: Node, path: string, depth: number): readonly Exit[] {
  const { engine, site, library } = mapping;
  const held = pinned(state, site, 2 + depth, trees);
  // An empty tree beside one of unknown form is a way that is never gone.
  if (node.fields.size === 0) for (const tree of trees.slice(1)) if (state.node(tree)?.open === true) blur(state, tree);
  const empty: Node = { ...node, shape: node.shape === 'list' ? 'list' : 'object', fields: emptyFields, pool: [] };
  const { life: _, class: __, home: ___, ...form } = empty;
  const holder = state.allocate(siteOf(state, site, `mapped${path}`), traced(state, form), engine.dropped(state));
  const result = pinned(state, site, 9 + depth, [holder]);
  let states: State[] = [state];
  const thrown: Exit[] = [];
  for (const name of node.fields.keys()) {
    const next: State[] = [];
    for (const at of states) {
      const parts = trees.map((__, i) => part(engine, at, held.at(at, i), name, library));
      for (const exit of mapInto(mapping, at, parts, `${path}.${name}`, depth + 1)) {
        if (exit.kind === 'throw') {
          thrown.push(exit);
          continue;
        }
        const list = result.at(exit.state, 0);
        if (list.kind === 'object') exit.state.setField(list.id, name, exit.value);
        if (next.length < 8) next.push(exit.state);
      }
    }
    states = next;
  }
  const done = states.flatMap((at) => {
    const value = result.at(at, 0);
    held.release(at);
    result.release(at);
    return returned(at, value);
  });
  return [...thrown, ...done];
}

const traced = (state: State, { traced: _, ...node }: Node): Node => (state.tracing > 0 ? { ...node, traced: true } : node);

function part(engine: Engine, state: State, tree: Value, name: string, library: string): Value {
  const node = state.node(tree);
  const field = node?.fields.get(name);
  if (field !== undefined) return field;
  if (node !== undefined && tree.kind === 'object' && node.open)
    return iterated(engine, state, tree, arrayOf(library))[0] ?? hostValue('leaf;');
  return hostValue(`leaf.${name};`);
}

/** What happened to the member that stands for all of a tree happened to the tree. */
function wholeTree(state: State, tree: Value): void {
  const node = state.node(tree);
  if (tree.kind !== 'object' || node?.life === undefined || node.life.dead || !node.open) return;
  const each = node.fields.get('[each]');
  if (each === undefined) return;
  const lives: Life[] = [];
  leaves(state, each, (_, __, life) => void lives.push(life));
  const [first] = lives;
  if (first === undefined || !lives.every(({ dead }) => dead)) return;
  const how = {
    ...(first.death === undefined ? {} : { death: first.death }),
    ...(first.diedAt === undefined ? {} : { diedAt: first.diedAt }),
  };
  setLife(state, tree.id, { dead: true, refs: 0, ...how });
}
