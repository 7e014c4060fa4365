/**
 * Applies a program's equations one by one through the current interpreter, each on its own line.
 *
 * Depends on: core, ops.
 */
import { at, currentInterpreter, inRole } from '../core/interpreter.ts';
import { isLiteral, type Atom, type Equation, type Program, type Variable } from '../core/program.ts';
import type { Entry } from '../ops/apply.ts';
import type { Value } from '../ops/value.ts';

export type TracedProgram = Program<Entry>;
export type Environment = Map<Variable, Value>;

/** The program's inputs and captures bound to values. */
export function bind(program: TracedProgram, operands: readonly Value[]): Environment {
  if (operands.length !== program.inputs.length)
    throw new Error(`internal: eval: ${program.name} takes ${program.inputs.length} inputs and got ${operands.length}`);
  const environment: Environment = new Map();
  program.inputs.forEach((variable, k) => environment.set(variable, operands[k]!));
  for (const { variable, value } of program.captures) environment.set(variable, value as Value);
  return environment;
}

export function valueOf(atom: Atom, environment: Environment): Value {
  if (isLiteral(atom)) return currentInterpreter().scalar(atom.literal, atom.aval) as Value;
  return environment.get(atom)!;
}

export const operandsOf = (equation: Equation<Entry>, environment: Environment): readonly Value[] =>
  equation.inputs.map((atom) => valueOf(atom, environment));

export function applyEquation(equation: Equation<Entry>, operands: readonly Value[]): readonly Value[] {
  return at(equation.place, () =>
    inRole(equation.role, () => currentInterpreter().apply(equation.op, operands, equation.parameters, equation.place) as readonly Value[]),
  );
}

export function evaluate(program: TracedProgram, operands: readonly Value[]): readonly Value[] {
  const environment = bind(program, operands);
  for (const equation of program.equations) {
    const results = applyEquation(equation, operandsOf(equation, environment));
    equation.outputs.forEach((variable, k) => environment.set(variable, results[k]!));
  }
  return program.outputs.map((atom) => valueOf(atom, environment));
}
