/**
 * Calls of a body that are inlined when they run: `checkpoint`, and functions with derivatives of their own.
 *
 * A checkpoint keeps only its inputs (and what its policy saves) and computes the rest again in the backward pass, marked
 * `again`. A function with its own derivative carries it as one more body. Depends on: core, ops, ir, trace, transforms.
 */
import type { KnownAval } from '../core/aval.ts';
import { isFloat } from '../core/dtype.ts';
import { inRole } from '../core/interpreter.ts';
import type { Equation, Parameters, Program, Variable } from '../core/program.ts';
import { applyAll, type Entry } from '../ops/apply.ts';
import { borrows } from '../ops/family.ts';
import type { Value } from '../ops/value.ts';
import { applyEquation, bind, evaluate, operandsOf, valueOf, type TracedProgram } from '../ir/eval.ts';
import { trace } from '../trace/trace.ts';
import { batchProgram, withAxisAt } from '../transforms/batch.ts';
import { forward, zeros } from '../transforms/grad.ts';
import { pushForward } from '../transforms/jvp.ts';
import { bodyOf, stacked } from './bodies.ts';

/** Which values of the body are kept for the backward pass; JAX's policies. */
export type Policy =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'everything' }
  /** Results of contractions; `withoutBatch`: only of those without batch axes. */
  | { readonly kind: 'dots'; readonly withoutBatch: boolean }
  /** Values named by `checkpointName`, or all but those. */
  | { readonly kind: 'names'; readonly names: readonly string[]; readonly except: boolean };

function isKept(equation: Equation<Entry>, policy: Policy): boolean {
  switch (policy.kind) {
    case 'nothing':
      return false;
    case 'everything':
      return true;
    case 'dots': {
      const { body } = equation.op;
      return body.kind === 'contraction' && (!policy.withoutBatch || body.dimensions(equation.parameters).batch[0].length === 0);
    }
    case 'names': {
      const name = equation.parameters['checkpointName'];
      return (typeof name === 'string' && policy.names.includes(name)) !== policy.except;
    }
  }
}

const callForm = (parameters: Parameters) => ({ kind: 'call', body: bodyOf(parameters, 'body') }) as const;
const resultsOfBody = (parameters: Parameters): readonly KnownAval[] => bodyOf(parameters, 'body').outputs.map((atom) => atom.aval);

/** Operands: the inputs of the closed body. Parameters: { body, policy }. */
export const checkpointEntry: Entry = {
  id: 'checkpoint',
  summary: 'A body whose values are computed again in the backward pass instead of being kept.',
  infer: (_inputs, parameters) => resultsOfBody(parameters),
  body: { kind: 'control', form: callForm },
  effects: borrows,
  differentiated: (operands, parameters, active) => {
    const body = bodyOf(parameters, 'body');
    const { results, kept } = evaluateKeeping(body, operands, parameters['policy'] as unknown as Policy);
    return { results, pull: (cotangents) => inRole('again', () => forward(body, operands, active, kept)).pull(cotangents) };
  },
  pushed: (operands, tangents, parameters) => pushForward(bodyOf(parameters, 'body'), operands, tangents),
  batch: (operands, axes, parameters, size, axisName) => {
    const { program, out } = batchedBody(bodyOf(parameters, 'body'), axes, size, axisName);
    return { results: applyAll(checkpointEntry, inFront(operands, axes), { ...parameters, body: program as Program }), axes: out };
  },
  flops: () => 1,
  overwrites: [],
};

/** Runs the body and keeps what the policy says. */
function evaluateKeeping(
  body: TracedProgram,
  operands: readonly Value[],
  policy: Policy,
): { readonly results: readonly Value[]; readonly kept: ReadonlyMap<Variable, Value> } {
  const environment = bind(body, operands);
  const kept = new Map<Variable, Value>();
  for (const equation of body.equations) {
    const results = applyEquation(equation, operandsOf(equation, environment));
    equation.outputs.forEach((variable, k) => {
      environment.set(variable, results[k]!);
      if (isKept(equation, policy)) kept.set(variable, results[k]!);
    });
  }
  return { results: body.outputs.map((atom) => valueOf(atom, environment)), kept };
}

const inFront = (operands: readonly Value[], axes: readonly (number | undefined)[]): readonly Value[] =>
  operands.map((x, k) => (axes[k] === undefined ? x : x.moveAxis(axes[k], 0)));

/** The body over a batch; `force` puts a batch axis on results that have none. */
function batchedBody(
  body: TracedProgram,
  axes: readonly (number | undefined)[],
  size: number,
  axisName: string | undefined,
  force = false,
) {
  let out: readonly (number | undefined)[] = [];
  const avals = body.inputs.map((variable, k): KnownAval => (axes[k] === undefined ? variable.aval : stacked(size, variable.aval)));
  const program = trace(
    body.name,
    (inputs) => {
      const batched = batchProgram(
        body,
        inputs,
        axes.map((axis) => (axis === undefined ? undefined : 0)),
        size,
        axisName,
      );
      const whole = batched.results.map((x, k) => (batched.axes[k] === undefined && !force ? x : withAxisAt(x, batched.axes[k], 0, size)));
      out = batched.axes.map((axis) => (axis === undefined && !force ? undefined : 0));
      return whole;
    },
    avals,
  );
  return { program, out };
}

/**
 * A function with its own reverse mode. Parameters: { body, forward, backward, results }: `forward` takes the inputs and
 * returns the results and residuals; `backward` takes residuals and cotangents and returns a cotangent for each input that is a float.
 */
export const ownGradientEntry: Entry = {
  id: 'ownGradient',
  summary: 'A function with a gradient of its own.',
  infer: (_inputs, parameters) => resultsOfBody(parameters),
  body: { kind: 'control', form: callForm },
  effects: borrows,
  differentiated: (operands, parameters) => {
    const count = parameters['results'] as number;
    const outputs = evaluate(bodyOf(parameters, 'forward'), operands);
    const results = outputs.slice(0, count);
    return {
      results,
      pull: (cotangents) => {
        const arriving = results.map((x, k) => cotangents[k] ?? zeros({ shape: x.shape, dtype: x.dtype }));
        const leaving = evaluate(bodyOf(parameters, 'backward'), [...outputs.slice(count), ...arriving]);
        let next = 0;
        return operands.map((x) => (isFloat(x.dtype) ? leaving[next++] : undefined));
      },
    };
  },
  batch: (operands, axes, parameters, size, axisName) => {
    const all = operands.map((): number => 0);
    const moved = operands.map((x, k) => withAxisAt(x, axes[k], 0, size));
    const body = batchedBody(bodyOf(parameters, 'body'), all, size, axisName, true).program;
    const forwardBody = batchedBody(bodyOf(parameters, 'forward'), all, size, axisName, true).program;
    const backward = bodyOf(parameters, 'backward');
    const backwardBody = batchedBody(
      backward,
      backward.inputs.map(() => 0),
      size,
      axisName,
      true,
    ).program;
    const results = applyAll(ownGradientEntry, moved, {
      body: body as Program,
      forward: forwardBody as Program,
      backward: backwardBody as Program,
      results: parameters['results'],
    });
    return { results, axes: results.map(() => 0) };
  },
  flops: () => 1,
  overwrites: [],
};

/** A function with its own forward mode. Parameters: { body, tangent }: `tangent` takes inputs and the tangents of the float ones, and returns results and their tangents. */
export const ownTangentEntry: Entry = {
  id: 'ownTangent',
  summary: 'A function with a tangent of its own.',
  infer: (_inputs, parameters) => resultsOfBody(parameters),
  body: { kind: 'control', form: callForm },
  effects: borrows,
  pushed: (operands, tangents, parameters) => {
    const moving = operands.flatMap((x, k) => (isFloat(x.dtype) ? [tangents[k] ?? zeros({ shape: x.shape, dtype: x.dtype })] : []));
    const outputs = evaluate(bodyOf(parameters, 'tangent'), [...operands, ...moving]);
    return { results: outputs.slice(0, outputs.length / 2), tangents: outputs.slice(outputs.length / 2) };
  },
  // The tangent program is linear in the tangents, so its gradient at zero tangents is the transpose.
  differentiated: (operands, parameters, active) => {
    const program = bodyOf(parameters, 'tangent');
    const floats = operands.flatMap((x, k) => (isFloat(x.dtype) ? [{ x, k }] : []));
    const still = floats.map(({ x }) => zeros({ shape: x.shape, dtype: x.dtype }));
    const { results, pull } = forward(
      program,
      [...operands, ...still],
      [...operands.map(() => false), ...floats.map(({ k }) => active[k]!)],
    );
    const count = results.length / 2;
    return {
      results: results.slice(0, count),
      pull: (cotangents) => {
        const leaving = pull([...cotangents.map(() => undefined), ...cotangents]).slice(operands.length);
        let next = 0;
        return operands.map((x) => (isFloat(x.dtype) ? leaving[next++] : undefined));
      },
    };
  },
  batch: (operands, axes, parameters, size, axisName) => {
    const moved = operands.map((x, k) => withAxisAt(x, axes[k], 0, size));
    const whole = (program: TracedProgram): Program =>
      batchedBody(
        program,
        program.inputs.map(() => 0),
        size,
        axisName,
        true,
      ).program as Program;
    const results = applyAll(ownTangentEntry, moved, {
      body: whole(bodyOf(parameters, 'body')),
      tangent: whole(bodyOf(parameters, 'tangent')),
    });
    return { results, axes: results.map(() => 0) };
  },
  flops: () => 1,
  overwrites: [],
};
