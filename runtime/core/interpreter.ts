/**
 * The slot that decides what applying an op means: run it, record it, differentiate it, or only infer its type.
 *
 * This slot and the event sink are the only global state. Depends on: program, source.
 */
import type { HasAval, OpReference, Parameters } from './program.ts';
import type { Place } from './source.ts';

export interface Interpreter {
  /** Applies `op`; as many results as the op has. */
  readonly apply: (op: OpReference, operands: readonly HasAval[], parameters: Parameters, place: Place | undefined) => readonly HasAval[];
  /** What a JavaScript number becomes as an operand (weakly typed), where an op needs an array. */
  readonly scalar: (value: number | boolean) => HasAval;
}

let current: Interpreter | undefined;
let fixedPlace: Place | undefined;

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
