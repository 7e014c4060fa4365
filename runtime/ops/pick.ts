/**
 * One element of each row, as the loss of a classifier reads it.
 *
 * The gradient is the cotangent where a coordinate equals the position and 0 elsewhere: an expression that fuses into what
 * reads it, so no array of zeros is stored for it, as scattering would need. Depends on: core, family, arithmetic, elementwise, shape.
 */
import { apply, type Entry } from './apply.ts';
import { clamped } from './arithmetic.ts';
import { where } from './elementwise.ts';
import { borrows } from './family.ts';
import { iota } from './shape.ts';
import type { Value } from './value.ts';

/** Operands: array; index array (int32) of the same shape, but of extent 1 along `axis`. Parameters: { axis }. Positions are cut off at the ends. */
export const pickEntry: Entry = {
  id: 'pick',
  summary: 'One element of each row, at the position that an index array gives.',
  infer: ([x, index]) => [{ shape: index!.shape, dtype: x!.dtype }],
  body: {
    kind: 'element',
    scalar: ({ at, load, inputs, parameters }) =>
      load(
        0,
        at.map((k, axis) => (axis === parameters['axis'] ? clamped(load(1, at), inputs[0]!.shape[axis]!) : k)),
      ),
  },
  effects: borrows,
  gradient: {
    saves: { inputs: [1] },
    rule: ([g], [index], { axis }, [x]) => {
      const along = axis as number;
      const position = index!.maximum(0).minimum(x!.shape[along]! - 1);
      return [where(iota(x!.shape, along, 'int32').equal(position), g!, 0), undefined];
    },
  },
  tangent: ([, index], [tangent], _o, parameters) => [tangent && apply(pickEntry, [tangent, index!], parameters)],
  batch: (operands, axes, { axis }, size) => {
    const front = (x: Value, own: number | undefined): Value =>
      own === undefined ? x.broadcastTo([size, ...x.shape]) : x.moveAxis(own, 0);
    return { results: [apply(pickEntry, operands.map((x, k) => front(x, axes[k])), { axis: (axis as number) + 1 })], axes: [0] }; // prettier-ignore
  },
  flops: () => 0,
  overwrites: [],
};

export const pick = (x: Value, index: Value, axis: number): Value => apply(pickEntry, [x, index], { axis });
