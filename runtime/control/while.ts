/**
 * A loop that ends when a condition no longer holds: `whileLoop`.
 *
 * Operands: constants of the condition, constants of the body, carries. It has tangents but no gradient: how often it
 * ran, and with what values, isn't kept. Batched by a condition that differs per row, it runs until no row wants more,
 * and rows that are done stay as they are. Depends on: core, ops, ir, trace, transforms.
 */
import type { KnownAval } from '../core/aval.ts';
import { ArgumentError } from '../core/errors.ts';
import type { Parameters, Program } from '../core/program.ts';
import { isFloat } from '../core/dtype.ts';
import { applyAll, type Entry } from '../ops/apply.ts';
import { borrows } from '../ops/family.ts';
import { where } from '../ops/elementwise.ts';
import { any } from '../ops/reduce.ts';
import { full } from '../ops/shape.ts';
import type { Value } from '../ops/value.ts';
import { evaluate, type TracedProgram } from '../ir/eval.ts';
import { trace } from '../trace/trace.ts';
import { batchProgram, withAxisAt } from '../transforms/batch.ts';
import { pushForward } from '../transforms/jvp.ts';
import { bodyOf, stacked } from './bodies.ts';
import { takeFrom } from './loop.ts';

interface While {
  readonly condition: TracedProgram;
  readonly conditionConstants: number;
  readonly body: TracedProgram;
  readonly bodyConstants: number;
}
const whileOf = (parameters: Parameters): While => ({
  condition: bodyOf(parameters, 'condition'),
  conditionConstants: parameters['conditionConstants'] as number,
  body: bodyOf(parameters, 'body'),
  bodyConstants: parameters['bodyConstants'] as number,
});
export const runWhile = (operands: readonly Value[], { condition, conditionConstants, body, bodyConstants }: While): readonly Value[] =>
  applyAll(whileEntry, operands, { condition: condition as Program, conditionConstants, body: body as Program, bodyConstants });

export const whileEntry: Entry = {
  id: 'while',
  summary: 'Runs a body until a condition no longer holds.',
  infer: (_inputs, parameters) => whileOf(parameters).body.outputs.map((atom) => atom.aval),
  body: { kind: 'control', form: (parameters) => ({ kind: 'while', ...whileOf(parameters) }) },
  effects: borrows,
  differentiated: () => {
    throw new ArgumentError(
      'while-gradient',
      'a `whileLoop` has no gradient: how often it runs is known only while it runs',
      [],
      'use `scan` or `foriLoop` with a fixed number of rounds, or forward mode (jvp, jacfwd)',
    );
  },
  pushed: (operands, tangents, parameters) => pushedWhile(operands, tangents, whileOf(parameters)),
  batch: (operands, axes, parameters, size, axisName) => batchedWhile(operands, axes, whileOf(parameters), size, axisName),
  flops: () => 1,
  overwrites: [],
};

/** Every float carry gets a tangent; the condition doesn't see them. */
function pushedWhile(operands: readonly Value[], tangents: readonly (Value | undefined)[], loop: While) {
  const lead = loop.conditionConstants + loop.bodyConstants;
  const moves = operands.map((x, k) => (k < loop.conditionConstants ? false : k < lead ? tangents[k] !== undefined : isFloat(x.dtype)));
  const filled = operands.flatMap((x, k) => (moves[k] ? [tangents[k] ?? full(x.shape, 0, x.dtype)] : []));
  const constantsMoved = moves.slice(0, lead).filter(Boolean).length;
  const avals = loop.body.inputs.map((variable) => variable.aval);
  const bodyMoves = moves.slice(loop.conditionConstants);
  const carryAvals = avals.slice(loop.bodyConstants);
  const dCarryAvals = carryAvals.filter((_, k) => bodyMoves[loop.bodyConstants + k]);
  const dConstantAvals = avals.slice(0, loop.bodyConstants).filter((_, k) => bodyMoves[k]);
  const body = trace(
    `${loop.body.name} tangent`,
    (inputs) => {
      const take = takeFrom(inputs);
      const constants = take(loop.bodyConstants);
      const dConstants = take(dConstantAvals.length);
      const carries = take(carryAvals.length);
      const moving = [...dConstants, ...take(dCarryAvals.length)];
      let next = 0;
      const { results, tangents: out } = pushForward(
        loop.body,
        [...constants, ...carries],
        bodyMoves.map((flag) => (flag ? moving[next++] : undefined)),
      );
      return [...results, ...results.flatMap((x, k) => (bodyMoves[loop.bodyConstants + k] ? [out[k] ?? full(x.shape, 0, x.dtype)] : []))];
    },
    [...avals.slice(0, loop.bodyConstants), ...dConstantAvals, ...carryAvals, ...dCarryAvals],
  );
  const conditionInputs = loop.condition.inputs.map((variable) => variable.aval);
  const condition = trace(loop.condition.name, (inputs) => evaluate(loop.condition, inputs.slice(0, conditionInputs.length)), [
    ...conditionInputs,
    ...dCarryAvals,
  ]);
  const results = runWhile(
    [...operands.slice(0, lead), ...filled.slice(0, constantsMoved), ...operands.slice(lead), ...filled.slice(constantsMoved)],
    {
      condition,
      conditionConstants: loop.conditionConstants,
      body,
      bodyConstants: loop.bodyConstants + dConstantAvals.length,
    },
  );
  let next = carryAvals.length;
  return {
    results: results.slice(0, carryAvals.length),
    tangents: carryAvals.map((_, k) => (bodyMoves[loop.bodyConstants + k] ? results[next++] : undefined)),
  };
}

function batchedWhile(
  operands: readonly Value[],
  axes: readonly (number | undefined)[],
  loop: While,
  size: number,
  axisName: string | undefined,
) {
  const lead = loop.conditionConstants + loop.bodyConstants;
  const axisOr = (flags: readonly boolean[]): readonly (number | undefined)[] => flags.map((flag) => (flag ? 0 : undefined));
  const conditionFlags = axes.slice(0, loop.conditionConstants).map((axis) => axis !== undefined);
  const bodyFlags = axes.slice(loop.conditionConstants, lead).map((axis) => axis !== undefined);
  const avalsOf = (program: TracedProgram, flags: readonly boolean[]): readonly KnownAval[] =>
    program.inputs.map((variable, k) => (flags[k] ? stacked(size, variable.aval) : variable.aval));
  const outOf = (program: TracedProgram, flags: readonly boolean[]): readonly boolean[] => {
    let out: readonly boolean[] = [];
    trace(
      program.name,
      (inputs) => {
        const batched = batchProgram(program, inputs, axisOr(flags), size, axisName);
        out = batched.axes.map((axis) => axis !== undefined);
        return batched.results;
      },
      avalsOf(program, flags),
    );
    return out;
  };
  let carryFlags = axes.slice(lead).map((axis) => axis !== undefined);
  let rowwise = false;
  for (;;) {
    rowwise = outOf(loop.condition, [...conditionFlags, ...carryFlags])[0]!;
    const next = outOf(loop.body, [...bodyFlags, ...carryFlags]).map((flag, k) => flag || carryFlags[k]! || rowwise);
    if (next.every((flag, k) => flag === carryFlags[k])) break;
    carryFlags = next;
  }
  const keeps = (inputs: readonly Value[], constants: readonly Value[], carries: readonly Value[]): Value =>
    batchProgram(loop.condition, [...constants, ...carries], axisOr([...conditionFlags, ...carryFlags]), size, axisName).results[0]!;
  // Row by row, the body needs the condition's constants too.
  const extra = rowwise ? loop.conditionConstants : 0;
  const conditionAvals = avalsOf(loop.condition, [...conditionFlags, ...carryFlags]);
  const condition = trace(
    loop.condition.name,
    (inputs) => {
      const verdict = keeps(inputs, inputs.slice(0, loop.conditionConstants), inputs.slice(loop.conditionConstants));
      return [rowwise ? any(verdict) : verdict];
    },
    conditionAvals,
  );
  const bodyAvals = avalsOf(loop.body, [...bodyFlags, ...carryFlags]);
  const body = trace(
    loop.body.name,
    (inputs) => {
      const take = takeFrom(inputs);
      const conditionConstants = take(extra);
      const constants = take(loop.bodyConstants);
      const carries = take(carryFlags.length);
      const { results, axes: out } = batchProgram(
        loop.body,
        [...constants, ...carries],
        axisOr([...bodyFlags, ...carryFlags]),
        size,
        axisName,
      );
      const whole = results.map((x, k) => (carryFlags[k] ? withAxisAt(x, out[k], 0, size) : x));
      if (!rowwise) return whole;
      const verdict = keeps(inputs, conditionConstants, carries);
      return whole.map((x, k) => where(verdict.reshape([size, ...x.shape.slice(1).map(() => 1)]), x, carries[k]!));
    },
    [...conditionAvals.slice(0, extra), ...bodyAvals],
  );
  const moved = operands.map((x, k) => {
    const flag = k < loop.conditionConstants ? conditionFlags[k] : k < lead ? bodyFlags[k - loop.conditionConstants] : carryFlags[k - lead];
    return flag ? withAxisAt(x, axes[k], 0, size) : x;
  });
  const conditionOperands = moved.slice(0, loop.conditionConstants);
  const results = runWhile([...conditionOperands, ...(rowwise ? conditionOperands : []), ...moved.slice(loop.conditionConstants)], {
    condition,
    conditionConstants: loop.conditionConstants,
    body,
    bodyConstants: loop.bodyConstants + extra,
  });
  return { results, axes: carryFlags.map((flag) => (flag ? 0 : undefined)) };
}
