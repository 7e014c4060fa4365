/**
 * Convolution of one group, and its gradients as convolutions.
 *
 * The gradient that follows from the body (windows, then a product) would store a gradient for every window before it adds
 * them; the gradient for the input is itself a convolution, of the spread cotangent with the turned kernel, and that for
 * the kernel a product with the windows of the input. So neither stores windows. Tangents and batches follow from the body.
 * Depends on: core, ops, ir, trace, transforms.
 */
import type { Parameters, Program } from '../core/program.ts';
import { apply, type Entry } from '../ops/apply.ts';
import { borrows, numbers } from '../ops/family.ts';
import { dot } from '../ops/matmul.ts';
import { flipEntry, padEntry, windowsEntry } from '../ops/shape.ts';
import type { Value } from '../ops/value.ts';
import { evaluate, type TracedProgram } from '../ir/eval.ts';
import { knownAvalOf, trace } from '../trace/trace.ts';
import { batchProgram } from '../transforms/batch.ts';
import { pushForward } from '../transforms/jvp.ts';

/** For each spatial axis: steps of the kernel, zeros before and after, and how far neighbours of the input and of the kernel lie apart. */
export interface Geometry {
  readonly strides: readonly number[];
  readonly low: readonly number[];
  readonly high: readonly number[];
  readonly lhsDilation: readonly number[];
  readonly rhsDilation: readonly number[];
}

/** Input [N, C, S…], kernel [O, C, W…] -> [N, O, positions…]. */
export function convolve(x: Value, w: Value, geometry: Geometry): Value {
  const back = inputGeometry(x.shape.slice(2), w.shape.slice(2), geometry);
  // A border wider than the kernel: the input's gradient would leave out the outermost positions.
  if ([...back.low, ...back.high].some((zeros) => zeros < 0) || x.size === 0 || w.size === 0) return plain(x, w, geometry);
  const body = trace('conv', ([left, right]) => [plain(left!, right!, geometry)], [knownAvalOf(x), knownAvalOf(w)]);
  return apply(convEntry, [x, w], { body: body as Program, ...geometry });
}

const spread = (x: Value, { low, high, lhsDilation }: Geometry): Value => {
  const interior = lhsDilation.map((d) => d - 1);
  if ([...low, ...high, ...interior].every((n) => n === 0)) return x;
  return apply(padEntry, [x], { value: 0, low: [0, 0, ...low], high: [0, 0, ...high], interior: [0, 0, ...interior] });
};

/** [N, C, positions…, W…] */
const windowsOf = (x: Value, window: readonly number[], geometry: Geometry): Value =>
  apply(windowsEntry, [spread(x, geometry)], { window, stride: geometry.strides, dilation: geometry.rhsDilation });

/** The kernel is the same for every image, so images are the product's batch: results come as they are to lie, [N, O, positions…]. */
const plain = (x: Value, w: Value, geometry: Geometry): Value => {
  const window = w.shape.slice(2) as readonly number[];
  const kernels = w.broadcastTo([x.shape[0]!, ...w.shape]);
  return dot(kernels, windowsOf(x, window, geometry), {
    contract: [
      [2, ...window.map((_, k) => 3 + k)],
      [1, ...window.map((_, k) => x.ndim + k)],
    ],
    batch: [[0], [0]],
  });
};

/** Of the convolution that turns a cotangent into the input's gradient: strides and dilation of the input change places. */
function inputGeometry(
  input: readonly number[],
  window: readonly number[],
  { strides, low, high, lhsDilation, rhsDilation }: Geometry,
): Geometry {
  const reach = window.map((extent, k) => (extent - 1) * rhsDilation[k]! + 1);
  const before = reach.map((extent, k) => extent - 1 - low[k]!);
  const after = reach.map((extent, k) => {
    const wide = (input[k]! - 1) * lhsDilation[k]! + 1;
    const positions = Math.floor((wide + low[k]! + high[k]! - extent) / strides[k]!) + 1;
    return wide + low[k]! - ((positions - 1) * strides[k]! + 1);
  });
  return { strides: lhsDilation, low: before, high: after, lhsDilation: strides, rhsDilation };
}

const geometryOf = (parameters: Parameters): Geometry => ({
  strides: numbers(parameters['strides']!),
  low: numbers(parameters['low']!),
  high: numbers(parameters['high']!),
  lhsDilation: numbers(parameters['lhsDilation']!),
  rhsDilation: numbers(parameters['rhsDilation']!),
});

const bodyOf = (parameters: Parameters): TracedProgram => parameters['body'] as Program as TracedProgram;

/** Operands: input and kernel. Parameters: { body, strides, low, high, lhsDilation, rhsDilation }. */
const convEntry: Entry = {
  id: 'conv',
  summary: 'Convolution whose gradients are convolutions.',
  infer: (_inputs, parameters) => bodyOf(parameters).outputs.map((atom) => atom.aval),
  body: { kind: 'control', form: (parameters) => ({ kind: 'call', body: bodyOf(parameters) as Program }) },
  effects: borrows,
  differentiated: (operands, parameters, active) => {
    const [x, w] = operands as readonly [Value, Value];
    const geometry = geometryOf(parameters);
    return {
      results: evaluate(bodyOf(parameters), operands),
      pull: ([g]) =>
        g === undefined ? [undefined, undefined] : [active[0] ? forInput(g) : undefined, active[1] ? forKernel(g) : undefined],
    };
    function forInput(g: Value): Value {
      const axes = w.shape.slice(2).map((_, k) => 2 + k);
      const turned = apply(flipEntry, [w], { axes }).moveAxis(1, 0);
      return convolve(g, turned, inputGeometry(x.shape.slice(2), w.shape.slice(2), geometry));
    }
    /** [O, C, W…], as the kernel lies. */
    function forKernel(g: Value): Value {
      const summed = [0, ...g.shape.slice(2).map((_, k) => 2 + k)];
      return dot(g, windowsOf(x, w.shape.slice(2), geometry), { contract: [summed, summed], batch: [[], []] });
    }
  },
  pushed: (operands, tangents, parameters) => pushForward(bodyOf(parameters), operands, tangents),
  batch: (operands, axes, parameters, size, axisName) => batchProgram(bodyOf(parameters), operands, axes, size, axisName),
  flops: () => 1,
  overwrites: [],
};
