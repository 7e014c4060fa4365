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

/** A dtype, and whether it came from a JavaScript number. */
export interface Typed {
  readonly dtype: DType;
  readonly weak?: boolean;
}

/** JAX's lattice is a chain on our dtypes: int32 with uint32 is int32 (JAX without 64 bits), a weak float exceeds all integers. */
const rank = ({ dtype, weak }: Typed): number => {
  switch (dtype) {
    case 'bool':
      return 0;
    case 'uint32':
      return weak ? 1 : 2;
    case 'int32':
      return weak ? 1 : 3;
    case 'float16':
      return weak ? 4 : 5;
    case 'float32':
      return weak ? 4 : 6;
  }
};
const chain: readonly Typed[] = [
  { dtype: 'bool' },
  { dtype: 'int32', weak: true },
  { dtype: 'uint32' },
  { dtype: 'int32' },
  { dtype: 'float32', weak: true },
  { dtype: 'float16' },
  { dtype: 'float32' },
];

/** The dtype in which operands of these dtypes meet. */
export const promote = (operands: readonly Typed[]): Typed => chain[Math.max(0, ...operands.map(rank))]!;

export function isDType(value: unknown): value is DType {
  return typeof value === 'string' && (dtypes as readonly string[]).includes(value);
}
