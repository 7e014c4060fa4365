/**
 * From a traced program to an executable: simplify, fuse, schedule, place, emit.
 *
 * Pure, and without a clock: the same program gives the same executable, whatever the machine is doing. How far fusion goes is
 * decided once per program, whatever is donated, by the planned peak: the most fused form wins unless a less fused one
 * needs fewer bytes when nothing is donated, or as many then and fewer when everything is; and kernels are merged where
 * that raises neither. Donations change order and places only, so any donation choice can be asked for its peak.
 * Depends on: core, ops, and every pass of this folder.
 */
import { printAval } from '../core/aval.ts';
import { isLiteral, type Program, type Variable } from '../core/program.ts';
import type { Op } from '../ops/op.ts';
import { analyse, peakOf } from './analyse.ts';
import { withinBudget, type Planned } from './budget.ts';
import { makeBodies, type Bodies } from './control.ts';
import { madeBy } from './copies.ts';
import { emit } from './emit.ts';
import type { CompileOptions, Executable, OutputPlan, Recomputed, Role, Step } from './executable.ts';
import type { Eagerness } from './decide.ts';
import { fuse, makeWorkshop, type Fused, type FuseOptions } from './fuse.ts';
import type { Kernel } from './kernel.ts';
import { refuseHalf } from './half.ts';
import { betterLayouts, layout, type Layout, type LayoutInput } from './layout.ts';
import { materialised } from './materialise.ts';
import { inPieces } from './pieces.ts';
import { printSteps } from './print.ts';
import { flatten, simplify, type Flat } from './simplify.ts';
import { split } from './split.ts';
import { roundedBytes } from './storage.ts';

/** How often a search is asked for every program: enough for a beam over a small graph's orders. */
const looksAtOnce = 6;
/** The same between two forms that need as much when nothing is donated. */
const looksAtTies = 1;
/** How often when somebody waits for the best plan; each time is a few milliseconds of work at most. */
const patientLooks = 1000;
/** The same for a plan that fits a budget without computing anything again. */
const budgetLooks = 200;
const manyEquations = 600;
/** Merges that are tried one way or another before the rest stays apart. */
const mostAttempts = 24;

export function compile(program: Program<Op>, options: CompileOptions): Executable {
  return arrange(fuseOnce(program), options);
}

/** What does not depend on donations: may be kept and arranged for several of them. */
export interface FusedProgram {
  readonly program: Program<Op>;
  readonly flat: Flat;
  readonly outputs: readonly Variable[];
  readonly fused: Fused;
  readonly bodies: Bodies;
  readonly layouts: Map<string, Layout>;
}

export const fuseOnce = (program: Program<Op>): FusedProgram => fuseFlat(program, materialised(split(simplify(flatten(program)))));

/** How far one attempt goes. */
type How = Pick<FuseOptions, 'eagerness' | 'merge'>;

/** Planned peaks of one form: when nothing is donated, and (asked for where that leaves two forms equal) when all is that outputs could take. */
interface Peaks {
  readonly kept: number;
  readonly given: () => number;
}

const isBelow = (a: Peaks, b: Peaks): boolean => a.kept < b.kept || (a.kept === b.kept && a.given() < b.given());
/** One kernel fewer is worth so much more memory at a peak that depends on donations. */
const slack = 1.01;

/** For each input whether an output of its bytes is left for it: which ones are donated in the end makes no difference to the kernels. */
function takenOver(inputs: readonly Variable[], outputs: readonly Variable[], argumentCount: number): readonly boolean[] {
  const left = new Map<number, number>();
  for (const { aval } of outputs) left.set(roundedBytes(aval), (left.get(roundedBytes(aval)) ?? 0) + 1);
  return inputs.map(({ aval }, i) => {
    const bytes = roundedBytes(aval);
    const count = left.get(bytes) ?? 0;
    if (i >= argumentCount || bytes === 0 || count === 0) return false;
    left.set(bytes, count - 1);
    return true;
  });
}

/** Attempts on one program, and what their plans need. */
function formsOf(program: Program<Op>, flat: Flat) {
  const outputs = flat.outputs.map((atom) => {
    if (isLiteral(atom)) throw new Error('internal: runtime/compile: a literal output');
    return atom;
  });
  const bodies = makeBodies();
  const workshop = makeWorkshop(bodies.overwritesOf);
  /** With all merges and with none: asked for more than once. */
  const ends = new Map<string, FusedProgram>();
  const attempt = ({ eagerness, merge }: How): FusedProgram => {
    const end = merge === 'all' ? `${eagerness} whole` : merge.size === 0 ? `${eagerness} apart` : undefined;
    const known = end === undefined ? undefined : ends.get(end);
    if (known !== undefined) return known;
    const made = { program, flat, outputs, fused: fuse(flat, { eagerness, merge, workshop }), bodies, layouts: new Map() };
    if (end !== undefined) ends.set(end, made);
    return made;
  };
  const nothing = flat.inputs.map(() => false);
  const given = takenOver(flat.inputs, outputs, program.inputs.length);
  const peaksOf = (form: FusedProgram): Peaks => ({
    kept: peakOf(layoutFor(form, nothing), flat.inputs),
    given: () => peakOf(layoutFor(form, given, looksAtTies), flat.inputs),
  });
  const lowest = (forms: readonly FusedProgram[]): FusedProgram =>
    forms.reduce((best, form) => (isBelow(peaksOf(form), peaksOf(best)) ? form : best));
  return { attempt, outputs, peaksOf, lowest };
}

function fuseFlat(program: Program<Op>, flat: Flat): FusedProgram {
  const { attempt, outputs, peaksOf, lowest } = formsOf(program, flat);
  const made = outputs.filter((variable) => !flat.inputs.includes(variable));
  const least = [...flat.inputs, ...made].reduce((sum, { aval }) => sum + roundedBytes(aval), 0);
  const whole = attempt({ eagerness: 'all', merge: 'all' });
  const peaks = peaksOf(whole);
  if (peaks.kept <= least && peaks.given() <= slack * peaksOf(attempt({ eagerness: 'all', merge: new Set() })).given()) return whole;
  return lowest(lessFused(flat.equations.length).map((eagerness) => withMerges(eagerness, attempt, peaksOf)));
}

/** The same with all merges or none, for programs of which many are tried. */
function fuseQuickly(program: Program<Op>, flat: Flat): FusedProgram {
  const { attempt, lowest } = formsOf(program, flat);
  return lowest(
    lessFused(flat.equations.length).flatMap((eagerness) => [
      attempt({ eagerness, merge: 'all' }),
      attempt({ eagerness, merge: new Set() }),
    ]),
  );
}

/** Larger programs are tried in two forms only. */
const lessFused = (equations: number): readonly Eagerness[] =>
  equations <= manyEquations ? ['all', 'careful', 'none'] : ['all', 'careful'];

/**
 * Merges kernels as long as that raises no peak: all at once if that does it, else by halves, down to the single ones that
 * have to stay apart.
 */
function withMerges(eagerness: Eagerness, attempt: (how: How) => FusedProgram, peaksOf: (form: FusedProgram) => Peaks): FusedProgram {
  let best = attempt({ eagerness, merge: new Set() });
  if (eagerness === 'none') return best;
  const whole = attempt({ eagerness, merge: 'all' });
  let accepted: ReadonlySet<Variable> = new Set();
  let attempts = 0;
  let least = peaksOf(best);
  const accept = (more: readonly Variable[], form?: FusedProgram): void => {
    if (more.length === 0 || attempts++ > mostAttempts) return;
    const merge = new Set([...accepted, ...more]);
    const made = form ?? attempt({ eagerness, merge });
    const peaks = peaksOf(made);
    if (peaks.kept < least.kept || (peaks.kept === least.kept && peaks.given() <= slack * least.given())) {
      [best, accepted] = [made, merge];
      if (isBelow(peaks, least)) least = peaks;
      return;
    }
    if (more.length === 1) return;
    const middle = more.length >> 1;
    accept(more.slice(0, middle));
    accept(more.slice(middle));
  };
  accept(whole.fused.merged, whole);
  return best;
}

const inputFor = ({ fused, flat, outputs, bodies }: FusedProgram, donated: readonly boolean[]): LayoutInput => ({
  fused,
  inputs: flat.inputs,
  donated,
  outputs,
  scratchOf: bodies.scratchOf,
});

/** `looks`: how often a search is asked for something better; 0: the layout at once. */
function layoutFor(form: FusedProgram, donated: readonly boolean[], looks = 0): Layout {
  const { layouts } = form;
  const key = `${donated.map(Number).join('')} ${looks}`;
  const known = layouts.get(key);
  if (known !== undefined) return known;
  const input = inputFor(form, donated);
  let made = looks === 0 ? layout(input) : searched(input, layoutFor(form, donated), looks);
  if (donated.includes(true)) {
    // Heuristics may mislead: donating never costs more than not donating, in its order or as it stands.
    const plain = layoutFor(
      form,
      donated.map(() => false),
      looks,
    );
    if (made.arenaBytes > plain.arenaBytes)
      made = layout({ ...input, choice: { order: plain.choice.order, orderLowerBoundBytes: made.orderLowerBoundBytes } });
    if (made.arenaBytes > plain.arenaBytes) made = plain;
  }
  layouts.set(key, made);
  return made;
}

function searched(input: LayoutInput, start: Layout, looks: number): Layout {
  let best = start;
  let left = looks;
  for (const found of betterLayouts(input, start)) {
    best = found;
    if (--left <= 0) break;
  }
  return best;
}

/** A form with the layout that was chosen for it. */
interface Chosen extends Planned {
  readonly form: FusedProgram;
  readonly looks: number;
}

function chosenFor(form: FusedProgram, donated: readonly boolean[], looks: number, recomputed: readonly Recomputed[]): Chosen {
  const { flat, fused, outputs } = form;
  return { form, looks, flat, fused, outputs, donated, layout: layoutFor(form, donated, looks), recomputed };
}

/** As it is, or so that it fits into the budget that was given. */
function choose(
  fusedProgram: FusedProgram,
  donated: readonly boolean[],
  { memory, memoryBudget: budget, name, paths, choice }: CompileOptions,
): Chosen {
  const looks = memory === 'min' ? patientLooks : looksAtOnce;
  const start = chosenFor(fusedProgram, donated, looks, []);
  if (budget === undefined) {
    if (choice === undefined) return start;
    const known = layout({ ...inputFor(fusedProgram, donated), choice });
    return known.arenaBytes < start.layout.arenaBytes ? { ...start, layout: known } : start;
  }
  const { program } = fusedProgram;
  return withinBudget({
    start,
    budget,
    plan: (flat) => chosenFor(fuseQuickly(program, flat), donated, 0, []),
    finish: ({ flat, recomputed }) => chosenFor(fuseFlat(program, flat), donated, looks, recomputed),
    searched: ({ form, recomputed }) => chosenFor(form, donated, Math.max(looks, budgetLooks), recomputed),
    name: name ?? program.name,
    paths: program.inputs.map((_, i) => paths?.[i] ?? `${i}`),
  });
}

export function arrange(fusedProgram: FusedProgram, options: CompileOptions): Executable {
  const { program } = fusedProgram;
  if (!options.target.float16) refuseHalf(program, options.paths);
  const argumentCount = program.inputs.length;
  const donated = fusedProgram.flat.inputs.map((_, i) => i < argumentCount && options.donated[i] === true);
  return executableOf(program, choose(fusedProgram, donated, options), options);
}

function executableOf(program: Program<Op>, choice: Chosen, options: CompileOptions, improves?: Executable): Executable {
  const { form, flat, outputs, donated, layout: chosen, looks, recomputed } = choice;
  const { bodies } = form;
  const argumentCount = program.inputs.length;
  const whole = (some: readonly boolean[]): boolean[] => flat.inputs.map((_, i) => i < argumentCount && some[i] === true);
  let loops = 0;
  const steps = emit({ layout: chosen, inputs: flat.inputs, donated, outputs, bodies, nextLoop: () => loops++ });
  // A plan serves all that donate more too, whatever is found for those at once.
  const peakWith = (other: readonly boolean[]): number => {
    const peak = peakOf(layoutFor(form, whole(other), looks), flat.inputs);
    return donated.every((flag, i) => !flag || other[i] === true) ? Math.min(peak, peakOf(chosen, flat.inputs)) : peak;
  };
  const outputPlans = outputs.map((variable): OutputPlan => outputPlan(variable, flat.inputs, chosen));
  const paths = program.inputs.map((_, i) => options.paths?.[i] ?? `${i}`);
  const executable: Executable = {
    ...(improves === undefined ? {} : { improves }),
    name: options.name ?? program.name,
    program,
    target: options.target,
    inputs: flat.inputs.map(({ aval }) => aval),
    arguments: argumentCount,
    donated,
    kernels: kernelsOf(steps),
    steps,
    arenaBytes: chosen.arenaBytes,
    cuts: cutsOf(chosen),
    inPieces(holes) {
      const found = inPieces(chosen, holes);
      if (found === undefined) return undefined;
      const divided = layout({ ...inputFor(form, donated), choice: found.choice });
      return { ...executableOf(program, { ...choice, layout: divided }, options, improves ?? executable), pieces: found.bytes };
    },
    outputs: outputPlans,
    analysis: analyse({
      layout: chosen,
      inputs: flat.inputs,
      donated,
      outputs: outputPlans,
      outputVariables: outputs,
      paths,
      argnums: program.inputs.map((_, i) => options.argnums?.[i] ?? i),
      peakWith,
      argumentCount,
      recomputed,
      bodies,
      written: options.written ?? ((place) => place),
    }),
    peakWith,
    choice: chosen.choice,
    *better() {
      let best = chosen;
      for (const found of betterLayouts(inputFor(form, donated), chosen)) {
        if (found.arenaBytes >= best.arenaBytes) yield undefined;
        else {
          best = found;
          yield {
            choice: found.choice,
            executable: () => executableOf(program, { ...choice, layout: found }, options, improves ?? executable),
          };
        }
      }
    },
    print: () => printSteps(executable),
  };
  return executable;
}

function outputPlan(variable: Variable, inputs: readonly Variable[], chosen: Layout): OutputPlan {
  const input = inputs.indexOf(variable);
  if (input >= 0) return { kind: 'forwarded', aval: variable.aval, input };
  const at = chosen.locationOf(variable);
  const bytes = roundedBytes(variable.aval);
  const alias = at.region > 0 && at.offset === 0 && roundedBytes(inputs[at.region - 1]!.aval) === bytes ? { alias: at.region - 1 } : {};
  const role = roleOf(variable, chosen);
  return { kind: 'stored', aval: variable.aval, at, bytes, ...alias, ...(role === undefined ? {} : { role }) };
}

function roleOf(variable: Variable, { order, stored }: Layout): Role | undefined {
  const root = stored.rootOf(variable);
  const node = order.find(({ results }) => results.includes(root));
  return node === undefined ? undefined : madeBy(node, node.results.indexOf(root)).role;
}

/** Offsets in the arena that no value spans at any time: it may be divided there. */
function cutsOf({ placed, arenaBytes }: Layout): readonly number[] {
  const spans = placed
    .filter(({ at }) => at.region === 0)
    .map(({ at, bytes }) => [at.offset, at.offset + Math.ceil(bytes / 256) * 256] as const);
  const candidates = [...new Set(spans.flat())].filter((offset) => offset > 0 && offset < arenaBytes).toSorted((a, b) => a - b);
  return candidates.filter((offset) => spans.every(([from, to]) => offset <= from || to <= offset));
}

function kernelsOf(steps: readonly Step[]): readonly Kernel[] {
  const kernels = new Map<string, Kernel>();
  const look = (list: readonly Step[]): void => {
    for (const step of list) {
      if (step.kind === 'launch') kernels.set(step.kernel.key, step.kernel);
      else if (step.kind === 'loop') look(step.body);
      else if (step.kind === 'while') look([...step.condition, ...step.body]);
      else look(step.branches.flat());
    }
  };
  look(steps);
  return [...kernels.values()];
}

export const describe = (executable: Executable): string => `${executable.name}(${executable.inputs.map(printAval).join(', ')})`;
