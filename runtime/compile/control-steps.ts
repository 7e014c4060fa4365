/**
 * The steps of control flow: those of its bodies, with the bodies' regions put where the surrounding program has them.
 *
 * Slices of sequences and stacked results lie at a stride per round. Where carries change between two buffers, one turn
 * of the loop is two rounds, and what is left of an odd number is done after it.
 *
 *     round 0   reads A, writes B        round 1   reads B, writes A        …        odd: copy B to A at the end
 *
 * Depends on: core, control, emit, layout, simplify.
 */
import { knownBytes } from '../core/aval.ts';
import type { Variable } from '../core/program.ts';
import type { Bodies, BodyPlan, ControlNode } from './control.ts';
import { copyStep, launch } from './emit.ts';
import type { Location, Step } from './executable.ts';
import type { Layout } from './layout.ts';
import { formOf } from './simplify.ts';

interface Surroundings {
  readonly layout: Layout;
  readonly bodies: Bodies;
  readonly nextLoop: () => number;
}

export function controlSteps(node: ControlNode, { layout, bodies, nextLoop }: Surroundings): readonly Step[] {
  const form = formOf(node.equation)!;
  const plans = bodies.of(node, layout.stored);
  const scratch = layout.scratchAt(node) ?? { region: 0, offset: 0 };
  const inputs = node.operands.map((variable) => layout.locationOf(variable));
  const results = node.results.map((variable) => layout.locationOf(variable));
  /** Regions of a body: scratch, inputs, results. */
  const placed = (plan: BodyPlan, at: readonly Location[]): readonly Step[] =>
    plan.steps(nextLoop).map((step) => relocated(step, (region) => (region === 0 ? scratch : at[region - 1]!)));
  switch (form.kind) {
    case 'call':
      throw new Error('internal: runtime/compile: a call was not inlined');
    case 'loop': {
      if (form.length === 0) return [];
      const [plan] = plans;
      const rounds = plan!.alternating.length === 0 ? 1 : 2;
      /** The body's regions in round `round` of each turn of a loop, or, without a loop, in that round of all. */
      const at = (round: number, loop: number | undefined): readonly Location[] => {
        const sliced = (location: Location, variable: Variable): Location => {
          const bytes = (form.reverse ? -1 : 1) * (knownBytes(variable.aval) / form.length);
          const start = form.reverse ? -(form.length - 1) * bytes : 0;
          const strides = [...(location.strides ?? []), ...(loop === undefined ? [] : [{ loop, bytes: bytes * rounds }])];
          return { region: location.region, offset: location.offset + start + round * bytes, ...(strides.length > 0 ? { strides } : {}) };
        };
        const regions = [
          ...inputs.slice(0, form.constants),
          ...results.slice(0, form.carries),
          ...node.operands
            .slice(form.constants + form.carries)
            .map((variable, i) => sliced(inputs[form.constants + form.carries + i]!, variable)),
          ...results.slice(0, form.carries),
          ...node.results.slice(form.carries).map((variable, i) => sliced(results[form.carries + i]!, variable)),
        ];
        for (const { input, output, region, offset } of plan!.alternating) {
          const pair = [results[output]!, { ...scratch, offset: scratch.offset + offset }];
          [regions[input], regions[region - 1]] = [pair[round % 2]!, pair[(round + 1) % 2]!];
        }
        return regions;
      };
      if (rounds === 1) {
        const loop = nextLoop();
        return [{ kind: 'loop', loop, length: form.length, body: placed(plan!, at(0, loop)) }];
      }
      const loop = nextLoop();
      const turns: Step = {
        kind: 'loop',
        loop,
        length: Math.floor(form.length / 2),
        body: [...placed(plan!, at(0, loop)), ...placed(plan!, at(1, loop))],
      };
      if (form.length % 2 === 0) return [turns];
      const back = plan!.alternating.flatMap(({ variable, output, offset }) =>
        copyStep(variable.aval, { ...scratch, offset: scratch.offset + offset }, results[output]!),
      );
      return [turns, ...placed(plan!, at(form.length - 1, undefined)), ...back];
    }
    case 'while': {
      const [condition, body] = plans;
      const conditionAt = [...inputs.slice(0, form.conditionConstants), ...results];
      const bodyAt = [...inputs.slice(form.conditionConstants, form.conditionConstants + form.bodyConstants), ...results];
      const predicate = relocatedLocation(condition!.outputs[0]!, (region) => (region === 0 ? scratch : conditionAt[region - 1]!));
      return [{ kind: 'while', condition: placed(condition!, conditionAt), predicate, body: placed(body!, bodyAt) }];
    }
    case 'choice':
      return [{ kind: 'choice', index: inputs[0]!, branches: plans.map((plan) => placed(plan, [...inputs.slice(1), ...results])) }];
  }
}

type Base = (region: number) => Location;

function relocatedLocation({ region, offset, strides }: Location, base: Base): Location {
  const under = base(region);
  const all = [...(under.strides ?? []), ...(strides ?? [])];
  return { region: under.region, offset: under.offset + offset, ...(all.length > 0 ? { strides: all } : {}) };
}

function relocated(step: Step, base: Base): Step {
  const each = (steps: readonly Step[]): readonly Step[] => steps.map((one) => relocated(one, base));
  switch (step.kind) {
    case 'launch':
      return launch(
        step.kernel,
        step.at.map((location) => relocatedLocation(location, base)),
      );
    case 'loop':
      return { ...step, body: each(step.body) };
    case 'while':
      return { ...step, condition: each(step.condition), predicate: relocatedLocation(step.predicate, base), body: each(step.body) };
    case 'choice':
      return { ...step, index: relocatedLocation(step.index, base), branches: step.branches.map(each) };
  }
}
