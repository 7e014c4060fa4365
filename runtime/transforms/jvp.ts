/**
 * Tangents pushed forward through a program, from the entries' tangent rules.
 *
 * A tangent that is known to be zero is left out (undefined), so constants cost nothing. Depends on: core, ops, ir.
 */
import { at, inRole, under, type Interpreter } from '../core/interpreter.ts';
import { isLiteral, type Atom, type Variable } from '../core/program.ts';
import { isFloat } from '../core/dtype.ts';
import type { Value } from '../ops/value.ts';
import { applyEquation, bind, operandsOf, valueOf, type TracedProgram } from '../ir/eval.ts';

export interface Pushed {
  readonly results: readonly Value[];
  readonly tangents: readonly (Value | undefined)[];
}

/** With `primal`, equations of the program itself go to that interpreter, and only those of tangents to the current one. */
export function pushForward(
  program: TracedProgram,
  operands: readonly Value[],
  tangents: readonly (Value | undefined)[],
  primal?: Interpreter,
): Pushed {
  const asPrimal = <T>(run: () => T): T => (primal === undefined ? run() : under(primal, run));
  const environment = bind(program, operands);
  const moving = new Map<Variable, Value>();
  program.inputs.forEach((variable, k) => {
    const tangent = tangents[k];
    if (tangent !== undefined && isFloat(variable.aval.dtype)) moving.set(variable, tangent);
  });
  const tangentOf = (atom: Atom): Value | undefined => (isLiteral(atom) ? undefined : moving.get(atom));
  for (const equation of program.equations) {
    const values = operandsOf(equation, environment);
    const arriving = equation.inputs.map(tangentOf);
    const still = arriving.every((tangent) => tangent === undefined);
    const { op, parameters, place, role } = equation;
    if (!still && op.pushed !== undefined) {
      const pushed = at(place, () => inRole(role, () => op.pushed!(values, arriving, parameters)));
      const own = primal === undefined ? pushed.results : asPrimal(() => applyEquation(equation, values));
      equation.outputs.forEach((variable, k) => {
        environment.set(variable, own[k]!);
        if (pushed.tangents[k] !== undefined) moving.set(variable, pushed.tangents[k]);
      });
      continue;
    }
    const results = asPrimal(() => applyEquation(equation, values));
    equation.outputs.forEach((variable, k) => environment.set(variable, results[k]!));
    if (still || op.tangent === undefined) continue;
    const leaving = at(place, () => inRole('gradient', () => op.tangent!(values, arriving, results, parameters)));
    equation.outputs.forEach((variable, k) => {
      const tangent = leaving[k];
      if (tangent !== undefined && isFloat(variable.aval.dtype)) moving.set(variable, tangent);
    });
  }
  return { results: program.outputs.map((atom) => valueOf(atom, environment)), tangents: program.outputs.map(tangentOf) };
}
