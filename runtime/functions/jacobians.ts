/**
 * All partial derivatives of a function of trees: `jacfwd`, `jacrev`, `hessian`.
 *
 * The linear program of a function is run on a batch of unit vectors, leaf by leaf: those of an argument's leaf in forward
 * mode, those of a result's leaf in reverse mode. Depends on: core, ops, trace, transforms.
 */
import type { KnownAval } from '../core/aval.ts';
import { isFloat } from '../core/dtype.ts';
import { argumentWrong } from '../core/errors.ts';
import { leafCount, printStructure, rebuild, type Structure } from '../core/tree.ts';
import { full, iota } from '../ops/shape.ts';
import type { Value } from '../ops/value.ts';
import { asWhole, knownAvalOf, runProgram } from '../trace/trace.ts';
import { batchProgram, withAxisAt } from '../transforms/batch.ts';
import { zeros } from '../transforms/grad.ts';
import { residualValues, splitBackward, splitForward, type Split } from '../transforms/linearize.ts';
import {
  argumentName,
  choose,
  closedProgram,
  floatsOnly,
  gradOptions,
  named,
  nameOf,
  oneOrAll,
  positionsOf,
  type Call,
  type GradOptions,
} from './transforms.ts';

type Mode = 'jacfwd' | 'jacrev';

/** All partial derivatives, by forward mode: good for few inputs. For each result leaf a tree of the argument's form; shape: result's, then argument's. */
export const jacfwd = (f: Call, options: GradOptions = {}): Call => derivatives(f, options, 'jacfwd', forwardRows);
/** All partial derivatives, by reverse mode: good for few results. */
export const jacrev = (f: Call, options: GradOptions = {}): Call => derivatives(f, options, 'jacrev', reverseRows);
/** Second derivatives. */
export const hessian = (f: Call, options: GradOptions = {}): Call => jacfwd(jacrev(f, options), options);

/** Derivatives of each result, by each operand. */
type Rows = (
  program: ReturnType<typeof closedProgram>['program'],
  constants: readonly Value[],
  operands: readonly Value[],
  count: number,
) => { readonly rows: readonly (readonly Value[])[]; readonly results: readonly Value[] };

function derivatives(f: Call, given: GradOptions, mode: Mode, rowsOf: Rows): Call {
  const options = gradOptions(mode, f, given);
  return named(`${mode} ${nameOf(f)}`, (...args) => {
    const operation = `${mode} of ${nameOf(f)}`;
    const positions = positionsOf(operation, options.argnums ?? 0, args);
    const chosen = choose(args, positions, argumentName);
    floatsOnly(`${mode} of \`${nameOf(f)}\``, chosen);
    let result: { readonly out: Structure; readonly aux: Structure | undefined } | undefined;
    const outputs = asWhole(
      `${mode} ${nameOf(f)}`,
      (operands) => {
        const { program, constants, result: whole } = closedProgram(f, chosen);
        result = parts(operation, whole, options);
        const count = leafCount(result.out);
        program.outputs.slice(0, count).forEach(({ aval }) => {
          if (!isFloat(aval.dtype))
            throw argumentWrong(operation, `a result of ${aval.dtype}`, 'only floats have derivatives: pass it on with hasAux');
        });
        const { rows, results } = rowsOf(program, constants, operands, count);
        return [...rows.flat(), ...results.slice(count)];
      },
      chosen.values,
    );
    const width = chosen.values.length;
    const { out, aux } = result!;
    const count = leafCount(out);
    const trees = Array.from({ length: count }, (_, k) => {
      const own = chosen.withLeaves(outputs.slice(k * width, (k + 1) * width));
      return oneOrAll(
        positions.map((position) => own[position]),
        options,
      );
    });
    const derivative = rebuild(out, trees);
    return aux === undefined ? derivative : [derivative, rebuild(aux, outputs.slice(count * width))];
  });
}

function parts(operation: string, whole: Structure, options: GradOptions) {
  if (!options.hasAux) return { out: whole, aux: undefined };
  if (whole.kind !== 'list' || whole.items.length !== 2)
    throw argumentWrong(operation, `a function that returns ${printStructure(whole)}`, 'with hasAux it returns [result, rest]');
  return { out: whole.items[0]!, aux: whole.items[1]! };
}

/** Rows of the identity in the shape of `x`: one direction per element. */
const directions = (x: KnownAval): Value => {
  const count = countOf(x);
  return iota([count, count], 0, 'int32')
    .equal(iota([count, count], 1, 'int32'))
    .astype(x.dtype)
    .reshape([count, ...x.shape]);
};
const countOf = (x: KnownAval): number => x.shape.reduce((a, b) => a * b, 1);

/** Runs the linear program along the unit vectors of its moving input `which`; batch axis in front. */
function along(linear: Split['linear'], residuals: readonly Value[], moving: readonly KnownAval[], which: number): readonly Value[] {
  const size = countOf(moving[which]!);
  const { results, axes } = batchProgram(
    linear,
    [...residuals, ...moving.map((aval, k) => (k === which ? directions(aval) : zeros(aval)))],
    [...residuals.map(() => undefined), ...moving.map((_, k) => (k === which ? 0 : undefined))],
    size,
  );
  return results.map((y, k) => withAxisAt(y, axes[k], 0, size));
}

const forwardRows: Rows = (program, constants, operands, count) => {
  const split = splitForward(program, [...constants.map(() => false), ...operands.map(() => true)]);
  const { residuals, results } = ran(split, [...constants, ...operands]);
  const moving = operands.map(knownAvalOf);
  const columns = moving.map((_, which) => along(split.linear, residuals, moving, which));
  const rows = results
    .slice(0, count)
    .map((_, k) =>
      columns.map((column, which) =>
        column[k]!.moveAxis(0, column[k]!.ndim - 1).reshape([...column[k]!.shape.slice(1), ...moving[which]!.shape]),
      ),
    );
  return { rows, results };
};

const reverseRows: Rows = (program, constants, operands, count) => {
  const split = splitBackward(program, [...constants.map(() => false), ...operands.map(() => true)]);
  const { residuals, results } = ran(split, [...constants, ...operands]);
  const movingResults = results.flatMap((y, k) => (split.moving[k] ? [{ k, aval: knownAvalOf(y) }] : []));
  const moving = movingResults.map(({ aval }) => aval);
  const rows = results.slice(0, count).map((y, k) => {
    const which = movingResults.findIndex((other) => other.k === k);
    if (which < 0) return operands.map((x) => full([...y.shape, ...x.shape], 0, x.dtype));
    return along(split.linear, residuals, moving, which).map((row, n) => row.reshape([...y.shape, ...operands[n]!.shape]));
  });
  return { rows, results };
};

function ran(split: Split, inputs: readonly Value[]): { readonly residuals: readonly Value[]; readonly results: readonly Value[] } {
  const outputs = runProgram(split.forward, inputs);
  return { results: outputs.slice(0, split.moving.length), residuals: residualValues(split.residuals, inputs, outputs) };
}
