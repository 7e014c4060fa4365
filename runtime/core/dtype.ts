/**
 * Element types of arrays, their bytes, and promotion.
 *
 * The lattice is JAX's (type promotion semantics, 2021): a weak type (a JavaScript number) takes the other side's
 * dtype when the kinds allow it. A `bool` takes four bytes: WGSL has no byte stores. Depends on: nothing.
 */
export type DType = 'float32' | 'float16' | 'int32' | 'uint32' | 'bool';

export const dtypes: readonly DType[] = ['bool', 'int32', 'uint32', 'float16', 'float32'];

/** Bytes of one element. */
export const bytesOf: Readonly<Record<DType, number>> = { float32: 4, float16: 2, int32: 4, uint32: 4, bool: 4 };

/** How a dtype is written in messages: `f32[1024,1024]`. */
export const shortName: Readonly<Record<DType, string>> = {
  float32: 'f32',
  float16: 'f16',
  int32: 'i32',
  uint32: 'u32',
  bool: 'bool',
};

export const isFloat = (dtype: DType): boolean => dtype === 'float32' || dtype === 'float16';
