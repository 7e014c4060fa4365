/**
 * Calls a function with tracers and returns the program.
 *
 * Depends on: core, ops, ir, tracer.
 */
import { typeError } from '../core/errors.ts';
import { printAval, type KnownAval } from '../core/aval.ts';
import { currentInterpreter, under } from '../core/interpreter.ts';
import { leafPaths, flatten, rebuild, type Structure } from '../core/tree.ts';
import type { Program, Variable } from '../core/program.ts';
import { placeInForce } from '../core/interpreter.ts';
import { userPlace } from '../core/stack.ts';
import type { Entry } from '../ops/apply.ts';
import { literalValue, Value } from '../ops/value.ts';
import { evaluate, type TracedProgram } from '../ir/eval.ts';
import { Builder, type TraceOptions } from './tracer.ts';

/** Traces a function of a list of arrays that returns a list of arrays. */
export function trace(
  name: string,
  f: (operands: readonly Value[]) => readonly Value[],
  avals: readonly KnownAval[],
  options: TraceOptions = {},
): TracedProgram {
  const builder = new Builder(name, options);
  const inputs = avals.map((aval) => builder.input(aval));
  try {
    const outputs = under(builder.interpreter, () => f(inputs)).map((value) => builder.outputOf(value));
    return finish(
      builder,
      inputs.map((tracer) => tracer.variable),
      outputs,
    );
  } finally {
    builder.open = false;
  }
}

export function finish(builder: Builder, inputs: readonly Variable[], outputs: readonly Variable[]): TracedProgram {
  return {
    inputs,
    captures: [...builder.captures].map(([value, variable]) => ({ variable, value })),
    equations: builder.equations,
    outputs,
    name: builder.name,
  };
}

/** The program with its captures as leading inputs, and the values that were captured. */
export function closed(program: TracedProgram): { readonly program: TracedProgram; readonly constants: readonly Value[] } {
  return {
    program: { ...program, inputs: [...program.captures.map((c) => c.variable), ...program.inputs], captures: [] },
    constants: program.captures.map((c) => c.value as Value),
  };
}

/** What a leaf of a result is as an array. */
export function asValue(leaf: unknown, path: string): Value {
  if (leaf instanceof Value) return leaf;
  if (typeof leaf === 'number' || typeof leaf === 'boolean') return literalValue(leaf);
  throw typeError(`\`${path}\` is ${describe(leaf)}: only arrays, numbers and booleans can go in and out of a traced function`);
}
const describe = (leaf: unknown): string =>
  typeof leaf === 'object' && leaf !== null
    ? `an object of class ${leaf.constructor?.name ?? 'none'}`
    : typeof leaf === 'function'
      ? 'a function'
      : `\`${String(leaf)}\``;

/** A function over trees as one over lists; the structure of its result is known after the first call. */
export function overLeaves(
  f: (...args: unknown[]) => unknown,
  structure: Structure,
): { readonly call: (leaves: readonly Value[]) => readonly Value[]; readonly result: () => Structure } {
  let result: Structure | undefined;
  return {
    call(leaves) {
      const flat = flatten(f(...(rebuild(structure, leaves) as unknown[])));
      result = flat.structure;
      const paths = leafPaths(flat.structure, 'result');
      return flat.leaves.map((leaf, k) => asValue(leaf, paths[k]!));
    },
    result: () => result!,
  };
}

/**
 * Runs `f` as one program where the current interpreter would rather have whole programs, and directly where it
 * doesn't: so gradients and batched functions outside of jit are planned as a whole.
 */
export function asWhole(name: string, f: (operands: readonly Value[]) => readonly Value[], operands: readonly Value[]): readonly Value[] {
  const interpreter = currentInterpreter();
  if (interpreter.run === undefined) return f(operands);
  const place = placeInForce() ?? userPlace();
  const program = trace(
    name,
    f,
    operands.map((x) => knownAvalOf(x)),
  );
  return interpreter.run(program as Program, operands, place) as readonly Value[];
}

/** Runs a program as a whole, or equation by equation. */
export function runProgram(program: TracedProgram, operands: readonly Value[]): readonly Value[] {
  const interpreter = currentInterpreter();
  if (interpreter.run === undefined) return evaluate(program, operands);
  return interpreter.run(program as Program<Entry>, operands, placeInForce() ?? userPlace()) as readonly Value[];
}

export function knownAvalOf(x: Value): KnownAval {
  const { shape, dtype, weak } = x.aval;
  if (!shape.every((dim) => typeof dim === 'number'))
    throw new Error(`internal: trace: ${printAval(x.aval)} has a dimension without a value`);
  return { shape, dtype, ...(weak ? { weak: true } : {}) };
}
