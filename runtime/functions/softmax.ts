/**
 * Softmax with a gradient of its own: it follows from the result, so nothing else is kept for it.
 *
 *     y = exp(x - max) / sum        dx = y · (dy - sum(y · dy))
 *
 * The gradient of the exponentials and of the quotient one by one would keep the exponentials beside the result.
 * Depends on: core, ops, ir, trace, basic.
 */
import { isFloat } from '../core/dtype.ts';
import type { Parameters, Program } from '../core/program.ts';
import type { TracedProgram } from '../ir/eval.ts';
import { apply, composed, lift, type ArrayLike, type Entry } from '../ops/apply.ts';
import { div, exp, mul, sub } from '../ops/elementwise.ts';
import { borrows, numbers } from '../ops/family.ts';
import { axesOf, max, sum, type Axis } from '../ops/reduce.ts';
import type { Value } from '../ops/value.ts';
import { knownAvalOf, trace } from '../trace/trace.ts';
import { stopGradient } from './basic.ts';

/** Exponentials that sum to 1 along an axis (the last). */
export const softmax = composed('softmax', (x: ArrayLike, axis: Axis = -1): Value => {
  const given = lift(x);
  const value = isFloat(given.dtype) ? given : given.astype('float32');
  return value.size === 0 ? value : along(value, axesOf('softmax', axis, value));
});

function along(x: Value, axes: readonly number[]): Value {
  const body = trace('softmax', ([operand]) => [plain(operand!, axes)], [knownAvalOf(x)]);
  return apply(softmaxEntry, [x], { body: body as Program, axes });
}

function plain(x: Value, axes: readonly number[]): Value {
  const powers = exp(sub(x, stopGradient(max(x, axes, { keepdims: true }))));
  return div(powers, sum(powers, axes, { keepdims: true }));
}

/** What a change of x makes of y; it is its own transpose. */
const slope = (y: Value, change: Value, axes: readonly number[]): Value =>
  mul(y, sub(change, sum(mul(y, change), axes, { keepdims: true })));

const bodyOf = (parameters: Parameters): TracedProgram => parameters['body'] as Program as TracedProgram;

/** Parameters: { body, axes }. */
const softmaxEntry: Entry = {
  id: 'softmax',
  summary: 'Softmax whose gradient keeps the result only.',
  infer: (_inputs, parameters) => bodyOf(parameters).outputs.map((atom) => atom.aval),
  body: { kind: 'control', form: (parameters) => ({ kind: 'call', body: bodyOf(parameters) as Program }) },
  effects: borrows,
  differentiated: (operands, parameters) => {
    const y = apply(softmaxEntry, operands, parameters);
    return { results: [y], pull: ([g]) => [g && slope(y, g, numbers(parameters['axes']))] };
  },
  pushed: (operands, [change], parameters) => {
    const y = apply(softmaxEntry, operands, parameters);
    return { results: [y], tangents: [change && slope(y, change, numbers(parameters['axes']))] };
  },
  batch: ([x], [axis], parameters) =>
    axis === undefined
      ? { results: [apply(softmaxEntry, [x!], parameters)], axes: [undefined] }
      : {
          results: [
            along(
              x!.moveAxis(axis, 0),
              numbers(parameters['axes']).map((k) => k + 1),
            ),
          ],
          axes: [0],
        },
  flops: () => 1,
  overwrites: [],
};
