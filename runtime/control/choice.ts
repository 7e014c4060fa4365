/**
 * One of several branches: `cond` and `switch`.
 *
 * Operands: which branch (int32, cut off at the ends), then what all branches take. In reverse mode every branch returns
 * the residuals of all of them, zeros for those of the others, so that one choice backward can read its own.
 * Depends on: core, ops, ir, trace, transforms.
 */
import { printAval, type KnownAval } from '../core/aval.ts';
import { ArgumentError } from '../core/errors.ts';
import type { Parameters, Program, Variable } from '../core/program.ts';
import { applyAll, type Entry } from '../ops/apply.ts';
import { borrows } from '../ops/family.ts';
import { where } from '../ops/elementwise.ts';
import { full } from '../ops/shape.ts';
import type { Value } from '../ops/value.ts';
import { evaluate, type TracedProgram } from '../ir/eval.ts';
import { trace } from '../trace/trace.ts';
import { batchProgram, withAxisAt } from '../transforms/batch.ts';
import { activeVariables, zeros } from '../transforms/grad.ts';
import { pushForward } from '../transforms/jvp.ts';
import { residualValues, splitBackward } from '../transforms/linearize.ts';
import { stacked } from './bodies.ts';
import { takeFrom } from './loop.ts';

const branchesOf = (parameters: Parameters): readonly TracedProgram[] =>
  parameters['branches'] as readonly Program[] as readonly TracedProgram[];

export const runChoice = (index: Value, operands: readonly Value[], branches: readonly TracedProgram[]): readonly Value[] =>
  applyAll(choiceEntry, [index, ...operands], { branches: branches as readonly Program[] });

export const choiceEntry: Entry = {
  id: 'choice',
  summary: 'Runs one of several branches.',
  infer: (_inputs, parameters) => {
    const [first, ...others] = branchesOf(parameters);
    const avals = first!.outputs.map((atom) => atom.aval);
    for (const other of others)
      if (other.outputs.length !== avals.length || other.outputs.some((atom, k) => printAval(atom.aval) !== printAval(avals[k]!)))
        throw new ArgumentError(
          'branches',
          `the branches of a \`cond\` or \`switch\` return different arrays: ${avals.map(printAval).join(' ')} and ${other.outputs.map((atom) => printAval(atom.aval)).join(' ')}`,
          [],
          'return the same structure, shapes and dtypes from every branch',
        );
    return avals;
  },
  body: { kind: 'control', form: (parameters) => ({ kind: 'choice', branches: branchesOf(parameters) }) },
  effects: borrows,
  differentiated: ([index, ...operands], parameters, active) =>
    differentiatedChoice(index!, operands, branchesOf(parameters), active.slice(1)),
  pushed: ([index, ...operands], [, ...tangents], parameters) => pushedChoice(index!, operands, tangents, branchesOf(parameters)),
  batch: (operands, axes, parameters, size, axisName) => batchedChoice(operands, axes, branchesOf(parameters), size, axisName),
  flops: () => 1,
  overwrites: [],
};

function differentiatedChoice(index: Value, operands: readonly Value[], branches: readonly TracedProgram[], active: readonly boolean[]) {
  const splits = branches.map((branch) => splitBackward(branch, active));
  const count = branches[0]!.outputs.length;
  const inputAvals = branches[0]!.inputs.map((variable) => variable.aval);
  const extras = splits.map((split) => split.forward.outputs.slice(count).map((atom) => atom.aval));
  const forwards = splits.map((split, own) =>
    trace(
      split.forward.name,
      (inputs) => {
        const outputs = evaluate(split.forward, inputs);
        return [...outputs.slice(0, count), ...extras.flatMap((avals, k) => (k === own ? outputs.slice(count) : avals.map(zeros)))];
      },
      inputAvals,
    ),
  );
  const results = runChoice(index, operands, forwards);
  const kept = results.slice(0, count);
  const moving = kept.map((_, k) => splits.some((split) => split.moving[k]));
  const pull = (cotangents: readonly (Value | undefined)[]): readonly (Value | undefined)[] => {
    const arriving = kept.flatMap((x, k) => (moving[k] ? [cotangents[k] ?? full(x.shape, 0, x.dtype)] : []));
    const stored = results.slice(count);
    const shared = [...operands, ...stored, ...arriving];
    const avals = shared.map((x): KnownAval => ({ shape: x.shape, dtype: x.dtype }));
    const pulls = splits.map((split, own) =>
      trace(
        `${split.forward.name}'`,
        (inputs) => {
          const take = takeFrom(inputs);
          const ownOperands = take(operands.length);
          const all = extras.map((list) => take(list.length));
          const cotangentOf = take(arriving.length);
          const outputs = [...kept.map(() => cotangentOf[0]!), ...all[own]!];
          let next = -1;
          const moved = moving.flatMap((flag, k) => {
            if (flag) next++;
            return flag && split.moving[k] ? [cotangentOf[next]!] : [];
          });
          return evaluate(split.linear, [...residualValues(split.residuals, ownOperands, outputs), ...moved]);
        },
        avals,
      ),
    );
    const back = runChoice(index, shared, pulls);
    let next = 0;
    return [undefined, ...active.map((flag) => (flag ? back[next++] : undefined))];
  };
  return { results: kept, pull };
}

function pushedChoice(
  index: Value,
  operands: readonly Value[],
  tangents: readonly (Value | undefined)[],
  branches: readonly TracedProgram[],
) {
  const flags = tangents.map((tangent) => tangent !== undefined);
  const moving = branches[0]!.outputs.map((_, k) =>
    branches.some((branch) => activeVariables(branch, flags).has(branch.outputs[k] as Variable)),
  );
  const inputAvals = branches[0]!.inputs.map((variable) => variable.aval);
  const pushed = branches.map((branch) =>
    trace(
      `${branch.name} tangent`,
      (inputs) => {
        const take = takeFrom(inputs);
        const own = take(operands.length);
        const moved = take(flags.filter(Boolean).length);
        let next = 0;
        const { results, tangents: out } = pushForward(
          branch,
          own,
          flags.map((flag) => (flag ? moved[next++] : undefined)),
        );
        return [...results, ...results.flatMap((x, k) => (moving[k] ? [out[k] ?? full(x.shape, 0, x.dtype)] : []))];
      },
      [...inputAvals, ...inputAvals.filter((_, k) => flags[k])],
    ),
  );
  const results = runChoice(index, [...operands, ...tangents.filter((tangent) => tangent !== undefined)], pushed);
  let next = moving.length;
  return { results: results.slice(0, moving.length), tangents: moving.map((flag) => (flag ? results[next++] : undefined)) };
}

function batchedChoice(
  [index, ...operands]: readonly Value[],
  [indexAxis, ...axes]: readonly (number | undefined)[],
  branches: readonly TracedProgram[],
  size: number,
  axisName: string | undefined,
) {
  if (indexAxis !== undefined) {
    // Rows choose differently: every branch runs, and each row takes its own.
    const all = branches.map((branch) => {
      const { results, axes: out } = batchProgram(branch, operands, axes, size, axisName);
      return results.map((x, k) => withAxisAt(x, out[k], 0, size));
    });
    const bounded = index!.maximum(0).minimum(branches.length - 1);
    const results = all[0]!.map((first, k) =>
      all
        .slice(1)
        .reduce(
          (chosen, branch, b) => where(bounded.equal(b + 1).reshape([size, ...first.shape.slice(1).map(() => 1)]), branch[k]!, chosen),
          first,
        ),
    );
    return { results, axes: results.map(() => 0) };
  }
  const flags = axes.map((axis) => axis !== undefined);
  const avals = branches[0]!.inputs.map((variable, k): KnownAval => (flags[k] ? stacked(size, variable.aval) : variable.aval));
  const bodies = branches.map((branch) =>
    trace(
      branch.name,
      (inputs) => {
        const { results, axes: out } = batchProgram(
          branch,
          inputs,
          flags.map((flag) => (flag ? 0 : undefined)),
          size,
          axisName,
        );
        return results.map((x, k) => withAxisAt(x, out[k], 0, size));
      },
      avals,
    ),
  );
  const results = runChoice(
    index!,
    operands.map((x, k) => (flags[k] ? withAxisAt(x, axes[k], 0, size) : x)),
    bodies,
  );
  return { results, axes: results.map(() => 0) };
}
