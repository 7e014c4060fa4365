/**
 * A loop of known length: `scan` and `foriLoop`.
 *
 * Operands: constants, carries, sequences; parameters { body, length, constants, carries, reverse }; results: carries,
 * then what the body put out per round, stacked. Its reverse mode is a second loop that runs backward over what the
 * first one stacked; residuals that are constants or sequences already are passed as they are.
 * Depends on: core, ops, ir, trace, transforms.
 */
import type { KnownAval } from '../core/aval.ts';
import type { Parameters, Program, Variable } from '../core/program.ts';
import { isFloat } from '../core/dtype.ts';
import { applyAll, type Entry } from '../ops/apply.ts';
import { borrows } from '../ops/family.ts';
import { full } from '../ops/shape.ts';
import type { Value } from '../ops/value.ts';
import { evaluate, type TracedProgram } from '../ir/eval.ts';
import { trace } from '../trace/trace.ts';
import { batchProgram, withAxisAt } from '../transforms/batch.ts';
import { activeVariables } from '../transforms/grad.ts';
import { pushForward } from '../transforms/jvp.ts';
import { splitBackward, type Residual, type Split } from '../transforms/linearize.ts';
import { bodyOf, stacked } from './bodies.ts';

interface Loop {
  readonly body: TracedProgram;
  readonly length: number;
  readonly constants: number;
  readonly carries: number;
  readonly reverse: boolean;
}

const loopOf = (parameters: Parameters): Loop => ({
  body: bodyOf(parameters, 'body'),
  length: parameters['length'] as number,
  constants: parameters['constants'] as number,
  carries: parameters['carries'] as number,
  reverse: parameters['reverse'] === true,
});
const parametersOf = ({ body, length, constants, carries, reverse }: Loop): Parameters => ({
  body: body as Program,
  length,
  constants,
  carries,
  reverse,
});

export const loopEntry: Entry = {
  id: 'loop',
  summary: 'Runs a body a known number of times; its carry is updated in place.',
  infer: (_inputs, parameters) => {
    const { body, carries, length } = loopOf(parameters);
    return body.outputs.map((atom, k) => (k < carries ? atom.aval : stacked(length, atom.aval)));
  },
  body: { kind: 'control', form: (parameters) => ({ kind: 'loop', ...loopOf(parameters) }) },
  effects: borrows,
  differentiated: (operands, parameters, active) => differentiatedLoop(operands, loopOf(parameters), active),
  pushed: (operands, tangents, parameters) => pushedLoop(operands, tangents, loopOf(parameters)),
  batch: (operands, axes, parameters, size, axisName) => batchedLoop(operands, axes, loopOf(parameters), size, axisName),
  flops: () => 1,
  overwrites: [],
};

export const runLoop = (operands: readonly Value[], loop: Loop): readonly Value[] => applyAll(loopEntry, operands, parametersOf(loop));

const parts = <T>(
  list: readonly T[],
  { constants, carries }: Loop,
): { readonly constants: readonly T[]; readonly carries: readonly T[]; readonly sequences: readonly T[] } => ({
  constants: list.slice(0, constants),
  carries: list.slice(constants, constants + carries),
  sequences: list.slice(constants + carries),
});

/** A flag per input of the body, grown until a carry that comes out flagged also goes in flagged. */
function settled(loop: Loop, start: readonly boolean[], through: (inputs: readonly boolean[]) => readonly boolean[]): readonly boolean[] {
  let flags = start;
  for (;;) {
    const out = through(flags);
    const next = flags.map((flag, k) => flag || (k >= loop.constants && k < loop.constants + loop.carries && out[k - loop.constants]!));
    if (next.every((flag, k) => flag === flags[k])) return flags;
    flags = next;
  }
}

function movingInputs(loop: Loop, active: readonly boolean[]): readonly boolean[] {
  const floats = loop.body.inputs.map((variable) => isFloat(variable.aval.dtype));
  return settled(
    loop,
    active.map((flag, k) => flag && floats[k]!),
    (inputs) => {
      const variables = activeVariables(loop.body, inputs);
      return loop.body.outputs.map((atom) => variables.has(atom as Variable));
    },
  );
}

function differentiatedLoop(operands: readonly Value[], loop: Loop, active: readonly boolean[]) {
  const wanted = movingInputs(loop, active);
  const split = withCarriesPutOut(splitBackward(loop.body, wanted), loop);
  // A carry that is wanted counts as moving on both ends, so that its cotangent can go round.
  const carriesWanted = parts(wanted, loop).carries;
  const results = runLoop(operands, { ...loop, body: split.forward });
  const kept = results.slice(0, loop.body.outputs.length);
  const pull = (cotangents: readonly (Value | undefined)[]): readonly (Value | undefined)[] => {
    const own = parts(operands, loop);
    const isConstant = (k: number): boolean => k < loop.constants;
    const residual = split.residuals.map((r) => {
      if (r.kind === 'output') return { from: 'sequence' as const, value: results[r.index]! };
      if (isConstant(r.index)) return { from: 'constant' as const, value: operands[r.index]! };
      return { from: 'sequence' as const, value: operands[r.index]! };
    });
    const constants = residual.filter((r) => r.from === 'constant').map((r) => r.value);
    const sequences = residual.filter((r) => r.from === 'sequence').map((r) => r.value);
    const zerosLike = (x: Value): Value => full(x.shape, 0, x.dtype);
    const carryCotangents = own.carries.flatMap((carry, k) => (carriesWanted[k] ? [cotangents[k] ?? zerosLike(carry)] : []));
    const constantSums = own.constants.flatMap((constant, k) => (wanted[k] ? [zerosLike(constant)] : []));
    const resultCotangents = kept
      .slice(loop.carries)
      .flatMap((result, k) => (split.moving[loop.carries + k] ? [cotangents[loop.carries + k] ?? zerosLike(result)] : []));
    const body = backwardBody(
      loop,
      split,
      wanted,
      residual.map((r) => r.from),
    );
    const back = runLoop([...constants, ...carryCotangents, ...constantSums, ...resultCotangents, ...sequences], {
      body,
      length: loop.length,
      constants: constants.length,
      carries: carryCotangents.length + constantSums.length,
      reverse: !loop.reverse,
    });
    let next = 0;
    const carryOut = carriesWanted.map((flag) => (flag ? back[next++] : undefined));
    const constantOut = own.constants.map((_, k) => (wanted[k] ? back[next++] : undefined));
    const sequenceOut = parts(wanted, loop).sequences.map((flag) => (flag ? back[next++] : undefined));
    return [...constantOut, ...carryOut, ...sequenceOut];
  };
  return { results: kept, pull };
}

/** A carry as a residual changes from round to round, so the forward loop puts it out. */
function withCarriesPutOut(split: Split, loop: Loop): Split {
  const added: Variable[] = [];
  const residuals = split.residuals.map((residual): Residual => {
    if (residual.kind === 'output' || residual.index < loop.constants || residual.index >= loop.constants + loop.carries) return residual;
    added.push(split.forward.inputs[residual.index]!);
    return { kind: 'output', index: split.forward.outputs.length + added.length - 1, aval: residual.aval };
  });
  return { ...split, residuals, forward: { ...split.forward, outputs: [...split.forward.outputs, ...added] } };
}

/** constants, [carry cotangents, sums of constant cotangents], [result cotangents, residuals] -> the same carries, cotangents of sequences. */
function backwardBody(loop: Loop, split: Split, wanted: readonly boolean[], from: readonly ('constant' | 'sequence')[]): TracedProgram {
  const { linear, residuals, moving } = split;
  const flags = parts(wanted, loop);
  const avalsOf = (which: 'constant' | 'sequence'): readonly KnownAval[] =>
    residuals.filter((_, k) => from[k] === which).map((r) => r.aval);
  const own = parts(
    loop.body.inputs.map((variable) => variable.aval),
    loop,
  );
  const carryAvals = own.carries.filter((_, k) => flags.carries[k]);
  const constantAvals = own.constants.filter((_, k) => flags.constants[k]);
  const resultAvals = loop.body.outputs
    .slice(loop.carries)
    .filter((_, k) => moving[loop.carries + k])
    .map((atom) => atom.aval);
  const counts = [avalsOf('constant').length, carryAvals.length, constantAvals.length, resultAvals.length];
  const avals = [...avalsOf('constant'), ...carryAvals, ...constantAvals, ...resultAvals, ...avalsOf('sequence')];
  return trace(
    `${loop.body.name}'`,
    (inputs) => {
      const take = takeFrom(inputs);
      const [constants, carries, sums, results] = counts.map((count) => take(count)) as [Value[], Value[], Value[], Value[]];
      const sequences = take(avalsOf('sequence').length);
      const [nextConstant, nextSequence, nextCarry, nextResult] = [cursor(constants), cursor(sequences), cursor(carries), cursor(results)];
      const values = from.map((which) => (which === 'constant' ? nextConstant() : nextSequence()));
      // A wanted carry whose output doesn't move passes no cotangent on.
      const carryCotangents = flags.carries.map((flag) => (flag ? nextCarry() : undefined));
      const arriving = moving.flatMap((moves, k) => (moves ? [k < loop.carries ? carryCotangents[k]! : nextResult()] : []));
      const leaving = evaluate(linear, [...values, ...arriving]);
      const out = takeFrom(leaving);
      const constantOut = out(constantAvals.length);
      const carryOut = out(carryAvals.length);
      const sequenceOut = out(flags.sequences.filter(Boolean).length);
      return [...carryOut, ...constantOut.map((c, k) => sums[k]!.add(c)), ...sequenceOut];
    },
    avals,
  );
}

export const takeFrom = <T>(list: readonly T[]): ((count: number) => readonly T[]) => {
  let next = 0;
  return (count) => list.slice(next, (next += count));
};
const cursor = <T>(list: readonly T[]): (() => T) => {
  let next = 0;
  return () => list[next++]!;
};

function pushedLoop(operands: readonly Value[], tangents: readonly (Value | undefined)[], loop: Loop) {
  const moving = movingInputs(
    loop,
    tangents.map((tangent) => tangent !== undefined),
  );
  const own = parts(operands, loop);
  const flags = parts(moving, loop);
  const filled = operands.map((x, k) => tangents[k] ?? (moving[k] ? full(x.shape, 0, x.dtype) : undefined));
  const filledParts = parts(filled, loop);
  const only = (list: readonly (Value | undefined)[], which: readonly boolean[]): readonly Value[] =>
    list.flatMap((x, k) => (which[k] ? [x!] : []));
  const avals = parts(
    loop.body.inputs.map((variable) => variable.aval),
    loop,
  );
  const counts = [avals.constants, avals.carries, avals.sequences].map((list) => list.length);
  const moved = [flags.constants, flags.carries, flags.sequences].map((list) => list.filter(Boolean).length);
  const onlyAvals = (list: readonly KnownAval[], which: readonly boolean[]): readonly KnownAval[] => list.filter((_, k) => which[k]);
  let resultsMove: readonly boolean[] = [];
  const body = trace(
    `${loop.body.name} tangent`,
    (inputs) => {
      const take = takeFrom(inputs);
      const [constants, dConstants, carries, dCarries, sequences, dSequences] = [
        counts[0]!,
        moved[0]!,
        counts[1]!,
        moved[1]!,
        counts[2]!,
        moved[2]!,
      ].map((count) => take(count)) as [Value[], Value[], Value[], Value[], Value[], Value[]];
      const next = cursor([...dConstants, ...dCarries, ...dSequences]);
      const arriving = moving.map((flag) => (flag ? next() : undefined));
      const { results, tangents: leaving } = pushForward(loop.body, [...constants, ...carries, ...sequences], arriving);
      const zeroOr = (k: number): Value => leaving[k] ?? full(results[k]!.shape, 0, results[k]!.dtype);
      resultsMove = results.map((_, k) => (k < loop.carries ? flags.carries[k]! : leaving[k] !== undefined));
      const [carryOut, rest] = [results.slice(0, loop.carries), results.slice(loop.carries)];
      return [
        ...carryOut,
        ...carryOut.flatMap((_, k) => (flags.carries[k] ? [zeroOr(k)] : [])),
        ...rest,
        ...rest.flatMap((_, k) => (leaving[loop.carries + k] !== undefined ? [zeroOr(loop.carries + k)] : [])),
      ];
    },
    [
      ...avals.constants,
      ...onlyAvals(avals.constants, flags.constants),
      ...avals.carries,
      ...onlyAvals(avals.carries, flags.carries),
      ...avals.sequences,
      ...onlyAvals(avals.sequences, flags.sequences),
    ],
  );
  const out = runLoop(
    [
      ...own.constants,
      ...only(filledParts.constants, flags.constants),
      ...own.carries,
      ...only(filledParts.carries, flags.carries),
      ...own.sequences,
      ...only(filledParts.sequences, flags.sequences),
    ],
    { ...loop, body, constants: counts[0]! + moved[0]!, carries: counts[1]! + moved[1]! },
  );
  const take = takeFrom(out);
  const carryOut = take(loop.carries);
  const dCarryOut = cursor(take(moved[1]!));
  const restCount = loop.body.outputs.length - loop.carries;
  const rest = take(restCount);
  const dRest = cursor(take(resultsMove.slice(loop.carries).filter(Boolean).length));
  return {
    results: [...carryOut, ...rest],
    tangents: resultsMove.map((moves, k) => (moves ? (k < loop.carries ? dCarryOut() : dRest()) : undefined)),
  };
}

function batchedLoop(
  operands: readonly Value[],
  axes: readonly (number | undefined)[],
  loop: Loop,
  size: number,
  axisName: string | undefined,
) {
  const batched = (body: TracedProgram, flags: readonly boolean[], force: readonly boolean[]) => {
    let out: readonly (number | undefined)[] = [];
    const avals = body.inputs.map((variable, k): KnownAval => (flags[k] ? stacked(size, variable.aval) : variable.aval));
    const program = trace(
      body.name,
      (inputs) => {
        const { results, axes: resultAxes } = batchProgram(
          body,
          inputs,
          flags.map((flag) => (flag ? 0 : undefined)),
          size,
          axisName,
        );
        out = resultAxes;
        return results.map((x, k) => (resultAxes[k] !== undefined || force[k] ? withAxisAt(x, resultAxes[k], 0, size) : x));
      },
      avals,
    );
    return { program, out: out.map((axis) => axis !== undefined) };
  };
  const never = loop.body.outputs.map(() => false);
  const flags = settled(
    loop,
    axes.map((axis) => axis !== undefined),
    (inputs) => batched(loop.body, inputs, never).out,
  );
  const { program, out } = batched(
    loop.body,
    flags,
    loop.body.outputs.map((_, k) => k < loop.carries && flags[loop.constants + k]!),
  );
  const isSequence = (k: number): boolean => k >= loop.constants + loop.carries;
  const moved = operands.map((x, k) => (flags[k] ? withAxisAt(x, axes[k], isSequence(k) ? 1 : 0, size) : x));
  const results = runLoop(moved, { ...loop, body: program });
  return {
    results,
    axes: results.map((_, k) => (k < loop.carries ? (flags[loop.constants + k] ? 0 : undefined) : out[k] ? 1 : undefined)),
  };
}
