/**
 * Functions that control their own derivatives: `checkpoint`, `customVjp`, `customJvp`.
 *
 * Depends on: core, ops, control, trace, transforms.
 */
import type { KnownAval } from '../core/aval.ts';
import { isFloat } from '../core/dtype.ts';
import { argumentWrong, describe, functionArg, typeError } from '../core/errors.ts';
import type { Parameter, Program } from '../core/program.ts';
import { flatten, leafCount, leafPaths, rebuild, type Structure } from '../core/tree.ts';
import { copy } from '../ops/elementwise.ts';
import { apply, applyAll, lift, type ArrayLike } from '../ops/apply.ts';
import { optionsOf } from '../ops/options.ts';
import { Value } from '../ops/value.ts';
import { closeTogether } from '../control/bodies.ts';
import { checkpointEntry, ownGradient, ownTangent, type Policy } from '../control/call.ts';
import type { TracedProgram } from '../ir/eval.ts';
import { asValue, asWhole, knownAvalOf, trace } from '../trace/trace.ts';
import { named, nameOf, type Call } from './transforms.ts';

export interface CheckpointOptions {
  /** What is kept for the backward pass besides the inputs: nothing, unless a policy says so. */
  readonly policy?: Policy;
}

/** JAX's policies of what a checkpoint keeps. */
export const checkpointPolicies = {
  everythingSaveable: { kind: 'everything' },
  nothingSaveable: { kind: 'nothing' },
  dotsSaveable: { kind: 'dots', withoutBatch: false },
  checkpointDots: { kind: 'dots', withoutBatch: false },
  dotsWithNoBatchDimsSaveable: { kind: 'dots', withoutBatch: true },
  saveOnlyTheseNames: (...names: readonly string[]): Policy => ({ kind: 'names', names, except: false }),
  saveAnythingExceptTheseNames: (...names: readonly string[]): Policy => ({ kind: 'names', names, except: true }),
} as const;

/** A name by which a policy can tell a value to be kept. */
export function checkpointName(x: ArrayLike, name: string): Value {
  if (typeof name !== 'string') throw argumentWrong('checkpointName', `${describe(name)} as name`, 'a name is a text');
  return apply(copy, [lift(x)], { checkpointName: name });
}

/** Array leaves of a list of arguments; everything else stays in its place. */
function arrayLeaves(args: readonly unknown[]): {
  readonly values: readonly Value[];
  readonly withLeaves: (values: readonly Value[]) => unknown[];
} {
  const flat = flatten(args);
  const at = flat.leaves.flatMap((leaf, k) => (leaf instanceof Value ? [k] : []));
  return {
    values: at.map((k) => flat.leaves[k] as Value),
    withLeaves: (values) => {
      const all = [...flat.leaves];
      at.forEach((k, n) => {
        all[k] = values[n]!;
      });
      return rebuild(flat.structure, all) as unknown[];
    },
  };
}

const leavesOf = (tree: unknown, root: string): { readonly values: readonly Value[]; readonly structure: Structure } => {
  const flat = flatten(tree);
  const paths = leafPaths(flat.structure, root);
  return { values: flat.leaves.map((leaf, k) => asValue(leaf, paths[k]!)), structure: flat.structure };
};

/** The same function, of which a gradient keeps only the inputs; the rest is computed again in the backward pass. */
export function checkpoint(f: Call, options: CheckpointOptions = {}): Call {
  functionArg('checkpoint', 'its function', f);
  const policy = (optionsOf<CheckpointOptions>('checkpoint', options, { policy: undefined } as unknown as CheckpointOptions).policy ??
    checkpointPolicies.nothingSaveable) as unknown as Parameter;
  return named(nameOf(f), (...args) => {
    const { values, withLeaves } = arrayLeaves(args);
    let result: Structure | undefined;
    const outputs = asWhole(
      nameOf(f),
      (operands) => {
        const program = trace(
          nameOf(f),
          (leaves) => {
            const out = leavesOf(f(...withLeaves(leaves)), 'result');
            result = out.structure;
            return out.values;
          },
          values.map(knownAvalOf),
        );
        const { constants, bodies } = closeTogether([program]);
        return applyAll(checkpointEntry, [...constants, ...operands], { body: bodies[0] as Program, policy });
      },
      values,
    );
    return rebuild(result!, outputs);
  });
}

export interface WithGradient {
  (...args: unknown[]): unknown;
  /** `forward(...args)` returns [result, residuals]; `backward(residuals, cotangents)` a list with a cotangent for each argument (null for none). */
  defvjp(forward: Call, backward: (residuals: unknown, cotangents: unknown) => readonly unknown[]): void;
}

/** The function itself, traced; `structure` is that of its result. */
function bodyOf(f: Call, withLeaves: (leaves: readonly Value[]) => readonly unknown[], avals: readonly KnownAval[]) {
  let structure: Structure | undefined;
  const body = trace(
    nameOf(f),
    (leaves) => {
      const out = leavesOf(f(...withLeaves(leaves)), 'result');
      structure = out.structure;
      return out.values;
    },
    avals,
  );
  return { body, structure };
}

/**
 * A function whose reverse mode is given by `defvjp`. A rule may call the function itself: its derivative is traced when
 * somebody asks for it, so derivatives of any order end.
 */
export function customVjp(f: Call): WithGradient {
  functionArg('customVjp', 'its function', f);
  let rules: { readonly forward: Call; readonly backward: (residuals: unknown, cotangents: unknown) => readonly unknown[] } | undefined;
  const tracing = onceAtATime();
  const call = (...args: unknown[]): unknown => {
    if (rules === undefined) throw typeError(`\`${nameOf(f)}\` has no gradient yet: call defvjp(forward, backward) first`);
    const { forward, backward } = rules;
    const { values, withLeaves } = arrayLeaves(args);
    let result: Structure | undefined;
    const outputs = asWhole(
      nameOf(f),
      (operands) => {
        const avals = values.map(knownAvalOf);
        const { body, structure } = bodyOf(f, withLeaves, avals);
        result = structure;
        let residuals: Structure | undefined;
        let kept: readonly KnownAval[] = [];
        const forwardBody = (): TracedProgram =>
          tracing.during(() => {
            const program = trace(
              `${nameOf(f)} forward`,
              (leaves) => {
                const [out, own] = forwardResult(f, forward(...withLeaves(leaves)));
                const stored = leavesOf(own, 'residual');
                residuals = stored.structure;
                return [...leavesOf(out, 'result').values, ...stored.values];
              },
              avals,
            );
            kept = program.outputs.slice(body.outputs.length).map((atom) => atom.aval);
            return program;
          });
        const backwardBody = (): TracedProgram =>
          tracing.during(() =>
            trace(
              `${nameOf(f)} backward`,
              (leaves) => {
                const stored = leafCount(residuals!);
                const cotangents = backward(rebuild(residuals!, leaves.slice(0, stored)), rebuild(structure!, leaves.slice(stored)));
                return cotangentLeaves(args, cotangents, values);
              },
              [...kept, ...body.outputs.map((atom) => atom.aval)],
            ),
          );
        const { programs, constants } = tracing.running ? closedAlone(body) : closedWith(body, forwardBody());
        const early = programs.rule === undefined ? undefined : backwardOf(f, backwardBody());
        const entry = ownGradient(
          {
            forward: () => programs.rule ?? withIdleConstants(forwardBody(), constants),
            backward: () => early ?? backwardBody(),
          },
          { name: nameOf(f), constants: constants.length },
        );
        return applyAll(entry, [...constants, ...operands], { body: programs.body as Program });
      },
      values,
    );
    return rebuild(result!, outputs);
  };
  return Object.assign(named(nameOf(f), call), {
    defvjp: (forward: Call, backward: (residuals: unknown, cotangents: unknown) => readonly unknown[]) => {
      functionArg('defvjp', 'the forward rule', forward);
      functionArg('defvjp', 'the backward rule', backward);
      rules = { forward, backward };
    },
  });
}

function forwardResult(f: Call, result: unknown): readonly [unknown, unknown] {
  if (!Array.isArray(result) || result.length !== 2)
    throw argumentWrong(
      `defvjp of ${nameOf(f)}`,
      `a forward rule that returns ${describe(result)}`,
      'return [the result, what the backward rule needs]',
    );
  return result as unknown as readonly [unknown, unknown];
}
function backwardOf(f: Call, backward: TracedProgram): TracedProgram {
  if (backward.captures.length > 0)
    throw typeError(`the backward rule of \`${nameOf(f)}\` closes over arrays: return them from the forward rule as residuals`);
  return backward;
}

/** Says whether a rule is being traced: a call of its own function meanwhile gets its derivative later. */
function onceAtATime() {
  let depth = 0;
  return {
    get running() {
      return depth > 0;
    },
    during<T>(run: () => T): T {
      depth++;
      try {
        return run();
      } finally {
        depth--;
      }
    },
  };
}

interface ClosedCall {
  readonly programs: { readonly body: TracedProgram; readonly rule: TracedProgram | undefined };
  readonly constants: readonly Value[];
}
/** The body, and its rule with the same captures in front. */
function closedWith(body: TracedProgram, rule: TracedProgram): ClosedCall {
  const { constants, bodies } = closeTogether([body, rule]);
  return { programs: { body: bodies[0]!, rule: bodies[1]! }, constants };
}
function closedAlone(body: TracedProgram): ClosedCall {
  const { constants, bodies } = closeTogether([body]);
  return { programs: { body: bodies[0]!, rule: undefined }, constants };
}
/** The program with inputs in front that it doesn't read. */
const withIdleConstants = (program: TracedProgram, constants: readonly Value[]): TracedProgram => ({
  ...program,
  inputs: [...constants.map((x) => ({ aval: knownAvalOf(x) })), ...program.inputs],
});

/** Cotangents per array leaf that is a float, in order; missing ones are zero. */
function cotangentLeaves(args: readonly unknown[], cotangents: readonly unknown[], values: readonly Value[]): readonly Value[] {
  const own: (Value | undefined)[] = [];
  args.forEach((arg, position) => {
    const count = flatten(arg).leaves.filter((leaf) => leaf instanceof Value).length;
    const given = cotangents[position];
    const leaves = given === null || given === undefined ? [] : leavesOf(given, `cotangent ${position}`).values;
    for (let k = 0; k < count; k++) own.push(leaves[k]);
  });
  return values.flatMap((x, k) => (isFloat(x.dtype) ? [own[k] ?? x.zerosLike()] : []));
}

export interface WithTangent {
  (...args: unknown[]): unknown;
  /** `rule(primals, tangents)` returns [result, its tangent]. */
  defjvp(rule: (primals: readonly unknown[], tangents: readonly unknown[]) => readonly [unknown, unknown]): void;
}

/** A function whose forward mode, and by transposing it also reverse mode, is given by `defjvp`. The rule may call the function itself. */
export function customJvp(f: Call): WithTangent {
  functionArg('customJvp', 'its function', f);
  let rule: ((primals: readonly unknown[], tangents: readonly unknown[]) => readonly [unknown, unknown]) | undefined;
  const tracing = onceAtATime();
  const call = (...args: unknown[]): unknown => {
    if (rule === undefined) throw typeError(`\`${nameOf(f)}\` has no tangent yet: call defjvp(rule) first`);
    const own = rule;
    const { values, withLeaves } = arrayLeaves(args);
    let result: Structure | undefined;
    const outputs = asWhole(
      nameOf(f),
      (operands) => {
        const avals = values.map(knownAvalOf);
        const { body, structure } = bodyOf(f, withLeaves, avals);
        result = structure;
        const floats = avals.filter((aval) => isFloat(aval.dtype));
        const tangentBody = (): TracedProgram =>
          tracing.during(() =>
            trace(
              `${nameOf(f)} tangent`,
              (leaves) => {
                const primals = leaves.slice(0, avals.length);
                let next = avals.length;
                const moving = primals.map((x) => (isFloat(x.dtype) ? leaves[next++]! : x.zerosLike()));
                const [out, outTangent] = own(withLeaves(primals), withLeaves(moving));
                return [...leavesOf(out, 'result').values, ...leavesOf(outTangent, 'tangent').values];
              },
              [...avals, ...floats],
            ),
          );
        const { programs, constants } = tracing.running ? closedAlone(body) : closedWith(body, tangentBody());
        const entry = ownTangent(() => programs.rule ?? withIdleConstants(tangentBody(), constants), {
          name: nameOf(f),
          constants: constants.length,
        });
        return applyAll(entry, [...constants, ...operands], { body: programs.body as Program });
      },
      values,
    );
    return rebuild(result!, outputs);
  };
  return Object.assign(named(nameOf(f), call), {
    defjvp: (given: typeof rule) => {
      functionArg('defjvp', 'the rule', given);
      rule = given;
    },
  });
}
