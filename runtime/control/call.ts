/**
 * Calls of a body that are inlined when they run: `checkpoint`, and functions with derivatives of their own.
 *
 * A checkpoint keeps only its inputs (and what its policy saves) and computes the rest again in the backward pass, marked
 * `again`. A function with its own derivative carries it as one more body. Depends on: core, ops, ir, trace, transforms.
 */
import type { KnownAval } from '../core/aval.ts';
import { isFloat } from '../core/dtype.ts';
import { typeError } from '../core/errors.ts';
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

/** The programs of a function's own reverse mode: made at the call, or when somebody differentiates. */
export interface GradientRules {
  /** Inputs -> results, then residuals. */
  readonly forward: () => TracedProgram;
  /** Residuals, then cotangents -> a cotangent for each float among the inputs after the constants. */
  readonly backward: () => TracedProgram;
}
/** How many leading operands are captured: nobody can differentiate by them, since the rule doesn't say how. */
interface OwnCall {
  readonly name: string;
  readonly constants: number;
}

/** A function with its own reverse mode. Operands: what it captured, then its inputs. Parameters: { body }. */
export const ownGradient = (rules: GradientRules, call: OwnCall): Entry => ({
  id: 'ownGradient',
  summary: 'A function with a gradient of its own.',
  infer: (_inputs, parameters) => resultsOfBody(parameters),
  body: { kind: 'control', form: callForm },
  effects: borrows,
  differentiated: (operands, parameters, active) => {
    refuseCaptured(active, call);
    const count = bodyOf(parameters, 'body').outputs.length;
    const outputs = evaluate(rules.forward(), operands);
    const results = outputs.slice(0, count);
    return {
      results,
      pull: (cotangents) => {
        const arriving = results.map((x, k) => cotangents[k] ?? zeros({ shape: x.shape, dtype: x.dtype }));
        const leaving = evaluate(rules.backward(), [...outputs.slice(count), ...arriving]);
        let next = 0;
        return operands.map((x, k) => (k >= call.constants && isFloat(x.dtype) ? leaving[next++] : undefined));
      },
    };
  },
  pushed: () => {
    throw typeError(`\`${call.name}\` has a gradient of its own, and no tangent: forward mode needs customJvp`);
  },
  batch: (operands, axes, parameters, size, axisName) => {
    const whole = (program: TracedProgram): TracedProgram => wholeBatch(program, size, axisName);
    const entry = ownGradient({ forward: () => whole(rules.forward()), backward: () => whole(rules.backward()) }, call);
    return batchedCall(entry, operands, axes, whole(bodyOf(parameters, 'body')), size);
  },
  flops: () => 1,
  overwrites: [],
});

/** The program of a function's own forward mode: inputs, then tangents of the floats after the constants -> results, then their tangents. */
export type TangentRule = () => TracedProgram;

/** A function with its own forward mode. Operands: what it captured, then its inputs. Parameters: { body }. */
export const ownTangent = (rule: TangentRule, call: OwnCall): Entry => {
  const floatsOf = (operands: readonly Value[]) =>
    operands.flatMap((x, k) => (k >= call.constants && isFloat(x.dtype) ? [{ k, still: zeros({ shape: x.shape, dtype: x.dtype }) }] : []));
  return {
    id: 'ownTangent',
    summary: 'A function with a tangent of its own.',
    infer: (_inputs, parameters) => resultsOfBody(parameters),
    body: { kind: 'control', form: callForm },
    effects: borrows,
    pushed: (operands, tangents) => {
      refuseCaptured(
        tangents.map((tangent) => tangent !== undefined),
        call,
      );
      const moving = floatsOf(operands).map(({ k, still }) => tangents[k] ?? still);
      const outputs = evaluate(rule(), [...operands, ...moving]);
      return { results: outputs.slice(0, outputs.length / 2), tangents: outputs.slice(outputs.length / 2) };
    },
    // The tangent program is linear in the tangents, so its gradient at zero tangents is the transpose.
    differentiated: (operands, _parameters, active) => {
      refuseCaptured(active, call);
      const floats = floatsOf(operands);
      const { results, pull } = forward(
        rule(),
        [...operands, ...floats.map(({ still }) => still)],
        [...operands.map(() => false), ...floats.map(({ k }) => active[k]!)],
      );
      const count = results.length / 2;
      return {
        results: results.slice(0, count),
        pull: (cotangents) => {
          const leaving = pull([...cotangents.map(() => undefined), ...cotangents]).slice(operands.length);
          const cotangentAt = new Map(floats.map(({ k }, n) => [k, leaving[n]]));
          return operands.map((_, k) => cotangentAt.get(k));
        },
      };
    },
    batch: (operands, axes, parameters, size, axisName) => {
      const whole = (program: TracedProgram): TracedProgram => wholeBatch(program, size, axisName);
      const entry = ownTangent(() => whole(rule()), call);
      return batchedCall(entry, operands, axes, whole(bodyOf(parameters, 'body')), size);
    },
    flops: () => 1,
    overwrites: [],
  };
};

/** A program over a batch of all its inputs. */
const wholeBatch = (program: TracedProgram, size: number, axisName: string | undefined): TracedProgram =>
  batchedBody(
    program,
    program.inputs.map(() => 0),
    size,
    axisName,
    true,
  ).program;

function batchedCall(entry: Entry, operands: readonly Value[], axes: readonly (number | undefined)[], body: TracedProgram, size: number) {
  const moved = operands.map((x, k) => withAxisAt(x, axes[k], 0, size));
  const results = applyAll(entry, moved, { body: body as Program });
  return { results, axes: results.map(() => 0) };
}

function refuseCaptured(active: readonly boolean[], { name, constants }: OwnCall): void {
  if (active.slice(0, constants).includes(true))
    throw typeError(
      `\`${name}\` has a derivative of its own, which says how to differentiate by its arguments, and it closes over an array that is differentiated: pass that array as an argument`,
    );
}
