/**
 * Objects made of pairs: `Object.fromEntries`.
 *
 * A pair whose key is known puts its value under that name; what stands under a key that nobody knows is a member of the
 * pool. Depends on: collections, engine, state, values.
 */
import type { TypeFact } from '../lower/ir.ts';
import { copyOf, members, unique } from './collections.ts';
import type { Engine } from './engine.ts';
import type { State } from './state.ts';
import type { Node, Value } from './values.ts';

export function fromPairs(engine: Engine, state: State, pairs: Value, site: string, type: TypeFact): Value {
  const node = state.node(pairs);
  if (node === undefined || pairs.kind !== 'object' || (node.shape !== 'list' && node.shape !== 'map'))
    return copyOf(engine, state, pairs, site, type);
  const fields = new Map<string, Value>(node.shape === 'map' ? node.fields : []);
  const pool: Value[] = node.shape === 'map' ? [...node.pool] : [];
  let open = node.open;
  for (const member of node.shape === 'map' ? [] : members(node)) {
    const pair = state.node(member);
    const named = pair === undefined ? undefined : nameIn(pair);
    if (pair?.shape !== 'list' || pair.open) open = true;
    // Pairs of several rounds of a loop: a key that nobody knows is another in each.
    else if (named === undefined || (named.startsWith('[') && fields.has(named))) pool.push(...valuesIn(pair));
    else fields.set(named, pair.fields.get('1')!);
  }
  return state.allocate(
    site,
    { shape: 'object', fields, pool: unique(pool), open, many: false, type, ...(state.tracing > 0 ? { traced: true } : {}) },
    engine.dropped(state),
  );
}

/** The name that a pair stands for, where it is one pair and its key has one. */
function nameIn({ fields, pool, many }: Node): string | undefined {
  const key = fields.get('0');
  if (many || pool.length > 0 || !fields.has('1')) return undefined;
  // What is missing in a pair of a declared type is there, but nobody knows what it is.
  if (key?.kind === 'literal') return key.value === undefined ? undefined : String(key.value);
  return key?.kind === 'host' && key.symbol !== '' ? `[${key.key}]` : undefined;
}

const valuesIn = ({ fields, pool }: Node): readonly Value[] =>
  [fields.get('1'), ...pool].filter((value) => value !== undefined && value.kind !== 'literal' && value.kind !== 'host') as Value[];
