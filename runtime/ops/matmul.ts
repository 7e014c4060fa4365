/**
 * Contraction: sums of products over pairs of axes, with batch axes (dot_general); `matmul` is made of it.
 *
 * Result dimensions are the batch, then what is left of the first operand, then of the second. Depends on: core, family.
 */
import { printAval } from '../core/aval.ts';
import { printDim, same } from '../core/dim.ts';
import { shapesDisagree } from '../core/errors.ts';
import type { Parameters } from '../core/program.ts';
import { promote } from '../core/dtype.ts';
import { apply, commonType, composed, lift, type ArrayLike, type Entry } from './apply.ts';
import { borrows, broadcastShape, numbers, typed } from './family.ts';
import type { Value } from './value.ts';

type Pair = readonly [readonly number[], readonly number[]];
interface Dimensions {
  readonly contract: Pair;
  readonly batch: Pair;
}

const pairOf = (parameter: unknown): Pair => {
  const [left, right] = parameter as readonly unknown[];
  return [numbers(left), numbers(right)];
};
const dimensionsOf = (parameters: Parameters): Dimensions => ({
  contract: pairOf(parameters['contract']),
  batch: pairOf(parameters['batch']),
});
const freeAxes = (rank: number, taken: readonly number[]): readonly number[] =>
  Array.from({ length: rank }, (_, k) => k).filter((k) => !taken.includes(k));

/** Parameters: { contract: [axes, axes], batch: [axes, axes] }. */
export const dotEntry: Entry = {
  id: 'dot',
  summary: 'Sums of products over contracted axes.',
  infer: ([x, y], parameters) => {
    const { contract, batch } = dimensionsOf(parameters);
    for (const [left, right] of [contract, batch])
      left.forEach((axis, k) => {
        if (same(x!.shape[axis]!, y!.shape[right[k]!]!) === 'no')
          throw shapesDisagree(
            'matmul',
            [printAval(x!), printAval(y!)],
            `dimensions ${printDim(x!.shape[axis]!)} and ${printDim(y!.shape[right[k]!]!)} have to be equal`,
          );
      });
    const leftFree = freeAxes(x!.shape.length, [...contract[0], ...batch[0]]);
    const rightFree = freeAxes(y!.shape.length, [...contract[1], ...batch[1]]);
    const type = promote([x!, y!]);
    return [
      {
        shape: [...batch[0].map((k) => x!.shape[k]!), ...leftFree.map((k) => x!.shape[k]!), ...rightFree.map((k) => y!.shape[k]!)],
        dtype: type.dtype,
      },
    ];
  },
  body: { kind: 'contraction', dimensions: dimensionsOf },
  effects: borrows,
  gradient: {
    saves: 'inputs',
    rule: ([g], [x, y], parameters) => [
      cotangentOf(g!, x!, y!, dimensionsOf(parameters), 0),
      cotangentOf(g!, x!, y!, dimensionsOf(parameters), 1),
    ],
  },
  tangent: ([x, y], [dx, dy], _o, parameters) => {
    const left = dx && apply(dotEntry, [dx, y!], parameters);
    const right = dy && apply(dotEntry, [x!, dy], parameters);
    return [left && right ? left.add(right) : (left ?? right)];
  },
  batch: ([x, y], [ax, ay], parameters) => {
    const { contract, batch } = dimensionsOf(parameters);
    const shifted = (axes: readonly number[]): readonly number[] => axes.map((k) => k + 1);
    if (ax !== undefined && ay !== undefined)
      return {
        results: [
          dot(x!.moveAxis(ax, 0), y!.moveAxis(ay, 0), {
            contract: [shifted(contract[0]), shifted(contract[1])],
            batch: [
              [0, ...shifted(batch[0])],
              [0, ...shifted(batch[1])],
            ],
          }),
        ],
        axes: [0],
      };
    // One side only: its batch axis is one more free axis, the first of that side.
    if (ax !== undefined) {
      const result = dot(x!.moveAxis(ax, 0), y!, { contract: [shifted(contract[0]), contract[1]], batch: [shifted(batch[0]), batch[1]] });
      return { results: [result], axes: [batch[0].length] };
    }
    const result = dot(x!, y!.moveAxis(ay!, 0), { contract: [contract[0], shifted(contract[1])], batch: [batch[0], shifted(batch[1])] });
    return { results: [result], axes: [x!.ndim - contract[0].length] };
  },
  flops: ([x], parameters) => 2 * dimensionsOf(parameters).contract[0].reduce((product, k) => product * x!.shape[k]!, 1),
  overwrites: [],
};

export const dot = (x: Value, y: Value, { contract, batch }: Dimensions): Value => apply(dotEntry, [x, y], { contract, batch });

/** The cotangent of one side: the result's cotangent contracted with the other side over that one's free axes. */
function cotangentOf(g: Value, x: Value, y: Value, { contract, batch }: Dimensions, side: 0 | 1): Value {
  const [own, other] = side === 0 ? [x, y] : [y, x];
  const [ownSide, otherSide] = side === 0 ? ([0, 1] as const) : ([1, 0] as const);
  const ownFree = freeAxes(own.ndim, [...contract[ownSide], ...batch[ownSide]]);
  const otherFree = freeAxes(other.ndim, [...contract[otherSide], ...batch[otherSide]]);
  const batches = batch[0].map((_, k) => k);
  const otherStart = side === 0 ? batches.length + ownFree.length : batches.length;
  const gOther = otherFree.map((_, k) => otherStart + k);
  // [batch, own free, other's contracted axes in ascending order] or, for the right side, with the factors swapped so that its own layout needs no transpose.
  const product =
    side === 0
      ? dot(g, other, { contract: [gOther, otherFree], batch: [batches, batch[otherSide]] })
      : dot(other, g, { contract: [otherFree, gOther], batch: [batch[otherSide], batches] });
  const contractedOrder = [...contract[otherSide].keys()]
    .sort((a, b) => contract[otherSide][a]! - contract[otherSide][b]!)
    .map((k) => contract[ownSide][k]!);
  const axesNow = side === 0 ? [...batch[ownSide], ...ownFree, ...contractedOrder] : [...batch[ownSide], ...contractedOrder, ...ownFree];
  return product.transpose(own.shape.map((_, axis) => axesNow.indexOf(axis)));
}

/** NumPy's matmul: vectors are rows or columns, leading axes broadcast. */
export const matmul = composed('matmul', (a: ArrayLike, b: ArrayLike): Value => {
  const values = [a, b].map(lift);
  const type = commonType(values);
  const [x, y] = values.map((value) => typed(value, type)) as [Value, Value];
  if (x.ndim === 0 || y.ndim === 0) throw shapesDisagree('matmul', [printAval(x.aval), printAval(y.aval)], 'both need at least one axis');
  if (x.ndim === 1 || y.ndim === 1 || y.ndim === 2) {
    // No batch on the right: everything before the last axis of the left is free.
    if (y.ndim <= 2) return dot(x, y, { contract: [[x.ndim - 1], [y.ndim === 1 ? 0 : y.ndim - 2]], batch: [[], []] });
    return dot(y, x, { contract: [[y.ndim - 2], [0]], batch: [[], []] });
  }
  const batchRank = Math.max(x.ndim, y.ndim) - 2;
  const batch = broadcastShape('matmul', [
    { shape: x.shape.slice(0, -2), dtype: x.dtype },
    { shape: y.shape.slice(0, -2), dtype: y.dtype },
  ]) as readonly number[];
  const [left, right] = [x, y].map((value) => value.broadcastTo([...batch, ...value.shape.slice(-2)])) as [Value, Value];
  const axes = batch.map((_, k) => k);
  return dot(left, right, { contract: [[batchRank + 1], [batchRank]], batch: [axes, axes] });
});
