/**
 * Control flow: each body is planned once, as a program of its own whose carries are donated to it.
 *
 * A body's regions are its scratch (0), its inputs (1 + i) and, after them, the slices of its stacked results. The caller
 * says where those lie: scratch in the outer arena, carries where the outer results are, slices at a stride per
 * iteration. What could not be computed in its carry's own place is copied there when the iteration ends.
 *
 *     outer arena   | carry (in place over the first value) | ys: [0][1][2]… | scratch of one iteration |
 *
 * Depends on: core, layout, emit, fuse, simplify.
 */
import { knownBytes, type KnownAval } from '../core/aval.ts';
import type { ControlForm } from '../core/control-form.ts';
import { isLiteral, type Program, type Variable } from '../core/program.ts';
import type { Op } from '../ops/op.ts';
import { copyStep, emit, launch, sameLocation } from './emit.ts';
import type { Location, Step } from './executable.ts';
import { fuse, type Fused, type Node } from './fuse.ts';
import { layout as layOut, type Layout } from './layout.ts';
import { materialised } from './materialise.ts';
import { bodyOf, flatten, formOf, simplify } from './simplify.ts';
import { split } from './split.ts';
import { roundedBytes } from './storage.ts';

type ControlNode = Extract<Node, { kind: 'control' }>;

/** The body plans of all control-flow nodes of one program. */
export interface Bodies {
  readonly scratchOf: (node: Node) => number;
  readonly of: (node: ControlNode) => readonly BodyPlan[];
}

export interface BodyPlan {
  readonly steps: (nextLoop: () => number) => readonly Step[];
  /** Scratch of one run of it. */
  readonly bytes: number;
  readonly outputs: readonly Location[];
  readonly avals: readonly KnownAval[];
  readonly layout: Layout;
}

interface BodySpec {
  readonly program: Program<Op>;
  /** Inputs that its outputs replace: input position of output 0; as many as there are carries. */
  readonly carries: { readonly first: number; readonly count: number };
  /** Outputs after the carries go to regions of their own. */
  readonly results: boolean;
}

export function makeBodies(context: { readonly now: () => number }): Bodies {
  const known = new Map<unknown, readonly BodyPlan[]>();
  const of = (node: ControlNode): readonly BodyPlan[] => {
    const plans = known.get(node.equation) ?? specsOf(formOf(node.equation)!).map((spec) => planBody(spec, context));
    known.set(node.equation, plans);
    return plans;
  };
  return { of, scratchOf: (node) => (node.kind === 'control' ? Math.max(0, ...of(node).map(({ bytes }) => bytes)) : 0) };
}

function specsOf(form: ControlForm): readonly BodySpec[] {
  switch (form.kind) {
    case 'call':
      throw new Error('internal: runtime/compile: a call was not inlined');
    case 'loop':
      return [{ program: bodyOf(form.body), carries: { first: form.constants, count: form.carries }, results: true }];
    case 'while':
      return [
        { program: bodyOf(form.condition), carries: { first: 0, count: 0 }, results: false },
        { program: bodyOf(form.body), carries: { first: form.bodyConstants, count: form.body.outputs.length }, results: false },
      ];
    case 'choice':
      return form.branches.map((program) => ({ program: bodyOf(program), carries: { first: 0, count: 0 }, results: true }));
  }
}

function planBody({ program, carries, results }: BodySpec, { now }: { readonly now: () => number }): BodyPlan {
  const flat = materialised(split(simplify(flatten(program))));
  if (program.captures.length > 0) throw new Error('internal: runtime/compile: a body of control flow is not closed');
  const { inputs } = flat;
  const outputs = flat.outputs.map((atom) => {
    if (isLiteral(atom)) throw new Error('internal: runtime/compile: a literal output');
    return atom;
  });
  const isCarry = (input: number): boolean => input >= carries.first && input < carries.first + carries.count;
  const donated = inputs.map((_, input) => isCarry(input));
  const fused: Fused = fuse(flat, { eagerness: 'all', merge: 'all' });
  const bodies = makeBodies({ now });
  const firstResult = 1 + inputs.length;
  const regionOf = (output: number): number => (output < carries.count ? 1 + carries.first + output : firstResult + output - carries.count);
  const elsewhere = new Map(
    results ? outputs.flatMap((_, output) => (output < carries.count ? [] : [[output, regionOf(output)] as const])) : [],
  );
  const plan = layOut({ fused, inputs, donated, outputs, scratchOf: bodies.scratchOf, elsewhere, carries, searchMs: 0, now });
  const homes = outputs.map((variable, output): Location =>
    results || output < carries.count ? { region: regionOf(output), offset: 0 } : plan.locationOf(variable),
  );
  const moves = outputs.flatMap((variable, output) => {
    const from = plan.locationOf(variable);
    return sameLocation(from, homes[output]!) ? [] : [{ aval: variable.aval, from, to: homes[output]! }];
  });
  // What lies in a region that another move writes is put aside first.
  let bytes = plan.arenaBytes;
  const aside: { aval: KnownAval; from: Location; to: Location }[] = [];
  const settled = moves.map((move) => {
    if (!moves.some((other) => other !== move && other.to.region === move.from.region)) return move;
    const to: Location = { region: 0, offset: bytes };
    bytes += roundedBytes(move.aval);
    aside.push({ ...move, to });
    return { ...move, from: to };
  });
  return {
    steps: (nextLoop) => [
      ...emit({ layout: plan, inputs, donated, outputs, bodies, nextLoop }),
      ...[...aside, ...settled].flatMap(({ aval, from, to }) => copyStep(aval, from, to)),
    ],
    bytes,
    outputs: homes,
    avals: outputs.map(({ aval }) => aval),
    layout: plan,
  };
}

interface Surroundings {
  readonly layout: Layout;
  readonly bodies: Bodies;
  readonly nextLoop: () => number;
}

export function controlSteps(node: ControlNode, { layout, bodies, nextLoop }: Surroundings): readonly Step[] {
  const form = formOf(node.equation)!;
  const plans = bodies.of(node);
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
      const loop = nextLoop();
      const sliced = (location: Location, variable: Variable): Location => {
        const bytes = knownBytes(variable.aval) / form.length;
        const strides = [...(location.strides ?? []), { loop, bytes: form.reverse ? -bytes : bytes }];
        return { region: location.region, offset: location.offset + (form.reverse ? (form.length - 1) * bytes : 0), strides };
      };
      const at = [
        ...inputs.slice(0, form.constants),
        ...results.slice(0, form.carries),
        ...node.operands
          .slice(form.constants + form.carries)
          .map((variable, i) => sliced(inputs[form.constants + form.carries + i]!, variable)),
        ...node.results.slice(form.carries).map((variable, i) => sliced(results[form.carries + i]!, variable)),
      ];
      return [{ kind: 'loop', loop, length: form.length, body: placed(plans[0]!, at) }];
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
