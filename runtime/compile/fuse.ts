/**
 * From a simplified program to a list of kernels, in an order that is always legal.
 *
 * `decide` says what is stored; each stored variable is one group; groups of one extent that read each other's results, or
 * the same operands, are merged into one kernel with several results where nothing lies between them. Fusion is decided
 * as if nothing were donated, so the kernels are the same for all donation choices.
 * Depends on: core, ops, decide, merge, write-node, kernel-builder, kernel.
 */
import { isLiteral, type Equation, type Variable } from '../core/program.ts';
import type { Op } from '../ops/op.ts';
import { decide, type Decision, type Eagerness } from './decide.ts';
import type { Kernel } from './kernel.ts';
import { Unfit, type Definitions } from './kernel-builder.ts';
import { merged, mergedIn, readsOf, type Reads } from './merge.ts';
import { makeNumbers, type Flat } from './simplify.ts';
import { makeNodeWriter, type GroupOf, type NodeWriter } from './write-node.ts';

/** One step of the program: a kernel with the variables in its slots, or a control-flow equation. */
export type Node =
  | {
      readonly kind: 'kernel';
      readonly kernel: Kernel;
      readonly operands: readonly Variable[];
      readonly results: readonly Variable[];
      readonly target?: number;
    }
  | {
      readonly kind: 'control';
      readonly equation: Equation<Op>;
      readonly operands: readonly Variable[];
      readonly results: readonly Variable[];
      /** Results that may lie over an operand; in a loop these start as its value and are updated in place: carries. */
      readonly carries: readonly Overwrite[];
    };

export interface Overwrite {
  readonly result: number;
  readonly operand: number;
}

export interface Fused {
  readonly nodes: readonly Node[];
  readonly aliases: ReadonlyMap<Variable, Variable>;
  /** First results of the groups that were merged into earlier ones. */
  readonly merged: readonly Variable[];
}

/** What attempts on one program share: kernels that were written, and what is stored. */
export interface Workshop {
  readonly writer: NodeWriter;
  readonly cuts: Map<string, Cut>;
  readonly numberOf: (variable: Variable) => number;
}

/** A program cut into groups by a decision on what is stored. */
interface Cut {
  readonly decision: Decision;
  readonly definitions: Definitions;
  readonly groups: readonly GroupOf[];
  readonly reads: readonly Reads[];
}

/** `overwritesOf`: results of a choice that may lie over an operand. */
export function makeWorkshop(overwritesOf: (equation: Equation<Op>) => readonly Overwrite[]): Workshop {
  return { writer: makeNodeWriter(overwritesOf), cuts: new Map(), numberOf: makeNumbers() };
}

export interface FuseOptions {
  readonly eagerness: Eagerness;
  /** Groups that may be merged into earlier ones, by their first result. */
  readonly merge: 'all' | ReadonlySet<Variable>;
  readonly workshop: Workshop;
}

export function fuse(flat: Flat, { eagerness, merge, workshop }: FuseOptions): Fused {
  const { writer, cuts, numberOf } = workshop;
  const forced = new Set<Variable>();
  const apart = new Set<Variable>();
  for (;;) {
    const name = [eagerness, ...[...forced].map(numberOf).toSorted((a, b) => a - b)].join(' ');
    const cut = cuts.get(name) ?? cutBy(flat, eagerness, forced);
    cuts.set(name, cut);
    const { decision, definitions, groups: single, reads } = cut;
    const may = (variable: Variable): boolean => !apart.has(variable) && (merge === 'all' || merge.has(variable));
    const groups = merge !== 'all' && merge.size === 0 ? single : merged({ groups: single, reads, aliases: decision.aliases, may, apart });
    const unread = groups === single ? new Map<GroupOf, ReadonlySet<Variable>>() : unreadIn(groups, flat, cut);
    const unfit = new Set<Variable>();
    const nodes = groups.flatMap((group): Node[] => {
      try {
        return [leanNode(group, unread.get(group), writer, definitions) ?? writer.nodeOf(group, definitions)];
      } catch (fault) {
        if (!(fault instanceof Unfit)) throw fault;
        unfit.add(fault.variable);
        return [];
      }
    });
    if (unfit.size === 0) return { nodes, aliases: decision.aliases, merged: mergedIn(single, groups) };
    for (const variable of unfit) {
      if (!decision.stored.has(variable)) forced.add(variable);
      // Stored already: then it is the merging that doesn't work.
      else if (apart.has(variable)) throw new Error('internal: runtime/compile: a kernel cannot be written');
      else apart.add(variable);
    }
  }
}

/** The node without results that nobody else reads, where it can be written like that. */
function leanNode(
  group: GroupOf,
  unread: ReadonlySet<Variable> | undefined,
  writer: NodeWriter,
  { of, stored }: Definitions,
): Node | undefined {
  if (unread === undefined) return undefined;
  try {
    const results = group.results.filter((variable) => !unread.has(variable));
    return writer.nodeOf({ ...group, results }, { of, stored: (variable) => !unread.has(variable) && stored(variable) });
  } catch (fault) {
    if (fault instanceof Unfit) return undefined;
    throw fault;
  }
}

/** Results that only the kernel itself reads, since their readers were merged into it: they need not be stored. */
function unreadIn(
  groups: readonly GroupOf[],
  flat: Flat,
  { groups: single, reads, decision: { aliases } }: Cut,
): ReadonlyMap<GroupOf, ReadonlySet<Variable>> {
  const home = new Map(groups.flatMap((group) => group.results.map((variable) => [variable, group] as const)));
  const needed = new Set<Variable>([...flat.outputs.filter((atom): atom is Variable => !isLiteral(atom)), ...aliases.values()]);
  single.forEach(({ results }, i) => {
    const own = home.get(results[0]!);
    for (const variable of reads[i]!.found) if (home.get(variable) !== own) needed.add(variable);
  });
  const found = new Map<GroupOf, ReadonlySet<Variable>>();
  for (const group of groups) {
    if (group.control !== undefined || group.results.length < 2) continue;
    const unread = new Set(group.results.filter((variable) => !needed.has(variable)));
    if (unread.size > 0 && unread.size < group.results.length) found.set(group, unread);
  }
  return found;
}

function cutBy(flat: Flat, eagerness: Eagerness, forced: ReadonlySet<Variable>): Cut {
  const decision = decide(flat, { eagerness, forced });
  const definitions = definitionsOf(flat, decision);
  const groups = groupsOf(flat, decision);
  return { decision, definitions, groups, reads: readsOf(groups, definitions) };
}

function definitionsOf(flat: Flat, { stored }: Decision): Definitions {
  const equations = new Map<Variable, Equation<Op>>();
  for (const equation of flat.equations) for (const output of equation.outputs) equations.set(output, equation);
  return { of: (variable) => equations.get(variable), stored: (variable) => stored.has(variable) };
}

function groupsOf(flat: Flat, { stored, aliases, products }: Decision): GroupOf[] {
  const groups: GroupOf[] = [];
  for (const equation of flat.equations) {
    if (equation.op.body.kind === 'control') {
      groups.push({ results: equation.outputs, control: equation });
      continue;
    }
    const [result] = equation.outputs;
    if (result === undefined || !stored.has(result) || aliases.has(result)) continue;
    const contraction = products.get(result);
    groups.push({
      results: [result],
      ...(contraction ? { contraction } : {}),
      ...(equation.op.body.kind === 'update' ? { update: equation } : {}),
    });
  }
  return groups;
}
