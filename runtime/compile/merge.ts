/**
 * Merges a group into an earlier one of the same extents when it reads that one's result or shares an operand with it, and
 * when no other group lies on a way from the earlier to the later one.
 *
 * Groups stand in an order that is legal, so everything that a group waits for stands before the latest group whose result
 * it reads: only that one and later ones may be its host. Hosts are found by what they read or make; what is full is
 * not looked at again. Depends on: core, ops, decide, kernel-builder, simplify, write-node (types).
 */
import type { KnownAval } from '../core/aval.ts';
import { isLiteral, type Variable } from '../core/program.ts';
import { natureOf, type Decision } from './decide.ts';
import { maxOperands, type Definitions } from './kernel-builder.ts';
import type { GroupOf } from './write-node.ts';

export interface Reads {
  readonly found: ReadonlySet<Variable>;
  /** The group computes loops of its own. */
  readonly loops: boolean;
}

export interface Mergeable {
  readonly groups: readonly GroupOf[];
  readonly reads: readonly Reads[];
  readonly aliases: Decision['aliases'];
  readonly may: (variable: Variable) => boolean;
  /** Results that the kernel which stores them can't also read for another result. */
  readonly apart: ReadonlySet<Variable>;
}

/** Where so many hosts of one variable had no room, those before them are not asked. */
const mostLooks = 8;

interface Host {
  group: GroupOf;
  readonly reads: Set<Variable>;
  readonly shape: string;
}

/** `seen` is told how many hosts were looked at, for tests. */
export function merged(
  { groups, reads, aliases, may, apart }: Mergeable,
  seen: (hosts: number) => void = () => undefined,
): readonly GroupOf[] {
  const result: Host[] = [];
  const homeOf = new Map<Variable, number>();
  /** Hosts with room by a variable that they read or make, and by their extents, ascending. */
  const touching = new Map<string, number[]>();
  const names = new Map<Variable, number>();
  const keyOf = (variable: Variable, shape: string): string => {
    const name = names.get(variable) ?? names.size;
    names.set(variable, name);
    return `${name} ${shape}`;
  };
  const touch = (at: number, variables: Iterable<Variable>): void => {
    for (const variable of variables) {
      const key = keyOf(variable, result[at]!.shape);
      const list = touching.get(key);
      if (list === undefined) touching.set(key, [at]);
      else if (list.at(-1)! < at) list.push(at);
      else if (!list.includes(at))
        list.splice(
          list.findIndex((other) => other > at),
          0,
          at,
        );
    }
  };
  const hostFor = (group: GroupOf, own: ReadonlySet<Variable>, loops: boolean, least: number): number => {
    const shape = shapeKey(group.results[0]!.aval);
    let best = -1;
    for (const variable of own) {
      const list = touching.get(keyOf(variable, shape));
      for (let i = (list?.length ?? 0) - 1, looks = 0; i >= 0 && looks < mostLooks; i--, looks++) {
        const at = list![i]!;
        if (at < least || at <= best) break;
        seen(1);
        const host = result[at]!;
        if (isFull(host)) list!.splice(i, 1);
        else if (hosts(host, group, own, loops) && !readsApart(host, own)) best = at;
      }
    }
    return best;
  };
  /** Under another name a result of the host would be read from memory that the same kernel writes. */
  const readsApart = ({ group: { results } }: Host, own: ReadonlySet<Variable>): boolean =>
    results.some((one) => apart.has(one) && own.has(one)) ||
    [...own].some((variable) => aliases.has(variable) && results.includes(aliases.get(variable)!));
  for (const [i, group] of groups.entries()) {
    const { found: own, loops } = reads[i]!;
    let least = 0;
    for (const variable of own) least = Math.max(least, homeOf.get(aliases.get(variable) ?? variable) ?? 0);
    const at = isPlain(group) && may(group.results[0]!) ? hostFor(group, own, loops, least) : -1;
    if (at >= 0) {
      const host = result[at]!;
      host.group = { ...host.group, results: [...host.group.results, ...group.results] };
      for (const variable of own) host.reads.add(variable);
      for (const variable of group.results) homeOf.set(variable, at);
      touch(at, [...own, ...group.results]);
      continue;
    }
    for (const variable of group.results) homeOf.set(variable, result.length);
    result.push({ group, reads: new Set(own), shape: shapeKey(group.results[0]?.aval) });
    if (group.control === undefined && group.update === undefined)
      touch(result.length - 1, group.contraction === undefined ? [...own, ...group.results] : group.results);
  }
  return result.map(({ group }) => group);
}

/** First results of the groups that were merged into others. */
export function mergedIn(single: readonly GroupOf[], groups: readonly GroupOf[]): readonly Variable[] {
  const hosting = new Set(groups.map(({ results }) => results[0]!));
  return single.flatMap(({ results: [first] }) => (first !== undefined && !hosting.has(first) ? [first] : []));
}

const shapeKey = (aval: KnownAval | undefined): string => aval?.shape.join() ?? '';
const isPlain = (group: GroupOf): boolean => group.control === undefined && group.update === undefined && group.contraction === undefined;
const isFull = ({ reads, group }: Host): boolean => reads.size + group.results.length + 1 > maxOperands;

/** They touch the same variable and have the same extents already. */
function hosts({ reads: theirs, group: host }: Host, group: GroupOf, own: ReadonlySet<Variable>, loops: boolean): boolean {
  let together = theirs.size;
  for (const variable of own) if (!theirs.has(variable)) together++;
  if (together + host.results.length + group.results.length > maxOperands) return false;
  // What follows a product joins it only as arithmetic on its result.
  return host.contraction === undefined || (host.results.some((variable) => own.has(variable)) && !loops);
}

/** What each group reads that is stored. */
export function readsOf(groups: readonly GroupOf[], definitions: Definitions): readonly Reads[] {
  return groups.map((group) => {
    const found = new Set<Variable>();
    const seen = new Set<Variable>();
    let loops = false;
    const look = (variable: Variable, root: boolean): void => {
      if (seen.has(variable)) return;
      seen.add(variable);
      const equation = definitions.of(variable);
      if (equation === undefined || (!root && definitions.stored(variable))) {
        found.add(variable);
        return;
      }
      loops ||= natureOf(equation).kind === 'anchor';
      for (const atom of equation.inputs) if (!isLiteral(atom)) look(atom, false);
    };
    for (const variable of group.results) look(variable, true);
    return { found, loops };
  });
}
