/**
 * A program without what it doesn't need: calls are inlined, equal equations merged, constants folded, the rest of what
 * nobody reads dropped.
 *
 * Merging and folding look at entries, never at names; ops that say they are not pure are left alone.
 * Depends on: core, ops, evaluate.
 */
import type { ControlForm } from '../core/control-form.ts';
import { isLiteral, type Atom, type Equation, type Parameter, type Program, type Variable } from '../core/program.ts';
import type { Op } from '../ops/op.ts';
import { evaluate } from './evaluate.ts';

/** Inputs are arguments, then captures. */
export interface Flat {
  readonly inputs: readonly Variable[];
  readonly equations: readonly Equation<Op>[];
  readonly outputs: readonly Atom[];
}

export const flatten = (program: Program<Op>): Flat => ({
  inputs: [...program.inputs, ...program.captures.map(({ variable }) => variable)],
  equations: program.equations,
  outputs: program.outputs,
});

/** Bodies of control flow keep their parameters' type: whoever traced them traced them with entries of the table. */
export const bodyOf = (program: Program): Program<Op> => program as Program<Op>;

export const formOf = ({ op, parameters }: Equation<Op>): ControlForm | undefined =>
  op.body.kind === 'control' ? op.body.form(parameters) : undefined;

export const simplify = (flat: Flat): Flat => withoutUnused(merged(inlined(flat)));

function inlined(flat: Flat): Flat {
  const stands = new Map<Variable, Atom>();
  const now = (atom: Atom): Atom => (isLiteral(atom) ? atom : (stands.get(atom) ?? atom));
  const equations: Equation<Op>[] = [];
  const visit = (equation: Equation<Op>, rename: (atom: Atom) => Atom, copy: (variable: Variable) => Variable): void => {
    const inputs = equation.inputs.map(rename);
    const form = formOf(equation);
    if (form?.kind !== 'call') {
      equations.push({ ...equation, inputs, outputs: equation.outputs.map(copy) });
      return;
    }
    const body = bodyOf(form.body);
    const inside = new Map<Variable, Atom>([...body.inputs.map((variable, i) => [variable, inputs[i]!] as const)]);
    for (const { variable } of body.captures) inside.set(variable, variable);
    const renamed = (atom: Atom): Atom => (isLiteral(atom) ? atom : (inside.get(atom) ?? atom));
    const fresh = (variable: Variable): Variable => {
      const own: Variable = { aval: variable.aval };
      inside.set(variable, own);
      return own;
    };
    for (const inner of body.equations) visit(withPlaceOf(inner, equation), renamed, fresh);
    body.outputs.forEach((atom, i) => {
      const value = renamed(atom);
      const output = equation.outputs[i]!;
      const outer = copy(output);
      if (outer === output) stands.set(output, value);
      else aliases.set(outer, value);
    });
  };
  // Outputs of an inlined call that itself lies in an inlined body: the copy stands for the value.
  const aliases = new Map<Variable, Atom>();
  const settled = (atom: Atom): Atom => {
    let one = now(atom);
    while (!isLiteral(one) && aliases.has(one)) one = now(aliases.get(one)!);
    return one;
  };
  for (const equation of flat.equations) visit(equation, settled, (variable) => variable);
  return {
    inputs: flat.inputs,
    equations: equations.map((equation) => ({ ...equation, inputs: equation.inputs.map(settled) })),
    outputs: flat.outputs.map(settled),
  };
}

const withPlaceOf = (inner: Equation<Op>, outer: Equation<Op>): Equation<Op> => ({
  ...inner,
  place: inner.place ?? outer.place,
  ...((inner.role ?? outer.role) ? { role: inner.role ?? outer.role! } : {}),
});

/** Numbers things as they are met. */
export function makeNumbers(): (one: unknown) => number {
  const numbers = new Map<unknown, number>();
  return (one) => {
    const number = numbers.get(one) ?? numbers.size;
    numbers.set(one, number);
    return number;
  };
}

/** Parameters as text; programs in them by their number. */
export function makeParameterKey(numberOf: (program: object) => number): (parameter: Parameter) => string {
  const keyOf = (parameter: Parameter): string => {
    if (typeof parameter !== 'object') return `${typeof parameter}:${String(parameter)}`;
    if (Array.isArray(parameter)) return `[${(parameter as readonly Parameter[]).map(keyOf).join()}]`;
    if ('equations' in parameter) return `program ${numberOf(parameter)}`;
    return `{${Object.entries(parameter)
      .map(([name, one]) => `${name}=${keyOf(one as Parameter)}`)
      .join()}}`;
  };
  return keyOf;
}

function merged(flat: Flat): Flat {
  const stands = new Map<Variable, Atom>();
  const numberOf = makeNumbers();
  const keyOf = (atom: Atom): string =>
    isLiteral(atom)
      ? `${Object.is(atom.literal, -0) ? '-0' : String(atom.literal)}:${atom.aval.dtype}:${atom.aval.shape.join()}`
      : `%${numberOf(atom)}`;
  const parameterKey = makeParameterKey(numberOf);
  const known = new Map<string, Equation<Op>>();
  const equations: Equation<Op>[] = [];
  for (const former of flat.equations) {
    const equation: Equation<Op> = {
      ...former,
      inputs: former.inputs.map((atom) => (isLiteral(atom) ? atom : (stands.get(atom) ?? atom))),
    };
    const value = folded(equation);
    if (value !== undefined) {
      stands.set(equation.outputs[0]!, value);
      continue;
    }
    if (equation.op.pure === false || equation.op.body.kind === 'control') {
      equations.push(equation);
      continue;
    }
    // What a checkpoint computes again must not become what was to be forgotten.
    const again = equation.role === 'again' ? 'again ' : '';
    const key = `${again}${equation.op.id} ${parameterKey(equation.parameters)} ${equation.inputs.map(keyOf).join(' ')} ${equation.outputs.map(({ aval }) => `${aval.dtype}${aval.shape.join()}`).join()}`;
    const same = known.get(key);
    if (same === undefined) {
      known.set(key, equation);
      equations.push(equation);
    } else equation.outputs.forEach((output, i) => stands.set(output, same.outputs[i]!));
  }
  return { ...flat, equations, outputs: flat.outputs.map((atom) => (isLiteral(atom) ? atom : (stands.get(atom) ?? atom))) };
}

/** The literal that an elementwise equation of literals comes to. */
function folded({ op, inputs, outputs, parameters }: Equation<Op>): Atom | undefined {
  const aval = outputs[0]!.aval;
  if (op.pure === false || op.body.kind !== 'elementwise' || aval.shape.length > 0 || !inputs.every(isLiteral)) return undefined;
  const value = evaluate(
    op.body.scalar(
      inputs.map((atom) => ({ kind: 'constant', value: Number(isLiteral(atom) ? atom.literal : 0), dtype: atom.aval.dtype })),
      { at: [], inputs: inputs.map((atom) => atom.aval), output: aval, parameters },
    ),
    { coordinates: [], load: () => 0 },
  );
  return { literal: aval.dtype === 'bool' ? value !== 0 : value, aval };
}

function withoutUnused(flat: Flat): Flat {
  const needed = new Set<Atom>(flat.outputs);
  const kept: Equation<Op>[] = [];
  for (const equation of flat.equations.toReversed()) {
    if (!equation.outputs.some((output) => needed.has(output))) continue;
    for (const input of equation.inputs) needed.add(input);
    kept.push(equation);
  }
  return { ...flat, equations: kept.toReversed() };
}
