/**
 * Finds float16 values in programs, and refuses them for devices that cannot compute with them, before anything is queued.
 *
 * Depends on: core, ops.
 */
import { printAval, type KnownAval } from '../core/aval.ts';
import { halfUnavailable } from '../core/errors.ts';
import type { Parameter, Program } from '../core/program.ts';
import type { Place } from '../core/source.ts';

interface Found {
  readonly what: string;
  readonly place: Place | undefined;
}

export const usesHalf = (program: Program): boolean => halves(program, undefined).next().done !== true;

export function refuseHalf(program: Program, paths: readonly string[] | undefined): void {
  for (const { what, place } of halves(program, paths)) throw halfUnavailable(what, place);
}

function* halves(program: Program, paths: readonly string[] | undefined): Generator<Found, void> {
  const named = (aval: KnownAval, what: string, place?: Place): readonly Found[] =>
    aval.dtype === 'float16' ? [{ what: `${printAval(aval)}, ${what}`, place }] : [];
  for (const [i, { aval }] of program.inputs.entries())
    yield* named(aval, paths?.[i] === undefined ? 'an argument' : `argument \`${paths[i]}\``);
  for (const { variable } of program.captures) yield* named(variable.aval, 'a value that is closed over');
  for (const { outputs, parameters, place, op } of program.equations) {
    for (const { aval } of outputs) yield* named(aval, `the result of \`${op.id}\``, place);
    for (const parameter of Object.values(parameters)) for (const body of bodiesIn(parameter)) yield* halves(body, undefined);
  }
}

/** The programs that a parameter holds: a body, or the branches of a choice. */
function bodiesIn(parameter: Parameter): readonly Program[] {
  if (typeof parameter !== 'object') return [];
  if (Array.isArray(parameter)) return (parameter as readonly Parameter[]).flatMap(bodiesIn);
  return 'equations' in parameter ? [parameter as Program] : [];
}
