/**
 * Writes one kernel: every variable that isn't stored becomes its expression, at the coordinates where it is read.
 *
 * Fusion is this substitution. What is stored is decided in fuse.ts; where the decision turns out to be impossible (a
 * factor of a matrix product that isn't laid out regularly), `Unfit` names the variable that has to be stored after all.
 * Depends on: core, ops, affine, decide, factor, keys, kernel.
 * Long because: all steps of one kernel share what is known of it so far.
 */
import type { KnownAval } from '../core/aval.ts';
import type { DType } from '../core/dtype.ts';
import { isLiteral, type Atom, type Equation, type Variable } from '../core/program.ts';
import { int, linear, unravelled } from '../ops/arithmetic.ts';
import { conversion } from '../ops/elementwise.ts';
import type { ElementContext, Op } from '../ops/op.ts';
import { constant, coordinate, dtypeOf, type Scalar, type ScalarFunction } from '../ops/scalar.ts';
import { fewElements } from './decide.ts';
import { affineOf, sameAffine, scalarOf, type Bounds } from './affine.ts';
import { factorOf } from './factor.ts';
import { makeKeys } from './keys.ts';
import type { Contraction, Factor, Form, Result } from './kernel.ts';
import { mapScalar } from './scalar-walk.ts';

/** Which variables one kernel writes, and what they are built around. */
export interface Group {
  readonly results: readonly Variable[];
  /** The matrix product in it, if it is written as one. */
  readonly contraction?: Equation<Op>;
  readonly update?: Equation<Op>;
}

export interface Definitions {
  readonly of: (variable: Variable) => Equation<Op> | undefined;
  readonly stored: (variable: Variable) => boolean;
}

export interface Written {
  readonly extents: readonly number[];
  readonly operands: readonly Variable[];
  readonly results: readonly Result[];
  readonly form: Form;
}

export class Unfit extends Error {
  readonly variable: Variable;
  constructor(variable: Variable) {
    super('internal: runtime/compile: a variable has to be stored after all');
    this.variable = variable;
  }
}

export const maxOperands = 12;

const sumOfTwo: ScalarFunction = { name: 'sum', wgsl: ([a, b]) => `(${a!} + ${b!})`, host: (a, b) => a! + b!, flops: 1 };
const productOfTwo: ScalarFunction = { name: 'product', wgsl: ([a, b]) => `(${a!} * ${b!})`, host: (a, b) => a! * b!, flops: 1 };
const wholeProduct: ScalarFunction = { ...productOfTwo, host: (a, b) => Math.imul(a!, b!) };

export function writeKernel(group: Group, definitions: Definitions): Written {
  if (group.update !== undefined) return writeUpdate(group, group.update, definitions);
  if (group.contraction !== undefined) return writeContraction(group, group.contraction, definitions);
  const shape = group.results[0]!.aval.shape;
  const bounds = boundsOf(shape);
  const writer = makeWriter(group, definitions, bounds);
  const at = shape.map((extent, axis) => (extent === 1 ? int(0) : coordinate(axis)));
  const results = group.results.map((variable) => resultOf(variable, writer.own(variable, at), definitions));
  return { extents: shape, operands: writer.operands, results, form: { kind: 'element' } };
}

const boundsOf = (extents: readonly number[]): Bounds => ({ extents, counters: new Map(), keys: makeKeys() });

function resultOf(variable: Variable, value: Scalar, definitions: Definitions): Result {
  const equation = definitions.of(variable);
  return { aval: variable.aval, value, place: equation?.place, ...(equation?.role ? { role: equation.role } : {}) };
}

interface Writer {
  readonly operands: Variable[];
  /** The element of a result of this kernel at its own coordinates. */
  readonly own: (variable: Variable, at: readonly Scalar[]) => Scalar;
  readonly elementOf: (atom: Atom, at: readonly Scalar[]) => Scalar;
  readonly slotOf: (variable: Variable) => number;
  readonly short: (index: Scalar) => Scalar;
}

interface Anchor {
  readonly variable: Variable;
  readonly at: string;
  readonly sum: symbol;
}

function makeWriter(group: Group, definitions: Definitions, bounds: Bounds, anchor?: Anchor): Writer {
  const slots = new Map<Variable, number>();
  const operands: Variable[] = [];
  const memo = new Map<string, Scalar>();
  const numbers = new Map<Variable, number>();
  const owned = new Map<Variable, string>();
  const numberOf = (variable: Variable): number => {
    const number = numbers.get(variable) ?? numbers.size;
    numbers.set(variable, number);
    return number;
  };
  const keyOf = (at: readonly Scalar[]): string => at.map(bounds.keys.of).join();
  const short = (index: Scalar): Scalar => scalarOf(affineOf(index, bounds));
  const slotOf = (variable: Variable): number => {
    let slot = slots.get(variable);
    if (slot === undefined) {
      slot = operands.length;
      slots.set(variable, slot);
      operands.push(variable);
    }
    return slot;
  };
  const loaded = (variable: Variable, at: readonly Scalar[]): Scalar => ({
    kind: 'load',
    operand: slotOf(variable),
    index: [short(linear(at, variable.aval.shape))],
    dtype: variable.aval.dtype,
  });
  const elementOf = (atom: Atom, at: readonly Scalar[]): Scalar => {
    if (isLiteral(atom)) return constant(Number(atom.literal), atom.aval.dtype);
    const index = at.map((one, axis) => (atom.aval.shape[axis] === 1 ? int(0) : short(one)));
    const key = `${numberOf(atom)}@${keyOf(index)}`;
    const known = memo.get(key);
    if (known !== undefined) return known;
    const value = fresh(atom, index);
    memo.set(key, value);
    return value;
  };
  const fresh = (variable: Variable, at: readonly Scalar[]): Scalar => {
    if (anchor?.variable === variable) {
      if (keyOf(at) !== anchor.at) throw new Unfit(variable);
      return { kind: 'variable', variable: anchor.sum, dtype: variable.aval.dtype };
    }
    const ownAt = owned.get(variable);
    if (ownAt !== undefined && ownAt !== keyOf(at)) throw new Unfit(variable);
    if (ownAt === undefined && definitions.stored(variable)) return loaded(variable, at);
    const equation = definitions.of(variable);
    return equation === undefined ? loaded(variable, at) : expanded(equation, variable, at);
  };
  const expanded = (equation: Equation<Op>, variable: Variable, at: readonly Scalar[]): Scalar => {
    const { op, inputs, parameters } = equation;
    const context: ElementContext = {
      at,
      load: (operand, index) => elementOf(inputs[operand]!, index),
      inputs: inputs.map(({ aval }) => aval),
      output: variable.aval,
      parameters,
    };
    switch (op.body.kind) {
      case 'elementwise':
        return op.body.scalar(
          inputs.map((input) => elementOf(input, input.aval.shape.length === 0 ? [] : at)),
          context,
        );
      case 'view':
        return elementOf(inputs[0]!, op.body.index(context));
      case 'element': {
        const scalar = op.body.scalar(context);
        countersIn(scalar, bounds);
        return scalar;
      }
      case 'reduction':
        return reduced(op.body, equation, at);
      case 'contraction':
        return contracted(op.body, equation, variable, at);
      case 'update':
      case 'control':
        throw new Unfit(variable);
    }
  };
  const counter = (extent: number): Scalar & { kind: 'variable' } => {
    const variable = Symbol('counter');
    bounds.counters.set(variable, extent);
    return { kind: 'variable', variable, dtype: 'int32' };
  };
  const reduced = (
    body: Extract<Op['body'], { kind: 'reduction' }>,
    { inputs, parameters }: Equation<Op>,
    at: readonly Scalar[],
  ): Scalar => {
    const operand = inputs[0]!;
    const axes = body.axes(parameters);
    const reducedShape = axes.map((axis) => operand.aval.shape[axis]!);
    if (count(reducedShape) <= fewElements) return writtenOut(body, operand, axes, reducedShape, at);
    const counters = new Map(axes.map((axis) => [axis, counter(operand.aval.shape[axis]!)]));
    let kept = 0;
    const index = operand.aval.shape.map((_, axis) => counters.get(axis) ?? at[kept++]!);
    const dtype = operand.aval.dtype;
    return folded({
      counters: [...counters.values()],
      bounds,
      dtype,
      initial: constant(body.initial(dtype), dtype),
      combine: body.combine,
      element: elementOf(operand, index),
    });
  };
  /** A few elements one after the other, as the loop would take them. */
  const writtenOut = (
    body: Extract<Op['body'], { kind: 'reduction' }>,
    operand: Atom,
    axes: readonly number[],
    reducedShape: readonly number[],
    at: readonly Scalar[],
  ): Scalar => {
    const dtype = operand.aval.dtype;
    let value = constant(body.initial(dtype), dtype);
    for (let i = 0; i < count(reducedShape); i++) {
      const inside = unravelled(int(i), reducedShape);
      let kept = 0;
      const index = operand.aval.shape.map((_, axis) => (axes.includes(axis) ? inside[axes.indexOf(axis)]! : at[kept++]!));
      value = { kind: 'apply', apply: body.combine, operands: [value, elementOf(operand, index)], dtype };
    }
    return value;
  };
  const contracted = (
    body: Extract<Op['body'], { kind: 'contraction' }>,
    { inputs, parameters }: Equation<Op>,
    variable: Variable,
    at: readonly Scalar[],
  ): Scalar => {
    const { contract, batch } = body.dimensions(parameters);
    const [left, right] = [inputs[0]!, inputs[1]!];
    const counters = contract[0].map((axis) => counter(left.aval.shape[axis]!));
    const free = (side: 0 | 1): number[] =>
      inputs[side]!.aval.shape.map((_, axis) => axis).filter((axis) => !contract[side].includes(axis) && !batch[side].includes(axis));
    const frees = [free(0), free(1)] as const;
    const indexOf = (side: 0 | 1): Scalar[] =>
      inputs[side]!.aval.shape.map((_, axis) => {
        const inBatch = batch[side].indexOf(axis);
        if (inBatch >= 0) return at[inBatch]!;
        const inContract = contract[side].indexOf(axis);
        if (inContract >= 0) return counters[inContract]!;
        return at[batch[0].length + (side === 1 ? frees[0].length : 0) + frees[side].indexOf(axis)]!;
      });
    // Products of float16 are added up as float32: in their own width 2048 ones are the most.
    const dtype = variable.aval.dtype === 'float16' ? 'float32' : variable.aval.dtype;
    const product = dtype === 'int32' || dtype === 'uint32' ? wholeProduct : productOfTwo;
    const factors = [elementOf(left, indexOf(0)), elementOf(right, indexOf(1))].map((factor) => converted(factor, dtype));
    const element: Scalar = { kind: 'apply', apply: product, operands: factors, dtype };
    return converted(folded({ counters, bounds, dtype, initial: constant(0, dtype), combine: sumOfTwo, element }), variable.aval.dtype);
  };
  const own = (variable: Variable, at: readonly Scalar[]): Scalar => {
    const index = at.map((one, axis) => (variable.aval.shape[axis] === 1 ? int(0) : short(one)));
    owned.set(variable, keyOf(index));
    return elementOf(variable, index);
  };
  return { operands, own, elementOf, slotOf, short };
}

const converted = (x: Scalar, dtype: DType): Scalar =>
  dtypeOf(x) === dtype ? x : { kind: 'apply', apply: conversion(dtypeOf(x), dtype), operands: [x], dtype };

interface Fold {
  readonly counters: readonly (Scalar & { kind: 'variable' })[];
  readonly bounds: Bounds;
  readonly dtype: DType;
  readonly initial: Scalar;
  readonly combine: ScalarFunction;
  readonly element: Scalar;
}

/** Nested loops over the counters, the last one innermost, with one running value. */
function folded({ counters, bounds, dtype, initial, combine, element }: Fold): Scalar {
  if (counters.length === 0) return { kind: 'apply', apply: combine, operands: [initial, element], dtype };
  const nest = (depth: number, start: Scalar): Scalar => {
    const variable = Symbol('running');
    const running: Scalar = { kind: 'variable', variable, dtype };
    const last = depth === counters.length - 1;
    const next: Scalar = last ? { kind: 'apply', apply: combine, operands: [running, element], dtype } : nest(depth + 1, running);
    const extent = bounds.counters.get(counters[depth]!.variable)!;
    return {
      kind: 'loop',
      counter: counters[depth]!.variable,
      extent: int(extent),
      state: [{ variable, dtype, initial: start, next }],
      result: running,
      dtype,
      ...(last ? { neutral: initial } : {}),
    };
  };
  return nest(0, initial);
}

/** Loops that ops wrote themselves: their counters have bounds too. */
function countersIn(scalar: Scalar, bounds: Bounds): void {
  mapScalar(scalar, (one) => {
    if (one.kind === 'loop' && one.extent.kind === 'constant') bounds.counters.set(one.counter, one.extent.value);
    return one;
  });
}

interface Sides {
  readonly batchShape: readonly number[];
  readonly freeShapes: readonly [readonly number[], readonly number[]];
  readonly contractShape: readonly number[];
}

function sidesOf(equation: Equation<Op>): Sides & {
  readonly dimensions: {
    readonly contract: readonly [readonly number[], readonly number[]];
    readonly batch: readonly [readonly number[], readonly number[]];
  };
} {
  if (equation.op.body.kind !== 'contraction') throw new Error('internal: runtime/compile: not a contraction');
  const dimensions = equation.op.body.dimensions(equation.parameters);
  const { contract, batch } = dimensions;
  const shapes = [equation.inputs[0]!.aval.shape, equation.inputs[1]!.aval.shape] as const;
  const free = (side: 0 | 1): number[] => shapes[side].filter((_, axis) => !contract[side].includes(axis) && !batch[side].includes(axis));
  return {
    dimensions,
    batchShape: batch[0].map((axis) => shapes[0][axis]!),
    freeShapes: [free(0), free(1)],
    contractShape: contract[0].map((axis) => shapes[0][axis]!),
  };
}

const count = (shape: readonly number[]): number => shape.reduce((product, extent) => product * extent, 1);

function writeContraction(group: Group, equation: Equation<Op>, definitions: Definitions): Written {
  const sides = sidesOf(equation);
  const extents = [count(sides.batchShape), count(sides.freeShapes[0]), count(sides.freeShapes[1])];
  const bounds = boundsOf(extents);
  const position = linear([coordinate(0), coordinate(1), coordinate(2)], extents);
  const short = (index: Scalar): Scalar => scalarOf(affineOf(index, bounds));
  const atOf = (aval: KnownAval): Scalar[] =>
    unravelled(position, aval.shape).map((one, axis) => (aval.shape[axis] === 1 ? int(0) : short(one)));
  const product = equation.outputs[0]!;
  const sum = Symbol('sum');
  const anchor: Anchor = { variable: product, at: atOf(product.aval).map(bounds.keys.of).join(), sum };
  const writer = makeWriter(group, definitions, bounds, anchor);
  const depth = Symbol('depth');
  bounds.counters.set(depth, count(sides.contractShape));
  const factor = (side: 0 | 1): Factor => factorFrom(equation, side, sides, depth, writer, bounds);
  const contraction: Contraction = {
    sum,
    k: depth,
    batch: extents[0]!,
    rows: extents[1]!,
    columns: extents[2]!,
    depth: count(sides.contractShape),
    left: factor(0),
    right: factor(1),
  };
  const results = group.results.map((variable) => {
    const at = atOf(variable.aval);
    const value = variable === product ? writer.elementOf(variable, at) : writer.own(variable, at);
    return resultOf(variable, value, definitions);
  });
  return { extents, operands: writer.operands, results, form: { kind: 'contraction', contraction } };
}

function factorFrom(
  equation: Equation<Op>,
  side: 0 | 1,
  sides: ReturnType<typeof sidesOf>,
  depth: symbol,
  writer: Writer,
  bounds: Bounds,
): Factor {
  const operand = equation.inputs[side]!;
  if (isLiteral(operand)) throw new Unfit(equation.outputs[0]!);
  const { contract, batch } = sides.dimensions;
  const batchAt = unravelled(coordinate(0), sides.batchShape);
  const freeAt = unravelled(coordinate(side + 1), sides.freeShapes[side]);
  const contractAt = unravelled({ kind: 'variable', variable: depth, dtype: 'int32' }, sides.contractShape);
  let free = 0;
  const index = operand.aval.shape.map((_, axis) => {
    const inBatch = batch[side].indexOf(axis);
    if (inBatch >= 0) return batchAt[inBatch]!;
    const inContract = contract[side].indexOf(axis);
    if (inContract >= 0) return contractAt[inContract]!;
    return freeAt[free++]!;
  });
  const factor = factorOf(writer.elementOf(operand, index), side + 1, bounds);
  if (factor === undefined) throw new Unfit(operand);
  return factor;
}

function writeUpdate(group: Group, equation: Equation<Op>, definitions: Definitions): Written {
  const { op, inputs, parameters } = equation;
  if (op.body.kind !== 'update') throw new Error('internal: runtime/compile: not an update');
  const body = op.body;
  const target = inputs[body.target]!;
  const shape = inputs[body.over]!.aval.shape;
  const bounds = boundsOf(shape);
  const result = group.results[0]!;
  const writer = makeWriter(group, definitions, bounds);
  const context: ElementContext = {
    at: shape.map((extent, axis) => (extent === 1 ? int(0) : coordinate(axis))),
    load: (operand, index) => writer.elementOf(inputs[operand]!, index),
    inputs: inputs.map(({ aval }) => aval),
    output: result.aval,
    parameters,
  };
  if (isLiteral(target)) throw new Error('internal: runtime/compile: an update of a literal');
  const index = body.index(context);
  const position = writer.short(linear(index, target.aval.shape));
  const put = body.value(context);
  const inside = body.inside?.(context);
  // A slot of its own: what else is read of the target is read from another slot, and then it can't be written over.
  const slot = writer.operands.push(target) - 1;
  const there: Scalar = { kind: 'load', operand: slot, index: [position], dtype: result.aval.dtype };
  const value: Scalar =
    body.combine === undefined ? put : { kind: 'apply', apply: body.combine, operands: [there, put], dtype: result.aval.dtype };
  const disjoint = body.disjoint(
    inputs.map(({ aval }) => aval),
    parameters,
  );
  return {
    extents: shape,
    operands: writer.operands,
    results: [{ ...resultOf(result, value, definitions), index: [position], ...(inside ? { inside } : {}) }],
    form: { kind: 'update', disjoint, apart: disjoint ? [] : axesApart(index, bounds) },
  };
}

/** Axes of the updates that go straight through to an axis of the target: updates that differ there never meet. */
function axesApart(index: readonly Scalar[], bounds: Bounds): number[] {
  return index.flatMap((one) => {
    const { constant: shift, terms } = affineOf(one, bounds);
    const only = terms.length === 1 ? terms[0]! : undefined;
    return shift >= 0 && only !== undefined && only.factor === 1 && only.atom.kind === 'coordinate' ? [only.atom.axis] : [];
  });
}

/** Pairs (result, operand) in which every read of the operand is at the very element that is written. */
export function inPlacePairs({ extents, operands, results, form }: Written): { readonly result: number; readonly operand: number }[] {
  const bounds = boundsOf(extents);
  const own = affineOf(
    linear(
      extents.map((extent, axis) => (extent === 1 ? int(0) : coordinate(axis))),
      extents,
    ),
    bounds,
  );
  const elsewhere = new Set<number>();
  if (form.kind === 'contraction') for (const { operand } of [form.contraction.left, form.contraction.right]) elsewhere.add(operand);
  const read = new Set<number>();
  for (const { value, index, inside } of results)
    for (const scalar of [value, ...(index ?? []), ...(inside ? [inside] : [])])
      mapScalar(scalar, (one) => {
        if (one.kind === 'load') {
          read.add(one.operand);
          if (!sameAffine(affineOf(one.index[0]!, bounds), own)) elsewhere.add(one.operand);
        }
        return one;
      });
  const bytesOf = (aval: KnownAval): string => `${count(aval.shape)}×${aval.dtype === 'float16' ? 2 : 4}`;
  return results.flatMap(({ aval, index }, result) =>
    index !== undefined
      ? []
      : operands.flatMap((variable, operand) =>
          read.has(operand) && !elsewhere.has(operand) && bytesOf(variable.aval) === bytesOf(aval) ? [{ result, operand }] : [],
        ),
  );
}
