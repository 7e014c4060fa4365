/**
 * Transformations as users call them: typed, and honest about donation.
 *
 * A transformed function that donates kills the caller's leaf as always; the transformation itself works on another handle
 * of the same buffer, which lives as long as a residual needs it. Depends on: core, ops, functions, jit.
 */
import { currentInterpreter, placeInForce } from '../core/interpreter.ts';
import { functionArg } from '../core/errors.ts';
import { userPlace } from '../core/stack.ts';
import { flatten, leafPaths, rebuild } from '../core/tree.ts';
import { optionsOf } from '../ops/options.ts';
import type { Array } from '../ops/value.ts';
import * as calls from '../functions/calls.ts';
import * as jacobians from '../functions/jacobians.ts';
import { overLanes } from '../functions/lanes.ts';
import * as residuals from '../functions/residuals.ts';
import type { SavedResidual } from '../functions/residuals.ts';
import * as f from '../functions/transforms.ts';
import type { TracedProgram } from '../ir/eval.ts';
import { DeviceArray } from './array.ts';
import { sharedHandle } from './execute.ts';
import { donatedPositions, jitFunction, type Donating, type Jitted, type JitOptions } from './jit.ts';

type Call = (...args: unknown[]) => unknown;

/** Calls `transformed` so that what `source` donates is dead for the caller afterwards. */
function donating(source: object, transformed: Call): Call {
  const positions = typeof source === 'function' ? (source as Donating)[donatedPositions] : undefined;
  if (positions === undefined) return transformed;
  return f.named(transformed.name, (...args) => {
    if (currentInterpreter().run === undefined) return transformed(...args);
    const place = placeInForce() ?? userPlace();
    const given: { readonly array: DeviceArray; readonly path: string }[] = [];
    const replaced = args.map((arg, position) => {
      if (!positions.includes(position)) return arg;
      const flat = flatten(arg);
      const paths = leafPaths(flat.structure, `argument ${position}`);
      return rebuild(
        flat.structure,
        flat.leaves.map((leaf, k) => {
          if (!(leaf instanceof DeviceArray)) return leaf;
          leaf.ensureAlive();
          given.push({ array: leaf, path: paths[k]! });
          return sharedHandle(leaf);
        }),
      );
    });
    const result = transformed(...replaced);
    for (const { array, path } of given) array.giveAway(source instanceof Function ? source.name : 'a call', path, place);
    return result;
  });
}

export type GradOptions = f.GradOptions;

/** The gradient of a scalar function by its first argument (`argnums`), a tree of that argument's form. */
export function grad<P, A extends unknown[]>(
  fn: (params: P, ...rest: A) => Array,
  options?: f.GradOptions & { readonly hasAux?: false },
): (params: P, ...rest: A) => P;
export function grad<P, A extends unknown[], X>(
  fn: (params: P, ...rest: A) => readonly [Array, X],
  options: f.GradOptions & { readonly hasAux: true },
): (params: P, ...rest: A) => [P, X];
export function grad(fn: (...args: never[]) => unknown, options: f.GradOptions = {}): Call {
  return donating(fn, f.grad(fn as Call, options));
}

/** [value, gradient] in one pass. */
export function valueAndGrad<P, A extends unknown[]>(
  fn: (params: P, ...rest: A) => Array,
  options?: f.GradOptions & { readonly hasAux?: false },
): (params: P, ...rest: A) => [Array, P];
export function valueAndGrad<P, A extends unknown[], X>(
  fn: (params: P, ...rest: A) => readonly [Array, X],
  options: f.GradOptions & { readonly hasAux: true },
): (params: P, ...rest: A) => [[Array, X], P];
export function valueAndGrad(fn: (...args: never[]) => unknown, options: f.GradOptions = {}): Call {
  return donating(fn, f.valueAndGrad(fn as Call, options));
}

/** The function over a batch. `inAxes`: one axis for all arguments, or one per argument (null: not batched), or options. */
export function vmap<A extends unknown[], R>(
  fn: (...args: A) => R,
  inAxes?: number | readonly f.Axes[] | f.VmapOptions,
  outAxes?: f.Axes,
): (...args: A) => R {
  return donating(fn, f.vmap(fn as unknown as Call, inAxes ?? 0, outAxes ?? 0)) as unknown as (...args: A) => R;
}

export interface PmapOptions extends JitOptions {
  /** The name by which `lax.psum` and its kin know the lanes. */
  readonly axisName?: string;
  readonly inAxes?: f.Axes;
  readonly outAxes?: f.Axes;
}

const jitDefaults: object = {
  donateArgnums: undefined,
  donateArgnames: undefined,
  staticArgnums: undefined,
  donate: undefined,
  memory: undefined,
  memoryBudget: undefined,
};

/** The function over n lanes (the leading axis of its arguments), compiled; lanes share the one device. */
export function pmap<A extends unknown[], R>(fn: (...args: A) => R, options: PmapOptions = {}): Jitted<A, R> {
  functionArg('pmap', 'its function', fn);
  optionsOf('pmap', options, { ...jitDefaults, axisName: undefined, inAxes: undefined, outAxes: undefined } as object);
  const { axisName, inAxes, outAxes, ...jitOptions } = (options as PmapOptions | null) ?? {};
  const plain = inAxes === undefined && outAxes === undefined;
  const lanes = plain
    ? overLanes(fn as unknown as Call, axisName)
    : f.vmap(fn as unknown as Call, { ...(axisName !== undefined ? { axisName } : {}), inAxes: inAxes ?? 0, outAxes: outAxes ?? 0 });
  return jitFunction(f.named(fn.name, lanes), jitOptions, {
    original: fn as unknown as (...args: never[]) => unknown,
  }) as unknown as Jitted<A, R>;
}

/** Compiled: traced once per shapes, dtypes and static arguments, planned as a whole, one submit per call. */
export function jit<A extends unknown[], R>(fn: (...args: A) => R, options: JitOptions = {}): Jitted<A, R> {
  functionArg('jit', 'its function', fn);
  optionsOf('jit', options, jitDefaults);
  const given = (options as JitOptions | null) ?? {};
  return jitFunction(fn as unknown as Call, given) as unknown as Jitted<A, R>;
}

/** The same function, of which a gradient keeps only the inputs (and what `policy` saves) and computes the rest again. */
export function checkpoint<A extends unknown[], R>(fn: (...args: A) => R, options: calls.CheckpointOptions = {}): (...args: A) => R {
  return calls.checkpoint(fn as unknown as Call, options) as unknown as (...args: A) => R;
}
export { checkpoint as remat };

/** [f(...primals), cotangents of the result -> cotangents of the arguments]. */
export function vjp<A extends unknown[], R>(
  fn: (...args: A) => R,
  primals: A,
  options: { readonly hasAux?: boolean } = {},
): [R, (cotangents: R) => A] {
  f.primalsArg('vjp', fn, primals);
  return donating(fn, (...args) => f.vjp(fn as unknown as Call, args, options))(...primals) as [R, (cotangents: R) => A];
}
/** [f(...primals), its tangent along `tangents`]. */
export function jvp<A extends unknown[], R>(
  fn: (...args: A) => R,
  primals: A,
  tangents: A,
  options: { readonly hasAux?: boolean } = {},
): [R, R] {
  return f.jvp(fn as unknown as Call, primals, tangents, options) as [R, R];
}
/** [f(...primals), the linear map from tangents of the arguments to that of the result]. */
export function linearize<A extends unknown[], R>(
  fn: (...args: A) => R,
  primals: A,
  options: { readonly hasAux?: boolean } = {},
): [R, (...tangents: A) => R] {
  return f.linearize(fn as unknown as Call, primals, options) as [R, (...tangents: A) => R];
}
/** In the place of each array of the result a tree of the argument's form (of several arguments: a list of their trees). */
type Derivatives<R, P> = R extends Array ? P : { readonly [K in keyof R]: Derivatives<R[K], P> };
type By<A extends unknown[], N> = N extends number ? A[N] : { readonly [K in keyof N]: N[K] extends number ? A[N[K]] : never };
interface DerivativeOptions<N, X extends boolean> {
  /** Which arguments to differentiate by; 0 unless given. */
  readonly argnums?: N;
  /** The function returns [result, rest]; the rest is passed on. */
  readonly hasAux?: X;
}
interface Derivative {
  <A extends unknown[], R, const N extends number | readonly number[] = 0>(
    fn: (...args: A) => R,
    options?: DerivativeOptions<N, false>,
  ): (...args: A) => Derivatives<R, By<A, N>>;
  <A extends unknown[], R, X, const N extends number | readonly number[] = 0>(
    fn: (...args: A) => readonly [R, X],
    options: DerivativeOptions<N, true>,
  ): (...args: A) => [Derivatives<R, By<A, N>>, X];
}
/** All partial derivatives by forward mode: good for few inputs. Shape: the result's, then the argument's. */
export const jacfwd: Derivative = (fn: unknown, options?: object) => jacobians.jacfwd(fn as Call, options) as never;
/** All partial derivatives by reverse mode: good for few results. */
export const jacrev: Derivative = (fn: unknown, options?: object) => jacobians.jacrev(fn as Call, options) as never;
/** Second derivatives: of a function of trees a tree of trees. */
export const hessian = <A extends unknown[], const N extends number | readonly number[] = 0>(
  fn: (...args: A) => Array,
  options?: { readonly argnums?: N },
): ((...args: A) => Derivatives<By<A, N>, By<A, N>>) => jacobians.hessian(fn as unknown as Call, options) as never;

type Typed<A extends unknown[], R> = (...args: A) => R;
/** A function whose gradient is given by `defvjp(forward, backward)`. */
export const customVjp = <A extends unknown[], R>(
  fn: Typed<A, R>,
): Typed<A, R> & {
  defvjp: <S>(forward: (...args: A) => readonly [R, S], backward: (residuals: S, cotangents: R) => readonly unknown[]) => void;
} => calls.customVjp(fn as unknown as Call) as never;
/** A function whose tangent is given by `defjvp((primals, tangents) => [result, tangent])`. */
export const customJvp = <A extends unknown[], R>(
  fn: Typed<A, R>,
): Typed<A, R> & { defjvp: (rule: (primals: A, tangents: A) => readonly [R, R]) => void } =>
  calls.customJvp(fn as unknown as Call) as never;

/** The program of a function for arguments like these, to be read: `String(makeJaxpr(f)(x))`. */
export const makeJaxpr = <A extends unknown[]>(
  fn: (...args: A) => unknown,
): ((...args: A) => { readonly program: TracedProgram; toString(): string }) => f.makeJaxpr(fn as unknown as Call) as never;
/** Shapes and dtypes of what a function would return, without running it. */
export const evalShape = <A extends unknown[]>(fn: (...args: A) => unknown, ...args: A): unknown =>
  f.evalShape(fn as unknown as Call, ...args);
/**
 * What the gradient of a function keeps from the forward pass until the backward pass: per value its shape, dtype, bytes,
 * and where it comes from, largest first; `String(…)` is a table of it. Nothing is computed. JAX's `print_saved_residuals`.
 */
export const savedResiduals = <A extends unknown[]>(fn: (...args: A) => unknown, ...args: A): readonly SavedResidual[] =>
  residuals.savedResiduals(fn as unknown as Call, ...args);
export type { SavedResidual };
export { checkpointName, checkpointPolicies } from '../functions/calls.ts';
