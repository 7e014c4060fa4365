/**
 * Shapes of tensors: what each call yields, in terms of the runtime's functions.
 *
 * A line serves the function and the method of the same name. Depends on: shaping, runtime/core (dim).
 */
import { isKnown, minus, plus, productOf, quotient, times, type Dim } from '../../runtime/core/dim.ts';
import type { ShapeRule, ShapeTools } from './shaping.ts';

/** One result of the shape that the operands are broadcast to; of numbers the arrays' type is kept. */
const together =
  (dtype?: string): ShapeRule =>
  (args, on) => {
    const shape = on.broadcast(args);
    const own = args.map((value) => on.aval(value)?.dtype).filter((type) => type !== undefined);
    const type = dtype ?? (own.every((one) => one === 'int32' || one === 'bool') && own.length > 0 ? 'int32' : 'float32');
    return shape === undefined ? undefined : on.make(shape, type);
  };
const both =
  (name: string): ShapeRule =>
  ([a, b], on) =>
    on.run(name, a, b);
const same: ShapeRule = ([x], on) => {
  const aval = on.aval(x);
  return aval === undefined ? undefined : on.make(aval.shape, aval.dtype);
};
/** `x` with another shape. The library counts the bytes of each tensor, also of those that share their data. */
const reshaped = (x: unknown, shape: readonly unknown[], on: ShapeTools): unknown => {
  const aval = on.aval(x);
  return aval === undefined ? undefined : on.make(shape, aval.dtype);
};
const reduces =
  (name: string): ShapeRule =>
  ([x, axis, keep], on) =>
    on.run(name, x, axis ?? null, keep === true ? { keepdims: true } : undefined);
const as =
  (dtype: string): ShapeRule =>
  ([x], on) => {
    const aval = on.aval(x);
    return aval === undefined ? undefined : on.make(aval.shape, dtype);
  };
const shapedBy =
  (shape: number, dtype: number): ShapeRule =>
  (args, on) => {
    const list = on.list(args[shape]);
    return list === undefined ? undefined : on.make(list, args[dtype] ?? 'float32');
  };
const like: ShapeRule = same;
const tensor =
  (shape: number | undefined, dtype: number): ShapeRule =>
  (args, on) =>
    on.host(args[0], shape === undefined ? undefined : args[shape], args[dtype]);

const reshape: ShapeRule = ([x, shape], on) => {
  const list = on.list(shape);
  const dims = list?.map((size) => (size === -1 ? undefined : on.dim(size)));
  const aval = on.aval(x);
  if (list === undefined || dims === undefined || aval === undefined) return undefined;
  const open = list.indexOf(-1);
  if (dims.some((dim, i) => dim === undefined && i !== open)) return undefined;
  const rest = open < 0 ? undefined : quotient(productOf(aval.shape), productOf(dims.filter((dim) => dim !== undefined)));
  if (open >= 0 && rest === undefined) return undefined;
  return reshaped(
    x,
    dims.map((dim) => dim ?? rest!),
    on,
  );
};

/** Which axis a number means. */
const axisOf = (axis: unknown, rank: number): number | undefined =>
  typeof axis === 'number' ? (axis < 0 ? axis + rank : axis) : axis === undefined ? 0 : undefined;

const expandDims: ShapeRule = ([x, axis], on) => {
  const aval = on.aval(x);
  const at = aval === undefined ? undefined : axisOf(axis, aval.shape.length + 1);
  return aval === undefined || at === undefined ? undefined : reshaped(x, aval.shape.toSpliced(at, 0, 1), on);
};

const squeeze: ShapeRule = ([x, axes], on) => {
  const aval = on.aval(x);
  if (aval === undefined) return undefined;
  const given = on.list(axes)?.map((axis) => axisOf(axis, aval.shape.length));
  return reshaped(
    x,
    aval.shape.filter((dim, i) => (given === undefined ? dim !== 1 : !given.includes(i))),
    on,
  );
};

const flatten: ShapeRule = ([x], on) => {
  const aval = on.aval(x);
  return aval === undefined ? undefined : reshaped(x, [productOf(aval.shape)], on);
};

const matMul: ShapeRule = ([a, b, turnA, turnB], on) => {
  const [left, right] = [on.aval(a), on.aval(b)];
  if (left === undefined || right === undefined || (turnA !== undefined && typeof turnA !== 'boolean')) return undefined;
  if (turnB !== undefined && typeof turnB !== 'boolean') return undefined;
  const rows = left.shape.at(turnA === true ? -1 : -2);
  const columns = right.shape.at(turnB === true ? -2 : -1);
  return rows === undefined || columns === undefined ? undefined : on.make([...left.shape.slice(0, -2), rows, columns], left.dtype);
};

const transpose: ShapeRule = ([x, perm], on) => {
  const aval = on.aval(x);
  const order = perm === undefined ? aval?.shape.map((_, i) => i).reverse() : on.list(perm);
  const dims = order?.map((axis) => (typeof axis === 'number' ? aval?.shape[axis] : undefined));
  return aval === undefined || dims?.some((dim) => dim === undefined) !== false ? undefined : on.make(dims, aval.dtype);
};

const concat: ShapeRule = ([first, second, third], on) => {
  const listed = on.list(first);
  const parts = listed ?? [first, ...(on.list(second) ?? [second])];
  const axis = listed === undefined ? third : second;
  const avals = parts.map((part) => on.aval(part));
  const [head] = avals;
  const at = head === undefined ? undefined : axisOf(axis, head.shape.length);
  if (head === undefined || at === undefined || avals.some((aval) => aval === undefined)) return undefined;
  const total = avals.reduce<Dim>((sum, aval) => plus(sum, aval!.shape[at] ?? 0), 0);
  return on.make(head.shape.with(at, total), head.dtype);
};

const stack: ShapeRule = ([parts, axis], on) => {
  const list = on.list(parts);
  const aval = on.aval(list?.[0]);
  const at = aval === undefined ? undefined : axisOf(axis, aval.shape.length + 1);
  return list === undefined || aval === undefined || at === undefined
    ? undefined
    : on.make(aval.shape.toSpliced(at, 0, list.length), aval.dtype);
};

const slice: ShapeRule = ([x, begin, size], on) => {
  const aval = on.aval(x);
  if (aval === undefined) return undefined;
  const starts = on.list(begin) ?? [begin];
  const sizes = size === undefined ? [] : (on.list(size) ?? [size]);
  const dims = aval.shape.map((dim, i) => {
    const wanted = sizes[i];
    if (wanted !== undefined && wanted !== -1) return on.dim(wanted);
    const start = starts[i] === undefined ? 0 : on.dim(starts[i]);
    return start === undefined ? undefined : minus(dim, start);
  });
  return dims.some((dim) => dim === undefined) ? undefined : on.make(dims, aval.dtype);
};

const split: ShapeRule = ([x, count, axis], on) => {
  const aval = on.aval(x);
  const at = aval === undefined ? undefined : axisOf(axis, aval.shape.length);
  if (aval === undefined || at === undefined) return undefined;
  const each = typeof count === 'number' ? quotient(aval.shape[at] ?? 0, count) : undefined;
  const sizes = typeof count === 'number' ? (each === undefined ? undefined : Array.from({ length: count }, () => each)) : on.list(count);
  return sizes?.map((extent) => on.make(aval.shape.with(at, on.dim(extent) ?? 0), aval.dtype));
};

const unstack: ShapeRule = ([x, axis], on) => {
  const aval = on.aval(x);
  const at = aval === undefined ? undefined : axisOf(axis, aval.shape.length);
  const count = at === undefined ? undefined : aval?.shape[at];
  if (aval === undefined || at === undefined || count === undefined || !isKnown(count) || count > 1000) return undefined;
  return Array.from({ length: count }, () => on.make(aval.shape.toSpliced(at, 1), aval.dtype));
};

const gather: ShapeRule = ([x, indices, axis], on) => {
  const aval = on.aval(x);
  const chosen = on.aval(indices)?.shape ?? (on.list(indices) === undefined ? undefined : [on.list(indices)!.length]);
  const at = aval === undefined ? undefined : axisOf(axis, aval.shape.length);
  return aval === undefined || chosen === undefined || at === undefined
    ? undefined
    : on.make([...aval.shape.slice(0, at), ...chosen, ...aval.shape.slice(at + 1)], aval.dtype);
};

const oneHot: ShapeRule = ([indices, depth], on) => {
  const aval = on.aval(indices);
  const classes = on.dim(depth);
  return aval === undefined || classes === undefined ? undefined : on.make([...aval.shape, classes], 'float32');
};

const tile: ShapeRule = ([x, reps], on) => {
  const aval = on.aval(x);
  const counts = on.list(reps)?.map((count) => on.dim(count));
  if (aval === undefined || counts?.length !== aval.shape.length || counts.some((count) => count === undefined)) return undefined;
  return on.make(
    aval.shape.map((dim, i) => times(dim, counts[i]!)),
    aval.dtype,
  );
};

/** How many places a window takes along an axis. */
function places(extent: Dim, window: Dim, stride: unknown, padding: unknown): Dim | undefined {
  if (typeof stride !== 'number' || !isKnown(extent) || !isKnown(window)) return stride === 1 && padding === 'same' ? extent : undefined;
  return padding === 'same' ? Math.ceil(extent / stride) : padding === 'valid' ? Math.ceil((extent - window + 1) / stride) : undefined;
}

const pair = (value: unknown, on: ShapeTools): readonly unknown[] => on.list(value) ?? [value, value];

const conv2d: ShapeRule = ([x, filter, strides, padding], on) => {
  const [image, kernel] = [on.aval(x), on.aval(filter)];
  if (image === undefined || kernel?.shape.length !== 4) return undefined;
  const spatial = image.shape.slice(-3, -1);
  const out = spatial.map((dim, i) => places(dim, kernel.shape[i]!, pair(strides, on)[i], padding));
  return out.some((dim) => dim === undefined) ? undefined : on.make([...image.shape.slice(0, -3), ...out, kernel.shape[3]!], 'float32');
};

const pools: ShapeRule = ([x, window, strides, padding], on) => {
  const image = on.aval(x);
  const sizes = pair(window, on).map((extent) => on.dim(extent));
  if (image === undefined || sizes.some((extent) => extent === undefined)) return undefined;
  const out = image.shape.slice(-3, -1).map((dim, i) => places(dim, sizes[i]!, pair(strides, on)[i], padding));
  return out.some((dim) => dim === undefined) ? undefined : on.make([...image.shape.slice(0, -3), ...out, image.shape.at(-1)!], 'float32');
};

const resizes: ShapeRule = ([x, size], on) => {
  const image = on.aval(x);
  const wanted = on.list(size)?.map((extent) => on.dim(extent));
  if (image === undefined || wanted === undefined || wanted.some((extent) => extent === undefined)) return undefined;
  return on.make([...image.shape.slice(0, -3), ...wanted, image.shape.at(-1)!], 'float32');
};

const moments: ShapeRule = (args, on) => ({ mean: reduces('numpy.sum')(args, on), variance: reduces('numpy.sum')(args, on) });

const topk: ShapeRule = ([x, k], on) => {
  const aval = on.aval(x);
  const count = k === undefined ? 1 : on.dim(k);
  if (aval === undefined || count === undefined) return undefined;
  const shape = [...aval.shape.slice(0, -1), count];
  return { values: on.make(shape, aval.dtype), indices: on.make(shape, 'int32') };
};

const unary =
  'neg abs exp expm1 log log1p sqrt rsqrt square reciprocal sin cos tan asin acos atan sinh cosh tanh sigmoid softplus relu relu6 elu selu leakyRelu prelu softmax logSoftmax clipByValue floor ceil round sign erf step cumsum cumprod reverse logicalNot softmaxCrossEntropy';
const functions: Readonly<Record<string, ShapeRule>> = {
  ...Object.fromEntries(unary.split(' ').map((name) => [name, same])),
  ...Object.fromEntries(
    'add sub mul div divNoNan floorDiv mod pow maximum minimum squaredDifference atan2'.split(' ').map((name) => [name, together()]),
  ),
  ...Object.fromEntries(
    'greater greaterEqual less lessEqual equal notEqual logicalAnd logicalOr logicalXor'.split(' ').map((name) => [name, together('bool')]),
  ),
  where: ([condition, a, b], on) => on.make(on.broadcast([condition, a, b]) ?? [undefined], on.aval(a)?.dtype),
  sum: reduces('numpy.sum'),
  mean: reduces('numpy.sum'),
  max: reduces('numpy.max'),
  min: reduces('numpy.min'),
  prod: reduces('numpy.prod'),
  any: reduces('numpy.max'),
  all: reduces('numpy.max'),
  logSumExp: reduces('numpy.max'),
  norm: ([x, , axis, keep], on) => reduces('numpy.sum')([x, axis, keep], on),
  argMax: ([x, axis], on) => on.run('numpy.argmax', x, axis ?? 0),
  argMin: ([x, axis], on) => on.run('numpy.argmax', x, axis ?? 0),
  moments,
  topk,
  matMul,
  dot: both('numpy.dot'),
  outerProduct: both('numpy.outer'),
  transpose,
  reshape,
  flatten,
  as1D: flatten,
  asScalar: ([x], on) => reshaped(x, [], on),
  expandDims,
  squeeze,
  clone: same,
  concat,
  stack,
  slice,
  split,
  unstack,
  gather,
  oneHot,
  tile,
  cast: ([x, dtype], on) => (typeof dtype === 'string' ? as(dtype)([x], on) : undefined),
  toFloat: as('float32'),
  toInt: as('int32'),
  toBool: as('bool'),
  conv2d,
  maxPool: pools,
  avgPool: pools,
  resizeBilinear: resizes,
  resizeNearestNeighbor: resizes,
};

const creations: Readonly<Record<string, ShapeRule>> = {
  zeros: shapedBy(0, 1),
  ones: shapedBy(0, 1),
  fill: shapedBy(0, 2),
  randomNormal: shapedBy(0, 3),
  truncatedNormal: shapedBy(0, 3),
  randomUniform: shapedBy(0, 3),
  zerosLike: like,
  onesLike: like,
  tensor: tensor(1, 2),
  tensor1d: tensor(undefined, 1),
  tensor2d: tensor(1, 2),
  tensor3d: tensor(1, 2),
  tensor4d: tensor(1, 2),
  scalar: ([, dtype], on) => on.make([], dtype ?? 'float32'),
  linspace: ([, , count], on) => on.make([count]),
  range: ([start, stop, step, dtype], on) => {
    const [from, to] = [on.dim(start), on.dim(stop)];
    if (from === undefined || to === undefined || (step !== undefined && typeof step !== 'number')) return undefined;
    const length = quotient(minus(to, from), step ?? 1);
    return length === undefined ? undefined : on.make([length], dtype ?? 'float32');
  },
  eye: ([rows, columns], on) => on.make([rows, columns ?? rows]),
  variable: same,
  keep: ([x]) => x,
  'image.resizeBilinear': resizes,
  'image.resizeNearestNeighbor': resizes,
};

export const tensorShapes: Readonly<Record<string, ShapeRule>> = {
  ...functions,
  ...Object.fromEntries(Object.entries(functions).map(([name, rule]) => [`Tensor.${name}`, rule])),
  ...creations,
};
