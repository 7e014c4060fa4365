/**
 * Control flow for users: `scan`, `foriLoop`, `whileLoop`, `cond`, `switch`, `map`, `associativeScan`.
 *
 * Bodies are traced once, closed over what they read, and become one equation. Depends on: core, ops, control, trace.
 */
import { type KnownAval } from '../core/aval.ts';
import { isFloat } from '../core/dtype.ts';
import { argumentWrong, describe, functionArg } from '../core/errors.ts';
import { axisOf } from '../ops/family.ts';
import { countArg, listArg, optionsOf } from '../ops/options.ts';
import { flatten, leafPaths, printStructure, rebuild, type Structure } from '../core/tree.ts';
import { composed, lift, type ArrayLike } from '../ops/apply.ts';
import { sliceAlong } from '../ops/shape.ts';
import type { Value } from '../ops/value.ts';
import { checkCarry, closeTogether, sliceOf } from '../control/bodies.ts';
import { runChoice } from '../control/choice.ts';
import { runLoop } from '../control/loop.ts';
import { runWhile } from '../control/while.ts';
import type { TracedProgram } from '../ir/eval.ts';
import { asValue, asWhole, knownAvalOf, trace } from '../trace/trace.ts';
import { concatenate, flip } from './shaping.ts';
import { vmap } from './transforms.ts';

interface Leaves {
  readonly values: readonly Value[];
  readonly structure: Structure;
  readonly paths: readonly string[];
}
function leavesOf(tree: unknown, root: string): Leaves {
  const flat = flatten(tree);
  const paths = leafPaths(flat.structure, root);
  return { values: flat.leaves.map((leaf, k) => asValue(leaf, paths[k]!)), structure: flat.structure, paths };
}

/** A carry is strongly typed: what came from a number takes the dtype that the body gives it. */
function settledCarry(
  operation: string,
  init: Leaves,
  traceWith: (avals: readonly KnownAval[]) => TracedProgram,
): { readonly program: TracedProgram; readonly init: readonly Value[] } {
  let values = init.values.map((x) => (x.aval.weak || 'literal' in x ? x.astype(x.dtype) : x));
  for (let attempt = 0; ; attempt++) {
    const program = traceWith(values.map((x) => strong(knownAvalOf(x))));
    const after = program.outputs.slice(0, values.length).map((atom) => atom.aval);
    const changed = values.map(
      (x, k) =>
        init.values[k]!.aval.weak === true &&
        after[k] !== undefined &&
        after[k].dtype !== x.dtype &&
        (isFloat(after[k].dtype) || !isFloat(x.dtype)),
    );
    if (attempt > 0 || !changed.includes(true)) {
      checkCarry(operation, values.map(knownAvalOf), after, init.paths);
      return { program, init: values };
    }
    values = values.map((x, k) => (changed[k] ? x.astype(after[k]!.dtype) : x));
  }
}
const strong = ({ shape, dtype }: KnownAval): KnownAval => ({ shape, dtype });

export interface ScanOptions {
  readonly reverse?: boolean;
  readonly length?: number;
}
/**
 * Runs `f(carry, x)` over the leading axis of `xs`: [last carry, results stacked]. The carry is updated in place. In reverse
 * mode what the body needs again is stacked, rows times its bytes; `checkpoint` the body to keep carries only.
 */
export function scan<C, X, Y>(f: (carry: C, x: X) => [C, Y], init: C, xs: X, lengthOrOptions?: number | ScanOptions): [C, Y] {
  functionArg('scan', 'its body', f);
  const options: ScanOptions =
    typeof lengthOrOptions === 'number'
      ? { length: lengthOrOptions }
      : optionsOf<ScanOptions>('scan', lengthOrOptions, { reverse: false, length: undefined } as unknown as ScanOptions);
  const start = leavesOf(init, 'carry');
  const sequences = leavesOf(xs, 'xs');
  const lengths = sequences.values.map((x) => x.shape[0]);
  const length = lengths[0] ?? options.length;
  if (length === undefined) throw argumentWrong('scan', 'no xs', 'give it a length: scan(f, init, undefined, 10)');
  countArg('scan', 'length', length);
  const other = lengths.findIndex((own) => own !== length);
  if (other >= 0 || (options.length !== undefined && options.length !== length))
    throw argumentWrong(
      'scan',
      `${length} rows in ${sequences.paths[0] ?? 'xs'} and ${other >= 0 ? `${String(lengths[other])} in ${sequences.paths[other]!}` : `length ${options.length!}`}`,
      'all sequences have to be of one length',
    );
  let result: Structure | undefined;
  const outputs = asWhole(
    f.name || 'scan',
    (operands) => {
      const own = operands.slice(0, start.values.length);
      const { program, init: settled } = settledCarry('scan', { ...start, values: own }, (carryAvals) =>
        trace(
          f.name || 'scan',
          (inputs) => {
            const pair: unknown = f(
              rebuild(start.structure, inputs.slice(0, carryAvals.length)) as C,
              rebuild(sequences.structure, inputs.slice(carryAvals.length)) as X,
            );
            if (!Array.isArray(pair) || pair.length !== 2)
              throw argumentWrong('scan', `a body that returns ${describe(pair)}`, 'return [the next carry, the result of this row]');
            const [next, out] = pair as [C, Y];
            const carried = leavesOf(next, 'carry');
            if (printStructure(carried.structure) !== printStructure(start.structure))
              throw argumentWrong(
                'scan',
                `a body that turns a carry ${printStructure(start.structure)} into ${printStructure(carried.structure)}`,
                'the carry keeps its form',
              );
            const put = leavesOf(out, 'result');
            result = put.structure;
            return [...carried.values.map((x, k) => (x.aval.weak || 'literal' in x ? x.astype(carryAvals[k]!.dtype) : x)), ...put.values];
          },
          [...carryAvals, ...sequences.values.map((x) => sliceOf(knownAvalOf(x)))],
        ),
      );
      const { constants, bodies } = closeTogether([program]);
      return runLoop([...constants, ...settled, ...operands.slice(start.values.length)], {
        body: bodies[0]!,
        length,
        constants: constants.length,
        carries: settled.length,
        reverse: options.reverse ?? false,
      });
    },
    [...start.values, ...sequences.values],
  );
  return [rebuild(start.structure, outputs.slice(0, start.values.length)) as C, rebuild(result!, outputs.slice(start.values.length)) as Y];
}

/** Runs `body(i, carry)` for i from lower to below upper. With numbers as bounds it has a gradient. */
export function foriLoop<C>(lower: number | Value, upper: number | Value, body: (i: Value, carry: C) => C, init: C): C {
  functionArg('foriLoop', 'its body', body);
  if (typeof lower === 'number' && typeof upper === 'number') {
    countArg('foriLoop', 'lower', lower, -Infinity);
    countArg('foriLoop', 'upper', upper, -Infinity);
    const from = lift(lower).astype('int32');
    const [[, last]] = scan<[Value, C], undefined, undefined>(
      named(body.name, ([i, carry]) => [[i.add(1), body(i, carry)], undefined]),
      [from, init],
      undefined,
      Math.max(0, upper - lower),
    );
    return last;
  }
  const [, last] = whileLoop<[Value, C]>(
    ([i]) => i.less(upper),
    ([i, carry]) => [i.add(1), body(i, carry)],
    [lift(lower).astype('int32'), init],
  );
  return last;
}
const named = <F extends (...args: never[]) => unknown>(name: string, f: F): F =>
  Object.defineProperty(f, 'name', { value: name || 'foriLoop' });

/** Runs the body while the condition holds. It has tangents, and no gradient. */
export function whileLoop<C>(condition: (carry: C) => Value | boolean, body: (carry: C) => C, init: C): C {
  functionArg('whileLoop', 'its condition', condition);
  functionArg('whileLoop', 'its body', body);
  const start = leavesOf(init, 'carry');
  const outputs = asWhole(
    body.name || 'whileLoop',
    (operands) => {
      const { program, init: settled } = settledCarry('whileLoop', { ...start, values: operands }, (avals) =>
        trace(
          body.name || 'body',
          (inputs) => {
            const next = leavesOf(body(rebuild(start.structure, inputs) as C), 'carry');
            return next.values.map((x, k) => (x.aval.weak || 'literal' in x ? x.astype(avals[k]!.dtype) : x));
          },
          avals,
        ),
      );
      const test = trace(
        condition.name || 'condition',
        (inputs) => {
          const verdict = asValue(condition(rebuild(start.structure, inputs) as C), 'condition');
          if (verdict.ndim !== 0)
            throw argumentWrong(
              'whileLoop',
              `${describe(verdict)} from its condition`,
              'a condition is a single bool: reduce it with all() or any()',
            );
          return [verdict.dtype === 'bool' ? verdict : verdict.notEqual(0)];
        },
        settled.map(knownAvalOf).map(strong),
      );
      const [conditionPart, bodyPart] = [closeTogether([test]), closeTogether([program])];
      return runWhile([...conditionPart.constants, ...bodyPart.constants, ...settled], {
        condition: conditionPart.bodies[0]!,
        conditionConstants: conditionPart.constants.length,
        body: bodyPart.bodies[0]!,
        bodyConstants: bodyPart.constants.length,
      });
    },
    start.values,
  );
  return rebuild(start.structure, outputs) as C;
}

/** Traces each branch on the same operands and makes their results agree. */
function chosen<A extends unknown[], R>(index: Value, branches: readonly ((...operands: A) => R)[], args: A): R {
  const own = leavesOf(args, 'operand');
  let result: Structure | undefined;
  const outputs = asWhole(
    'cond',
    ([which, ...operands]) => {
      const programs = branches.map((branch) =>
        trace(
          branch.name || 'branch',
          (inputs) => {
            const out = leavesOf(branch(...(rebuild(own.structure, inputs) as A)), 'result');
            if (result !== undefined && printStructure(result) !== printStructure(out.structure))
              throw argumentWrong(
                'cond',
                `branches that return ${printStructure(result)} and ${printStructure(out.structure)}`,
                'all branches return trees of one form',
              );
            result = out.structure;
            return out.values.map((x) => (x.aval.weak || 'literal' in x ? x.astype(x.dtype) : x));
          },
          own.values.map(knownAvalOf),
        ),
      );
      const { constants, bodies } = closeTogether(programs);
      return runChoice(which!, [...constants, ...operands], bodies);
    },
    [index, ...own.values],
  );
  return rebuild(result!, outputs) as R;
}

/** The result of one of two functions; only that one runs. */
export function cond<A extends unknown[], R>(
  condition: ArrayLike,
  whenTrue: (...operands: A) => R,
  whenFalse: (...operands: A) => R,
  ...operands: A
): R {
  functionArg('cond', 'the branch for true', whenTrue);
  functionArg('cond', 'the branch for false', whenFalse);
  if (typeof condition === 'boolean') return condition ? whenTrue(...operands) : whenFalse(...operands);
  return chosen(branchNumber(condition), [whenFalse, whenTrue], operands);
}
const branchNumber = composed('condition', (condition: ArrayLike): Value => {
  const verdict = lift(condition);
  if (verdict.size !== 1)
    throw argumentWrong(
      'cond',
      `${describe(verdict)} as its condition`,
      'a condition is a single bool: reduce it with all() or any(), or choose by element with np.where',
    );
  return (verdict.dtype === 'bool' ? verdict : verdict.notEqual(0)).astype('int32').reshape([]);
});
/** The result of the branch at `index`, which is cut off at the ends. */
export function switchBranch<A extends unknown[], R>(index: ArrayLike, branches: readonly ((...operands: A) => R)[], ...operands: A): R {
  if (listArg('switch', branches).length === 0) throw argumentWrong('switch', 'no branches', 'give it a list of functions');
  branches.forEach((branch, k) => {
    functionArg('switch', `branch ${k}`, branch);
  });
  if (typeof index === 'number') return branches[Math.max(0, Math.min(branches.length - 1, index))]!(...operands);
  return chosen(lift(index).astype('int32').reshape([]), branches, operands);
}
export { switchBranch as switch };

/** `f` of each row, one after another; with `batchSize` so many at a time: memory of one batch instead of all. */
export function map<X, Y>(f: (x: X) => Y, xs: X, options: { readonly batchSize?: number } = {}): Y {
  return composed('map', mapRows<X, Y>)(f, xs, options);
}
function mapRows<X, Y>(f: (x: X) => Y, xs: X, options: { readonly batchSize?: number }): Y {
  functionArg('map', 'its function', f);
  const own = leavesOf(xs, 'xs');
  const length = own.values[0]?.shape[0];
  if (length === undefined)
    throw argumentWrong(
      'map',
      `${own.values[0] === undefined ? 'no arrays' : describe(own.values[0])}`,
      'it goes along the first axis of arrays',
    );
  const { batchSize: size } = optionsOf('map', options, { batchSize: undefined as number | undefined });
  if (size !== undefined) countArg('map', 'batchSize', size, 1);
  if (size === undefined)
    return scan<undefined, X, Y>(
      named(f.name || 'map', (_, x) => [undefined, f(x)]),
      undefined,
      xs,
    )[1];
  const whole = Math.floor(length / size);
  const part = (start: number, stop: number): X =>
    rebuild(
      own.structure,
      own.values.map((x) => sliceAlong(x, 0, start, stop)),
    ) as X;
  const rows = (batch: X): Y => vmap(f as never)(batch) as Y;
  const results: Y[] = [];
  if (whole > 0) {
    const blocks = rebuild(
      own.structure,
      own.values.map((x) => sliceAlong(x, 0, 0, whole * size).reshape([whole, size, ...x.shape.slice(1)])),
    ) as X;
    const stackedRows = scan<undefined, X, Y>(
      named(f.name || 'map', (_, x) => [undefined, rows(x)]),
      undefined,
      blocks,
    )[1];
    const flat = flatten(stackedRows);
    results.push(
      rebuild(
        flat.structure,
        flat.leaves.map((x) => (x as Value).reshape([whole * size, ...(x as Value).shape.slice(2)])),
      ) as Y,
    );
  }
  if (whole * size < length) results.push(rows(part(whole * size, length)));
  if (results.length === 1) return results[0]!;
  const flats = results.map((tree) => flatten(tree));
  return rebuild(
    flats[0]!.structure,
    flats[0]!.leaves.map((_, k) =>
      concatenate(
        flats.map((flat) => flat.leaves[k] as Value),
        0,
      ),
    ),
  ) as Y;
}

/** All prefixes combined by an associative function, in log2(n) steps. */
export function associativeScan<X>(
  f: (a: X, b: X) => X,
  elements: X,
  options: { readonly reverse?: boolean; readonly axis?: number } = {},
): X {
  return composed('associativeScan', prefixes<X>)(f, elements, options);
}
function prefixes<X>(f: (a: X, b: X) => X, elements: X, options: { readonly reverse?: boolean; readonly axis?: number }): X {
  functionArg('associativeScan', 'its function', f);
  const own = leavesOf(elements, 'elements');
  const { axis: given, reverse } = optionsOf('associativeScan', options, { reverse: false, axis: 0 });
  const [first] = own.values;
  if (first === undefined) throw argumentWrong('associativeScan', 'no arrays', 'the function comes first, then the arrays');
  const axis = axisOf('associativeScan', given, first.aval);
  const n = first.shape[axis]!;
  const turn = (list: readonly Value[]): readonly Value[] => (reverse ? list.map((x) => flip(x, axis)) : list);
  let running = turn(own.values);
  for (let distance = 1; distance < n; distance *= 2) {
    const earlier = running.map((x) => sliceAlong(x, axis, 0, n - distance));
    const later = running.map((x) => sliceAlong(x, axis, distance, n));
    const combined = leavesOf(f(rebuild(own.structure, earlier) as X, rebuild(own.structure, later) as X), 'result').values;
    running = running.map((x, k) => concatenate([sliceAlong(x, axis, 0, distance), combined[k]!], axis));
  }
  return rebuild(own.structure, turn(running)) as X;
}
