/**
 * The shape rules of library models, applied: the runtime's functions run on shapes.
 *
 * A rule that can't say, and one that fails, yields undefined: an array of unknown shape. Depends on: libraries, names, shapes.
 */
import { avalBytes } from '../../runtime/core/aval.ts';
import { isKnown, productOf, same, times, type Dim } from '../../runtime/core/dim.ts';
import { LiteralValue } from '../../runtime/ops/value.ts';
import type { LibraryModel } from '../libraries/model.ts';
import type { ShapeRule, ShapeTools } from '../libraries/shaping.ts';
import { ofHost, ofShape } from '../shapes/hints.ts';
import { shaped, ShapedArray } from '../shapes/shaped.ts';
import { dimOf, dimValue, eachLeaf, isArray, isUnknown, listOf, UnknownArray } from '../shapes/values.ts';
import { runtimeFunction } from './names.ts';

export function ruled(rule: ShapeRule, args: readonly unknown[]): unknown {
  try {
    const result = rule(args, tools);
    let whole = true;
    eachLeaf(result, (leaf) => void (whole &&= leaf !== undefined));
    return whole ? result : undefined;
  } catch {
    return undefined;
  }
}

const tools: ShapeTools = {
  run(name, ...args) {
    if (args.some((argument) => argument instanceof UnknownArray)) return undefined;
    // Any number beside an array gives the same shapes.
    const known = args.map((argument) => (isUnknown(argument) ? 0.5 : argument));
    while (known.length > 0 && known.at(-1) === undefined) known.pop();
    const result = runtimeFunction(name)?.(...known);
    return result instanceof LiteralValue ? shaped(result.aval) : result;
  },
  make: (shape, dtype) => ofShape(shape.map(asNumber), dtype ?? 'float32'),
  buffer: (bytes) => new ShapedArray({ shape: [bytes], dtype: 'uint32' }, bytes),
  broadcast(values) {
    const shapes = values.map((value) =>
      isArray(value) ? value.aval.shape : typeof value === 'number' || typeof value === 'boolean' || isUnknown(value) ? [] : undefined,
    );
    return shapes.reduce<readonly Dim[] | undefined>(
      (all, shape) => (all === undefined || shape === undefined ? undefined : broadcast(all, shape)),
      [],
    );
  },
  host(values, shape, dtype) {
    const given = shape === undefined ? undefined : listOf(shape);
    if (given !== undefined) return ofShape(given, dtype);
    return ofHost(values, dtype);
  },
  aval: (value) => (isArray(value) ? value.aval : undefined),
  dim: (value) => (isDim(value) ? value : dimOf(value)),
  list: listOf,
};

const isDim = (value: unknown): value is Dim =>
  typeof value === 'number' || (typeof value === 'object' && value !== null && 'terms' in value);

function broadcast(a: readonly Dim[], b: readonly Dim[]): readonly Dim[] | undefined {
  const rank = Math.max(a.length, b.length);
  const dims = Array.from({ length: rank }, (_, i): Dim | undefined => {
    const [left, right] = [a[i - rank + a.length] ?? 1, b[i - rank + b.length] ?? 1];
    return right === 1 || same(left, right) === 'yes' ? left : left === 1 ? right : undefined;
  });
  return dims.every((dim) => dim !== undefined) ? dims : undefined;
}

/** A dimension as `ofShape` takes it. */
const asNumber = (value: unknown): unknown => (isDim(value) && !isKnown(value) ? dimValue(value) : value);

/** The bytes of an array, as its library counts them. */
export function bytesIn(array: ShapedArray, model: LibraryModel | undefined): Dim {
  if (array.bytes !== undefined) return array.bytes;
  const own = model?.elementBytes?.[array.aval.dtype];
  const bytes = own === undefined ? avalBytes(array.aval) : times(own, productOf(array.aval.shape));
  const granule = model?.granule ?? 1;
  return isKnown(bytes) ? Math.ceil(bytes / granule) * granule : bytes;
}
