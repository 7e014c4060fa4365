/**
 * Large reductions to few elements in two stages, so that many invocations share the work.
 *
 * The reduced positions, in row-major order, are cut into parts of equal length; each part is reduced, then the parts.
 * Both stages are ordinary reductions, so everything that fuses into and out of a reduction still does. The price is one
 * more kernel and a few hundred temporary elements. Depends on: core, ops, simplify, materialise.
 */
import type { KnownAval } from '../core/aval.ts';
import type { Equation, Variable } from '../core/program.ts';
import { added, int, scaled, unravelled } from '../ops/arithmetic.ts';
import type { Op } from '../ops/op.ts';
import { internalOp } from './materialise.ts';
import type { Flat } from './simplify.ts';

const fewResults = 64;
const manyElements = 4096;
const wantedParts = 256;
/** Parts are a multiple of this long where they can be: elements are read in fours. */
const run = 4;

export function split(flat: Flat): Flat {
  return { ...flat, equations: flat.equations.flatMap(stages) };
}

const count = (shape: readonly number[]): number => shape.reduce((product, extent) => product * extent, 1);

function stages(equation: Equation<Op>): readonly Equation<Op>[] {
  const { op, inputs, outputs, parameters } = equation;
  if (op.body.kind !== 'reduction') return [equation];
  const operand = inputs[0]!;
  const output = outputs[0]!;
  const results = count(output.aval.shape);
  const axes = op.body.axes(parameters);
  const reducedShape = axes.map((axis) => operand.aval.shape[axis]!);
  const reduced = count(reducedShape);
  if (results > fewResults || results === 0 || reduced * results < manyElements) return [equation];
  const parts = partsFor(reduced, wantedParts / results);
  if (parts === undefined) return [equation];
  const { dtype } = operand.aval;
  const kept = output.aval.shape;
  const make = (shape: readonly number[]): Variable => ({ aval: { shape, dtype } satisfies KnownAval });
  const cut = make([...kept, parts, reduced / parts]);
  const partial = make([...kept, parts]);
  const { initial, combine } = op.body;
  const last = internalOp({
    id: op.id,
    summary: 'Reduces the last axis.',
    body: { kind: 'reduction', axes: ({ axis }) => [Number(axis)], initial, combine },
    pure: true,
    flops: ([x], { axis }) => x!.shape[Number(axis)]!,
  });
  const where = { place: equation.place, ...(equation.role ? { role: equation.role } : {}) };
  return [
    { op: cutting(axes, reducedShape, reduced / parts), inputs: [operand], parameters: {}, outputs: [cut], ...where },
    { op: last, inputs: [cut], parameters: { axis: kept.length + 1 }, outputs: [partial], ...where },
    { op: last, inputs: [partial], parameters: { axis: kept.length }, outputs: [output], ...where },
  ];
}

/** About `wanted` parts that divide `reduced`, with whole runs in each where that can be had. */
function partsFor(reduced: number, wanted: number): number | undefined {
  for (const whole of [run, 1]) {
    for (let parts = Math.min(Math.floor(wanted), reduced / whole); parts >= Math.max(4, wanted / 8); parts--) {
      if (reduced % (parts * whole) === 0 && parts % 4 === 0) return parts;
    }
  }
  return undefined;
}

/** [kept…, part, position in it] of an operand whose axes `axes` are reduced. */
function cutting(axes: readonly number[], reducedShape: readonly number[], length: number): Op {
  return internalOp({
    id: 'parts',
    summary: 'The reduced axes as parts of equal length.',
    pure: true,
    body: {
      kind: 'view',
      index: ({ at, inputs }) => {
        const rank = at.length - 2;
        const reducedAt = unravelled(added(scaled(at[rank]!, int(length)), at[rank + 1]!), reducedShape);
        let kept = 0;
        return inputs[0]!.shape.map((_, axis) => (axes.includes(axis) ? reducedAt[axes.indexOf(axis)]! : at[kept++]!));
      },
    },
  });
}
