/**
 * Which stored values to forget and compute again, and the program that does so.
 *
 *     v ── early reader ········ peak ········ v again ── late reader
 *
 * A value that is alive at the peak and not touched there can be dropped after its early readers; before its first late
 * reader the equations that lead to it are repeated, from what is stored then anyway (or kept longer, when that is
 * smaller). Candidates are ranked by floating-point operations per byte that they take from the peak. Copied equations
 * carry the role `again`; nothing merges them with their originals. Control flow, updates and impure ops are not repeated.
 * Depends on: core, ops, fuse, layout, simplify.
 */
import { isLiteral, type Atom, type Equation, type Variable } from '../core/program.ts';
import type { Op } from '../ops/op.ts';
import { rootOf, roundedBytes } from './storage.ts';
import type { Fused } from './fuse.ts';
import type { Layout } from './layout.ts';
import type { Flat } from './simplify.ts';

/** A program as it is planned now. */
export interface Scene {
  readonly flat: Flat;
  readonly fused: Fused;
  readonly layout: Layout;
  readonly outputs: readonly Variable[];
  readonly donated: readonly boolean[];
}

/** One value that will be computed again. */
export interface Repetition {
  readonly value: Variable;
  /** Readers from this step on get the second computation; the step after the last is "returned". */
  readonly from: number;
  readonly flops: number;
  readonly bytes: number;
  /** Equations that are repeated, in the order of the program. */
  readonly chain: readonly Equation<Op>[];
  /** Stored values that the chain reads. */
  readonly needs: readonly Variable[];
}

/** Most equations in one chain: longer ones are the work of several picks. */
const longestChain = 40;
const mostPicks = 64;

/** Bytes alive at each step. */
export function profileOf({ layout, flat, donated }: Pick<Scene, 'layout' | 'flat' | 'donated'>): number[] {
  const always = flat.inputs.reduce((sum, { aval }, i) => sum + (donated[i] ? 0 : roundedBytes(aval)), 0);
  const alive = layout.order.map(() => always);
  for (const { bytes, born, dies } of layout.placed)
    for (let step = Math.max(0, born); step < Math.min(dies, alive.length); step++) alive[step]! += bytes;
  return alive;
}

interface Reading {
  readonly made: number;
  /** Steps that read it, ascending; the number of steps stands for "returned". */
  readonly readAt: readonly number[];
}

interface View {
  readonly scene: Scene;
  readonly equationOf: ReadonlyMap<Variable, Equation<Op>>;
  readonly readings: ReadonlyMap<Variable, Reading>;
  readonly inputs: ReadonlySet<Variable>;
}

function viewOf(scene: Scene): View {
  const { flat, fused, layout, outputs } = scene;
  const equationOf = new Map(flat.equations.flatMap((equation) => equation.outputs.map((output) => [output, equation] as const)));
  const inputs = new Set(flat.inputs);
  const readings = new Map<Variable, { made: number; readAt: number[] }>(
    flat.inputs.map((variable) => [variable, { made: -1, readAt: [] }]),
  );
  layout.order.forEach((node, step) => {
    for (const variable of node.results) readings.set(variable, { made: step, readAt: [] });
    for (const root of new Set(node.operands.map((variable) => rootOf(fused, variable)))) readings.get(root)?.readAt.push(step);
  });
  for (const root of new Set(outputs.map((variable) => rootOf(fused, variable)))) readings.get(root)?.readAt.push(layout.order.length);
  return { scene, equationOf, readings, inputs };
}

/** What to compute again so that no step needs more than `target` bytes, or comes nearer to that; `not`: values left alone. */
export function picksFor(scene: Scene, target: number, not: ReadonlySet<Variable>): readonly Repetition[] {
  const view = viewOf(scene);
  const profile = profileOf(scene);
  const picks: Repetition[] = [];
  const picked = new Set<Variable>();
  const kept = new Set<Variable>();
  while (picks.length < mostPicks) {
    const peak = profile.reduce((best, bytes, step) => (bytes > profile[best]! ? step : best), 0);
    if ((profile[peak] ?? 0) <= target) break;
    let best: { readonly pick: Repetition; readonly longer: readonly Longer[]; readonly until: number; readonly cost: number } | undefined;
    for (const [value, { made, readAt }] of view.readings) {
      if (made < 0 || made >= peak || not.has(value) || picked.has(value) || kept.has(value) || readAt.includes(peak)) continue;
      const from = readAt.find((step) => step > peak);
      if (from === undefined) continue;
      const until = Math.max(made, readAt.findLast((step) => step < peak) ?? made);
      const bytes = roundedBytes(value.aval);
      for (const keep of [false, true]) {
        const chain = chainTo(value, from, view, { keep, gone: picked });
        if (chain === undefined) continue;
        // Neither a value that is kept longer for it nor one that is made on the way may cost what this one saves.
        const longer = chain.longer.filter((one) => one.until < peak);
        const saved = bytes - longer.reduce((sum, one) => sum + one.bytes, 0);
        if (saved <= 0) continue;
        const cost = (chain.flops + 1) / saved;
        if (best === undefined || cost < best.cost || (cost === best.cost && bytes > best.pick.bytes))
          best = {
            pick: { value, from, flops: chain.flops, bytes, chain: chain.equations, needs: chain.needs },
            longer: chain.longer,
            until,
            cost,
          };
      }
    }
    if (best === undefined) break;
    picks.push(best.pick);
    picked.add(best.pick.value);
    for (const need of best.pick.needs) kept.add(need);
    for (let step = best.until + 1; step < best.pick.from && step < profile.length; step++) profile[step]! -= best.pick.bytes;
    for (const { until, bytes } of best.longer)
      for (let step = until + 1; step <= best.pick.from && step < profile.length; step++) profile[step]! += bytes;
  }
  return picks;
}

/** A stored value that would have to outlive its last reader. */
interface Longer {
  readonly until: number;
  readonly bytes: number;
}

interface Chain {
  readonly equations: readonly Equation<Op>[];
  readonly flops: number;
  readonly needs: readonly Variable[];
  readonly longer: readonly Longer[];
}

const repeatable = ({ op }: Equation<Op>): boolean => op.pure !== false && op.body.kind !== 'control' && op.body.kind !== 'update';

const flopsOf = ({ op, inputs, outputs, parameters }: Equation<Op>): number =>
  outputs[0]!.aval.shape.reduce((product, extent) => product * extent, 1) *
  op.flops(
    inputs.map(({ aval }) => aval),
    parameters,
  );

/** The equations from what is stored at step `at` to `value`; `keep`: stored values that are dead by then live on instead. */
function chainTo(
  value: Variable,
  at: number,
  { scene, equationOf, readings, inputs }: View,
  { keep, gone }: { readonly keep: boolean; readonly gone: ReadonlySet<Variable> },
): Chain | undefined {
  const equations = new Set<Equation<Op>>();
  const needs = new Set<Variable>();
  const longer = new Map<Variable, Longer>();
  let possible = true;
  const need = (variable: Variable): void => {
    const reading = readings.get(variable);
    if (reading === undefined || gone.has(variable)) return repeat(variable);
    const last = reading.readAt.at(-1) ?? reading.made;
    const isInput = inputs.has(variable);
    const stays = isInput && scene.donated[scene.flat.inputs.indexOf(variable)] !== true;
    if (!stays && last < at) {
      if (!isInput && !keep) return repeat(variable);
      longer.set(variable, { until: last, bytes: roundedBytes(variable.aval) });
    }
    needs.add(variable);
  };
  const repeat = (variable: Variable): void => {
    const equation = equationOf.get(variable);
    if (equation === undefined || !repeatable(equation) || equations.size >= longestChain) {
      possible = false;
      return;
    }
    if (equations.has(equation)) return;
    equations.add(equation);
    for (const atom of equation.inputs) if (possible && !isLiteral(atom)) need(atom);
  };
  repeat(value);
  if (!possible) return undefined;
  const inOrder = scene.flat.equations.filter((equation) => equations.has(equation));
  return {
    equations: inOrder,
    flops: inOrder.reduce((sum, equation) => sum + flopsOf(equation), 0),
    needs: [...needs],
    longer: [...longer.values()],
  };
}

export interface Rewritten {
  readonly flat: Flat;
  /** What stands for each value where it is computed again. */
  readonly again: ReadonlyMap<Variable, Variable>;
}

/** The program with the picked values computed again, its equations in the order in which they were planned to run. */
export function rewritten(scene: Scene, picks: readonly Repetition[]): Rewritten {
  const { flat, layout } = scene;
  const { equationOf, readings } = viewOf(scene);
  const equations: Equation<Op>[] = [];
  const emitted = new Set<Equation<Op>>();
  const again = new Map<Variable, Variable>();
  const emit = (equation: Equation<Op>): void => {
    if (emitted.has(equation)) return;
    emitted.add(equation);
    equations.push(equation);
  };
  const repeat = ({ value, chain }: Repetition): void => {
    const copies = new Map<Variable, Variable>();
    for (const equation of chain) {
      const outputs = equation.outputs.map((variable): Variable => {
        const copy: Variable = { aval: variable.aval };
        copies.set(variable, copy);
        return copy;
      });
      equations.push({
        ...equation,
        inputs: equation.inputs.map((atom) => (isLiteral(atom) ? atom : (copies.get(atom) ?? atom))),
        outputs,
        role: 'again',
      });
    }
    again.set(value, copies.get(value)!);
  };
  /** Emits what leads to an atom inside of a kernel, read at step `step`; what it is called there. */
  const reader = (step: number): ((atom: Atom) => Atom) => {
    const names = new Map<Variable, Variable>(
      picks.flatMap(({ value, from }) => (from <= step ? [[value, again.get(value)!] as const] : [])),
    );
    const read = (atom: Atom): Atom => {
      if (isLiteral(atom)) return atom;
      const known = names.get(atom);
      if (known !== undefined) return known;
      const equation = equationOf.get(atom);
      if (readings.has(atom) || equation === undefined) return atom;
      const inputs = equation.inputs.map(read);
      if (inputs.every((input, i) => input === equation.inputs[i])) {
        emit(equation);
        names.set(atom, atom);
        return atom;
      }
      const copy: Variable = { aval: atom.aval };
      equations.push({ ...equation, inputs, outputs: [copy] });
      names.set(atom, copy);
      return copy;
    };
    return read;
  };
  layout.order.forEach((node, step) => {
    for (const pick of picks) if (pick.from === step) repeat(pick);
    const read = reader(step);
    const ready = new Set<Equation<Op>>();
    for (const result of node.results) {
      const equation = equationOf.get(result)!;
      if (ready.has(equation)) continue;
      ready.add(equation);
      const inputs = equation.inputs.map(read);
      equations.push(inputs.every((input, i) => input === equation.inputs[i]) ? equation : { ...equation, inputs });
    }
  });
  for (const pick of picks) if (pick.from === layout.order.length) repeat(pick);
  const outputs = flat.outputs.map(reader(layout.order.length));
  return { flat: { ...flat, equations, outputs }, again };
}
