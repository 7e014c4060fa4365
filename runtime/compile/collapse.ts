/**
 * Joins neighbouring axes of a kernel's iteration where nothing distinguishes them.
 *
 * An elementwise kernel over [1024,1024] is one over [1048576]: no quotients and rests to find coordinates, longer runs
 * that lie side by side. Two axes are joined when every index moves along the outer one exactly as far as along all of
 * the inner one, and neither is looked at in another way. Depends on: ops, affine, kernel-builder.
 */
import { linear } from '../ops/arithmetic.ts';
import { coordinate, type Scalar } from '../ops/scalar.ts';
import { affineOf, factorOf, scalarOf, type Affine, type Bounds } from './affine.ts';
import type { Written } from './kernel-builder.ts';
import { makeKeys } from './keys.ts';
import { mapScalar, visit } from './scalar-walk.ts';

export function collapsed(written: Written): Written {
  if (written.form.kind !== 'element') return written;
  const bounds: Bounds = { extents: written.extents, counters: countersOf(written), keys: makeKeys() };
  const indices = indicesOf(written, bounds);
  if (indices === undefined) return written;
  const { extents } = written;
  const real = extents.map((_, axis) => axis).filter((axis) => extents[axis]! !== 1);
  // runs[i]: axes that become one, outermost first.
  const runs: number[][] = [];
  for (const axis of real) {
    const run = runs.at(-1);
    if (run !== undefined && indices.every((index) => joins(index, run.at(-1)!, axis, extents[axis]!, bounds))) run.push(axis);
    else runs.push([axis]);
  }
  const joined = runs.map((run) => run.reduce((product, axis) => product * extents[axis]!, 1));
  if (joined.length === extents.length) return written;
  // What results have in common stays one node.
  const memo = new Map<Scalar, Scalar>();
  return {
    ...written,
    extents: joined,
    results: written.results.map((result) => ({ ...result, value: renamed(result.value, runs, bounds, memo) })),
  };
}

function countersOf({ results }: Written): Map<symbol, number> {
  const counters = new Map<symbol, number>();
  visit(
    results.map(({ value }) => value),
    (one) => {
      if (one.kind === 'loop' && one.extent.kind === 'constant') counters.set(one.counter, one.extent.value);
    },
  );
  return counters;
}

/** Normal forms of all indices and of the place written; undefined when a coordinate is used in any other way. */
function indicesOf({ results, extents }: Written, bounds: Bounds): readonly Affine[] | undefined {
  const inIndices = new Set<Scalar>();
  const found: Affine[] = [
    affineOf(
      linear(
        extents.map((_, axis) => coordinate(axis)),
        extents,
      ),
      bounds,
    ),
  ];
  let plain = true;
  const values = results.map(({ value }) => value);
  visit(values, (one) => {
    if (one.kind !== 'load') return;
    const affine = affineOf(one.index[0]!, bounds);
    found.push(affine);
    for (const { atom } of affine.terms) if (atom.kind !== 'coordinate' && mentionsCoordinate(atom)) plain = false;
    visit(one.index, (inner) => inIndices.add(inner));
  });
  visit(values, (one) => {
    const parts =
      one.kind === 'apply'
        ? one.operands
        : one.kind === 'choose'
          ? [one.condition, one.then, one.otherwise]
          : one.kind === 'loop'
            ? [one.extent, one.result, ...one.state.flatMap(({ initial, next }) => [initial, next])]
            : [];
    if (!inIndices.has(one) && parts.some(({ kind }) => kind === 'coordinate')) plain = false;
  });
  if (values.some(({ kind }) => kind === 'coordinate')) plain = false;
  return plain ? found : undefined;
}

function mentionsCoordinate(scalar: Scalar): boolean {
  let found = false;
  visit([scalar], (one) => (found ||= one.kind === 'coordinate'));
  return found;
}

const joins = (index: Affine, outer: number, inner: number, extent: number, { keys }: Bounds): boolean =>
  factorOf(index, keys.of(coordinate(outer))) === factorOf(index, keys.of(coordinate(inner))) * extent;

function renamed(value: Scalar, runs: readonly (readonly number[])[], bounds: Bounds, memo: Map<Scalar, Scalar>): Scalar {
  const rename = (one: Scalar): Scalar => {
    if (one.kind !== 'load') return one;
    const affine = affineOf(one.index[0]!, bounds);
    const others = affine.terms.filter(({ atom }) => atom.kind !== 'coordinate');
    const own = runs.flatMap((run, axis) => {
      const factor = factorOf(affine, bounds.keys.of(coordinate(run.at(-1)!)));
      return factor === 0 ? [] : [{ atom: coordinate(axis), key: `c${axis}`, factor }];
    });
    return { ...one, index: [scalarOf({ constant: affine.constant, terms: [...own, ...others] })] };
  };
  return mapScalar(value, rename, memo);
}
