/**
 * A program applied to a batch: every value gets a batch axis where it depends on a batched input.
 *
 * Depends on: core, ops, ir.
 */
import { at, inRole } from '../core/interpreter.ts';
import { isLiteral, type Atom, type Variable } from '../core/program.ts';
import type { Value } from '../ops/value.ts';
import { applyEquation, bind, operandsOf, valueOf, type TracedProgram } from '../ir/eval.ts';

export interface BatchedResults {
  readonly results: readonly Value[];
  /** Where each result has its batch axis; undefined where it has none. */
  readonly axes: readonly (number | undefined)[];
}

export function batchProgram(
  program: TracedProgram,
  operands: readonly Value[],
  axes: readonly (number | undefined)[],
  size: number,
  axisName?: string,
): BatchedResults {
  const environment = bind(program, operands);
  const batched = new Map<Variable, number>();
  program.inputs.forEach((variable, k) => {
    if (axes[k] !== undefined) batched.set(variable, axes[k]);
  });
  const axisOf = (atom: Atom): number | undefined => (isLiteral(atom) ? undefined : batched.get(atom));
  for (const equation of program.equations) {
    const values = operandsOf(equation, environment);
    const arriving = equation.inputs.map(axisOf);
    const { op, parameters, place, role } = equation;
    const named = axisName !== undefined && 'axisName' in parameters && parameters['axisName'] === axisName;
    const hidden = axisName !== undefined && op.body.kind === 'control';
    if (arriving.every((axis) => axis === undefined) && !named && !hidden) {
      const results = applyEquation(equation, values);
      equation.outputs.forEach((variable, k) => environment.set(variable, results[k]!));
      continue;
    }
    const leaving = at(place, () => inRole(role, () => op.batch(values, arriving, parameters, size, axisName)));
    equation.outputs.forEach((variable, k) => {
      environment.set(variable, leaving.results[k]!);
      const axis = leaving.axes[k];
      if (axis !== undefined) batched.set(variable, axis);
    });
  }
  return { results: program.outputs.map((atom) => valueOf(atom, environment)), axes: program.outputs.map(axisOf) };
}

/** A result with its batch axis where it is wanted. */
export function withAxisAt(x: Value, axis: number | undefined, wanted: number, size: number): Value {
  if (axis !== undefined) return x.moveAxis(axis, wanted);
  const shape = x.shape;
  return x
    .reshape([...shape.slice(0, wanted), 1, ...shape.slice(wanted)])
    .broadcastTo([...shape.slice(0, wanted), size, ...shape.slice(wanted)]);
}
