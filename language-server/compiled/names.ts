/**
 * The runtime's functions by the names that library models give them: `numpy.tanh`, `nn.relu`, `grad`.
 *
 * Depends on: runtime functions, ops, transforms.
 */
import * as calls from '../../runtime/functions/calls.ts';
import { overLanes } from '../../runtime/functions/lanes.ts';
import * as lax from '../../runtime/functions/lax.ts';
import * as nn from '../../runtime/functions/nn.ts';
import * as numpy from '../../runtime/functions/numpy.ts';
import * as random from '../../runtime/functions/random.ts';
import * as transforms from '../../runtime/functions/transforms.ts';
import * as tree from '../../runtime/functions/tree.ts';
import type { AnyFunction } from '../shapes/values.ts';

const namespaces: Readonly<Record<string, object>> = {
  '': { ...transforms, ...calls, overLanes, remat: calls.checkpoint },
  numpy,
  'numpy.linalg': numpy.linalg,
  'numpy.fft': numpy.fft,
  nn,
  lax,
  'lax.linalg': lax.linalg,
  random,
  tree,
};

/** The function of the runtime with this qualified name; undefined when there is none. */
export function runtimeFunction(name: string): AnyFunction | undefined {
  const dot = name.lastIndexOf('.');
  const [namespace, own] = dot < 0 ? ['', name] : [name.slice(0, dot), name.slice(dot + 1)];
  const holder = namespaces[namespace];
  const found: unknown = holder === undefined ? undefined : Reflect.get(holder, own);
  return typeof found === 'function' ? (found as AnyFunction) : undefined;
}
