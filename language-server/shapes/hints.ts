/**
 * What literals say of a shape: lists of numbers, options with a shape or dtype, typed arrays of known length.
 *
 * Depends on: core (aval, dim, dtype), shaped, values.
 */
import type { Aval } from '../../runtime/core/aval.ts';
import type { Dim } from '../../runtime/core/dim.ts';
import { isDType, type DType } from '../../runtime/core/dtype.ts';
import { shaped, type ShapedArray } from './shaped.ts';
import { dimOf, HostBuffer, isArray, isObject, isUnknown, listOf } from './values.ts';

export const isPlainDtype = (value: unknown): boolean => typeof value === 'string' && isDType(value);

function dtypeFrom(value: unknown, otherwise: DType): DType | undefined {
  const dtype = isObject(value) && !isUnknown(value) && 'dtype' in value ? value.dtype : value;
  if (dtype === undefined || (isObject(dtype) && !isUnknown(dtype))) return otherwise;
  return typeof dtype === 'string' && isDType(dtype) ? dtype : undefined;
}

export function ofShape(shape: unknown, dtype: unknown, otherwise: DType = 'float32'): ShapedArray | undefined {
  const dims = dimsOf(shape);
  const type = dtypeFrom(dtype, otherwise);
  return dims === undefined || type === undefined ? undefined : shaped({ shape: dims, dtype: type });
}

function dimsOf(shape: unknown): readonly Dim[] | undefined {
  const list = typeof shape === 'number' || isUnknown(shape) ? [shape] : listOf(shape);
  const dims = list?.map(dimOf);
  return dims !== undefined && dims.every((dim) => dim !== undefined) ? dims : undefined;
}

/** `devicePut(pixels, { shape, dtype })`, `np.array(values)`. */
export function ofHost(value: unknown, options: unknown): unknown {
  if (isArray(value) || typeof value === 'number' || typeof value === 'boolean') return undefined;
  const given = isObject(options) && !isUnknown(options) && 'shape' in options ? dimsOf(options.shape) : undefined;
  const own = hostAval(value);
  const dtype = dtypeFrom(options, own?.dtype ?? 'float32');
  if (isObject(options) && 'shape' in options && options.shape !== undefined && given === undefined) return undefined;
  const shape = given ?? own?.shape;
  if (shape === undefined || dtype === undefined) return undefined;
  return shaped({ shape, dtype });
}

function hostAval(value: unknown): Aval | undefined {
  if (value instanceof HostBuffer) {
    const length = dimOf(value.length);
    const dtype: DType = /^(Int|BigInt)/.test(value.type) ? 'int32' : /^Uint(32|8|16)/.test(value.type) ? 'uint32' : 'float32';
    return length === undefined ? undefined : { shape: [length], dtype };
  }
  if (Array.isArray(value)) {
    if (value.length === 0) return { shape: [0], dtype: 'float32' };
    const items = value.map((item) =>
      typeof item === 'number' || typeof item === 'boolean' || isUnknown(item)
        ? { shape: [] as readonly Dim[], dtype: (typeof item === 'boolean' ? 'bool' : 'float32') as DType }
        : hostAval(item),
    );
    const [first] = items;
    if (first === undefined || items.some((item) => item === undefined || item.shape.length !== first.shape.length)) return undefined;
    return { shape: [value.length, ...first.shape], dtype: first.dtype };
  }
  return undefined;
}
