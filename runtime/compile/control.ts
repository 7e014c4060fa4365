/**
 * Control flow: each body is planned once, as a program of its own whose carries are donated to it.
 *
 * A body's regions are its scratch (0), its inputs (1 + i) and, after them, the slices of its stacked results. The caller
 * (control-steps) says where those lie: scratch in the outer arena, carries where the outer results are, slices at a stride per
 * iteration. What could not be computed in its carry's own place is copied there when the iteration ends. The branches of
 * a choice may write a result over an operand that dies there, as if it were a carry.
 *
 *     outer arena   | carry (in place over the first value) | ys: [0][1][2]… | scratch of one iteration |
 *
 * Depends on: core, layout, emit, fuse, moves, simplify.
 */
import type { ControlForm } from '../core/control-form.ts';
import { isLiteral, type Equation, type Program, type Variable } from '../core/program.ts';
import type { Op } from '../ops/op.ts';
import { copyStep, emit, sameLocation } from './emit.ts';
import type { Location, Step } from './executable.ts';
import { fuse, makeWorkshop, type Fused, type Node, type Overwrite } from './fuse.ts';
import { layout as layOut, type Layout } from './layout.ts';
import { materialised } from './materialise.ts';
import { ordered, type Move } from './moves.ts';
import { bodyOf, flatten, formOf, simplify } from './simplify.ts';
import { split } from './split.ts';
import { overwritten, roundedBytes, type Stored } from './storage.ts';

export type ControlNode = Extract<Node, { kind: 'control' }>;

/** The body plans of all control-flow nodes of one program. */
export interface Bodies {
  /** Absent `stored`: with what may be written over at best. */
  readonly scratchOf: (node: Node, stored?: Stored) => number;
  readonly of: (node: ControlNode, stored: Stored) => readonly BodyPlan[];
  /** Results of a choice that no branch has to move further, or needs more scratch for, when they lie over an operand. */
  readonly overwritesOf: (equation: Equation<Op>) => readonly Overwrite[];
}

export interface BodyPlan {
  readonly steps: (nextLoop: () => number) => readonly Step[];
  /** Scratch of one run of it. */
  readonly bytes: number;
  readonly outputs: readonly Location[];
  /** Copies that bring outputs to where they have to be, at the end of every run. */
  readonly moves: readonly Move[];
  /** Carries that change between two buffers from run to run instead of being moved. */
  readonly alternating: readonly Alternating[];
  readonly inputs: readonly Variable[];
  readonly bodies: Bodies;
  readonly layout: Layout;
}

/** A carry that is read in its own buffer and left in a room of the scratch; in the next run the two have changed roles. */
interface Alternating {
  readonly variable: Variable;
  readonly output: number;
  readonly input: number;
  readonly region: number;
  /** In the scratch. */
  readonly offset: number;
}

/** What does not depend on what lies where. */
interface Body {
  readonly inputs: readonly Variable[];
  readonly outputs: readonly Variable[];
  readonly fused: Fused;
  readonly bodies: Bodies;
}

interface BodySpec {
  readonly program: Program<Op>;
  /** Outputs that replace an input: output position -> input position. */
  readonly takes: ReadonlyMap<number, number>;
  /** The other outputs go to regions of their own. */
  readonly results: boolean;
  /** It runs a number of times that is known, so a carry may change its place from run to run. */
  readonly repeated: boolean;
}

export function makeBodies(): Bodies {
  const known = new Map<Equation<Op>, Map<string, readonly BodyPlan[]>>();
  const made = new Map<unknown, Body>();
  const bodyFor = (program: Program<Op>): Body => {
    const body = made.get(program) ?? makeBody(program);
    made.set(program, body);
    return body;
  };
  const plansWith = (equation: Equation<Op>, overwrites: readonly Overwrite[]): readonly BodyPlan[] => {
    const plans = known.get(equation) ?? new Map<string, readonly BodyPlan[]>();
    known.set(equation, plans);
    const key = overwrites.map(({ result, operand }) => `${result}<${operand}`).join(' ');
    const found = plans.get(key) ?? specsOf(formOf(equation)!, overwrites).map((spec) => planBody(bodyFor(spec.program), spec));
    plans.set(key, found);
    return found;
  };
  const isChoice = (equation: Equation<Op>): boolean => formOf(equation)!.kind === 'choice';
  const of = (node: ControlNode, stored: Stored): readonly BodyPlan[] =>
    plansWith(node.equation, isChoice(node.equation) ? overwritten(node, stored) : []);
  const chosen = new Map<Equation<Op>, readonly Overwrite[]>();
  const overwritesOf = (equation: Equation<Op>): readonly Overwrite[] => {
    const found = chosen.get(equation) ?? choose(equation, (overwrites) => costOf(plansWith(equation, overwrites)));
    chosen.set(equation, found);
    return found;
  };
  const leastScratch = ({ equation, carries }: ControlNode): number =>
    Math.min(
      scratchIn(plansWith(equation, [])),
      ...(isChoice(equation) ? carries.map((one) => scratchIn(plansWith(equation, [one]))) : []),
    );
  return {
    of,
    overwritesOf,
    scratchOf: (node, stored) => (node.kind !== 'control' ? 0 : stored === undefined ? leastScratch(node) : scratchIn(of(node, stored))),
  };
}

const scratchIn = (plans: readonly BodyPlan[]): number => Math.max(0, ...plans.map(({ bytes }) => bytes));

interface Cost {
  readonly moved: number;
  readonly scratch: number;
}

const moved = (plans: readonly BodyPlan[]): number =>
  plans.flatMap(({ moves }) => moves).reduce((sum, { aval }) => sum + roundedBytes(aval), 0);

const costOf = (plans: readonly BodyPlan[]): Cost => ({ moved: moved(plans), scratch: scratchIn(plans) });

/** Operands that are tried for one result, those that a branch passes through first. */
const mostTried = 4;

function choose(equation: Equation<Op>, cost: (overwrites: readonly Overwrite[]) => Cost): readonly Overwrite[] {
  const form = formOf(equation);
  if (form?.kind !== 'choice') return [];
  const plain = cost([]);
  return equation.outputs.flatMap((variable, result) => {
    const bytes = roundedBytes(variable.aval);
    if (bytes === 0) return [];
    const passed = (operand: number): number =>
      form.branches.filter((branch) => branch.outputs[result] === branch.inputs[operand - 1]).length;
    return equation.inputs
      .flatMap((atom, operand) => (operand > 0 && !isLiteral(atom) && roundedBytes(atom.aval) === bytes ? [operand] : []))
      .toSorted((a, b) => passed(b) - passed(a) || Math.abs(a - 1 - result) - Math.abs(b - 1 - result) || a - b)
      .slice(0, mostTried)
      .map((operand) => ({ result, operand, cost: cost([{ result, operand }]) }))
      .filter((one) => one.cost.moved <= plain.moved && one.cost.scratch <= plain.scratch + bytes)
      .toSorted((a, b) => a.cost.moved - b.cost.moved || a.cost.scratch - b.cost.scratch)
      .map(({ operand }) => ({ result, operand }));
  });
}

const inOrder = (first: number, count: number): ReadonlyMap<number, number> =>
  new Map(Array.from({ length: count }, (_, output) => [output, first + output]));

function specsOf(form: ControlForm, overwrites: readonly Overwrite[]): readonly BodySpec[] {
  switch (form.kind) {
    case 'call':
      throw new Error('internal: runtime/compile: a call was not inlined');
    case 'loop':
      return [{ program: bodyOf(form.body), takes: inOrder(form.constants, form.carries), results: true, repeated: form.length > 1 }];
    case 'while':
      return [
        { program: bodyOf(form.condition), takes: new Map(), results: false, repeated: false },
        { program: bodyOf(form.body), takes: inOrder(form.bodyConstants, form.body.outputs.length), results: false, repeated: false },
      ];
    case 'choice': {
      const takes = new Map(overwrites.map(({ result, operand }) => [result, operand - 1]));
      return form.branches.map((program) => ({ program: bodyOf(program), takes, results: true, repeated: false }));
    }
  }
}

function makeBody(program: Program<Op>): Body {
  if (program.captures.length > 0) throw new Error('internal: runtime/compile: a body of control flow is not closed');
  const flat = materialised(split(simplify(flatten(program))));
  const outputs = flat.outputs.map((atom) => {
    if (isLiteral(atom)) throw new Error('internal: runtime/compile: a literal output');
    return atom;
  });
  const bodies = makeBodies();
  const fused = fuse(flat, { eagerness: 'all', merge: 'all', workshop: makeWorkshop(bodies.overwritesOf) });
  return { inputs: flat.inputs, outputs, fused, bodies };
}

function planBody(body: Body, spec: BodySpec): BodyPlan {
  const plan = planWith(body, spec, new Set());
  if (!spec.repeated || plan.moves.length === 0) return plan;
  const movable = plan.moves.flatMap(({ variable, from }) => {
    const output = body.outputs.indexOf(variable);
    return from.region === 0 && spec.takes.has(output) && plan.layout.stored.storageOf(variable).input === undefined ? [output] : [];
  });
  const alternating = planWith(body, spec, new Set(movable));
  return moved([alternating]) < moved([plan]) && alternating.bytes <= plan.bytes ? alternating : plan;
}

/** `rooms`: outputs that get a buffer of their own in the scratch. */
function planWith({ inputs, outputs, fused, bodies }: Body, { takes, results }: BodySpec, rooms: ReadonlySet<number>): BodyPlan {
  const taken = new Set(takes.values());
  const donated = inputs.map((_, input) => taken.has(input));
  const ownRegion = (output: number): number => 1 + inputs.length + output;
  const regionOf = (output: number): number => (takes.has(output) && !rooms.has(output) ? 1 + takes.get(output)! : ownRegion(output));
  const elsewhere = new Map(
    results ? outputs.flatMap((_, output) => (takes.has(output) ? [] : [[output, regionOf(output)] as const])) : [],
  );
  const plan = layOut({
    fused,
    inputs,
    donated,
    outputs,
    scratchOf: bodies.scratchOf,
    elsewhere,
    takes,
    rooms: new Map([...rooms].map((output) => [output, ownRegion(output)])),
  });
  const homes = outputs.map((variable, output): Location =>
    results || takes.has(output) ? { region: regionOf(output), offset: 0 } : plan.locationOf(variable),
  );
  const settled = ordered(
    outputs.flatMap((variable, output) => {
      const from = plan.locationOf(variable);
      return sameLocation(from, homes[output]!) ? [] : [{ variable, aval: variable.aval, from, to: homes[output]! }];
    }),
    plan.arenaBytes,
  );
  let bytes = settled.bytes;
  const alternating = [...rooms].map((output): Alternating => {
    const variable = outputs[output]!;
    const offset = bytes;
    bytes += roundedBytes(variable.aval);
    return { variable, output, input: takes.get(output)!, region: ownRegion(output), offset };
  });
  return {
    steps: (nextLoop) => [
      ...emit({ layout: plan, inputs, donated, outputs, bodies, nextLoop }),
      ...settled.moves.flatMap(({ aval, from, to }) => copyStep(aval, from, to)),
    ],
    bytes,
    outputs: homes,
    moves: settled.moves,
    alternating,
    inputs,
    bodies,
    layout: plan,
  };
}
