/**
 * An executable as people and tests read it: its kernels, its steps with places, its figures.
 *
 * Depends on: executable.
 */
import { printAval } from '../core/aval.ts';
import type { Executable, Location, Step } from './executable.ts';

export function printSteps(executable: Executable): string {
  const names = new Map(executable.kernels.map(({ key }, i) => [key, `k${i}`]));
  const kernels = executable.kernels.map(({ key, name }, i) => `k${i} ${name}: ${key.replaceAll('\n', '\n     ')}`);
  const { argumentBytes, outputBytes, aliasBytes, tempBytes, peakBytes, lowerBoundBytes } = executable.analysis;
  return [
    `program ${executable.name}(${executable.inputs.map((aval, i) => `${executable.donated[i] ? 'donated ' : ''}${printAval(aval)}`).join(', ')})`,
    ...kernels,
    ...executable.steps.flatMap((step) => printStep(step, names, '')),
    ...executable.outputs.map((output) =>
      output.kind === 'forwarded' ? `return input ${output.input}` : `return ${printAval(output.aval)} at ${printLocation(output.at)}`,
    ),
    `arguments ${argumentBytes}, outputs ${outputBytes}, aliased ${aliasBytes}, temporaries ${tempBytes}, peak ${peakBytes}, at least ${lowerBoundBytes}`,
  ].join('\n');
}

function printStep(step: Step, names: ReadonlyMap<string, string>, indent: string): string[] {
  const each = (steps: readonly Step[]): string[] => steps.flatMap((one) => printStep(one, names, `${indent}  `));
  switch (step.kind) {
    case 'launch':
      return [`${indent}${names.get(step.kernel.key)!} ${step.at.map(printLocation).join(' ')}`];
    case 'loop':
      return [`${indent}loop ${step.loop} × ${step.length}`, ...each(step.body)];
    case 'while':
      return [`${indent}while`, ...each(step.condition), `${indent}holds ${printLocation(step.predicate)}`, ...each(step.body)];
    case 'choice':
      return step.branches.flatMap((branch, i) => [`${indent}branch ${i} of ${printLocation(step.index)}`, ...each(branch)]);
  }
}

const printLocation = ({ region, offset, strides }: Location): string =>
  `${region === 0 ? 'arena' : `in${region - 1}`}+${offset}${(strides ?? []).map(({ loop, bytes }) => `+${bytes}·l${loop}`).join('')}`;
