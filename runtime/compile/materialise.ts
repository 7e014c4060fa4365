/**
 * Gives every output of a program, and every operand of control flow, a value of its own that is stored.
 *
 * Literals become small constant kernels; an output that is named twice gets a copy, so two results never share a buffer
 * that one of them may later be updated in. Depends on: core, ops, simplify.
 */
import { unknownEffects } from '../core/effects.ts';
import { isLiteral, type Atom, type Equation, type Literal, type Variable } from '../core/program.ts';
import type { Op } from '../ops/op.ts';
import { constant } from '../ops/scalar.ts';
import type { Flat } from './simplify.ts';

const onlyHere = (): never => {
  throw new Error('internal: runtime/compile: ops of the compiler are not differentiated or batched');
};

/** An op of the compiler's own: it is never traced, differentiated or batched. */
export const internalOp = (entry: Pick<Op, 'id' | 'summary' | 'body'> & Partial<Pick<Op, 'pure' | 'flops'>>): Op => ({
  effects: unknownEffects,
  infer: onlyHere,
  batch: onlyHere,
  flops: () => 0,
  overwrites: [],
  pure: false,
  ...entry,
});

export const fill: Op = internalOp({
  id: 'fill',
  summary: 'One value everywhere.',
  body: { kind: 'element', scalar: ({ parameters, output }) => constant(Number(parameters['value']), output.dtype) },
});

export const copy: Op = internalOp({
  id: 'copy',
  summary: 'The same elements in a buffer of their own.',
  body: { kind: 'view', index: ({ at }) => at },
});

export function materialised(flat: Flat): Flat {
  const equations: Equation<Op>[] = [];
  const filled = (literal: Literal): Variable => {
    const output: Variable = { aval: literal.aval };
    equations.push({ op: fill, inputs: [], parameters: { value: literal.literal }, outputs: [output], place: undefined });
    return output;
  };
  for (const equation of flat.equations)
    equations.push(
      equation.op.body.kind === 'control'
        ? { ...equation, inputs: equation.inputs.map((atom) => (isLiteral(atom) ? filled(atom) : atom)) }
        : equation,
    );
  const seen = new Set<Atom>();
  const outputs = flat.outputs.map((atom) => {
    if (isLiteral(atom)) return filled(atom);
    if (!seen.has(atom) || flat.inputs.includes(atom)) {
      seen.add(atom);
      return atom;
    }
    const output: Variable = { aval: atom.aval };
    equations.push({ op: copy, inputs: [atom], parameters: {}, outputs: [output], place: undefined });
    return output;
  });
  return { ...flat, equations, outputs };
}
