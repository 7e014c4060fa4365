/**
 * The steps of a layout: launches with locations, copies where something could not be written over, and control flow.
 *
 * A step that would copy a value onto itself is left out; that is how views, forwarded carries and donated identities cost
 * nothing. Every layout is judged before its steps are used. Depends on: core, layout, judge, control-steps, fuse.
 */
import { knownBytes, type KnownAval } from '../core/aval.ts';
import type { Variable } from '../core/program.ts';
import { copyKernel } from './copy-kernel.ts';
import { controlSteps } from './control-steps.ts';
import type { Location, Step } from './executable.ts';
import type { Node } from './fuse.ts';
import { faultsOf, type Act, type Stretch } from './judge.ts';
import type { Kernel } from './kernel.ts';
import type { Layout } from './layout.ts';
import { overwritable } from './storage.ts';
import type { Bodies } from './control.ts';

export interface EmitInput {
  readonly layout: Layout;
  readonly inputs: readonly Variable[];
  readonly donated: readonly boolean[];
  readonly outputs: readonly Variable[];
  readonly bodies: Bodies;
  /** Number for the next loop, shared by the whole program. */
  readonly nextLoop: () => number;
}

export function emit(input: EmitInput): readonly Step[] {
  const { layout } = input;
  judge(input);
  return layout.order.flatMap((node, step) => [
    ...layout.stored.copies
      .filter((copy) => copy.step === step)
      .flatMap(({ target, result }) => copyStep(target.aval, layout.locationOf(target), layout.locationOf(result))),
    ...stepsOf(node, input),
  ]);
}

function stepsOf(node: Node, { layout, bodies, nextLoop }: EmitInput): readonly Step[] {
  if (node.kind === 'control') return controlSteps(node, { layout, bodies, nextLoop });
  const operands = node.operands.map((variable) => layout.locationOf(variable));
  const results = node.results.map((variable) => layout.locationOf(variable));
  if (isCopy(node.kernel) && sameLocation(operands[0]!, results[0]!)) return [];
  // The target of an update is where the result is: its copy, or itself.
  if (node.target !== undefined) operands[node.target] = results[0]!;
  return [launch(node.kernel, [...operands, ...results])];
}

export function launch(kernel: Kernel, at: readonly Location[]): Step {
  const aligned = at.every(({ offset, strides }) => offset % 16 === 0 && (strides ?? []).every(({ bytes }) => bytes % 16 === 0));
  return { kind: 'launch', kernel, at, aligned };
}

export const copyStep = (aval: KnownAval, from: Location, to: Location): readonly Step[] =>
  sameLocation(from, to) || knownBytes(aval) === 0 ? [] : [launch(copyKernel(aval), [from, to])];

export const sameLocation = (a: Location, b: Location): boolean =>
  a.region === b.region && a.offset === b.offset && JSON.stringify(a.strides ?? []) === JSON.stringify(b.strides ?? []);

/** One operand, each element stored where it was read. */
const isCopy = ({ results, inPlace, operands }: Kernel): boolean =>
  operands.length === 1 &&
  results.length === 1 &&
  results[0]!.index === undefined &&
  results[0]!.value.kind === 'load' &&
  inPlace.length === 1;

function judge({ layout, inputs, donated, outputs, bodies }: EmitInput): void {
  const stretch = (variable: Variable): Stretch => {
    const root = layout.stored.rootOf(variable);
    return { variable: root, at: layout.locationOf(variable), bytes: layout.stored.storageOf(variable).bytes };
  };
  const acts = layout.order.flatMap((node, step): Act[] => {
    const copies = layout.stored.copies.filter((one) => one.step === step);
    const copyActs = copies.map(({ target, result }): Act => ({
      name: 'copy',
      reads: [stretch(target)],
      writes: [stretch(result)],
      mayOverwrite: [],
    }));
    // A copied target is read from its copy, where the update finds it under the result's own label.
    const copied = copies[0]?.result;
    const operands = node.operands.map((variable, i) =>
      stretch(node.kind === 'kernel' && i === node.target && copied !== undefined ? copied : variable),
    );
    const scratch = layout.scratchAt(node);
    return [
      ...copyActs,
      {
        name: node.kind === 'kernel' ? node.kernel.name : node.equation.op.id,
        reads: operands,
        writes: node.results.map(stretch),
        ...(scratch === undefined ? {} : { scratch: { at: scratch, bytes: bodies.scratchOf(node, layout.stored) } }),
        mayOverwrite: node.results.flatMap((_, write) =>
          (node.kind === 'kernel' && node.target !== undefined ? [node.target] : overwritable(node, write, layout.stored.rootOf)).map(
            (read) => ({
              write,
              read,
            }),
          ),
        ),
      },
    ];
  });
  const faults = faultsOf({
    start: inputs.map(stretch),
    acts,
    end: [...outputs.map(stretch), ...inputs.filter((_, i) => !donated[i]).map(stretch)],
    capacity: new Map([[0, layout.arenaBytes], ...inputs.map((variable, i) => [1 + i, layout.stored.storageOf(variable).bytes] as const)]),
  });
  if (faults.length > 0) throw new Error(`internal: runtime/compile: the plan is wrong\n${faults.slice(0, 5).join('\n')}`);
}
