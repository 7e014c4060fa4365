/**
 * Arrays outside of traces: a shape, a dtype, and no contents; applying an op infers.
 *
 * The runtime's own functions run on these values, so there is one shape rule for the running program and for the read
 * one. Dimensions may be symbolic; where a function computes with one as if it were a number the result is no
 * dimension, and `shaped` refuses it. Depends on: core, ops.
 */
import { isKnownAval, type Aval, type KnownAval } from '../../runtime/core/aval.ts';
import { isKnown, type Dim } from '../../runtime/core/dim.ts';
import type { Interpreter } from '../../runtime/core/interpreter.ts';
import { isLiteral, type HasAval, type Program } from '../../runtime/core/program.ts';
import type { Entry } from '../../runtime/ops/apply.ts';
import { literalValue, Value } from '../../runtime/ops/value.ts';

export class ShapedArray extends Value {
  readonly aval: Aval;
  /** Its bytes, where they don't follow from shape and dtype. */
  readonly bytes: Dim | undefined;
  constructor(aval: Aval, bytes?: Dim) {
    super();
    this.aval = aval;
    this.bytes = bytes;
  }
  /** Symbolic dimensions go through the runtime's functions as they are. */
  override get shape(): readonly number[] {
    return this.aval.shape as readonly number[];
  }
}

export function shaped(aval: Aval): ShapedArray {
  if (!aval.shape.every(isDimension)) throw new Error('no shape can be inferred');
  return new ShapedArray(aval);
}

export const isShaped = (value: unknown): value is ShapedArray => value instanceof ShapedArray;

export const knownAvalOf = (value: HasAval): KnownAval | undefined => (isKnownAval(value.aval) ? value.aval : undefined);

function isDimension(dim: unknown): dim is Dim {
  if (typeof dim === 'number') return Number.isSafeInteger(dim) && dim >= 0;
  return (
    typeof dim === 'object' &&
    dim !== null &&
    'terms' in dim &&
    dim.terms instanceof Map &&
    [...dim.terms.values()].every((factor) => Number.isFinite(factor)) &&
    !isKnown(dim as Dim)
  );
}

/** Outside of traces: every op yields arrays of the inferred types. */
export const shapeInterpreter: Interpreter = {
  apply: (op, operands, parameters) =>
    (op as Entry)
      .infer(
        operands.map(({ aval }) => aval),
        parameters,
      )
      .map(shaped),
  scalar: literalValue,
  constant: (_contents, aval) => shaped(aval),
  run: (program: Program, operands: readonly HasAval[]) => outputsOf(program, operands),
  composed: (_name, f, args) => f(...args),
};

/** Results of a program whose types are known: inputs that it returns stay the same arrays. */
export function outputsOf(program: Program, operands: readonly HasAval[]): readonly HasAval[] {
  return program.outputs.map((output) => {
    if (isLiteral(output)) return shaped(output.aval);
    const input = program.inputs.indexOf(output);
    return input >= 0 ? operands[input]! : shaped(output.aval);
  });
}
