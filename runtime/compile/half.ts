/**
 * Refuses programs with float16 values for devices that cannot compute with them, before anything is queued.
 *
 * Depends on: core, ops.
 */
import { printAval, type KnownAval } from '../core/aval.ts';
import { halfUnavailable } from '../core/errors.ts';
import type { Parameter, Program } from '../core/program.ts';
import type { Place } from '../core/source.ts';

export function refuseHalf(program: Program, paths: readonly string[] | undefined): void {
  program.inputs.forEach(({ aval }, i) => check(aval, paths?.[i] === undefined ? 'an argument' : `argument \`${paths[i]}\``, undefined));
  for (const { variable } of program.captures) check(variable.aval, 'a value that is closed over', undefined);
  for (const { outputs, parameters, place, op } of program.equations) {
    for (const { aval } of outputs) check(aval, `the result of \`${op.id}\``, place);
    for (const parameter of Object.values(parameters)) if (isProgram(parameter)) refuseHalf(parameter, undefined);
  }
}

const isProgram = (parameter: Parameter): parameter is Program =>
  typeof parameter === 'object' && !Array.isArray(parameter) && 'equations' in parameter;

function check(aval: KnownAval, what: string, place: Place | undefined): void {
  if (aval.dtype === 'float16') throw halfUnavailable(`${printAval(aval)}, ${what}`, place);
}
