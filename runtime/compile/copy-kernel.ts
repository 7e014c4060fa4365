/**
 * The kernel that copies an array.
 *
 * Depends on: core, kernel.
 */
import type { KnownAval } from '../core/aval.ts';
import { coordinate } from '../ops/scalar.ts';
import type { Kernel } from './kernel.ts';
import { kernelKey } from './kernel-key.ts';
import { inPlacePairs, type Written } from './kernel-builder.ts';

export function copyKernel(aval: KnownAval): Kernel {
  const elements = aval.shape.reduce((product, extent) => product * extent, 1);
  const flat: KnownAval = { shape: [elements], dtype: aval.dtype };
  const written: Written = {
    extents: [elements],
    operands: [{ aval: flat }],
    results: [{ aval: flat, value: { kind: 'load', operand: 0, index: [coordinate(0)], dtype: aval.dtype }, place: undefined }],
    form: { kind: 'element' },
  };
  return {
    key: kernelKey(written),
    name: 'copy',
    extents: written.extents,
    operands: [flat],
    results: written.results,
    form: written.form,
    inPlace: inPlacePairs(written),
    flops: 0,
  };
}
