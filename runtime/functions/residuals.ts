/**
 * What differentiation keeps of the forward pass until the backward pass reads it: which values, of how many bytes, from which line.
 *
 * JAX's `jax.ad_checkpoint.print_saved_residuals`, with bytes. Depends on: core, trace, transforms, functions/transforms.
 */
import { avalBytes, printAval, type KnownAval } from '../core/aval.ts';
import { writeBytes } from '../core/bytes.ts';
import { isFloat, type DType } from '../core/dtype.ts';
import { functionArg } from '../core/errors.ts';
import type { Variable } from '../core/program.ts';
import { printPlace, written } from '../core/stack.ts';
import { closed } from '../trace/trace.ts';
import { splitBackward } from '../transforms/linearize.ts';
import { argumentName, choose, every, traced, type Call } from './transforms.ts';

export interface SavedResidual {
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly bytes: number;
  /** Arguments and constants are there anyway; a result is kept for the backward pass alone. */
  readonly kind: 'argument' | 'constant' | 'result';
  /** The argument (`argument 0.w`), or the operation that made it (`exp`). */
  readonly of: string;
  /** Where it was made; undefined for arguments and constants. */
  readonly file: string | undefined;
  readonly line: number | undefined;
}

/** Largest first; `String` of the list has one in a line. Nothing is computed. */
export function savedResiduals(f: Call, ...args: readonly unknown[]): readonly SavedResidual[] {
  functionArg('savedResiduals', 'its function', f);
  const chosen = choose(args, every(args), argumentName);
  const { program, constants } = closed(traced(f, chosen).program);
  const split = splitBackward(program, [...constants.map(() => false), ...chosen.values.map(({ dtype }) => isFloat(dtype))]);
  const made = new Map(split.forward.equations.flatMap((equation) => equation.outputs.map((output) => [output, equation] as const)));
  const found = split.residuals.map(({ kind, index, aval }): readonly [SavedResidual, text: string] => {
    if (kind === 'input') {
      const at = index - constants.length;
      const [one, of] = at < 0 ? (['constant', 'a constant'] as const) : (['argument', chosen.paths[at]!] as const);
      return [{ ...sizes(aval), kind: one, of, file: undefined, line: undefined }, of];
    }
    const equation = made.get(split.forward.outputs[index] as Variable);
    const { file, line } = equation?.place === undefined ? { file: undefined, line: undefined } : written(equation.place);
    const of = equation?.op.id ?? 'a constant';
    return [{ ...sizes(aval), kind: 'result', of, file, line }, `${of} at ${printPlace(equation?.place)}`];
  });
  const sorted = found.toSorted(([a], [b]) => b.bytes - a.bytes);
  const text = (): string => sorted.map(([one, from]) => `${writeBytes(one.bytes)}  ${printAval(one)}  ${from}`).join('\n');
  const list = sorted.map(([one]) => one);
  return Object.defineProperty(list, 'toString', { value: text });
}

const sizes = (aval: KnownAval): Pick<SavedResidual, 'shape' | 'dtype' | 'bytes'> => ({
  shape: aval.shape,
  dtype: aval.dtype,
  bytes: avalBytes(aval) as number,
});
