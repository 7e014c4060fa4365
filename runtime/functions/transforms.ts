/**
 * Transformations of functions of trees: gradients, tangents, batches, checkpoints.
 *
 * A function is traced to a program, the program is transformed, and the result is applied in the interpreter in force:
 * outside of jit as one compiled program, inside as more equations. So they nest in any order. Depends on: core, ops,
 * control, ir, trace, transforms. Long because: all of them share how a function of trees is traced.
 */
import { printAval, type KnownAval } from '../core/aval.ts';
import { isFloat } from '../core/dtype.ts';
import { argumentWrong, ArgumentError, describe, functionArg, typeError } from '../core/errors.ts';
import type { Program } from '../core/program.ts';
import { flatten, leafCount, leafPaths, printStructure, rebuild, type Structure } from '../core/tree.ts';
import { axisOf } from '../ops/family.ts';
import { optionsOf } from '../ops/options.ts';
import { full, sameShape } from '../ops/shape.ts';
import { Value } from '../ops/value.ts';
import { printProgram } from '../ir/print.ts';
import { asValue, asWhole, closed, knownAvalOf, runProgram, trace } from '../trace/trace.ts';
import { forward, zeros } from '../transforms/grad.ts';
import { pushForward } from '../transforms/jvp.ts';
import { batchProgram, withAxisAt } from '../transforms/batch.ts';
import { residualValues, splitBackward, splitForward } from '../transforms/linearize.ts';
import type { TracedProgram } from '../ir/eval.ts';
import { TreeDef } from './tree.ts';

type Call = (...args: unknown[]) => unknown;

/** Which leaves of a list of arguments take part, and how to put others in their place. */
interface Chosen {
  readonly values: readonly Value[];
  readonly paths: readonly string[];
  readonly withLeaves: (values: readonly Value[]) => unknown[];
}

const isArrayLeaf = (leaf: unknown): boolean => leaf instanceof Value || typeof leaf === 'number' || typeof leaf === 'boolean';

/** The leaves of the arguments at `positions`; everything else stays as it is. */
function choose(args: readonly unknown[], positions: readonly number[], names: (position: number) => string): Chosen {
  const flats = positions.map((position) => flatten(args[position]));
  const paths = flats.flatMap((flat, k) => leafPaths(flat.structure, names(positions[k]!)));
  const values = flats.flatMap((flat) => flat.leaves).map((leaf, k) => asValue(leaf, paths[k]!));
  return {
    values,
    paths,
    withLeaves: (given) => {
      let next = 0;
      const replaced = flats.map((flat) => rebuild(flat.structure, given.slice(next, (next += flat.leaves.length))));
      return args.map((arg, position) => (positions.includes(position) ? replaced[positions.indexOf(position)] : arg));
    },
  };
}

const nameOf = (f: { readonly name: string }): string => f.name || 'anonymous';
const argumentName = (position: number): string => `argument ${position}`;

/** Traces `f` over chosen leaves; the structure of its result is left in `result`. */
function traced(
  f: Call,
  chosen: Chosen,
  options?: { readonly axes?: ReadonlyMap<string, number>; readonly avals?: readonly KnownAval[] },
): { readonly program: TracedProgram; readonly result: Structure } {
  let result: Structure | undefined;
  const program = trace(
    nameOf(f),
    (leaves) => {
      const flat = flatten(f(...chosen.withLeaves(leaves)));
      result = flat.structure;
      const paths = leafPaths(flat.structure, 'result');
      return flat.leaves.map((leaf, k) => asValue(leaf, paths[k]!));
    },
    options?.avals ?? chosen.values.map(knownAvalOf),
    options?.axes ? { axes: options.axes } : {},
  );
  return { program, result: result! };
}

export interface GradOptions {
  /** Which arguments to differentiate by; 0 unless given. */
  readonly argnums?: number | readonly number[];
  /** The function returns [loss, rest]; the rest is passed on. */
  readonly hasAux?: boolean;
}

/** What `valueAndGrad` works out: the value, what was passed on, and gradients per differentiated argument. */
function valuesAndGradients(
  f: Call,
  options: GradOptions,
  args: readonly unknown[],
  withValue: boolean,
): { readonly value: unknown; readonly gradients: readonly unknown[] } {
  const { argnums = 0, hasAux = false } = options;
  const positions = positionsOf(`grad of ${nameOf(f)}`, argnums, args);
  const chosen = choose(args, positions, argumentName);
  floatsOnly(`grad of \`${nameOf(f)}\``, chosen);
  let result: Structure | undefined;
  const outputs = asWhole(
    `grad ${nameOf(f)}`,
    (values) => {
      const { program, result: structure } = traced(f, chosen);
      result = structure;
      checkLoss(f, structure, program, hasAux);
      const { results, pull } = forward(
        program,
        values,
        values.map(() => true),
      );
      const seed = full([], 1, results[0]!.dtype);
      const gradients = pull(results.map((_, k) => (k === 0 ? seed : undefined)));
      return [...results.slice(withValue ? 0 : 1), ...gradients.map((g, k) => g ?? zeros(knownAvalOf(values[k]!)))];
    },
    chosen.values,
  );
  // A value that nobody asked for is no output: nobody would free it.
  const all = withValue ? outputs : [undefined, ...outputs];
  const count = leafCount(result!);
  const gradients = chosen.withLeaves(all.slice(count) as readonly Value[]);
  return { value: rebuild(result!, all.slice(0, count)), gradients: positions.map((position) => gradients[position]) };
}

/** Positions of arguments; negative ones count from the end. */
export function positionsOf(operation: string, argnums: number | readonly number[], args: readonly unknown[]): readonly number[] {
  return (typeof argnums === 'number' ? [argnums] : argnums).map((position) => {
    const own = position < 0 ? position + args.length : position;
    if (own < 0 || own >= args.length)
      throw argumentWrong(
        operation,
        `argnums ${position} and ${args.length} arguments`,
        `it is from ${-args.length} to ${args.length - 1}`,
      );
    return own;
  });
}
/** What can be differentiated by. */
export function floatsOnly(operation: string, chosen: Chosen): void {
  chosen.values.forEach((x, k) => {
    if (!isFloat(x.dtype))
      throw typeError(
        `${operation}: ${chosen.paths[k]!} is ${printAval(x.aval)}, and only floats have gradients; leave it out of argnums or convert it`,
      );
  });
}

function checkLoss(f: Call, structure: Structure, program: TracedProgram, hasAux: boolean): void {
  const single =
    structure.kind === 'leaf' ||
    (hasAux && structure.kind === 'list' && structure.items.length === 2 && structure.items[0]!.kind === 'leaf');
  const loss = program.outputs[0];
  if (!single || loss === undefined)
    throw new ArgumentError(
      'grad-scalar',
      `grad of \`${nameOf(f)}\`: it returns ${printStructure(structure)}`,
      [],
      hasAux ? 'return [loss, rest], with one array as loss' : 'return one array, or use hasAux for a function that returns [loss, rest]',
    );
  if (loss.aval.shape.length !== 0 || !isFloat(loss.aval.dtype))
    throw new ArgumentError(
      'grad-scalar',
      `grad of \`${nameOf(f)}\`: it returns ${printAval(loss.aval)}, and only a single float has a gradient`,
      [],
      'reduce it, for example with mean() or sum()',
    );
}

export const oneOrAll = (gradients: readonly unknown[], options: Pick<GradOptions, 'argnums'>): unknown =>
  typeof (options.argnums ?? 0) === 'number' ? gradients[0] : gradients;

const gradDefaults: GradOptions = { argnums: 0, hasAux: false };
/** Options of a gradient, for a function that is one. */
export function gradOptions(operation: string, f: Call, options: GradOptions): GradOptions {
  functionArg(operation, 'its function', f);
  const given = optionsOf(operation, options, gradDefaults);
  const list = typeof given.argnums === 'number' ? [given.argnums] : given.argnums;
  if (!Array.isArray(list) || !list.every(Number.isInteger))
    throw argumentWrong(operation, `${describe(given.argnums)} as argnums`, 'argnums is the position of an argument, or a list of them');
  return given;
}
/** The arguments of a transformation that is called at once: a list. */
export function primalsArg(operation: string, f: unknown, ...lists: readonly unknown[]): void {
  functionArg(operation, 'its function', f);
  for (const list of lists)
    if (!Array.isArray(list))
      throw argumentWrong(operation, `${describe(list)} where the list of arguments has to be`, 'put them in a list: [x, y]');
}

export function grad(f: Call, given: GradOptions = {}): Call {
  const options = gradOptions('grad', f, given);
  return named(`grad ${nameOf(f)}`, (...args) => {
    const { value, gradients } = valuesAndGradients(f, options, args, false);
    const own = oneOrAll(gradients, options);
    return options.hasAux ? [own, (value as readonly unknown[])[1]] : own;
  });
}

export function valueAndGrad(f: Call, given: GradOptions = {}): Call {
  const options = gradOptions('valueAndGrad', f, given);
  return named(`valueAndGrad ${nameOf(f)}`, (...args) => {
    const { value, gradients } = valuesAndGradients(f, options, args, true);
    return [value, oneOrAll(gradients, options)];
  });
}

/** A function under a name that people know it by. */
export const named = <F extends (...args: never[]) => unknown>(name: string, f: F): F => Object.defineProperty(f, 'name', { value: name });

const every = (args: readonly unknown[]): readonly number[] => args.map((_, k) => k);

/** A program of all arguments, closed; constants come first. */
export function closedProgram(
  f: Call,
  chosen: Chosen,
): { readonly program: TracedProgram; readonly constants: readonly Value[]; readonly result: Structure } {
  const { program, result } = traced(f, chosen);
  return { ...closed(program), result };
}

interface AuxOptions {
  readonly hasAux?: boolean;
}

/** Separates the result [out, rest] of a function with `hasAux`. */
const withoutAux = (value: unknown, options: AuxOptions): { readonly out: unknown; readonly aux: readonly unknown[] } =>
  options.hasAux ? { out: (value as readonly unknown[])[0], aux: [(value as readonly unknown[])[1]] } : { out: value, aux: [] };

/** [f(...primals), cotangents of f's result -> list of cotangents of its arguments]. The function may be called again and again. */
export function vjp(f: Call, primals: readonly unknown[], given: AuxOptions = {}): unknown[] {
  primalsArg('vjp', f, primals);
  const options = optionsOf('vjp', given, { hasAux: false });
  const chosen = choose(primals, every(primals), argumentName);
  const { program, constants, result } = closedProgram(f, chosen);
  const split = splitBackward(program, [...constants.map(() => false), ...chosen.values.map((x) => isFloat(x.dtype))]);
  const inputs = [...constants, ...chosen.values];
  const outputs = runProgram(split.forward, inputs);
  const residuals = residualValues(split.residuals, inputs, outputs);
  const { out, aux } = withoutAux(rebuild(result, outputs.slice(0, leafCount(result))), options);
  const outCount = flatten(out).leaves.length;
  const pull = (cotangents: unknown): unknown[] => {
    const given = flatten(cotangents).leaves.map((leaf, k) => asValue(leaf, `cotangent ${k}`));
    if (given.length !== outCount) throw typeError(`vjp of \`${nameOf(f)}\` got ${given.length} cotangents for ${outCount} results`);
    const moving = split.moving.flatMap((moves, k) =>
      moves ? [k < outCount ? fitted(given[k]!, outputs[k]!) : zeros(knownAvalOf(outputs[k]!))] : [],
    );
    const leaving = runProgram(split.linear, [...residuals, ...moving]);
    let next = 0;
    return chosen.withLeaves(chosen.values.map((x) => (isFloat(x.dtype) ? leaving[next++]! : full(x.shape, 0, 'float32'))));
  };
  return [out, Object.assign(pull, { dispose: disposer(residuals, chosen.values) }), ...aux];
}
/** Frees what a linear map keeps from the forward pass, where nobody else can: the arguments are the caller's. */
const disposer =
  (residuals: readonly Value[], own: readonly Value[] = []) =>
  (): void => {
    for (const residual of residuals) if (!own.includes(residual)) residual.dispose();
  };
const fitted = (cotangent: Value, like: Value): Value =>
  cotangent.dtype === like.dtype && sameShape(cotangent.shape, like.shape)
    ? cotangent
    : cotangent.astype(like.dtype).broadcastTo(like.shape);

/** [f(...primals), its tangent along `tangents`]. */
export function jvp(f: Call, primals: readonly unknown[], tangents: readonly unknown[], given: AuxOptions = {}): unknown[] {
  primalsArg('jvp', f, primals, tangents);
  const options = optionsOf('jvp', given, { hasAux: false });
  const chosen = choose(primals, every(primals), argumentName);
  const moving = choose(tangents, every(tangents), (k) => `tangent ${k}`).values;
  if (moving.length !== chosen.values.length)
    throw typeError(`jvp of \`${nameOf(f)}\` got ${moving.length} tangents for ${chosen.values.length} arrays`);
  let result: Structure | undefined;
  const outputs = asWhole(
    `jvp ${nameOf(f)}`,
    (values) => {
      const own = values.slice(0, chosen.values.length);
      const { program, result: structure } = traced(f, chosen);
      result = structure;
      const directions = own.map((x, k) => (isFloat(x.dtype) ? fitted(values[own.length + k]!, x) : undefined));
      const { results, tangents: out } = pushForward(program, own, directions);
      return [...results, ...results.map((x, k) => out[k] ?? full(x.shape, 0, isFloat(x.dtype) ? x.dtype : 'float32'))];
    },
    [...chosen.values, ...moving],
  );
  const count = leafCount(result!);
  const { out, aux } = withoutAux(rebuild(result!, outputs.slice(0, count)), options);
  return [out, withoutAux(rebuild(result!, outputs.slice(count)), options).out, ...aux];
}

/** [f(...primals), the linear map from tangents of its arguments to the tangent of its result]. */
export function linearize(f: Call, primals: readonly unknown[], options: AuxOptions = {}): unknown[] {
  primalsArg('linearize', f, primals);
  optionsOf('linearize', options, { hasAux: false });
  const chosen = choose(primals, every(primals), argumentName);
  const { program, constants, result } = closedProgram(f, chosen);
  const split = splitForward(program, [...constants.map(() => false), ...chosen.values.map((x) => isFloat(x.dtype))]);
  const inputs = [...constants, ...chosen.values];
  const outputs = runProgram(split.forward, inputs);
  const residuals = residualValues(split.residuals, inputs, outputs);
  const { out, aux } = withoutAux(rebuild(result, outputs.slice(0, leafCount(result))), options);
  const push = (...tangents: unknown[]): unknown => {
    const given = choose(tangents, every(tangents), (k) => `tangent ${k}`).values;
    const moving = chosen.values.flatMap((x, k) => (isFloat(x.dtype) ? [fitted(given[k]!, x)] : []));
    return withoutAux(rebuild(result, runProgram(split.linear, [...residuals, ...moving])), options).out;
  };
  return [out, Object.assign(push, { dispose: disposer(residuals, chosen.values) }), ...aux];
}

export type Axes = number | null | { readonly [name: string]: Axes } | readonly Axes[];
export interface VmapOptions {
  readonly inAxes?: Axes;
  readonly outAxes?: Axes;
  readonly axisName?: string;
  readonly axisSize?: number;
}

/** One axis per leaf from a tree of axes that is a prefix of the argument's tree. */
function leafAxes(axes: unknown, structure: Structure): readonly (number | undefined)[] {
  if (axes === null || axes === undefined || typeof axes === 'number')
    return Array.from({ length: leafCount(structure) }, () => axes ?? undefined);
  switch (structure.kind) {
    case 'leaf':
    case 'nothing':
      return Array.from({ length: leafCount(structure) }, () => undefined);
    case 'list':
      return structure.items.flatMap((item, k) => leafAxes((axes as readonly unknown[])[k], item));
    case 'record':
      return structure.items.flatMap((item, k) => leafAxes((axes as Readonly<Record<string, unknown>>)[structure.keys[k]!], item));
  }
}

/**
 * The function over a batch: every array argument has a batch axis (`inAxes`; null for none), every result gets one in
 * front (`outAxes`). Numbers and other values are passed on as they are.
 */
export function vmap(f: Call, inAxes: number | readonly Axes[] | VmapOptions = 0, outAxes: Axes = 0): Call {
  functionArg('vmap', 'its function', f);
  const options: VmapOptions =
    typeof inAxes === 'object' && !Array.isArray(inAxes)
      ? optionsOf<VmapOptions>('vmap', inAxes, {
          inAxes: 0,
          outAxes: 0,
          axisName: undefined,
          axisSize: undefined,
        } as unknown as VmapOptions)
      : { inAxes: inAxes as Axes, outAxes };
  return named(`vmap ${nameOf(f)}`, (...args) => overRows(f, options, args));
}

/** `called` is how people asked for it, for messages. */
export function overRows(f: Call, options: VmapOptions, args: readonly unknown[], called = 'vmap'): unknown {
  const flat = flatten(args);
  const declared = options.inAxes ?? 0;
  const axesOfAll = leafAxes(typeof declared === 'number' || declared === null ? args.map(() => declared) : declared, flat.structure);
  const arrays = flat.leaves.flatMap((leaf, k) => (leaf instanceof Value ? [{ leaf, k }] : []));
  const values = arrays.map(({ leaf }) => leaf);
  const axes = arrays.map(({ leaf, k }) => {
    const axis = axesOfAll[k];
    return axis === undefined || leaf.ndim === 0 ? undefined : axisOf('vmap', axis, leaf.aval);
  });
  const paths = leafPaths(flat.structure, '');
  const sizes = axes.flatMap((axis, k) => (axis === undefined ? [] : [{ size: values[k]!.shape[axis]!, path: paths[arrays[k]!.k]! }]));
  const size = sizes[0]?.size ?? options.axisSize;
  if (size === undefined)
    throw argumentWrong(
      `${called} of ${nameOf(f)}`,
      'no argument with a batch axis',
      'pass an array with one axis more than the function takes',
    );
  const other = sizes.find((entry) => entry.size !== size);
  if (other !== undefined)
    throw argumentWrong(
      `${called} of ${nameOf(f)}`,
      `arguments of different lengths: argument ${sizes[0]!.path} has ${size} rows, argument ${other.path} has ${other.size}`,
      'batched axes have one length; inAxes has null for what is not batched',
    );
  let result: Structure | undefined;
  const outputs = asWhole(
    `vmap ${nameOf(f)}`,
    (batch) => {
      const withLeaves = (leaves: readonly Value[]): unknown[] => {
        const all = [...flat.leaves];
        arrays.forEach(({ k }, n) => {
          all[k] = leaves[n]!;
        });
        return rebuild(flat.structure, all) as unknown[];
      };
      const avals = values.map((x, k): KnownAval => {
        const aval = knownAvalOf(x);
        return axes[k] === undefined ? aval : { ...aval, shape: aval.shape.filter((_, d) => d !== axes[k]) };
      });
      const { program, result: structure } = traced(
        f,
        { values, paths, withLeaves },
        { avals, ...(options.axisName ? { axes: new Map([[options.axisName, size]]) } : {}) },
      );
      result = structure;
      const batched = batchProgram(program, batch, axes, size, options.axisName);
      const wanted = leafAxes(options.outAxes ?? 0, structure);
      return batched.results.map((x, k) => {
        const at = wanted[k];
        if (at === undefined) {
          if (batched.axes[k] !== undefined)
            throw typeError(`vmap of \`${nameOf(f)}\`: outAxes is null for a result that differs from row to row`);
          return x;
        }
        const rank = batched.axes[k] === undefined ? x.ndim + 1 : x.ndim;
        return withAxisAt(x, batched.axes[k], at < 0 ? at + rank : at, size);
      });
    },
    values,
  );
  return rebuild(result!, outputs);
}

/** What a function would return: shapes and dtypes, without running it. */
export function evalShape(f: Call, ...args: unknown[]): unknown {
  functionArg('evalShape', 'its function', f);
  const chosen = choose(args, every(args), argumentName);
  const { program, result } = traced(f, chosen);
  return rebuild(
    result,
    program.outputs.map(({ aval }) => ({ shape: aval.shape, dtype: aval.dtype })),
  );
}

/** The text of a function's program, and the form of its result. */
export function readable(f: Call, args: readonly unknown[]): { readonly text: string; readonly result: TreeDef } {
  const { program, result } = traced(f, choose(args, every(args), argumentName));
  return { text: printProgram(program as Program), result: new TreeDef(result) };
}

/** The program of a function for arguments like these, to be read: `String(makeJaxpr(f)(x))`. */
export function makeJaxpr(f: Call): (...args: unknown[]) => { readonly program: TracedProgram; readonly toString: () => string } {
  functionArg('makeJaxpr', 'its function', f);
  return (...args) => {
    const { program } = traced(f, choose(args, every(args), argumentName));
    return { program, toString: () => printProgram(program as Program) };
  };
}

export { choose, traced, every, argumentName, nameOf, isArrayLeaf };
export type { Call, Chosen };
