/**
 * What `tidemark` exports, and nothing else.
 *
 * Depends on: api.
 */
import './api/eager.ts';

export * as np from './api/numpy.ts';
export * as numpy from './api/numpy.ts';
export * as lax from './api/lax.ts';
export * as nn from './api/nn.ts';
export * as random from './api/random.ts';
export * as scipySpecial from './api/scipy-special.ts';
export * as tree from './api/tree.ts';
export * as memory from './api/memory.ts';
export { Array } from './ops/value.ts';
export type { Contents, DTypeArg } from './ops/value.ts';
export type { ArrayLike } from './ops/apply.ts';
export type { DType } from './core/dtype.ts';
export type { HostArray as TypedArray } from './core/interpreter.ts';
export { blockUntilReady, defaultDevice, devices, init } from './api/init.ts';
export type { InitOptions } from './api/init.ts';
export { devicePut } from './api/put.ts';
export { donate } from './api/donate.ts';
export { scope } from './api/scope.ts';
export {
  checkpoint,
  checkpointName,
  checkpointPolicies,
  customJvp,
  customVjp,
  evalShape,
  grad,
  hessian,
  jacfwd,
  jacrev,
  jit,
  jvp,
  linearize,
  makeJaxpr,
  pmap,
  remat,
  savedResiduals,
  valueAndGrad,
  vjp,
  vmap,
} from './api/transforms.ts';
export type { GradOptions, PmapOptions, SavedResidual } from './api/transforms.ts';
export type { Jitted, JitOptions, Lowered } from './api/jit.ts';
export type { Tree } from './api/tree.ts';
export {
  ArgumentError,
  ArrayDeletedError,
  DeviceLostError,
  DonationError,
  OutOfMemoryError,
  ShapeError,
  TidemarkError,
} from './core/errors.ts';
/** Sizes of an array's axes. */
export type Shape = readonly number[];
