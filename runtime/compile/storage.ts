/**
 * Which stored values share one buffer: in-place chains, and what becomes of donated arguments.
 *
 * A result takes over an operand that dies there when the kernel reads it only at the element that it writes, or when it
 * is the target of an update. Such a chain is one piece of storage with one life. What stands in an argument that was
 * not donated is never written over.
 *
 *     x (donated) ──> relu in place ──> update in place ──> output: one storage, in the donated region
 *
 * Depends on: core, fuse, simplify.
 */
import type { KnownAval } from '../core/aval.ts';
import { knownBytes } from '../core/aval.ts';
import { pairDonations, type Pair } from '../core/donation.ts';
import type { Variable } from '../core/program.ts';
import { roundUp } from '../plan/problem.ts';
import type { Fused, Node } from './fuse.ts';
import { formOf } from './simplify.ts';

export const alignment = 256;

export const roundedBytes = (aval: KnownAval): number => roundUp(knownBytes(aval), alignment);

/** One buffer and all values that are in it, one after the other. */
export interface Storage {
  readonly values: Variable[];
  readonly bytes: number;
  readonly born: number;
  dies: number;
  /** Position of the input whose buffer it is. */
  readonly input?: number;
}

export interface Stored {
  readonly storages: readonly Storage[];
  readonly storageOf: (variable: Variable) => Storage;
  /** The variable whose label a value's bytes carry: itself, or what it is a view of. */
  readonly rootOf: (variable: Variable) => Variable;
  /** Per step: results that had to be copied from their target first, and why they could not be written over it. */
  readonly copies: readonly Copy[];
  /** Which output (by position) takes which donated input's buffer. */
  readonly pairs: readonly Pair[];
  readonly lastRead: ReadonlyMap<Variable, number>;
}

export interface Copy {
  readonly step: number;
  readonly target: Variable;
  readonly result: Variable;
  readonly because: 'argument' | 'read later' | 'output';
  readonly readAt?: number;
}

export interface StoreInput {
  readonly fused: Fused;
  /** Nodes in the order in which they run. */
  readonly order: readonly Node[];
  readonly inputs: readonly Variable[];
  readonly donated: readonly boolean[];
  readonly outputs: readonly Variable[];
}

export const rootOf = ({ aliases }: Fused, variable: Variable): Variable => aliases.get(variable) ?? variable;

export function store({ fused, order, inputs, donated, outputs }: StoreInput): Stored {
  const root = (variable: Variable): Variable => rootOf(fused, variable);
  const end = order.length;
  const lastRead = new Map<Variable, number>();
  order.forEach((node, step) => {
    for (const operand of node.operands) lastRead.set(root(operand), step);
  });
  const outputRoots = new Set(outputs.map(root));
  const diesAt = (variable: Variable, born: number): number => (outputRoots.has(variable) ? end : (lastRead.get(variable) ?? born) + 1);
  const storages: Storage[] = [];
  const of = new Map<Variable, Storage>();
  inputs.forEach((variable, input) => {
    const dies = donated[input] ? (outputRoots.has(variable) ? end : (lastRead.get(variable) ?? -1) + 1) : Infinity;
    const storage: Storage = { values: [variable], bytes: roundedBytes(variable.aval), born: 0, dies, input };
    storages.push(storage);
    of.set(variable, storage);
  });
  const copies: Copy[] = [];
  order.forEach((node, step) => {
    const taken = new Set<Storage>();
    const free = (operand: Variable): Storage | undefined => {
      const storage = of.get(root(operand))!;
      const holder = storage.values.at(-1)!;
      const mine = storage.input === undefined || donated[storage.input] === true;
      return mine && !taken.has(storage) && root(operand) === holder && lastRead.get(holder) === step && !outputRoots.has(holder)
        ? storage
        : undefined;
    };
    node.results.forEach((variable, result) => {
      const candidates = overwritable(node, result, root).flatMap((operand) => free(node.operands[operand]!) ?? []);
      const storage = chosen(
        candidates.filter(({ bytes }) => bytes === roundedBytes(variable.aval)),
        outputRoots.has(variable),
      );
      if (storage !== undefined) {
        taken.add(storage);
        storage.values.push(variable);
        storage.dies = Math.max(step + 1, diesAt(variable, step));
        of.set(variable, storage);
        return;
      }
      const own: Storage = { values: [variable], bytes: roundedBytes(variable.aval), born: step, dies: diesAt(variable, step) };
      storages.push(own);
      of.set(variable, own);
      const target = targetOf(node, result);
      if (target !== undefined) copies.push(copyOf(target, variable, step));
    });
  });
  function copyOf(target: Variable, result: Variable, step: number): Copy {
    const one = root(target);
    const storage = of.get(one)!;
    if (outputRoots.has(one)) return { step, target, result, because: 'output' };
    const later = lastRead.get(one)!;
    if (later > step) return { step, target, result, because: 'read later', readAt: later };
    return { step, target, result, because: storage.input !== undefined && !donated[storage.input] ? 'argument' : 'read later' };
  }
  const pairs = paired({ inputs, donated, outputs: outputs.map(root) }, of);
  return { storages, storageOf: (variable) => of.get(root(variable))!, rootOf: root, copies, pairs, lastRead };
}

/**
 * Operands over which the result may be written, the target of an update first. One whose bytes are also read under
 * another name (a view of it is an operand too) only where all of these may be written over.
 */
export function overwritable(node: Node, result: number, root: (variable: Variable) => Variable): readonly number[] {
  const alone = (operand: number, others: readonly number[]): boolean =>
    node.operands.every((one, at) => at === operand || root(one) !== root(node.operands[operand]!) || others.includes(at));
  if (node.kind === 'control')
    return node.carries.filter((pair) => pair.result === result && alone(pair.operand, [])).map(({ operand }) => operand);
  if (node.target !== undefined) return alone(node.target, []) ? [node.target] : [];
  const all = node.kernel.inPlace.filter((pair) => pair.result === result).map(({ operand }) => operand);
  return all.filter((operand) => alone(operand, all));
}

/** Of the results of a control-flow step, those that do lie over an operand. */
export const overwritten = (
  node: Extract<Node, { kind: 'control' }>,
  { storageOf }: Pick<Stored, 'storageOf'>,
): Extract<Node, { kind: 'control' }>['carries'] =>
  node.carries.filter(({ result, operand }) => storageOf(node.results[result]!) === storageOf(node.operands[operand]!));

/** What a result starts from: the target of an update, the first value of a carry; a choice writes its results anew. */
function targetOf(node: Node, result: number): Variable | undefined {
  if (node.kind === 'control' && formOf(node.equation)?.kind === 'choice') return undefined;
  const operand = node.kind === 'control' ? node.carries.find((pair) => pair.result === result)?.operand : node.target;
  return operand === undefined ? undefined : node.operands[operand];
}

/** An output goes over a donated argument when it can, anything else over a temporary: the argument may serve an output. */
function chosen(candidates: readonly Storage[], isOutput: boolean): Storage | undefined {
  const preferred = candidates.find(({ input }) => (input !== undefined) === isOutput);
  return preferred ?? candidates[0];
}

function paired(
  {
    inputs,
    donated,
    outputs,
  }: { readonly inputs: readonly Variable[]; readonly donated: readonly boolean[]; readonly outputs: readonly Variable[] },
  of: ReadonlyMap<Variable, Storage>,
): readonly Pair[] {
  const givers = inputs.map((variable, input) =>
    donated[input] ? { bytes: roundedBytes(variable.aval), dies: of.get(variable)!.dies } : { bytes: -1 },
  );
  const seen = new Set<Storage>();
  const receivers = outputs.map((variable) => {
    const storage = of.get(variable)!;
    const repeated = seen.has(storage);
    seen.add(storage);
    if (repeated) return { bytes: -2 };
    if (storage.input !== undefined)
      return donated[storage.input] ? { bytes: storage.bytes, born: storage.born, over: storage.input } : { bytes: -2 };
    return { bytes: storage.bytes, born: storage.born };
  });
  return pairDonations(givers, receivers);
}
