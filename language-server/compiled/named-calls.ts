/**
 * Calls of compiled functions where sizes keep their names: planned with the values, told in the names.
 *
 * A plan is no polynomial, so the call is traced and planned as it will run. An output of the shape of one of the arguments has
 * that argument's names. What the call needs for a while is told as what its outputs and donated arguments come to, where
 * that is what the plan needs, and has no formula otherwise. Depends on: core (dim), jitted, ledger.
 */
import type { Aval } from '../../runtime/core/aval.ts';
import { isKnown, minus, named, plus, valueOf, type Dim } from '../../runtime/core/dim.ts';
import type { Arguments, TracedCall } from './jitted.ts';
import { allocated } from './ledger.ts';

export type Sizes = ReadonlyMap<string, number>;

/** The arguments with the values of their sizes; the same object where there is nothing to fill in. */
export function withValues(taken: Arguments, sizes: Sizes): Arguments {
  if (taken.leaves.every(({ aval }) => aval === undefined || aval.shape.every(isKnown))) return taken;
  return { ...taken, leaves: taken.leaves.map((leaf) => (leaf.aval === undefined ? leaf : { ...leaf, aval: filled(leaf.aval, sizes) })) };
}

const filled = (aval: Aval, sizes: Sizes): Aval => ({ ...aval, shape: aval.shape.map((dim) => valueOf(dim, sizes) ?? dim) });

/** Shapes by the names of the arguments that have them; one that two arguments name differently stays as it is. */
export function naming(taken: Arguments, sizes: Sizes): (aval: Aval) => Aval {
  const byValues = new Map<string, readonly Dim[] | undefined>();
  for (const { aval } of taken.leaves) {
    if (aval === undefined) continue;
    const key = filled(aval, sizes).shape.join();
    const known = byValues.get(key);
    const isSame = known === undefined || known.every((dim, i) => dimText(dim) === dimText(aval.shape[i]!));
    byValues.set(key, byValues.has(key) && (known === undefined || !isSame) ? undefined : aval.shape);
  }
  return (aval) => {
    const shape = byValues.get(aval.shape.join());
    return shape === undefined ? aval : { ...aval, shape };
  };
}

const dimText = (dim: Dim): string => (isKnown(dim) ? String(dim) : JSON.stringify([...dim.terms]));

/** Stands for bytes that have no formula: it has no value, so nothing that holds it is shown. */
const noFormula = named('no formula');
const tolerance = 1 / 1000;

/** What a plan needs on top of the arguments, by their names. */
export function namedBytes(bytes: Dim, { program }: TracedCall, taken: Arguments, sizes: Sizes): Dim {
  const name = naming(taken, sizes);
  const made = program.outputs.filter((output) => !program.inputs.some((input) => input === output));
  const outputs = made.reduce<Dim>((sum, { aval }) => plus(sum, allocated(name(aval))), 0);
  const donated = taken.leaves.reduce<Dim>(
    (sum, { aval, donated: how }) => (how === undefined || aval === undefined ? sum : plus(sum, allocated(aval))),
    0,
  );
  const least = taken.leaves.reduce((sum, { aval }) => sum + (aval === undefined ? 0 : (valueOf(allocated(aval), sizes) ?? 0)), 0);
  const near = (dim: Dim): boolean => Math.abs((valueOf(dim, sizes) ?? Infinity) - (valueOf(bytes, sizes) ?? 0)) <= least * tolerance;
  return [0, outputs, minus(outputs, donated)].find(near) ?? noFormula;
}
