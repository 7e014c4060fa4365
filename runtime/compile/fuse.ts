/**
 * From a simplified program to a list of kernels, in an order that is always legal.
 *
 * `decide` says what is stored; each stored variable is one group; groups of one extent that read each other's results, or
 * the same operands, are merged into one kernel with several results where nothing lies between them. Fusion is decided
 * as if nothing were donated, so the kernels are the same for all donation choices.
 * Depends on: core, ops, decide, kernel-builder, kernel.
 */
import type { KnownAval } from '../core/aval.ts';
import { isLiteral, type Equation, type Variable } from '../core/program.ts';
import type { Op } from '../ops/op.ts';
import { collapsed } from './collapse.ts';
import { decide, natureOf, type Decision, type Eagerness } from './decide.ts';
import type { Kernel } from './kernel.ts';
import { kernelKey } from './kernel-key.ts';
import { inPlacePairs, maxOperands, Unfit, writeKernel, type Definitions, type Group, type Written } from './kernel-builder.ts';
import { visit } from './scalar-walk.ts';
import { formOf, type Flat } from './simplify.ts';

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

export interface FuseOptions {
  readonly eagerness: Eagerness;
  /** Groups that may be merged into earlier ones, by their first result. */
  readonly merge: 'all' | ReadonlySet<Variable>;
  /** Kernels that other attempts on the same program wrote already. */
  readonly written?: Map<string, Node>;
  /** Results of a choice that may lie over an operand. */
  readonly overwritesOf: (equation: Equation<Op>) => readonly Overwrite[];
}

export function fuse(flat: Flat, { eagerness, merge, overwritesOf, written = new Map() }: FuseOptions): Fused {
  const numbers = new Map(flat.equations.flatMap(({ outputs }) => outputs).map((variable, i) => [variable, i]));
  const forced = new Set<Variable>();
  const apart = new Set<Variable>();
  for (;;) {
    const decision = decide(flat, { eagerness, forced });
    const definitions = definitionsOf(flat, decision);
    // What is stored decides the text of a kernel, and that follows from the eagerness and from what was forced.
    const circumstances = `${eagerness} ${[...forced].map((variable) => numbers.get(variable)).join()}`;
    const nodeFor = (group: GroupOf): Node => {
      const key = `${circumstances}: ${group.results.map((variable) => numbers.get(variable)).join()}`;
      const known = written.get(key);
      if (known !== undefined) return known;
      const node = nodeOf(group, definitions, overwritesOf);
      written.set(key, node);
      return node;
    };
    const single = groupsOf(flat, decision);
    const may = (variable: Variable): boolean => !apart.has(variable) && (merge === 'all' || merge.has(variable));
    const groups = merge !== 'all' && merge.size === 0 ? single : merged(single, flat, decision, { may, apart });
    try {
      return { nodes: groups.map(nodeFor), aliases: decision.aliases, merged: mergedIn(single, groups) };
    } catch (fault) {
      if (!(fault instanceof Unfit)) throw fault;
      // Stored already: then it is the merging that doesn't work.
      if (decision.stored.has(fault.variable)) {
        if (apart.has(fault.variable)) throw new Error('internal: runtime/compile: a kernel cannot be written', { cause: fault });
        apart.add(fault.variable);
      } else forced.add(fault.variable);
    }
  }
}

function definitionsOf(flat: Flat, { stored }: Decision): Definitions {
  const equations = new Map<Variable, Equation<Op>>();
  for (const equation of flat.equations) for (const output of equation.outputs) equations.set(output, equation);
  return { of: (variable) => equations.get(variable), stored: (variable) => stored.has(variable) };
}

interface GroupOf extends Group {
  readonly control?: Equation<Op>;
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

function nodeOf(group: GroupOf, definitions: Definitions, overwritesOf: FuseOptions['overwritesOf']): Node {
  if (group.control !== undefined) {
    const operands = group.control.inputs.filter((atom): atom is Variable => !isLiteral(atom));
    return { kind: 'control', equation: group.control, operands, results: group.results, carries: carriesOf(group.control, overwritesOf) };
  }
  const written = writeKernel(group, definitions);
  if (written.operands.length + written.results.length > maxOperands) throw new Unfit(largestInside(group, definitions));
  const flat = collapsed(written);
  const kernel: Kernel = {
    key: kernelKey(flat),
    name: nameOf(group, definitions),
    extents: flat.extents,
    operands: flat.operands.map(({ aval }) => aval),
    results: flat.results,
    form: flat.form,
    inPlace: inPlacePairs(flat),
    flops: flopsOf(flat),
  };
  const target = group.update === undefined ? undefined : flat.operands.lastIndexOf(targetOf(group.update));
  return { kind: 'kernel', kernel, operands: flat.operands, results: group.results, ...(target === undefined ? {} : { target }) };
}

function targetOf({ op, inputs }: Equation<Op>): Variable {
  const target = op.body.kind === 'update' ? inputs[op.body.target] : undefined;
  if (target === undefined || isLiteral(target)) throw new Error('internal: runtime/compile: an update without a target');
  return target;
}

/** Of too many operands, which variable to store: the one deepest in the expression that has most of them. */
function largestInside(group: GroupOf, definitions: Definitions): Variable {
  let best: Variable | undefined;
  let most = 0;
  const leavesOf = (variable: Variable, root: boolean): Set<Variable> => {
    const equation = definitions.of(variable);
    if (equation === undefined || (!root && definitions.stored(variable))) return new Set([variable]);
    const leaves = new Set<Variable>();
    for (const atom of equation.inputs) if (!isLiteral(atom)) for (const leaf of leavesOf(atom, false)) leaves.add(leaf);
    if (!root && leaves.size > most && leaves.size <= maxOperands - group.results.length && equation.op.body.kind !== 'view') {
      most = leaves.size;
      best = variable;
    }
    return leaves;
  };
  for (const result of group.results) leavesOf(result, true);
  // Nothing inside: too many results were merged.
  return best ?? group.results.at(-1)!;
}

function carriesOf(equation: Equation<Op>, overwritesOf: FuseOptions['overwritesOf']): readonly Overwrite[] {
  const form = formOf(equation);
  if (form?.kind === 'choice') return overwritesOf(equation);
  const from = form?.kind === 'loop' ? form.constants : form?.kind === 'while' ? form.conditionConstants + form.bodyConstants : undefined;
  const count = form?.kind === 'loop' ? form.carries : equation.outputs.length;
  return from === undefined ? [] : Array.from({ length: count }, (_, i) => ({ result: i, operand: from + i }));
}

const shapeKey = ({ shape }: KnownAval): string => shape.join();

/**
 * Merges a group into an earlier one of the same extents when it reads that one's result or shares an operand with it, and
 * when no other group lies on a way from the earlier to the later one.
 */
interface Mergeable {
  readonly may: (variable: Variable) => boolean;
  /** Results that the kernel which stores them can't also read for another result. */
  readonly apart: ReadonlySet<Variable>;
}

function merged(groups: readonly GroupOf[], flat: Flat, decision: Decision, { may, apart }: Mergeable): readonly GroupOf[] {
  const reads = readsOf(groups, flat, decision);
  const result: { group: GroupOf; reads: Set<Variable>; after: Set<number> }[] = [];
  const homeOf = new Map<Variable, number>();
  for (const [i, group] of groups.entries()) {
    const { found: own, loops } = reads[i]!;
    const after = new Set<number>();
    for (const variable of own) {
      const home = homeOf.get(decision.aliases.get(variable) ?? variable);
      if (home === undefined) continue;
      after.add(home);
      for (const earlier of result[home]!.after) after.add(earlier);
    }
    const host = result.findLastIndex(
      ({ group: other, reads: theirs }, at) =>
        canHost({ group, host: other, reads: own, theirs, loops }) &&
        !other.results.some((variable) => apart.has(variable) && own.has(variable)) &&
        ![...after].some((one) => one > at),
    );
    if (host >= 0 && plain(group) && may(group.results[0]!)) {
      const former = result[host]!;
      result[host] = {
        group: { ...former.group, results: [...former.group.results, ...group.results] },
        reads: new Set([...former.reads, ...own]),
        after: new Set([...former.after, ...[...after].filter((one) => one !== host)]),
      };
      for (const variable of group.results) homeOf.set(variable, host);
      continue;
    }
    for (const variable of group.results) homeOf.set(variable, result.length);
    result.push({ group, reads: own, after });
  }
  return result.map(({ group }) => group);
}

const mergedIn = (single: readonly GroupOf[], groups: readonly GroupOf[]): readonly Variable[] => {
  const hosts = new Set(groups.map(({ results }) => results[0]!));
  return single.flatMap(({ results: [first] }) => (first !== undefined && !hosts.has(first) ? [first] : []));
};

const plain = (group: GroupOf): boolean => group.control === undefined && group.update === undefined && group.contraction === undefined;

interface Merging {
  readonly group: GroupOf;
  readonly host: GroupOf;
  readonly reads: ReadonlySet<Variable>;
  readonly theirs: ReadonlySet<Variable>;
  /** The group computes loops of its own. */
  readonly loops: boolean;
}

function canHost({ group, host, reads, theirs, loops }: Merging): boolean {
  if (!plain(group) || host.control !== undefined || host.update !== undefined) return false;
  if (shapeKey(host.results[0]!.aval) !== shapeKey(group.results[0]!.aval)) return false;
  if (new Set([...reads, ...theirs]).size + host.results.length + group.results.length > maxOperands) return false;
  const readsResult = host.results.some((variable) => reads.has(variable));
  // What follows a product joins it only as arithmetic on its result.
  if (host.contraction !== undefined) return readsResult && !loops;
  return readsResult || [...reads].some((variable) => theirs.has(variable));
}

function readsOf(
  groups: readonly GroupOf[],
  flat: Flat,
  { stored }: Decision,
): { readonly found: Set<Variable>; readonly loops: boolean }[] {
  const equations = new Map<Variable, Equation<Op>>();
  for (const equation of flat.equations) for (const output of equation.outputs) equations.set(output, equation);
  return groups.map((group) => {
    const found = new Set<Variable>();
    const seen = new Set<Variable>();
    let loops = false;
    const look = (variable: Variable, root: boolean): void => {
      if (seen.has(variable)) return;
      seen.add(variable);
      const equation = equations.get(variable);
      if (equation === undefined || (!root && stored.has(variable))) {
        found.add(variable);
        return;
      }
      loops ||= natureOf(equation).kind === 'anchor';
      for (const atom of equation.inputs) if (!isLiteral(atom)) look(atom, false);
    };
    for (const result of group.results) look(result, true);
    return { found, loops };
  });
}

function nameOf(group: GroupOf, definitions: Definitions): string {
  const ops = group.results.map((variable) => definitions.of(variable)?.op.id ?? 'copy');
  const inner = group.contraction === undefined || ops.includes(group.contraction.op.id) ? [] : [group.contraction.op.id];
  return [...inner, ...ops].join('_').replaceAll(/[^A-Za-z0-9_]/g, '_');
}

function flopsOf({ extents, results, form }: Written): number {
  const elements = extents.reduce((product, extent) => product * extent, 1);
  let each = 0;
  visit(
    results.map(({ value }) => value),
    (one) => {
      if (one.kind === 'apply') each += one.apply.flops;
    },
  );
  return elements * each + (form.kind === 'contraction' ? 2 * elements * form.contraction.depth : 0);
}
