/**
 * Refuses a malformed program and shows the neighbourhood of the fault.
 *
 * Every variable is defined once and before its use, every equation's results are what its entry infers, operands of
 * elementwise ops have one shape or rank 0. Depends on: core, ops, print.
 */
import { printAval, type Aval } from '../core/aval.ts';
import { isLiteral, type Parameter, type Program, type Variable } from '../core/program.ts';
import type { Op } from '../ops/op.ts';
import { sameShape } from '../ops/shape.ts';
import { isProgram, printProgram } from './print.ts';

/** What is wrong with a program; empty when it is sound. */
export function programFaults(program: Program<Op>): readonly string[] {
  const faults: string[] = [];
  const defined = new Set<Variable>();
  const define = (variable: Variable, by: string): void => {
    if (defined.has(variable)) faults.push(`a variable is defined twice, again by ${by}`);
    defined.add(variable);
  };
  program.inputs.forEach((variable, k) => define(variable, `input ${k}`));
  program.captures.forEach(({ variable }, k) => define(variable, `capture ${k}`));
  program.equations.forEach((equation, n) => {
    const here = `equation ${n} (${equation.op.id})`;
    for (const atom of equation.inputs)
      if (!isLiteral(atom) && !defined.has(atom)) faults.push(`${here} reads a variable that isn't defined yet`);
    faults.push(
      ...typeFaults(
        equation.op,
        equation.inputs.map((a) => a.aval),
        equation.outputs.map((v) => v.aval),
        equation.parameters,
        here,
      ),
    );
    faults.push(
      ...bodiesIn(equation.parameters).flatMap((body) => [
        ...(body.captures.length > 0 ? [`${here}: its body ${body.name} isn't closed`] : []),
        ...programFaults(body as Program<Op>).map((fault) => `in ${body.name}: ${fault}`),
      ]),
    );
    for (const variable of equation.outputs) define(variable, here);
  });
  for (const atom of program.outputs) if (!isLiteral(atom) && !defined.has(atom)) faults.push('an output is never defined');
  return faults;
}

function typeFaults(
  op: Op,
  inputs: readonly Aval[],
  outputs: readonly Aval[],
  parameters: Program['equations'][number]['parameters'],
  here: string,
): readonly string[] {
  if (op.body.kind === 'elementwise') {
    const shaped = inputs.filter((aval) => aval.shape.length > 0);
    if (shaped.some((aval) => !sameShape(aval.shape, shaped[0]!.shape)))
      return [`${here}: operands ${inputs.map(printAval).join(' ')} have different shapes`];
  }
  const inferred = op.infer(inputs, parameters);
  if (inferred.length !== outputs.length) return [`${here}: it has ${outputs.length} results and infers ${inferred.length}`];
  return inferred.flatMap((aval, k) =>
    aval.dtype === outputs[k]!.dtype && sameShape(aval.shape, outputs[k]!.shape)
      ? []
      : [`${here}: result ${printAval(outputs[k]!)} isn't the inferred ${printAval(aval)}`],
  );
}

export function bodiesIn(parameters: { readonly [name: string]: Parameter }): readonly Program[] {
  const found: Program[] = [];
  const walk = (parameter: Parameter): void => {
    if (Array.isArray(parameter)) (parameter as readonly Parameter[]).forEach(walk);
    else if (typeof parameter === 'object') {
      if (isProgram(parameter)) found.push(parameter);
      else Object.values(parameter as { readonly [name: string]: Parameter }).forEach(walk);
    }
  };
  Object.values(parameters).forEach(walk);
  return found;
}

export function checkProgram(program: Program<Op>): void {
  const faults = programFaults(program);
  if (faults.length > 0) throw new Error(`internal: ir: ${faults.join('; ')}\n${printProgram(program)}`);
}
