/**
 * The runtime's functions by the names that library models give them: `numpy.tanh`, `nn.relu`, `grad`.
 *
 * Depends on: runtime functions, ops, transforms.
 */
import * as basic from '../../runtime/functions/basic.ts';
import * as calls from '../../runtime/functions/calls.ts';
import * as creation from '../../runtime/functions/creation.ts';
import { overLanes } from '../../runtime/functions/lanes.ts';
import * as math from '../../runtime/functions/math.ts';
import * as nn from '../../runtime/functions/nn.ts';
import * as random from '../../runtime/functions/random.ts';
import * as reductions from '../../runtime/functions/reductions.ts';
import * as sorting from '../../runtime/functions/sorting.ts';
import * as shaping from '../../runtime/functions/shaping.ts';
import * as transforms from '../../runtime/functions/transforms.ts';
import * as tree from '../../runtime/functions/tree.ts';
import { pmean, psum, pmax, pmin, allGather, axisIndex } from '../../runtime/ops/collective.ts';
import { dynamicSlice, dynamicUpdateSlice } from '../../runtime/ops/gather.ts';
import { take } from '../../runtime/ops/indexing.ts';
import { matmul } from '../../runtime/ops/matmul.ts';
import type { AnyFunction } from '../shapes/values.ts';

const namespaces: Readonly<Record<string, readonly object[]>> = {
  '': [transforms, calls, { overLanes }],
  numpy: [creation, math, reductions, shaping, sorting, { matmul, take }],
  nn: [nn],
  lax: [basic, { pmean, psum, pmax, pmin, allGather, axisIndex, dynamicSlice, dynamicUpdateSlice }],
  random: [random],
  tree: [tree],
};

/** The function of the runtime with this qualified name; undefined when there is none. */
export function runtimeFunction(name: string): AnyFunction | undefined {
  const dot = name.lastIndexOf('.');
  const [namespace, own] = dot < 0 ? ['', name] : [name.slice(0, dot), name.slice(dot + 1)];
  for (const holder of namespaces[namespace] ?? []) {
    const found: unknown = Reflect.get(holder, own);
    if (typeof found === 'function') return found as AnyFunction;
  }
  return undefined;
}
