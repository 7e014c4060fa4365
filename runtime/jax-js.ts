/**
 * The same runtime under jax-js's ownership: a program runs on it when its import is changed to `tidemark/jax-js`.
 *
 * Operations, readers and transformations consume their arguments, `.ref` keeps them, and an argument that is passed with
 * its last reference is donated by itself. Depends on: api.
 */
import './api/eager.ts';
import { isFloat, type DType as DTypeName } from './core/dtype.ts';
import { currentInterpreter } from './core/interpreter.ts';
import { isWhole, type ArrayLike } from './ops/apply.ts';
import { Value } from './ops/value.ts';
import * as borrowedLax from './api/lax.ts';
import * as borrowedNn from './api/nn.ts';
import * as borrowedNumpy from './api/numpy.ts';
import * as borrowedRandom from './api/random.ts';
import * as borrowedSpecial from './api/scipy-special.ts';
import * as trees from './functions/tree.ts';
import * as jacobians from './functions/jacobians.ts';
import * as transforms from './functions/transforms.ts';
import { checkpoint as checkpointOf, type CheckpointOptions } from './functions/calls.ts';
import { DeviceArray } from './api/array.ts';
import { sharedHandle } from './api/execute.ts';
import { blockUntilReady as untilReady, defaultDevice as deviceName, devices as deviceNames, init as start, switchTo } from './api/init.ts';
import { jitFunction, type JitOptions } from './api/jit.ts';
import type { Owned, OwnedContents, OwnedLax, OwnedNumpy } from './api/owned-types.ts';
import { scope } from './api/scope.ts';
import { asTraced, Array as OwnedArray, besideIntegers, consuming, holding, unwrapped } from './api/owned.ts';
import { array as borrowedArray, type ArrayOptions, type Nested } from './functions/creation.ts';
import type { CloseOptions } from './functions/math.ts';

/** Functions that look at metadata only. */
const inspectors: ReadonlySet<string> = new Set([
  'shape',
  'ndim',
  'size',
  'isscalar',
  'resultType',
  'promoteTypes',
  'broadcastShapes',
  'finfo',
  'iinfo',
]);
/** Functions that take functions: their arguments are traced under ownership too. */
const isFunction = (value: unknown): value is (...args: unknown[]) => unknown => typeof value === 'function';

/** Operations of so many operands leave the rest alone: `rows.reduce(np.add)` passes a position and the list too. */
function operandsOf(count: number, given: readonly unknown[]): readonly unknown[] {
  const args = count === 0 ? given : given.slice(0, count);
  const arrays = args.filter((arg) => arg instanceof OwnedArray);
  return args.map((arg) => besideIntegers(arg, ...arrays));
}

function owning<N extends object>(namespace: N): Owned<N> {
  const wrap = (name: string, member: unknown): unknown => {
    if (name === 'Array') return OwnedArray;
    if (isFunction(member)) {
      const call = (...given: unknown[]): unknown => {
        const args = 'body' in member ? operandsOf(member.length, given) : given;
        if (inspectors.has(name)) return member(...args.map((arg) => unwrapped(arg, (array) => array.value)));
        const functions = args.some(isFunction);
        const single = isWhole(member);
        const runs = single || currentInterpreter().run === undefined ? member : (...own: unknown[]) => scope(() => member(...own));
        return consuming(runs, functions ? args.map((arg) => (isFunction(arg) ? asTraced(arg) : arg)) : args, {
          donates: !functions && single,
        });
      };
      return Object.defineProperty(call, 'name', { value: name });
    }
    return typeof member === 'object' && member !== null && !globalThis.Array.isArray(member) ? owning(member) : member;
  };
  return Object.fromEntries(Object.entries(namespace).map(([name, member]) => [name, wrap(name, member)])) as Owned<N>;
}

export { DType } from './api/names.ts';
export { OwnedArray as Array };

export type { Owned };

/** Lists may hold arrays. */
function arrayOfAll(contents: unknown, options?: DTypeName | ArrayOptions): Value {
  const holdsArrays = (x: unknown): boolean => globalThis.Array.isArray(x) && x.some((item) => item instanceof Value || holdsArrays(item));
  if (!holdsArrays(contents)) return borrowedArray(contents as Nested, options);
  const stacked = borrowedNumpy.stack((contents as readonly unknown[]).map((item) => arrayOfAll(item)));
  const dtype = typeof options === 'string' ? options : options?.dtype;
  return dtype === undefined ? stacked : stacked.astype(dtype);
}
/** Numbers are floats unless a dtype is given, also where they are positions. */
const positions = (x: ArrayLike): ArrayLike => (x instanceof Value && isFloat(x.dtype) ? x.astype('int32') : x);
/** `fullMatrices` is what has to be asked for. */
const svd = (a: ArrayLike, options: object = {}): unknown => borrowedNumpy.linalg.svd(a, { fullMatrices: false, ...options });
interface EighOptions {
  readonly lower?: boolean;
  readonly symmetrizeInput?: boolean;
  readonly sortEigenvalues?: boolean;
}
/** Eigenvalues are in order whether that is asked for or not. */
function eigh(a: Value, { lower = true, symmetrizeInput = true }: EighOptions = {}): [Value, Value] {
  const { tril, triu, matrixTranspose, linalg } = borrowedNumpy;
  if (symmetrizeInput) return linalg.eigh(a);
  return linalg.eigh(lower ? tril(a).add(matrixTranspose(tril(a, -1))) : triu(a).add(matrixTranspose(triu(a, 1))), {
    symmetrizeInput: false,
  });
}
const owned = owning({
  ...borrowedNumpy,
  array: arrayOfAll,
  take: (x: ArrayLike, indices: ArrayLike, ...rest: never[]) => borrowedNumpy.take(x, positions(indices), ...rest),
  takeAlongAxis: (x: ArrayLike, indices: ArrayLike, ...rest: never[]) => borrowedNumpy.takeAlongAxis(x, positions(indices), ...rest),
  linalg: { ...borrowedNumpy.linalg, svd, eigh, eigvalsh: (a: Value, options?: EighOptions) => eigh(a, options)[0] },
});
/** Are all elements close? At once, as jax-js has it: on the `cpu` device. Lists and typed arrays are taken too. */
function allclose(actual: OwnedContents, expected: OwnedContents, options?: CloseOptions): boolean {
  const [a, b] = [actual, expected].map((x) => (x instanceof OwnedArray ? x : owned.array(x as never)));
  return (
    (consuming(borrowedNumpy.allclose as (...args: unknown[]) => unknown, [a, b, options], { donates: false }) as OwnedArray).item() !== 0
  );
}
export const numpy = { ...owned, allclose } as unknown as OwnedNumpy;
/** As jax-js has it, vectors come first here, and values first in `numpy`. */
const vectorsFirst = (a: Value, options?: EighOptions): [Value, Value] => eigh(a, options).toReversed() as [Value, Value];
export const lax = owning({ ...borrowedLax, linalg: { ...borrowedLax.linalg, svd, eigh: vectorsFirst } }) as unknown as OwnedLax;
export const nn = owning(borrowedNn);
export const scipySpecial = owning(borrowedSpecial);
/** As jax-js has it, `split` gives one array of keys. */
export const random = owning({ ...borrowedRandom, split: borrowedRandom.splitKeys });

const leafRef = (leaf: unknown): unknown => (leaf instanceof OwnedArray ? leaf.ref : leaf);
export const tree = {
  flatten: trees.flatten,
  leaves: trees.leaves,
  structure: trees.structure,
  unflatten: trees.unflatten,
  map: trees.map,
  /** One more reference on every array. */
  ref: <T>(value: T): T => trees.map(leafRef as (...values: never[]) => unknown, value) as T,
  /** Takes one reference of every array. */
  dispose: (value: unknown): void => {
    for (const leaf of trees.leaves(value)) if (leaf instanceof OwnedArray && !leaf.isDisposed) leaf.dispose();
  },
  JsTreeDef: trees.TreeDef,
};

type AnyFunction = (...args: never[]) => unknown;
export type OwnedFunction<F extends AnyFunction> = F & { dispose(): void };

/** Runs a transformation of `f`: what it consumes for good while it is traced ends after the call, or with the trace around it. */
function transformed(call: (...args: unknown[]) => unknown, args: readonly unknown[], donates = false): unknown {
  if (currentInterpreter().run === undefined) return consuming(call, args, { donates });
  const held: Value[] = [];
  try {
    return holding(held, () => consuming(call, args, { donates }));
  } finally {
    for (const value of held) value.dispose();
  }
}

/** Compiled; arguments that come with their last reference are donated. `dispose()` drops programs and what they hold. */
export function jit<F extends AnyFunction>(f: F, options: Pick<JitOptions, 'staticArgnums'> = {}): OwnedFunction<F> {
  const held: Value[] = [];
  const compiled = jitFunction(asTraced(f), options, { original: f, automatic: true });
  const call = (...args: unknown[]): unknown => holding(held, () => consuming(compiled, args, { donates: true }));
  const dispose = (): void => {
    compiled.dispose();
    for (const value of held.splice(0)) value.dispose();
  };
  return Object.assign(Object.defineProperty(call, 'name', { value: f.name }), { dispose }) as unknown as OwnedFunction<F>;
}

const transform =
  <O>(of: (f: (...args: unknown[]) => unknown, options?: O) => (...args: unknown[]) => unknown) =>
  <F extends AnyFunction>(f: F, options?: O): ((...args: Parameters<F>) => never) => {
    const call = of(asTraced(f), options);
    // What these make is one program, which may write over what comes with its last reference.
    return ((...args: unknown[]) => transformed(call, args, true)) as never;
  };

type First<F extends AnyFunction> = Parameters<F>[0];
export const grad = transform(transforms.grad) as <F extends AnyFunction>(
  f: F,
  options?: transforms.GradOptions,
) => (...args: Parameters<F>) => First<F>;
export const valueAndGrad = transform(transforms.valueAndGrad) as <F extends AnyFunction>(
  f: F,
  options?: transforms.GradOptions,
) => (...args: Parameters<F>) => [ReturnType<F>, First<F>];
export const vmap = transform(
  transforms.vmap as (
    f: (...args: unknown[]) => unknown,
    options?: number | readonly transforms.Axes[] | transforms.VmapOptions,
  ) => (...args: unknown[]) => unknown,
) as <F extends AnyFunction>(
  f: F,
  inAxes?: number | readonly transforms.Axes[] | transforms.VmapOptions,
) => (...args: Parameters<F>) => ReturnType<F>;
export const jacfwd = transform(jacobians.jacfwd) as <F extends AnyFunction>(
  f: F,
  options?: { readonly argnums?: number },
) => (...args: Parameters<F>) => ReturnType<F>;
export const jacrev = transform(jacobians.jacrev) as typeof jacfwd;
export const jacobian = jacrev;
export const hessian = transform(jacobians.hessian) as typeof jacfwd;
export const checkpoint = transform(
  checkpointOf as (f: (...args: unknown[]) => unknown, options?: CheckpointOptions) => (...args: unknown[]) => unknown,
) as <F extends AnyFunction>(f: F, options?: CheckpointOptions) => F;

/**
 * Residuals outlive the call that made them: they are other handles of the same buffers, until the linear map is disposed.
 */
function keepingResiduals(of: (args: unknown[]) => unknown[], args: readonly unknown[]): unknown[] {
  const handles: DeviceArray[] = [];
  const own = trees.map(
    ((leaf: unknown) => {
      if (!(leaf instanceof DeviceArray)) return leaf;
      const handle = sharedHandle(leaf);
      handles.push(handle);
      return handle;
    }) as (...values: never[]) => unknown,
    args,
  ) as unknown[];
  const [out, linear, ...rest] = of(own) as [unknown, ((...given: unknown[]) => unknown) & { dispose(): void }, ...unknown[]];
  const dispose = (): void => {
    linear.dispose();
    for (const handle of handles) handle.dispose();
  };
  return [out, Object.assign((...given: unknown[]) => linear(...given), { dispose }), ...rest];
}

type Primals<F extends AnyFunction> = readonly [...Parameters<F>];
export function vjp<F extends AnyFunction>(
  f: F,
  primals: Primals<F>,
  options: { readonly hasAux?: boolean } = {},
): [ReturnType<F>, OwnedFunction<(cotangents: ReturnType<F>) => Parameters<F>>] {
  return transformed((...args) => keepingResiduals((own) => transforms.vjp(asTraced(f), own, options), args), primals) as never;
}
export function linearize<F extends AnyFunction>(
  f: F,
  primals: Primals<F>,
  options: { readonly hasAux?: boolean } = {},
): [ReturnType<F>, OwnedFunction<(...tangents: Parameters<F>) => ReturnType<F>>] {
  return transformed((...args) => keepingResiduals((own) => transforms.linearize(asTraced(f), own, options), args), primals) as never;
}
export function jvp<F extends AnyFunction>(
  f: F,
  primals: Primals<F>,
  tangents: Primals<F>,
  options: { readonly hasAux?: boolean } = {},
): [ReturnType<F>, ReturnType<F>] {
  return transformed((p, t) => transforms.jvp(asTraced(f), p as unknown[], t as unknown[], options), [primals, tangents]) as never;
}
/** The program of a function, to be read: `makeJaxpr(f)(x).jaxpr.toString()`. */
export const makeJaxpr =
  <F extends AnyFunction>(f: F) =>
  (...args: Parameters<F>): { readonly jaxpr: { toString(): string }; readonly treedef: trees.TreeDef } => {
    const made = transformed((...own) => {
      const { text, result } = transforms.readable(asTraced(f), own);
      return { text, result };
    }, args) as { readonly text: string; readonly result: trees.TreeDef };
    return { jaxpr: { toString: () => made.text }, treedef: made.result };
  };

export type Device = 'cpu' | 'webgpu' | 'wasm' | 'webgl';
const ours = (device: Device): 'cpu' | 'webgpu' => (device === 'webgpu' ? 'webgpu' : 'cpu');
/** Names that jax-js has; `wasm` and `webgl` are served by `cpu`. */
export const devices: readonly Device[] = ['cpu', 'wasm', 'webgpu', 'webgl'];
/** Opens devices, and says which of jax-js's there are. */
export async function init(...wanted: Device[]): Promise<Device[]> {
  const [first] = wanted;
  await start(first === undefined ? {} : ours(first));
  const there: readonly Device[] = ['cpu', 'wasm', ...deviceNames().filter((name) => name === 'webgpu')];
  return wanted.length === 0 ? [...there] : wanted.filter((name) => there.includes(name));
}
/** The device in use. Another one is taken as long as no array is alive. */
export function defaultDevice(device?: Device): Device {
  if (device !== undefined) switchTo(ours(device));
  return deviceName() as Device;
}
export const blockUntilReady = async <T>(value: T): Promise<T> => {
  await untilReady();
  return value;
};
/** Puts values on the device in use, which is chosen once: a `device` is taken for jax-js's sake. */
export async function devicePut<T>(value: T, _device?: Device): Promise<T> {
  return trees.map(
    ((leaf: unknown) => (leaf instanceof OwnedArray ? leaf : new OwnedArray(borrowedArray(leaf as Nested)))) as (
      ...values: never[]
    ) => unknown,
    value,
  ) as T;
}

/** The types that jax-js has beside the functions of `numpy`; nothing of it is left when it runs. */
// eslint-disable-next-line @typescript-eslint/no-namespace
export declare namespace numpy {
  export type Array = OwnedArray;
  export type ArrayLike = OwnedArray | number | boolean;
  export type DType = DTypeName;
}
