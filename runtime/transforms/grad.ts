/**
 * The backward pass of a program, from the entries' gradient rules.
 *
 * The forward pass is run once and its values kept by variable; the backward pass goes through the equations in reverse.
 * Every equation that it makes carries the line of the equation that it is the gradient of, marked `gradient`. Sums over
 * broadcast axes are done here and nowhere else. Depends on: core, ops, ir, trace.
 */
import type { KnownAval } from '../core/aval.ts';
import { at, inRole } from '../core/interpreter.ts';
import { isLiteral, type Atom, type Equation, type Variable } from '../core/program.ts';
import { isFloat } from '../core/dtype.ts';
import type { Entry } from '../ops/apply.ts';
import { savedOf } from '../ops/family.ts';
import { full } from '../ops/shape.ts';
import { sum } from '../ops/reduce.ts';
import type { Value } from '../ops/value.ts';
import { applyEquation, bind, operandsOf, valueOf, type Environment, type TracedProgram } from '../ir/eval.ts';

type Pull = (cotangents: readonly (Value | undefined)[]) => readonly (Value | undefined)[];

/** A forward pass with what its backward pass needs. */
export interface Forward {
  readonly results: readonly Value[];
  /** Cotangents of the wanted inputs from those of the results; undefined where there is none (zero). */
  readonly pull: Pull;
}

/** Which variables depend on the wanted inputs, and can have a cotangent. */
export function activeVariables(program: TracedProgram, wanted: readonly boolean[]): ReadonlySet<Variable> {
  const active = new Set<Variable>(program.inputs.filter((variable, k) => wanted[k] && isFloat(variable.aval.dtype)));
  const isActive = (atom: Atom): boolean => !isLiteral(atom) && active.has(atom);
  for (const { op, inputs, outputs } of program.equations) {
    if (op.gradient === undefined && op.differentiated === undefined) continue;
    if (inputs.some(isActive)) for (const variable of outputs) if (isFloat(variable.aval.dtype)) active.add(variable);
  }
  return active;
}

/** Runs the program forward in the current interpreter; values that are `known` already aren't computed again. */
export function forward(
  program: TracedProgram,
  operands: readonly Value[],
  wanted: readonly boolean[],
  known: ReadonlyMap<Variable, Value> = new Map(),
): Forward {
  const active = activeVariables(program, wanted);
  const environment = bind(program, operands);
  const pulls = new Map<Equation<Entry>, Pull>();
  for (const equation of program.equations) {
    if (equation.outputs.every((variable) => known.has(variable)) && equation.op.differentiated === undefined) {
      for (const variable of equation.outputs) environment.set(variable, known.get(variable)!);
      continue;
    }
    const values = operandsOf(equation, environment);
    const isActive = equation.inputs.map((atom) => !isLiteral(atom) && active.has(atom));
    const special = equation.op.differentiated !== undefined && isActive.includes(true);
    const results = special ? differentiated(equation, values, isActive, pulls) : applyEquation(equation, values);
    equation.outputs.forEach((variable, k) => environment.set(variable, results[k]!));
  }
  return {
    results: program.outputs.map((atom) => valueOf(atom, environment)),
    pull: (cotangents) => backward(program, environment, active, pulls, cotangents),
  };
}

function differentiated(
  equation: Equation<Entry>,
  values: readonly Value[],
  active: readonly boolean[],
  pulls: Map<Equation<Entry>, Pull>,
): readonly Value[] {
  const { results, pull } = at(equation.place, () =>
    inRole(equation.role, () => equation.op.differentiated!(values, equation.parameters, active)),
  );
  pulls.set(equation, pull);
  return results;
}

function backward(
  program: TracedProgram,
  environment: Environment,
  active: ReadonlySet<Variable>,
  pulls: ReadonlyMap<Equation<Entry>, Pull>,
  cotangents: readonly (Value | undefined)[],
): readonly (Value | undefined)[] {
  const gathered = new Map<Variable, Value>();
  const accumulate = (atom: Atom, cotangent: Value | undefined): void => {
    if (cotangent === undefined || isLiteral(atom) || !active.has(atom)) return;
    const own = summedTo(cotangent, atom.aval);
    const former = gathered.get(atom);
    gathered.set(atom, former === undefined ? own : former.add(own));
  };
  program.outputs.forEach((atom, k) => accumulate(atom, cotangents[k]));
  for (const equation of program.equations.toReversed()) {
    const arriving = equation.outputs.map((variable) => gathered.get(variable));
    if (arriving.every((cotangent) => cotangent === undefined)) continue;
    at(equation.place, () =>
      inRole('gradient', () => {
        const leaving = cotangentsOf(equation, arriving, environment, pulls);
        equation.inputs.forEach((atom, k) => accumulate(atom, leaving[k]));
      }),
    );
    for (const variable of equation.outputs) gathered.delete(variable);
  }
  return program.inputs.map((variable) => gathered.get(variable));
}

function cotangentsOf(
  equation: Equation<Entry>,
  arriving: readonly (Value | undefined)[],
  environment: Environment,
  pulls: ReadonlyMap<Equation<Entry>, Pull>,
): readonly (Value | undefined)[] {
  const pull = pulls.get(equation);
  if (pull !== undefined) return pull(arriving);
  const rule = equation.op.gradient;
  if (rule === undefined) return [];
  const outputs = equation.outputs.map((variable) => environment.get(variable)!);
  const saved = savedOf(rule.saves, operandsOf(equation, environment), outputs);
  const whole = arriving.map((cotangent, k) => cotangent ?? zeros(equation.outputs[k]!.aval));
  return rule.rule(
    whole,
    saved,
    equation.parameters,
    equation.inputs.map((atom) => atom.aval),
  );
}

export const zeros = (aval: KnownAval): Value => full(aval.shape, 0, aval.dtype);

/** A cotangent in the shape of what it belongs to: axes that were spread are summed. */
export function summedTo(cotangent: Value, aval: KnownAval): Value {
  const shape = cotangent.shape;
  const lead = shape.length - aval.shape.length;
  const axes = shape.map((_, axis) => axis).filter((axis) => axis < lead || (aval.shape[axis - lead] === 1 && shape[axis] !== 1));
  const summed = axes.length === 0 ? cotangent : sum(cotangent, axes);
  const shaped = summed.reshape(aval.shape);
  return shaped.dtype === aval.dtype ? shaped : shaped.astype(aval.dtype);
}
