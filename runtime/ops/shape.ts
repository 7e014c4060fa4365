/**
 * Ops that only move elements: views where they can be, and making arrays out of nothing.
 *
 * A view says where each element of its result comes from; fusion turns it into the index of a load, so most views cost
 * nothing. Depends on: core, family, arithmetic.
 * Long because: one entry per op.
 */
import { printAval, type Aval, type KnownAval } from '../core/aval.ts';
import { isKnown, minus, plus, printDim, productOf, quotient, same, times, type Dim } from '../core/dim.ts';
import type { DType } from '../core/dtype.ts';
import { argumentWrong, describe, shapesDisagree } from '../core/errors.ts';
import type { Parameters } from '../core/program.ts';
import { apply, composed, lift, type ArrayLike, type Entry } from './apply.ts';
import { added, and, choose, divided, int, isBelow, isEqual, isInside, less, linear, rest, scaled, unravelled } from './arithmetic.ts';
import { axisOf, borrows, broadcastShape, numbers } from './family.ts';
import { shapeArg } from './options.ts';
import { sum } from './reduce.ts';
import type { Body, Batched } from './op.ts';
import { constant, type Scalar } from './scalar.ts';
import type { Value } from './value.ts';

interface ViewSpec {
  readonly summary: string;
  readonly shape: (x: Aval, parameters: Parameters) => readonly Dim[];
  readonly index: Extract<Body, { kind: 'view' }>['index'];
  readonly contiguous?: (inputs: readonly KnownAval[], parameters: Parameters) => boolean;
  /** The cotangent of the operand. */
  readonly back: (g: Value, x: KnownAval, parameters: Parameters) => Value;
  /** The parameters with a batch axis in front. */
  readonly batched: (parameters: Parameters, size: number, x: Value) => Parameters;
}

function view(id: string, spec: ViewSpec): Entry {
  const entry: Entry = {
    id,
    summary: spec.summary,
    infer: ([x], parameters) => [{ shape: spec.shape(x!, parameters), dtype: x!.dtype, ...(x!.weak ? { weak: true } : {}) }],
    body: { kind: 'view', index: spec.index, ...(spec.contiguous ? { contiguous: spec.contiguous } : {}) },
    effects: borrows,
    gradient: { saves: 'nothing', rule: ([g], _saved, parameters, [x]) => [spec.back(g!, x!, parameters)] },
    tangent: (_p, [tangent], _o, parameters) => [tangent && apply(entry, [tangent], parameters)],
    batch: ([x], [axis], parameters, size): Batched<Value> => {
      if (axis === undefined) return { results: [apply(entry, [x!], parameters)], axes: [undefined] };
      return { results: [apply(entry, [x!.moveAxis(axis, 0)], spec.batched(parameters, size, x!))], axes: [0] };
    },
    flops: () => 0,
    overwrites: [],
  };
  return entry;
}

/** Axes of both shapes in the smallest groups with equal products: an index is computed group by group. */
export function matchingGroups(
  from: readonly number[],
  to: readonly number[],
): readonly { readonly from: readonly [number, number]; readonly to: readonly [number, number] }[] {
  const groups: { from: [number, number]; to: [number, number] }[] = [];
  let [i, j] = [0, 0];
  while (i < from.length || j < to.length) {
    const [startI, startJ] = [i, j];
    let left = i < from.length ? from[i++]! : 1;
    let right = j < to.length ? to[j++]! : 1;
    while (left !== right) {
      if (left < right && i < from.length) left *= from[i++]!;
      else if (right < left && j < to.length) right *= to[j++]!;
      else return [{ from: [0, from.length], to: [0, to.length] }];
    }
    while (i < from.length && from[i] === 1) i++;
    while (j < to.length && to[j] === 1) j++;
    groups.push({ from: [startI, i], to: [startJ, j] });
  }
  return groups;
}

/** Parameters: { shape }. */
export const reshapeEntry: Entry = view('reshape', {
  summary: 'The same elements in another shape.',
  shape: (x, { shape }) => {
    const wanted = shape as unknown as readonly Dim[];
    if (same(productOf(wanted), productOf(x.shape)) === 'no')
      throw shapesDisagree(
        'reshape',
        [printAval(x)],
        `${printDim(productOf(x.shape))} elements don't fill [${wanted.map(printDim).join(',')}]`,
      );
    return wanted;
  },
  index: ({ at, inputs, output }) => {
    const [from, to] = [inputs[0]!.shape, output.shape];
    if (from.includes(0)) return from.map(() => int(0));
    return matchingGroups(from, to).flatMap((group) => {
      const offset = linear(at.slice(...group.to), to.slice(...group.to));
      return [...unravelled(offset, from.slice(...group.from))];
    });
  },
  contiguous: () => true,
  back: (g, x) => g.reshape(x.shape),
  batched: ({ shape }, size) => ({ shape: [size, ...numbers(shape)] }),
});

/** Parameters: { axes }: result axis k is axis axes[k] of the operand. */
export const transposeEntry: Entry = view('transpose', {
  summary: 'Axes in another order.',
  shape: (x, { axes }) => numbers(axes).map((axis) => x.shape[axis]!),
  index: ({ at, parameters }) => inverse(numbers(parameters['axes'])).map((k) => at[k]!),
  contiguous: ([x], { axes }) => ascending(numbers(axes).filter((axis) => x!.shape[axis] !== 1)),
  back: (g, _x, { axes }) => g.transpose(inverse(numbers(axes))),
  batched: ({ axes }) => ({ axes: [0, ...numbers(axes).map((axis) => axis + 1)] }),
});
const inverse = (permutation: readonly number[]): readonly number[] => permutation.map((_, axis) => permutation.indexOf(axis));
const ascending = (list: readonly number[]): boolean => list.every((value, k) => k === 0 || list[k - 1]! < value);

/** Parameters: { shape, axes }: operand axis k lies on axis axes[k] of the result, and is spread when its extent is 1. */
export const broadcastEntry: Entry = view('broadcast', {
  summary: 'Repeated along new axes and axes of extent 1.',
  shape: (_x, { shape }) => shape as unknown as readonly Dim[],
  index: ({ at, inputs, parameters }) =>
    inputs[0]!.shape.map((extent, k) => (extent === 1 ? int(0) : at[numbers(parameters['axes'])[k]!]!)),
  contiguous: ([x], { shape }) => x!.shape.reduce((a, b) => a * b, 1) === numbers(shape).reduce((a, b) => a * b, 1),
  back: (g, x, { shape, axes }) => {
    const spreadAxes = numbers(shape)
      .map((_, axis) => axis)
      .filter((axis) => {
        const k = numbers(axes).indexOf(axis);
        return k < 0 || (x.shape[k] === 1 && numbers(shape)[axis] !== 1);
      });
    return sum(g, spreadAxes).reshape(x.shape);
  },
  batched: ({ shape, axes }, size) => ({ shape: [size, ...numbers(shape)], axes: [0, ...numbers(axes).map((axis) => axis + 1)] }),
});

/** Parameters: { start, stop, stride } per axis; strides are positive. */
export const sliceEntry: Entry = view('slice', {
  summary: 'A part along each axis, with strides.',
  shape: (_x, { start, stop, stride }) => {
    const strides = numbers(stride);
    return (stop as unknown as readonly Dim[]).map((end, axis) => {
      const length = minus(end, (start as unknown as readonly Dim[])[axis]!);
      return strides[axis] === 1
        ? length
        : isKnown(length)
          ? Math.ceil(length / strides[axis]!)
          : (quotient(length, strides[axis]!) ?? length);
    });
  },
  index: ({ at, parameters }) =>
    at.map((k, axis) => added(scaled(k, int(numbers(parameters['stride'])[axis]!)), int(numbers(parameters['start'])[axis]!))),
  // Whole rows: everything after the first sliced axis is complete, and everything before it has extent 1. The offset must suit the device, so only full views count.
  contiguous: ([x], { start, stop, stride }) =>
    x!.shape.every((extent, axis) => numbers(start)[axis] === 0 && numbers(stop)[axis] === extent && numbers(stride)[axis] === 1),
  back: (g, x, { start, stride }) =>
    apply(padEntry, [g], {
      value: 0,
      low: numbers(start),
      high: x.shape.map((extent, axis) => extent - numbers(start)[axis]! - dilated(g.shape[axis]!, numbers(stride)[axis]! - 1)),
      interior: numbers(stride).map((s) => s - 1),
    }),
  batched: ({ start, stop, stride }, size) => ({
    start: [0, ...numbers(start)],
    stop: [size, ...numbers(stop)],
    stride: [1, ...numbers(stride)],
  }),
});
const dilated = (extent: number, interior: number): number => (extent === 0 ? 0 : extent + (extent - 1) * interior);

/** Parameters: { axes }. */
export const flipEntry: Entry = view('flip', {
  summary: 'Elements in reverse order along axes.',
  shape: (x) => x.shape,
  index: ({ at, inputs, parameters }) =>
    at.map((k, axis) => (numbers(parameters['axes']).includes(axis) ? less(int(inputs[0]!.shape[axis]! - 1), k) : k)),
  contiguous: ([x], { axes }) => numbers(axes).every((axis) => x!.shape[axis]! <= 1),
  back: (g, _x, { axes }) => apply(flipEntry, [g], { axes: axes! }),
  batched: ({ axes }) => ({ axes: numbers(axes).map((axis) => axis + 1) }),
});

/**
 * All windows of the last axes. Parameters: { window, stride, dilation }, one entry per spatial axis (the last ones).
 * [N…, S…] becomes [N…, positions…, window…].
 */
export const windowsEntry: Entry = view('windows', {
  summary: 'Every window of an array, side by side.',
  shape: (x, { window, stride, dilation }) => {
    const spatial = numbers(window).length;
    const lead = x.shape.slice(0, x.shape.length - spatial);
    const positions = numbers(window).map((w, k) =>
      positionsOf(x.shape[lead.length + k] as number, w, numbers(stride)[k]!, numbers(dilation)[k]!),
    );
    return [...lead, ...positions, ...numbers(window)];
  },
  index: ({ at, parameters }) => {
    const { stride, dilation, window } = parameters;
    const spatial = numbers(window).length;
    const lead = at.length - 2 * spatial;
    const inside = numbers(window).map((_, k) =>
      added(scaled(at[lead + k]!, int(numbers(stride)[k]!)), scaled(at[lead + spatial + k]!, int(numbers(dilation)[k]!))),
    );
    return [...at.slice(0, lead), ...inside];
  },
  back: (g, x, parameters) => foldWindows(g, x, parameters),
  batched: (parameters) => parameters,
});
export const positionsOf = (extent: number, window: number, stride: number, dilation: number): number =>
  Math.max(0, Math.floor((extent - (window - 1) * dilation - 1) / stride) + 1);

/** Adds windows back to where they came from, one offset of the window after another along each axis. */
function foldWindows(g: Value, x: KnownAval, { window, stride, dilation }: Parameters): Value {
  const spatial = numbers(window).length;
  let folded = g;
  for (let k = spatial - 1; k >= 0; k--) {
    const lead = x.shape.length - spatial;
    const at = lead + k;
    const offsetAxis = lead + spatial + k;
    const extent = x.shape[lead + k]!;
    let total: Value | undefined;
    for (let offset = 0; offset < numbers(window)[k]!; offset++) {
      const part = folded.takeSlice(offsetAxis, offset);
      const low = offset * numbers(dilation)[k]!;
      const high = extent - low - dilated(part.shape[at]!, numbers(stride)[k]! - 1);
      const placed = apply(padEntry, [part], padAlong(part.ndim, at, low, high, numbers(stride)[k]! - 1));
      total = total === undefined ? placed : total.add(placed);
    }
    folded = total!;
  }
  return folded;
}
const padAlong = (rank: number, axis: number, low: number, high: number, interior: number): Parameters => {
  const only = (value: number): readonly number[] => Array.from({ length: rank }, (_, k) => (k === axis ? value : 0));
  return { value: 0, low: only(low), high: only(high), interior: only(interior) };
};

/** The same elements, through which no derivative goes. */
export const stopEntry: Entry = withoutDerivative(
  view('stopGradient', {
    summary: 'The same array, through which no gradient flows.',
    shape: (x) => x.shape,
    index: ({ at }) => at,
    contiguous: () => true,
    back: (g) => g,
    batched: (parameters) => parameters,
  }),
);
function withoutDerivative({ gradient: _gradient, tangent: _tangent, ...rest }: Entry): Entry {
  return rest;
}

/** Parameters: { value, low, high, interior } per axis; negative low and high cut off. */
export const padEntry: Entry = {
  id: 'pad',
  summary: 'A border, and gaps between elements, filled with one value.',
  infer: ([x], { low, high, interior }) => [
    {
      shape: x!.shape.map((extent, axis) =>
        plus(
          plus(extent, numbers(low)[axis]! + numbers(high)[axis]!),
          numbers(interior)[axis] === 0 ? 0 : times(minus(extent, 1), numbers(interior)[axis]!),
        ),
      ),
      dtype: x!.dtype,
      ...(x!.weak ? { weak: true } : {}),
    },
  ],
  body: {
    kind: 'element',
    scalar: ({ at, load, inputs, parameters }) => {
      const { low, high, interior, value } = parameters;
      let inside: Scalar = { kind: 'constant', value: 1, dtype: 'bool' };
      const index = at.map((k, axis) => {
        const extent = inputs[0]!.shape[axis]!;
        const step = numbers(interior)[axis]! + 1;
        if (numbers(low)[axis] === 0 && step === 1 && numbers(high)[axis]! <= 0) return k;
        const offset = less(k, int(numbers(low)[axis]!));
        const reach = dilated(extent, step - 1);
        inside = and(inside, isInside(offset, reach));
        if (step > 1) inside = and(inside, isEqual(rest(offset, step), int(0)));
        return divided(offset, step);
      });
      return choose(inside, load(0, index), constant(value as number, inputs[0]!.dtype));
    },
  },
  effects: borrows,
  gradient: {
    saves: 'nothing',
    rule: ([g], _s, { low, high, interior }, [x]) => {
      const cutLow = numbers(low).map((l) => Math.min(0, l));
      const cutHigh = numbers(high).map((h) => Math.min(0, h));
      const kept = g!;
      const start = numbers(low).map((l) => Math.max(0, l));
      const stop = kept.shape.map((extent, axis) => extent - Math.max(0, numbers(high)[axis]!));
      const inner = apply(sliceEntry, [kept], { start, stop, stride: start.map(() => 1) });
      const whole = cutLow.every((l, k) => l === 0 && cutHigh[k] === 0)
        ? inner
        : apply(padEntry, [inner], { value: 0, low: cutLow.map((l) => -l), high: cutHigh.map((h) => -h), interior: cutLow.map(() => 0) });
      if (numbers(interior).every((i) => i === 0)) return [whole];
      return [
        apply(sliceEntry, [whole], { start: start.map(() => 0), stop: whole.shape, stride: numbers(interior).map((i) => i + 1) }).reshape(
          x!.shape,
        ),
      ];
    },
  },
  tangent: (_p, [tangent], _o, parameters) => [tangent && apply(padEntry, [tangent], { ...parameters, value: 0 })],
  batch: ([x], [axis], { value, low, high, interior }) =>
    axis === undefined
      ? { results: [apply(padEntry, [x!], { value, low, high, interior })], axes: [undefined] }
      : {
          results: [
            apply(padEntry, [x!.moveAxis(axis, 0)], {
              value,
              low: [0, ...numbers(low)],
              high: [0, ...numbers(high)],
              interior: [0, ...numbers(interior)],
            }),
          ],
          axes: [0],
        },
  flops: () => 0,
  overwrites: [],
};

/** Parameters: { axis }. */
export const concatenateEntry: Entry = {
  id: 'concatenate',
  summary: 'Arrays one after another along an axis.',
  infer: (inputs, { axis }) => {
    const first = inputs[0]!;
    for (const other of inputs)
      if (other.shape.length !== first.shape.length || other.shape.some((dim, k) => k !== axis && same(dim, first.shape[k]!) === 'no'))
        throw shapesDisagree('concatenate', inputs.map(printAval), `all dimensions but axis ${String(axis)} have to be equal`);
    return [{ shape: first.shape.map((dim, k) => (k === axis ? inputs.map((x) => x.shape[k]!).reduce(plus) : dim)), dtype: first.dtype }];
  },
  body: {
    kind: 'element',
    scalar: ({ at, load, inputs, parameters }) => {
      const axis = parameters['axis'] as number;
      const starts = inputs.map((_, k) => inputs.slice(0, k).reduce((total, x) => total + x.shape[axis]!, 0));
      const part = (k: number): Scalar =>
        load(
          k,
          at.map((own, a) => (a === axis ? less(own, int(starts[k]!)) : own)),
        );
      return inputs
        .slice(0, -1)
        .reduceRight<Scalar>((after, _, k) => choose(isBelow(at[axis]!, int(starts[k + 1]!)), part(k), after), part(inputs.length - 1));
    },
  },
  effects: borrows,
  gradient: {
    saves: 'nothing',
    rule: ([g], _s, { axis }, avals) => {
      let start = 0;
      return avals.map((x) => {
        const part = sliceAlong(g!, axis as number, start, start + x.shape[axis as number]!);
        start += x.shape[axis as number]!;
        return part;
      });
    },
  },
  tangent: (primals, tangents, _o, parameters) => [
    tangents.every((t) => t === undefined)
      ? undefined
      : apply(
          concatenateEntry,
          primals.map((x, k) => tangents[k] ?? x.zerosLike()),
          parameters,
        ),
  ],
  batch: (operands, axes, { axis }, size) => ({
    results: [
      apply(
        concatenateEntry,
        operands.map((x, k) => (axes[k] === undefined ? x.broadcastTo([size, ...x.shape]) : x.moveAxis(axes[k]!, 0))),
        { axis: (axis as number) + 1 },
      ),
    ],
    axes: [0],
  }),
  flops: () => 0,
  overwrites: [],
};

/** Parameters: { shape, dtype, value }. */
export const fullEntry: Entry = source('full', 'An array of one value.', ({ output, parameters }) =>
  constant(parameters['value'] as number, output.dtype),
);
/** Parameters: { shape, dtype, axis }: each element is its coordinate on `axis`. */
export const iotaEntry: Entry = source('iota', 'Coordinates along an axis.', ({ at, output, parameters }) =>
  converted(at[parameters['axis'] as number]!, output.dtype),
);

function source(id: string, summary: string, scalar: Extract<Body, { kind: 'element' }>['scalar']): Entry {
  const entry: Entry = {
    id,
    summary,
    infer: (_inputs, { shape, dtype, weak }) => [
      { shape: shape as unknown as readonly Dim[], dtype: dtype as DType, ...(weak === true ? { weak: true } : {}) },
    ],
    body: { kind: 'element', scalar },
    effects: borrows,
    batch: (_operands, _axes, parameters) => ({ results: [apply(entry, [], parameters)], axes: [undefined] }),
    flops: () => 0,
    overwrites: [],
  };
  return entry;
}
const conversions = {
  float32: { name: 'coordinateFloat', flops: 0, wgsl: ([x]: readonly string[]) => `f32(${x})`, host: (x: number) => x },
  float16: { name: 'coordinateHalf', flops: 0, wgsl: ([x]: readonly string[]) => `f16(${x})`, host: (x: number) => x },
  uint32: { name: 'coordinateUnsigned', flops: 0, wgsl: ([x]: readonly string[]) => `u32(${x})`, host: (x: number) => x },
};
const converted = (x: Scalar, dtype: DType): Scalar =>
  dtype === 'int32' || dtype === 'bool' ? x : { kind: 'apply', apply: conversions[dtype], operands: [x], dtype };

// Composed, so that a result that is its operand unchanged is an array of its own on a device (another handle, 0 bytes).
export const reshape = composed('reshape', (x: ArrayLike, shape: number | readonly number[]): Value => {
  const value = lift(x);
  const wanted: readonly number[] = typeof shape === 'number' ? [shape] : shape;
  if (
    !Array.isArray(wanted) ||
    wanted.filter((extent) => extent === -1).length > 1 ||
    !wanted.every((extent) => Number.isInteger(extent) && extent >= -1)
  )
    throw argumentWrong(
      'reshape',
      `${Array.isArray(wanted) ? `[${wanted.map(String).join(',')}]` : describe(shape)} as a shape for ${printAval(value.aval)}`,
      'a shape is a list of whole numbers from 0; one of them may be -1 for what is left',
    );
  const open = wanted.indexOf(-1);
  const others = wanted.reduce((product, extent, k) => (k === open ? product : product * extent), 1);
  const full = open < 0 ? wanted : wanted.map((extent, k) => (k === open ? (others === 0 ? 0 : value.size / others) : extent));
  if (!full.every(Number.isInteger) || full.reduce((product, extent) => product * extent, 1) !== value.size)
    throw shapesDisagree('reshape', [printAval(value.aval)], `${value.size} elements don't fill [${wanted.join(',')}]`);
  return sameShape(full, value.shape) ? value : apply(reshapeEntry, [value], { shape: full });
});

export const transpose = composed('transpose', (x: ArrayLike, permutation?: readonly number[] | null): Value => {
  const value = lift(x);
  if (permutation !== undefined && permutation !== null && !Array.isArray(permutation))
    throw argumentWrong(
      'transpose',
      `${describe(permutation)} as its order`,
      `give it a list of all axes, like [${value.shape.map((_, k) => value.ndim - 1 - k).join(', ')}]`,
    );
  const axes = permutation
    ? permutation.map((axis) => axisOf('transpose', axis, value.aval))
    : value.shape.map((_, k) => value.ndim - 1 - k);
  if (axes.length !== value.ndim || new Set(axes).size !== axes.length)
    throw shapesDisagree('transpose', [printAval(value.aval)], `[${axes.join(',')}] isn't an order of its axes`);
  return axes.every((axis, k) => axis === k) ? value : apply(transposeEntry, [value], { axes });
});

export const broadcastTo = composed('broadcastTo', (x: ArrayLike, shape: readonly number[]): Value => {
  const value = lift(x);
  shapeArg('broadcastTo', shape);
  if (sameShape(shape, value.shape)) return value;
  const result = broadcastShape('broadcastTo', [value.aval, { shape, dtype: value.dtype }]);
  if (!sameShape(result as readonly number[], shape))
    throw shapesDisagree('broadcastTo', [printAval(value.aval)], `it doesn't broadcast to [${shape.join(',')}]`);
  return apply(broadcastEntry, [value], { shape, axes: value.shape.map((_, k) => k + shape.length - value.ndim) });
});

export function sliceAlong(x: Value, axis: number, start: number, stop: number): Value {
  if (start === 0 && stop === x.shape[axis]) return x;
  if (!(start >= 0 && stop >= start && stop <= x.shape[axis]!))
    throw new Error(`internal: shape: [${start}, ${stop}) of axis ${axis} of ${printAval(x.aval)}`);
  return apply(sliceEntry, [x], {
    start: x.shape.map((_, k) => (k === axis ? start : 0)),
    stop: x.shape.map((extent, k) => (k === axis ? stop : extent)),
    stride: x.shape.map(() => 1),
  });
}

export function moveAxis(x: Value, from: number, to: number): Value {
  const others = x.shape.map((_, k) => k).filter((k) => k !== from);
  return transpose(x, [...others.slice(0, to), from, ...others.slice(to)]);
}

export const full = (shape: readonly number[], value: number, dtype: DType, weak = false): Value =>
  apply(fullEntry, [], { shape, dtype, value, ...(weak ? { weak } : {}) });
export const iota = (shape: readonly number[], axis: number, dtype: DType): Value => apply(iotaEntry, [], { shape, axis, dtype });

export const sameShape = (a: readonly Dim[], b: readonly Dim[]): boolean =>
  a.length === b.length && a.every((dim, k) => same(dim, b[k]!) === 'yes');
