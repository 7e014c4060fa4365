/**
 * Four elements at a time, as a rewriting of expressions.
 *
 * `inFours` cuts an innermost reduction into four running values, so that what it reads side by side is read as one
 * vector. `fourLanes` writes the expressions of elements 4q … 4q + 3 of the last axis: what is the same for all four is
 * shared, what lies side by side is one vector and its components, a loop is one loop with four states.
 * Depends on: core, ops, affine, scalar-walk.
 */
import { added, int, scaled } from '../ops/arithmetic.ts';
import { coordinate, type Scalar, type ScalarFunction } from '../ops/scalar.ts';
import { affineOf, factorOf, scalarOf, type Affine, type Bounds } from './affine.ts';
import { mapScalar, rebuilt, visit } from './scalar-walk.ts';

type Loop = Extract<Scalar, { kind: 'loop' }>;
type Load = Extract<Scalar, { kind: 'load' }>;

/** Second index of a load that reads a vector: position counts fours then. */
const vectorMark = int(4);

const component = (lane: number): ScalarFunction => ({
  name: `component ${lane}`,
  wgsl: ([vector]) => `${vector!}.${'xyzw'[lane]!}`,
  host: (x) => x,
  flops: 0,
});
const components = [0, 1, 2, 3].map(component);

const isVector = (load: Load): boolean => load.index.length > 1;

interface Vectors {
  readonly bounds: Bounds;
  readonly known: Map<string, Scalar>;
  /** Expressions whose reductions were cut: what results of a kernel have in common stays so. */
  readonly folded: Map<Scalar, Scalar>;
}

export const makeVectors = (bounds: Bounds): Vectors => ({ bounds, known: new Map(), folded: new Map() });

/** The vector that holds the element at `position`, when `key` moves along it with stride 1 and all else in steps of 4. */
function vectorAt(load: Load, affine: Affine, key: string, quarter: Scalar, { bounds, known }: Vectors): Scalar | undefined {
  const others = affine.terms.filter((term) => term.key !== key);
  if (affine.constant % 4 !== 0 || others.some(({ factor }) => factor % 4 !== 0)) return undefined;
  const start = scalarOf({ constant: affine.constant / 4, terms: others.map((term) => ({ ...term, factor: term.factor / 4 })) });
  const position = added(start, quarter);
  const name = `${load.operand}@${bounds.keys.of(position)}`;
  const vector: Scalar = known.get(name) ?? { kind: 'load', operand: load.operand, index: [position, vectorMark], dtype: load.dtype };
  known.set(name, vector);
  return vector;
}

/** Reductions over a multiple of four elements that lie side by side. `vectors` absent: elements are read one by one. */
export function inFours(scalar: Scalar, vectors: Vectors, readVectors: boolean): Scalar {
  return mapScalar(scalar, (one) => (one.kind === 'loop' ? fold(one, vectors, readVectors) : one), vectors.folded);
}

function fold(loop: Loop, vectors: Vectors, readVectors: boolean): Scalar {
  const { extent, neutral, state } = loop;
  const { bounds } = vectors;
  if (neutral === undefined || extent.kind !== 'constant' || extent.value % 4 !== 0 || extent.value < 8 || state.length !== 1) return loop;
  const { variable, dtype, initial, next } = state[0]!;
  if (next.kind !== 'apply' || loop.result.kind !== 'variable') return loop;
  const element = next.operands[1]!;
  const counter: Scalar = { kind: 'variable', variable: loop.counter, dtype: 'int32' };
  const key = bounds.keys.of(counter);
  if (!readsAlong(element, key, bounds)) return loop;
  const quarter = Symbol('quarter');
  bounds.counters.set(quarter, extent.value / 4);
  const quarterScalar: Scalar = { kind: 'variable', variable: quarter, dtype: 'int32' };
  const first = scaled(quarterScalar, int(4));
  const lanes = [0, 1, 2, 3].map((lane) => {
    const at = added(first, int(lane));
    const memo = new Map<Scalar, Scalar>();
    const substitute = (whole: Scalar): Scalar =>
      mapScalar(whole, (one) => (one.kind === 'variable' && one.variable === loop.counter ? at : one), memo);
    return replaceLoads(
      element,
      (load) => {
        const affine = affineOf(load.index[0]!, bounds);
        if (readVectors && factorOf(affine, key) === 1) {
          const vector = vectorAt(load, affine, key, quarterScalar, vectors);
          if (vector !== undefined) return { kind: 'apply', apply: components[lane]!, operands: [vector], dtype: load.dtype };
        }
        return substitute(load);
      },
      substitute,
    );
  });
  const variables = lanes.map((_, lane) => (lane === 0 ? variable : Symbol('part')));
  const part = (lane: number): Scalar => ({ kind: 'variable', variable: variables[lane]!, dtype });
  const combined = (a: Scalar, b: Scalar): Scalar => ({ kind: 'apply', apply: next.apply, operands: [a, b], dtype });
  return {
    kind: 'loop',
    counter: quarter,
    extent: int(extent.value / 4),
    state: lanes.map((lane, i) => ({
      variable: variables[i]!,
      dtype,
      initial: i === 0 ? initial : neutral,
      next: combined(part(i), lane),
    })),
    result: combined(combined(part(0), part(1)), combined(part(2), part(3))),
    dtype,
  };
}

function readsAlong(scalar: Scalar, key: string, bounds: Bounds): boolean {
  let along = false;
  visit([scalar], (one) => {
    if (one.kind === 'load' && !isVector(one) && factorOf(affineOf(one.index[0]!, bounds), key) === 1) along = true;
  });
  return along;
}

/** Replaces loads as they are, before anything inside them is, and then the rest; what doesn't change stays one node. */
function replaceLoads(scalar: Scalar, replace: (load: Load) => Scalar, others: (one: Scalar) => Scalar): Scalar {
  const placeholders = new Map<symbol, Scalar>();
  const held = mapTop(scalar, (one) => {
    if (one.kind !== 'load') return undefined;
    const replaced = isVector(one) ? one : replace(one);
    if (replaced === one) return one;
    const variable = Symbol('load');
    placeholders.set(variable, replaced);
    return { kind: 'variable', variable, dtype: one.dtype };
  });
  return mapScalar(others(held), (one) => (one.kind === 'variable' ? (placeholders.get(one.variable) ?? one) : one));
}

/** From the root down: where `change` gives something, what is below it is not looked at. */
function mapTop(scalar: Scalar, change: (one: Scalar) => Scalar | undefined, memo = new Map<Scalar, Scalar>()): Scalar {
  const known = memo.get(scalar);
  if (known !== undefined) return known;
  const made = change(scalar) ?? rebuilt(scalar, (one) => mapTop(one, change, memo));
  memo.set(scalar, made);
  return made;
}

/**
 * For each expression those of elements 4q … 4q + 3 along `axis`, whose coordinate counts q now; undefined when loops
 * differ. A loop that several of them hold is one. `perLane` is a variable that holds a vector of four.
 */
export function fourLanes(
  scalars: readonly Scalar[],
  axis: number,
  vectors: Vectors,
  perLane?: symbol,
): readonly (readonly [Scalar, Scalar, Scalar, Scalar])[] | undefined {
  const { bounds } = vectors;
  const own = coordinate(axis);
  const key = bounds.keys.of(own);
  const varies = new Map<Scalar, boolean>();
  const variants = new Set<symbol>();
  const joint = new Map<Loop, Loop['state']>();
  const laneVariables = new Map<symbol, readonly symbol[]>();
  const memo = [0, 1, 2, 3].map(() => new Map<Scalar, Scalar>());
  let possible = true;
  const partsOf = (one: Scalar): readonly Scalar[] =>
    one.kind === 'apply'
      ? one.operands
      : one.kind === 'load'
        ? one.index
        : one.kind === 'choose'
          ? [one.condition, one.then, one.otherwise]
          : one.kind === 'loop'
            ? [one.extent, one.result, ...one.state.flatMap(({ initial, next }) => [initial, next])]
            : [];
  const isVaried = (one: Scalar): boolean => {
    const known = varies.get(one);
    if (known !== undefined) return known;
    if (one.kind === 'loop' && isVariedLoop(one)) for (const { variable } of one.state) variants.add(variable);
    const result =
      one.kind === 'coordinate'
        ? one.axis === axis
        : one.kind === 'variable'
          ? one.variable === perLane || variants.has(one.variable)
          : partsOf(one).some(isVaried);
    varies.set(one, result);
    return result;
  };
  /** Before its states are known to vary: does anything in it? */
  const isVariedLoop = (loop: Loop): boolean => {
    let found = false;
    visit(
      [loop],
      (one) =>
        (found ||=
          (one.kind === 'coordinate' && one.axis === axis) ||
          (one.kind === 'variable' && (one.variable === perLane || variants.has(one.variable)))),
    );
    return found;
  };
  const lane = (one: Scalar, j: number): Scalar => {
    if (!isVaried(one)) return one;
    const known = memo[j]!.get(one);
    if (known !== undefined) return known;
    const made = fresh(one, j);
    memo[j]!.set(one, made);
    return made;
  };
  const fresh = (one: Scalar, j: number): Scalar => {
    switch (one.kind) {
      case 'constant':
        return one;
      case 'coordinate':
        return added(scaled(own, int(4)), int(j));
      case 'variable':
        if (one.variable === perLane) return { kind: 'apply', apply: components[j]!, operands: [one], dtype: one.dtype };
        return { ...one, variable: laneVariables.get(one.variable)![j]! };
      case 'load': {
        if (!isVector(one)) {
          const affine = affineOf(one.index[0]!, bounds);
          const vector =
            factorOf(affine, key) === 1 && !affine.terms.some((term) => term.key !== key && isVaried(term.atom))
              ? vectorAt(one, affine, key, own, vectors)
              : undefined;
          if (vector !== undefined) return { kind: 'apply', apply: components[j]!, operands: [vector], dtype: one.dtype };
        }
        return { ...one, index: one.index.map((part) => lane(part, j)) };
      }
      case 'apply':
        return { ...one, operands: one.operands.map((part) => lane(part, j)) };
      case 'choose':
        return { ...one, condition: lane(one.condition, j), then: lane(one.then, j), otherwise: lane(one.otherwise, j) };
      case 'loop': {
        if (isVaried(one.extent)) possible = false;
        let state = joint.get(one);
        if (state === undefined) {
          // Copies of one loop have its variables, and expressions of it in common: their lanes are the same too.
          for (const { variable } of one.state)
            if (!laneVariables.has(variable))
              laneVariables.set(
                variable,
                [0, 1, 2, 3].map(() => Symbol('lane')),
              );
          state = one.state.flatMap(({ variable, dtype, initial, next }) =>
            laneVariables.get(variable)!.map((symbol, k) => ({ variable: symbol, dtype, initial: lane(initial, k), next: lane(next, k) })),
          );
          joint.set(one, state);
        }
        const { neutral: _neutral, ...rest } = one;
        return { ...rest, state, result: lane(one.result, j) };
      }
    }
  };
  const lanes = scalars.map((scalar) => [lane(scalar, 0), lane(scalar, 1), lane(scalar, 2), lane(scalar, 3)] as const);
  return possible ? lanes : undefined;
}

/** How many nodes an expression has. */
export function nodesIn(scalars: readonly Scalar[]): number {
  let count = 0;
  visit(scalars, () => count++);
  return count;
}
