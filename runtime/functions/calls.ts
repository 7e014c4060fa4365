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
import { checkpointEntry, ownGradientEntry, ownTangentEntry, type Policy } from '../control/call.ts';
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

/** A function whose reverse mode is given by `defvjp`. */
export function customVjp(f: Call): WithGradient {
  functionArg('customVjp', 'its function', f);
  let rules: { readonly forward: Call; readonly backward: (residuals: unknown, cotangents: unknown) => readonly unknown[] } | undefined;
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
        const forwardBody = trace(
          `${nameOf(f)} forward`,
          (leaves) => {
            const [out, kept] = forward(...withLeaves(leaves)) as readonly [unknown, unknown];
            const stored = leavesOf(kept, 'residual');
            residuals = stored.structure;
            return [...leavesOf(out, 'result').values, ...stored.values];
          },
          avals,
        );
        const count = body.outputs.length;
        const backwardBody = trace(
          `${nameOf(f)} backward`,
          (leaves) => {
            const stored = leafCount(residuals!);
            const cotangents = backward(rebuild(residuals!, leaves.slice(0, stored)), rebuild(structure!, leaves.slice(stored)));
            return cotangentLeaves(args, cotangents, values);
          },
          [...forwardBody.outputs.slice(count), ...body.outputs].map((atom) => atom.aval),
        );
        const { constants, bodies } = closeTogether([body, forwardBody]);
        const lone = closeTogether([backwardBody]);
        if (lone.constants.length > 0)
          throw typeError(`the backward rule of \`${nameOf(f)}\` closes over arrays: return them from the forward rule as residuals`);
        const zerosForConstants = withConstantCotangents(lone.bodies[0]!, constants);
        return applyAll(ownGradientEntry, [...constants, ...operands], {
          body: bodies[0] as Program,
          forward: bodies[1] as Program,
          backward: zerosForConstants as Program,
          results: count,
        });
      },
      values,
    );
    return rebuild(result!, outputs);
  };
  return Object.assign(named(nameOf(f), call), {
    defvjp: (forward: Call, backward: (residuals: unknown, cotangents: unknown) => readonly unknown[]) => {
      rules = { forward, backward };
    },
  });
}

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

/** Captured constants have no cotangent of their own: zeros. */
function withConstantCotangents(backward: ReturnType<typeof trace>, constants: readonly Value[]): ReturnType<typeof trace> {
  const floats = constants.filter((x) => isFloat(x.dtype));
  if (floats.length === 0) return backward;
  const zeroOutputs = trace('zeros', () => floats.map((x) => x.zerosLike()), []);
  return {
    ...backward,
    equations: [...zeroOutputs.equations, ...backward.equations],
    outputs: [...zeroOutputs.outputs, ...backward.outputs],
  };
}

export interface WithTangent {
  (...args: unknown[]): unknown;
  /** `rule(primals, tangents)` returns [result, its tangent]. */
  defjvp(rule: (primals: readonly unknown[], tangents: readonly unknown[]) => readonly [unknown, unknown]): void;
}

/** A function whose forward mode, and by transposing it also reverse mode, is given by `defjvp`. */
export function customJvp(f: Call): WithTangent {
  functionArg('customJvp', 'its function', f);
  let rule: ((primals: readonly unknown[], tangents: readonly unknown[]) => readonly [unknown, unknown]) | undefined;
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
        const tangent = trace(
          `${nameOf(f)} tangent`,
          (leaves) => {
            const primals = leaves.slice(0, avals.length);
            let next = avals.length;
            const moving = primals.map((x) => (isFloat(x.dtype) ? leaves[next++]! : x.zerosLike()));
            const [out, outTangent] = own(withLeaves(primals), withLeaves(moving));
            return [...leavesOf(out, 'result').values, ...leavesOf(outTangent, 'tangent').values];
          },
          [...avals, ...floats],
        );
        const { constants, bodies } = closeTogether([body, tangent]);
        const withIdle = idleTangents(bodies[1]!, constants, avals.length);
        return applyAll(ownTangentEntry, [...constants, ...operands], { body: bodies[0] as Program, tangent: withIdle as Program });
      },
      values,
    );
    return rebuild(result!, outputs);
  };
  return Object.assign(named(nameOf(f), call), {
    defjvp: (given: typeof rule) => {
      rule = given;
    },
  });
}

/** The tangent body also takes tangents of captured constants, and ignores them. */
function idleTangents(body: ReturnType<typeof trace>, constants: readonly Value[], primals: number): ReturnType<typeof trace> {
  const lead = constants.length + primals;
  const idle = constants.filter((x) => isFloat(x.dtype)).map((x) => ({ aval: knownAvalOf(x) }));
  return { ...body, inputs: [...body.inputs.slice(0, lead), ...idle, ...body.inputs.slice(lead)] };
}
