/**
 * What control-flow entries share: bodies that are closed, and their forms.
 *
 * Depends on: core, ops, ir, trace.
 */
import { printAval, type KnownAval } from '../core/aval.ts';
import { ArgumentError } from '../core/errors.ts';
import type { Parameters, Program, Variable } from '../core/program.ts';
import type { Value } from '../ops/value.ts';
import type { TracedProgram } from '../ir/eval.ts';

export const bodyOf = (parameters: Parameters, name: string): TracedProgram => parameters[name] as Program as TracedProgram;

/** Values that several bodies captured, each once, and the bodies with all of them as leading inputs. */
export function closeTogether(programs: readonly TracedProgram[]): {
  readonly constants: readonly Value[];
  readonly bodies: readonly TracedProgram[];
} {
  const constants = [...new Set(programs.flatMap((program) => program.captures.map((c) => c.value as Value)))];
  const bodies = programs.map((program): TracedProgram => {
    const own = new Map(program.captures.map((c) => [c.value as Value, c.variable]));
    const leading = constants.map((value): Variable => own.get(value) ?? { aval: value.aval as KnownAval });
    return { ...program, inputs: [...leading, ...program.inputs], captures: [] };
  });
  return { constants, bodies };
}

/** Carries have to come back as they went in. */
export function checkCarry(operation: string, before: readonly KnownAval[], after: readonly KnownAval[], paths: readonly string[]): void {
  before.forEach((aval, k) => {
    const other = after[k];
    if (
      other === undefined ||
      other.dtype !== aval.dtype ||
      other.shape.length !== aval.shape.length ||
      other.shape.some((dim, d) => dim !== aval.shape[d])
    )
      throw new ArgumentError(
        'carry',
        `\`${operation}\` got a body that turns ${paths[k] ?? 'the carry'} from ${printAval(aval)} into ${other ? printAval(other) : 'nothing'}`,
        [],
        'return the carry with the shape and dtype that it came in with',
      );
  });
  if (after.length !== before.length)
    throw new ArgumentError(
      'carry',
      `\`${operation}\` got a body that returns ${after.length} arrays for a carry of ${before.length}`,
      [],
      'return the same structure',
    );
}

export const stacked = (length: number, aval: KnownAval): KnownAval => ({ shape: [length, ...aval.shape], dtype: aval.dtype });
export const sliceOf = (aval: KnownAval): KnownAval => ({ shape: aval.shape.slice(1), dtype: aval.dtype });
