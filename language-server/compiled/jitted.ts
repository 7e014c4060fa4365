/**
 * Compiled functions while a program is walked, and what is known of each of their calls.
 *
 * A call whose argument shapes are known is traced by the runtime's own tracer: the walked function runs on tracers, and
 * the Program is the one that running it would give. What can't be traced says why. Depends on: core, trace, ops,
 * libraries, values, walk, shaped.
 */
import { printAval, type Aval, type KnownAval } from '../../runtime/core/aval.ts';
import type { Program } from '../../runtime/core/program.ts';
import { flatten, leafPaths, printStructure, rebuild, type Structure } from '../../runtime/core/tree.ts';
import type { Entry } from '../../runtime/ops/apply.ts';
import { overLeaves, trace } from '../../runtime/trace/trace.ts';
import type { FunctionId, Span } from '../lower/ir.ts';
import { runtimeFunction } from './names.ts';
import { isShaped, knownAvalOf, ShapedArray } from '../shapes/shaped.ts';
import { HostBuffer, isUnknown, Unknown, UnknownArray, type AnyFunction } from '../shapes/values.ts';
import { CannotWalk } from './walk.ts';

export type How = 'jit' | 'pmap' | 'vmap' | 'grad' | 'other';

export interface CompiledFunction {
  readonly call: AnyFunction;
  readonly name: string;
  readonly target: FunctionId | undefined;
  readonly how: How;
  /** The `jit(…)` call. */
  readonly jit: Span;
  readonly donateArgnums: readonly number[];
  readonly staticArgnums: readonly number[];
  readonly axisName: string | undefined;
  /** What the compiled function itself is called: `step`, `this.run`. */
  bound: string | undefined;
  /** Distinguishes functions that one `jit(…)` made at different times. */
  readonly serial: number;
  /** Its calls take a reference of each argument. */
  readonly consumes?: true;
}

/** An argument wrapped in `donate(…)`. */
export class DonateMark {
  readonly value: unknown;
  constructor(value: unknown) {
    this.value = value;
  }
}

export interface Leaf {
  /** Position of its argument. */
  readonly argument: number;
  /** `params.w`, by the names of the function's parameters. */
  readonly path: string;
  readonly aval: Aval | undefined;
  /** The array given, where it is one. */
  readonly array: object | undefined;
  readonly donated: 'options' | 'mark' | undefined;
}

export interface TracedCall {
  readonly program: Program<Entry>;
  readonly result: Structure;
}

/** One call of a compiled function in one walk. */
export interface ShapedCall {
  readonly span: Span;
  readonly function: CompiledFunction;
  readonly leaves: readonly Leaf[];
  /** Shapes, dtypes, structure and static arguments: what decides whether the function is traced again. */
  readonly signature: string;
  readonly traced: TracedCall | undefined;
  /** Arguments of unknown shape were taken for scalars: the program says what could be, not what is. */
  readonly assumed: boolean;
  /** Why there is no program. */
  readonly unknown: string | undefined;
  /** When its arguments were last in use. */
  time: number;
}

export interface Arguments {
  readonly leaves: readonly Leaf[];
  readonly values: readonly unknown[];
  readonly structure: Structure;
  readonly statics: ReadonlyMap<number, unknown>;
  readonly signature: string;
}

/** Takes the arguments of a call apart. */
export function argumentsOf(compiled: CompiledFunction, args: readonly unknown[], parameterNames: readonly string[]): Arguments {
  const statics = new Map<number, unknown>();
  const marked = new Set<unknown>();
  const dynamic = args.map((argument, position) => {
    if (compiled.staticArgnums.includes(position)) {
      statics.set(position, argument);
      return null;
    }
    return unmark(argument, marked, false);
  });
  const leaves: Leaf[] = [];
  const values: unknown[] = [];
  const structures = dynamic.map((argument, position) => {
    const flat = flatten(argument);
    const paths = leafPaths(flat.structure, parameterNames[position] ?? `argument ${position}`);
    flat.leaves.forEach((value, k) => {
      const donated = marked.has(value) ? 'mark' : compiled.donateArgnums.includes(position) && isArrayLike(value) ? 'options' : undefined;
      leaves.push({ argument: position, path: paths[k]!, aval: avalOf(value), array: isArrayLike(value) ? value : undefined, donated });
      values.push(value);
    });
    return flat.structure;
  });
  const structure: Structure = { kind: 'list', items: structures };
  const avals = leaves.map(({ aval }) => (aval === undefined ? '?' : `${printAval(aval)}${aval.weak === true ? '*' : ''}`));
  const fixed = [...statics].map(([position, value]) => `${position}=${isUnknown(value) ? `${value.why}` : String(value)}`);
  return { leaves, values, structure, statics, signature: [printStructure(structure), ...avals, ...fixed].join(' ') };
}

/** The same arguments with scalars for arrays of unknown shape; undefined when there are none, or all are. */
export function withScalars(taken: Arguments): Arguments | undefined {
  const isOpen = ({ aval, array }: Leaf): boolean => aval === undefined && array instanceof UnknownArray;
  if (
    !taken.leaves.some(isOpen) ||
    !taken.leaves.some(({ aval, array }) => array !== undefined && aval !== undefined && aval.shape.length > 0)
  )
    return undefined;
  const scalar: Aval = { shape: [], dtype: 'float32' };
  return {
    ...taken,
    leaves: taken.leaves.map((leaf) => (isOpen(leaf) ? { ...leaf, aval: scalar } : leaf)),
    signature: `${taken.signature} scalars`,
  };
}

/** Arrays under `donate(…)` at any depth are remembered, and the handles taken off. */
function unmark(value: unknown, marked: Set<unknown>, inside: boolean): unknown {
  if (value instanceof DonateMark) return unmark(value.value, marked, true);
  if (Array.isArray(value)) return value.map((item) => unmark(item, marked, inside));
  if (typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, unmark(item, marked, inside)]));
  }
  if (inside && isArrayLike(value)) marked.add(value);
  return value;
}

export const isArrayLike = (value: unknown): value is object => isShaped(value) || value instanceof UnknownArray;

function avalOf(value: unknown): Aval | undefined {
  if (isShaped(value)) return value.aval;
  if (typeof value === 'number') return { shape: [], dtype: 'float32', weak: true };
  if (typeof value === 'boolean') return { shape: [], dtype: 'bool' };
  if (value instanceof HostBuffer && typeof value.length === 'number') {
    const dtype = /^Int/.test(value.type) ? 'int32' : /^Uint/.test(value.type) ? 'uint32' : 'float32';
    return { shape: [value.length], dtype };
  }
  // A number that isn't known is still a scalar; its value doesn't change the program.
  if (value instanceof Unknown && value.dim !== undefined) return { shape: [], dtype: 'float32', weak: true };
  return undefined;
}

/** Traces the function for these arguments; throws `CannotWalk` when the text doesn't say enough. */
export function traceCall(compiled: CompiledFunction, { leaves, structure, statics }: Arguments): TracedCall {
  const avals = leaves.map(({ aval, path }): KnownAval => {
    if (aval === undefined) throw new CannotWalk(`the shape of \`${path}\` is not known`);
    const known = knownAvalOf(new ShapedArray(aval));
    if (known === undefined) throw new CannotWalk(`the shape of \`${path}\` is known by name only: ${printAval(aval)}`);
    return known;
  });
  const withStatics = (...args: unknown[]): unknown =>
    compiled.call(...args.map((argument, position) => (statics.has(position) ? statics.get(position) : argument)));
  const call = compiled.how === 'pmap' ? lanesOf(compiled, withStatics) : withStatics;
  const over = overLeaves(call, structure);
  const program = trace(compiled.name, over.call, avals);
  return { program, result: over.result() };
}

function lanesOf({ axisName }: CompiledFunction, call: AnyFunction): AnyFunction {
  const overLanes = runtimeFunction('overLanes');
  if (overLanes === undefined) throw new CannotWalk('lanes are not known here');
  return overLanes(call, axisName) as AnyFunction;
}

/** The results of a call as arrays outside of traces; returned inputs stay the same arrays. */
export function resultOf({ program, result }: TracedCall, values: readonly unknown[], named = (aval: Aval): Aval => aval): unknown {
  const leaves = program.outputs.map((output): unknown => {
    const input = program.inputs.findIndex((variable) => variable === output);
    return input >= 0 ? values[input] : new ShapedArray(named(output.aval));
  });
  return rebuild(result, leaves);
}
