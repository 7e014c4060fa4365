/**
 * A program split into a forward program that also returns what the backward pass needs, and that backward pass.
 *
 * The backward pass is traced inside the open trace of the forward pass: what it captures there are exactly the
 * residuals. A residual that is an input of the forward program is named instead of returned, so it costs nothing.
 * Depends on: core, ops, ir, trace, grad.
 */
import type { KnownAval } from '../core/aval.ts';
import { under } from '../core/interpreter.ts';
import type { Variable } from '../core/program.ts';
import type { Value } from '../ops/value.ts';
import type { TracedProgram } from '../ir/eval.ts';
import { finish } from '../trace/trace.ts';
import { Builder } from '../trace/tracer.ts';
import { activeVariables, forward, zeros } from './grad.ts';
import { pushForward } from './jvp.ts';

/** Where a residual comes from: input `index` of the forward program, or its output `index`. */
export type Residual = { readonly kind: 'input' | 'output'; readonly index: number; readonly aval: KnownAval };

export interface Split {
  /** The program's inputs -> its results, then residuals. */
  readonly forward: TracedProgram;
  readonly residuals: readonly Residual[];
  /** Residuals, then cotangents of the moving results (or tangents of the moving inputs) -> cotangents of the wanted inputs (tangents of the moving results). */
  readonly linear: TracedProgram;
  /** Which results depend on the wanted inputs. */
  readonly moving: readonly boolean[];
}

/** `program` is closed. */
export function splitBackward(program: TracedProgram, wanted: readonly boolean[]): Split {
  const active = activeVariables(program, wanted);
  const moving = program.outputs.map((atom) => active.has(atom as Variable));
  return split(program, (inputs) => {
    const { results, pull } = forward(program, inputs, wanted);
    return {
      results,
      linearAvals: program.outputs.filter((_, k) => moving[k]).map((atom) => atom.aval),
      moving,
      linear: (cotangents) => {
        let next = 0;
        const arriving = moving.map((moves) => (moves ? cotangents[next++] : undefined));
        const leaving = pull(arriving);
        return program.inputs.flatMap((variable, k) => (wanted[k] ? [leaving[k] ?? zeros(variable.aval)] : []));
      },
    };
  });
}

/** The tangent part as a program of its own: linear in the tangents of the moving inputs. */
export function splitForward(program: TracedProgram, movingInputs: readonly boolean[]): Split {
  const active = activeVariables(program, movingInputs);
  const moving = program.outputs.map((atom) => active.has(atom as Variable));
  const tangentAvals = program.inputs.filter((_, k) => movingInputs[k]).map((variable) => variable.aval);
  // The tangent builder encloses nothing of the primal part: primal equations read primal tracers only.
  return split(
    program,
    (inputs, outer, linearBuilder, tangents) => {
      let next = 0;
      const arriving = movingInputs.map((moves) => (moves ? tangents[next++] : undefined));
      const pushed = under(linearBuilder.interpreter, () => pushForward(program, inputs, arriving, outer.interpreter));
      return {
        results: pushed.results,
        linearAvals: tangentAvals,
        moving: moving.map(() => true),
        linear: () => pushed.tangents.map((tangent, k) => tangent ?? zeros(program.outputs[k]!.aval)),
      };
    },
    tangentAvals,
  );
}

interface Parts {
  readonly results: readonly Value[];
  readonly linearAvals: readonly KnownAval[];
  readonly moving: readonly boolean[];
  readonly linear: (arguments_: readonly Value[]) => readonly Value[];
}

function split(
  program: TracedProgram,
  parts: (inputs: readonly Value[], outer: Builder, linear: Builder, tangents: readonly Value[]) => Parts,
  known?: readonly KnownAval[],
): Split {
  const outer = new Builder(program.name);
  const inputs = program.inputs.map((variable) => outer.input(variable.aval));
  return under(outer.interpreter, () => {
    const inner = new Builder(`${program.name}'`);
    const early = known?.map((aval) => inner.input(aval));
    const { results, linearAvals, linear, moving } = parts(inputs, outer, inner, early ?? []);
    const linearInputs = early ?? linearAvals.map((aval) => inner.input(aval));
    const linearOutputs = under(inner.interpreter, () => linear(linearInputs)).map((value) => inner.outputOf(value));
    const outputs = results.map((value) => outer.outputOf(value));
    const residuals: Residual[] = [];
    const stored: Variable[] = [];
    for (const value of inner.captures.keys()) {
      const { aval } = outer.atomOf(value);
      const variable = outer.atomOf(value) as Variable;
      const index = inputs.findIndex((tracer) => tracer.variable === variable);
      if (index >= 0) residuals.push({ kind: 'input', index, aval });
      else {
        residuals.push({ kind: 'output', index: outputs.length + stored.length, aval });
        stored.push(variable);
      }
    }
    outer.open = false;
    inner.open = false;
    const forwardProgram = finish(
      outer,
      inputs.map((t) => t.variable),
      [...outputs, ...stored],
    );
    const linearProgram: TracedProgram = {
      inputs: [...inner.captures.values(), ...linearInputs.map((t) => t.variable)],
      captures: [],
      equations: inner.equations,
      outputs: linearOutputs,
      name: `${program.name}'`,
    };
    return { forward: forwardProgram, residuals, linear: linearProgram, moving };
  });
}

/** The residuals' values after a forward run. */
export const residualValues = (residuals: readonly Residual[], inputs: readonly Value[], outputs: readonly Value[]): readonly Value[] =>
  residuals.map(({ kind, index }) => (kind === 'input' ? inputs[index]! : outputs[index]!));
