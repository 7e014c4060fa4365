/**
 * Names for things that have no function: `newaxis`, element types.
 *
 * Depends on: core.
 */
import type { DType as DTypeName } from '../core/dtype.ts';

/** Element types by name: `np.DType.Float32` is 'float32', as jax-js writes it. */
export const DType = { Float32: 'float32', Int32: 'int32', Uint32: 'uint32', Bool: 'bool', Float16: 'float16' } as const satisfies Readonly<
  Record<string, DTypeName>
>;
export type DType = DTypeName;
/** In an index: a new axis of extent 1. */
export const newaxis = null;
