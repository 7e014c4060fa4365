/**
 * What `pmap` runs: a function over the lanes of a leading axis.
 *
 * One lane is the function itself, without the axis and without collectives, so that nothing stands between its
 * products and what is done with them. Several lanes are rows of a batch. Depends on: core, ops, trace, transforms.
 */
import { currentInterpreter, under } from '../core/interpreter.ts';
import { flatten, rebuild } from '../core/tree.ts';
import { lift } from '../ops/apply.ts';
import { Value } from '../ops/value.ts';
import { named, nameOf, overRows, type Call } from './transforms.ts';

/** `f` for every lane; arrays have the lanes in front, everything else is passed to all of them. */
export function overLanes(f: Call, axisName?: string): Call {
  return named(nameOf(f), (...args: unknown[]) => {
    const lanes = flatten(args).leaves.find((leaf): leaf is Value => leaf instanceof Value && leaf.ndim > 0)?.shape[0];
    if (lanes !== 1) return overRows(f, { inAxes: 0, ...(axisName === undefined ? {} : { axisName }) }, args, 'pmap');
    const result = flatten(
      withAxis(axisName, () => f(...(mapped(args, (x) => (x.ndim === 0 ? x : x.reshape(x.shape.slice(1)))) as unknown[]))),
    );
    return rebuild(
      result.structure,
      result.leaves.map((leaf) => (leaf instanceof Value || typeof leaf === 'number' ? withLane(lift(leaf)) : leaf)),
    );
  });
}

const withLane = (x: Value): Value => x.reshape([1, ...x.shape]);

function mapped(tree: unknown, change: (x: Value) => Value): unknown {
  const { structure, leaves } = flatten(tree);
  return rebuild(
    structure,
    leaves.map((leaf) => (leaf instanceof Value ? change(leaf) : leaf)),
  );
}

function withAxis<T>(axisName: string | undefined, run: () => T): T {
  if (axisName === undefined) return run();
  const interpreter = currentInterpreter();
  return under({ ...interpreter, axes: new Map([...(interpreter.axes ?? []), [axisName, 1]]) }, run);
}
