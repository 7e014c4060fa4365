/**
 * Ops across a named axis (the lanes of `pmap`, or a `vmap` with a name): sums, extremes, gathering, the own index.
 *
 * Outside of such an axis they have no meaning; inside, the batching rule of that axis turns them into ordinary ops, so
 * no program that runs contains one. Depends on: core, family, reduce.
 */
import { currentInterpreter } from '../core/interpreter.ts';
import { axisNameUnknown } from '../core/errors.ts';
import type { Parameters } from '../core/program.ts';
import { apply, lift, type ArrayLike, type Entry } from './apply.ts';
import { borrows, callable } from './family.ts';
import { max, min, sum } from './reduce.ts';
import { iota } from './shape.ts';
import type { Value } from './value.ts';

const outsideOfAxis = (): never => {
  throw new Error('internal: collective: an op of a named axis was left in a program');
};

function collective(id: string, summary: string, over: (x: Value) => Value, gradient?: Entry['gradient']): Entry {
  const entry: Entry = {
    id,
    summary,
    infer: ([x]) => [x!],
    body: { kind: 'control', form: outsideOfAxis },
    effects: borrows,
    ...(gradient ? { gradient } : {}),
    tangent: (_p, [tangent], _o, parameters) => [tangent && apply(entry, [tangent], parameters)],
    batch: ([x], [axis], parameters, size, axisName) => {
      if (parameters['axisName'] !== axisName) return { results: [apply(entry, [x!], parameters)], axes: [axis] };
      const whole = axis === undefined ? x!.broadcastTo([size, ...x!.shape]) : x!.moveAxis(axis, 0);
      return { results: [over(whole)], axes: [undefined] };
    },
    flops: () => 1,
    overwrites: [],
  };
  return entry;
}

/** The size of the named axis in force, which has to exist. */
export function axisSize(axisName: string): number {
  const size = currentInterpreter().axes?.get(axisName);
  if (size === undefined) throw axisNameUnknown(axisName, [...(currentInterpreter().axes?.keys() ?? [])]);
  return size;
}

const acrossLanes = (entry: Entry) =>
  callable(entry, (x: ArrayLike, axisName: string): Value => {
    // Over one lane there is nothing to exchange.
    return axisSize(axisName) === 1 ? lift(x) : apply(entry, [lift(x)], { axisName });
  });

export const psumEntry: Entry = collective('psum', 'Sum over the lanes of a named axis.', (x) => sum(x, 0), {
  saves: 'nothing',
  rule: ([g], _s, parameters) => [apply(psumEntry, [g!], parameters)],
});
export const psum = acrossLanes(psumEntry);
export const pmax = acrossLanes(collective('pmax', 'Largest over the lanes of a named axis.', (x) => max(x, 0)));
export const pmin = acrossLanes(collective('pmin', 'Smallest over the lanes of a named axis.', (x) => min(x, 0)));
/** Mean over the lanes: the sum over their number. */
export const pmean = (x: ArrayLike, axisName: string): Value => psum(x, axisName).mul(1 / axisSize(axisName));

/** Parameters: { axisName, size }. */
export const allGatherEntry: Entry = {
  id: 'allGather',
  summary: 'The arrays of all lanes, stacked in front.',
  infer: ([x], { size }) => [{ ...x!, shape: [size as number, ...x!.shape] }],
  body: { kind: 'control', form: outsideOfAxis },
  effects: borrows,
  gradient: {
    saves: 'nothing',
    rule: ([g], _s, parameters) => [ownPart(apply(psumEntry, [g!], { axisName: parameters['axisName'] }), parameters)],
  },
  tangent: (_p, [tangent], _o, parameters) => [tangent && apply(allGatherEntry, [tangent], parameters)],
  batch: ([x], [axis], parameters, size, axisName) => {
    if (parameters['axisName'] !== axisName)
      return { results: [apply(allGatherEntry, [x!], parameters)], axes: [axis === undefined ? undefined : axis + 1] };
    return { results: [axis === undefined ? x!.broadcastTo([size, ...x!.shape]) : x!.moveAxis(axis, 0)], axes: [undefined] };
  },
  flops: () => 0,
  overwrites: [],
};
const ownPart = (x: Value, { axisName }: Parameters): Value => x.take(axisIndex(axisName as string), 0);
export const allGather = (x: ArrayLike, axisName: string): Value =>
  apply(allGatherEntry, [lift(x)], { axisName, size: axisSize(axisName) });

/** Parameters: { axisName }. */
export const axisIndexEntry: Entry = {
  id: 'axisIndex',
  summary: 'Which lane of a named axis this is.',
  infer: () => [{ shape: [], dtype: 'int32' }],
  body: { kind: 'control', form: outsideOfAxis },
  effects: borrows,
  batch: (_operands, _axes, parameters, size, axisName) =>
    parameters['axisName'] === axisName
      ? { results: [iota([size], 0, 'int32')], axes: [0] }
      : { results: [apply(axisIndexEntry, [], parameters)], axes: [undefined] },
  flops: () => 0,
  overwrites: [],
};
export function axisIndex(axisName: string): Value {
  axisSize(axisName);
  return apply(axisIndexEntry, [], { axisName });
}
