/**
 * The slot that decides what applying an op means: run it, record it, differentiate it, or only infer its type.
 *
 * The slots here (interpreter, place, role: one dynamic context) and the event sink are the only global state. Depends on: dtype, program, source.
 */
import type { KnownAval } from './aval.ts';
import type { Typed } from './dtype.ts';
import type { HasAval, OpReference, Parameters, Program } from './program.ts';
import type { Place } from './source.ts';

export interface Interpreter {
  /** Applies `op`; as many results as the op has. */
  readonly apply: (op: OpReference, operands: readonly HasAval[], parameters: Parameters, place: Place | undefined) => readonly HasAval[];
  /** What a JavaScript number becomes as an operand, where an op needs an array: weakly typed unless `type` says otherwise. */
  readonly scalar: (value: number | boolean, type?: Typed) => HasAval;
  /** An array with these contents; absent where there is no device (the contents are then captured as they are). */
  readonly constant?: (contents: HostArray, aval: KnownAval) => HasAval;
  /** Runs a whole program at once, where that is better than equation by equation (the base interpreter compiles it). */
  readonly run?: (program: Program, operands: readonly HasAval[], place: Place | undefined) => readonly HasAval[];
  /** Calls a function that is composed of ops; the base interpreter compiles it as one program. */
  readonly composed?: <A extends readonly unknown[], R>(name: string, f: (...args: A) => R, args: A, numbers?: Numbers) => R;
  /** Sizes of the named axes in force (vmap and pmap with a name). */
  readonly axes?: ReadonlyMap<string, number>;
}

/** Contents of an array on the host, element by element. */
export type HostArray = Float32Array | Int32Array | Uint32Array | Uint16Array | Uint8Array;

/** What numbers among the arguments of a composed function are: values like arrays, or settings (axes, counts). */
export type Numbers = 'values' | 'settings';

export type Role = 'gradient' | 'again';

let current: Interpreter | undefined;
let fixedPlace: Place | undefined;
let role: Role | undefined;

export function currentInterpreter(): Interpreter {
  if (current === undefined) throw new Error('internal: interpreter: no interpreter is set');
  return current;
}

export const hasInterpreter = (): boolean => current !== undefined;

/** Sets the interpreter that is used outside of any transformation. */
export function setBaseInterpreter(interpreter: Interpreter): void {
  current ??= interpreter;
}

/** Runs `run` under `interpreter`, and restores the former one also when it throws. */
export function under<T>(interpreter: Interpreter, run: () => T): T {
  const former = current;
  current = interpreter;
  try {
    return run();
  } finally {
    current = former;
  }
}

/** While `run` runs, every op belongs to `place`, whatever the stack says (spans of the analysis, lines of gradients). */
export function at<T>(place: Place | undefined, run: () => T): T {
  const former = fixedPlace;
  fixedPlace = place ?? former;
  try {
    return run();
  } finally {
    fixedPlace = former;
  }
}

export const placeInForce = (): Place | undefined => fixedPlace;

/** While `run` runs, every equation is marked: made by differentiation, or computed again. */
export function inRole<T>(next: Role | undefined, run: () => T): T {
  const former = role;
  role = next ?? former;
  try {
    return run();
  } finally {
    role = former;
  }
}

export const roleInForce = (): Role | undefined => role;
