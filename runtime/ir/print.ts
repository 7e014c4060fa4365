/**
 * How a program is read by people and by tests.
 *
 * ```
 * step(a: f32[4096,4096], b: f32[64,4096]) with c: f32[4096] {
 *   d: f32[64,4096] = dot a b { contract: [[1],[0]], batch: [[],[]] }
 *   return d
 * }
 * ```
 * Names are given in order of appearance, so equal programs print equally. Depends on: core.
 */
import { printAval } from '../core/aval.ts';
import { isLiteral, type Atom, type Equation, type OpReference, type Parameter, type Program, type Variable } from '../core/program.ts';
import { printPlace } from '../core/stack.ts';

export interface PrintOptions {
  /** Adds the user's line and the role to each equation. */
  readonly places?: boolean;
}

export function printProgram(program: Program, options: PrintOptions = {}): string {
  return lines(program, options).join('\n');
}

function lines(program: Program, options: PrintOptions): readonly string[] {
  const names = new Map<Variable, string>();
  const define = (variable: Variable): string => {
    if (!names.has(variable)) names.set(variable, letters(names.size));
    return `${names.get(variable)!}: ${typeText(variable)}`;
  };
  const inputs = program.inputs.map(define).join(', ');
  const captures = program.captures.map(({ variable }) => define(variable)).join(', ');
  const use = (atom: Atom): string => (isLiteral(atom) ? `${literalText(atom.literal)}:${typeText(atom)}` : (names.get(atom) ?? '?'));
  return [
    `${program.name || 'anonymous'}(${inputs})${captures === '' ? '' : ` with ${captures}`} {`,
    ...program.equations.flatMap((equation) => equationLines(equation, define, use, options).map((line) => `  ${line}`)),
    `  return ${program.outputs.map(use).join(', ')}`,
    '}',
  ];
}

const typeText = ({ aval }: Atom): string => `${printAval(aval)}${aval.weak ? '*' : ''}`;
const literalText = (literal: number | boolean): string => (Object.is(literal, -0) ? '-0' : String(literal));

function equationLines(
  equation: Equation<OpReference>,
  define: (variable: Variable) => string,
  use: (atom: Atom) => string,
  options: PrintOptions,
): readonly string[] {
  const operands = equation.inputs.map(use);
  const bodies: string[] = [];
  const parameters = Object.entries(equation.parameters)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}: ${parameterText(value, bodies, options)}`);
  const results = equation.outputs.map(define).join(', ');
  const place = options.places ? `  # ${printPlace(equation.place)}${equation.role ? ` ${equation.role}` : ''}` : '';
  const head = `${results} = ${[equation.op.id, ...operands].join(' ')}${parameters.length > 0 ? ` { ${parameters.join(', ')} }` : ''}${place}`;
  return [head, ...bodies.map((line) => `    ${line}`)];
}

function parameterText(parameter: Parameter, bodies: string[], options: PrintOptions): string {
  if (Array.isArray(parameter))
    return `[${(parameter as readonly Parameter[]).map((item) => parameterText(item, bodies, options)).join(',')}]`;
  if (typeof parameter === 'object') {
    if (isProgram(parameter)) {
      bodies.push(...lines(parameter, options));
      return parameter.name || 'body';
    }
    return `{ ${Object.entries(parameter as { readonly [name: string]: Parameter })
      .map(([name, value]) => `${name}: ${parameterText(value, bodies, options)}`)
      .join(', ')} }`;
  }
  return typeof parameter === 'number' ? literalText(parameter) : String(parameter);
}

export const isProgram = (parameter: Parameter): parameter is Program =>
  typeof parameter === 'object' && 'equations' in parameter && 'captures' in parameter;

const letters = (index: number): string => {
  const last = String.fromCharCode(97 + (index % 26));
  return index < 26 ? last : letters(Math.floor(index / 26) - 1) + last;
};
