/**
 * Random array programs, and what every correct way of running them has in common.
 *
 * Depends on: runtime/trace, ops.
 */
import type { KnownAval } from '../../runtime/core/aval.ts';
import { exp, maximum, tanh, where } from '../../runtime/ops/elementwise.ts';
import type { Op } from '../../runtime/ops/op.ts';
import type { Program } from '../../runtime/core/program.ts';
import type { Value } from '../../runtime/ops/value.ts';
import { trace } from '../../runtime/trace/trace.ts';

export type Draw = (below: number) => number;

/** A small generator of numbers that is the same everywhere (xorshift). */
export function draws(seed: number): Draw {
  let state = (Math.imul(seed, 2654435761) ^ 0x9e3779b9) >>> 0 || 1;
  return (below) => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state % below;
  };
}

export const f32 = (...shape: number[]): KnownAval => ({ shape, dtype: 'float32' });

/** Values between -1 and 1 that differ from each other. */
export const numbersFor = (aval: KnownAval, seed: number): Float32Array => {
  const draw = draws(seed + 1);
  return Float32Array.from({ length: aval.shape.reduce((a, b) => a * b, 1) }, () => draw(2001) / 1000 - 1);
};

export interface RandomProgram {
  readonly program: Program<Op>;
  readonly avals: readonly KnownAval[];
  readonly seed: number;
}

const extents = [1, 2, 3, 4, 5, 8, 12, 16];

export function randomProgram(seed: number, length = 12): RandomProgram {
  const draw = draws(seed);
  const pick = <T>(list: readonly T[]): T => list[draw(list.length)]!;
  const avals = Array.from({ length: 1 + draw(4) }, () => f32(...Array.from({ length: 1 + draw(3) }, () => pick(extents))));
  const program = trace(
    `random ${seed}`,
    (inputs) => {
      const values: Value[] = [...inputs];
      const same = (x: Value): Value => pick(values.filter((y) => y.shape.join() === x.shape.join()));
      for (let i = 0; i < length; i++) values.push(step(pick(values.slice(-6)), draw, pick, same, values));
      const results = values.slice(inputs.length);
      return [...new Set([results.at(-1)!, pick(results), ...(draw(3) === 0 ? [pick(values)] : [])])];
    },
    avals,
  );
  return { program: program as Program<Op>, avals, seed };
}

const widths = [64, 128, 192, 320, 448, 576];

/** What `wiredBody` takes: a row, and a matrix from every width to every other. */
export const wiredAvals: readonly KnownAval[] = [f32(1, widths[0]!), ...widths.flatMap((m) => widths.map((n) => f32(m, n)))];

/** Rows of several widths, each made from two of the last eight: an irregular graph, for which no simple order is good. */
export function wiredBody(seed: number, nodes = 30): (operands: readonly Value[]) => readonly Value[] {
  return ([x, ...matrices]) => {
    const draw = draws(seed);
    const values: Value[] = [x!];
    const read = new Set<Value>();
    const through = (row: Value, width: number): Value => row.matmul(matrices[widths.indexOf(row.shape[1]!) * widths.length + width]!);
    const pick = (): Value => {
      const value = values[Math.max(0, values.length - 1 - draw(8))]!;
      read.add(value);
      return value;
    };
    for (let i = 0; i < nodes; i++) {
      const width = draw(widths.length);
      values.push(through(pick(), width).add(through(pick(), width)));
    }
    const rest = values.filter((value) => !read.has(value)).map((value) => through(value, 0));
    return [rest.reduce((sum, value) => sum.add(value))];
  };
}

function step(x: Value, draw: Draw, pick: <T>(list: readonly T[]) => T, same: (x: Value) => Value, values: readonly Value[]): Value {
  const axis = x.ndim === 0 ? 0 : draw(x.ndim);
  switch (draw(15)) {
    case 0:
      return x.add(same(x));
    case 1:
      return x.mul(same(x));
    case 2:
      return tanh(x);
    case 3:
      return exp(x.mul(0.1).sub(1));
    case 4:
      return maximum(x, same(x).mul(0.5));
    case 5:
      return x.ndim > 1 ? x.transpose() : x.mul(2);
    case 6:
      return x.ndim > 0 ? x.sum(axis) : x.add(1);
    case 7:
      return x.ndim > 0 ? x.max(axis, true).add(x) : x.sub(1);
    case 8:
      return x.reshape([x.size]);
    case 9:
      return x.ndim > 0 && x.shape[axis]! > 1
        ? x.slice(...x.shape.map((extent, k): readonly [number, number] => (k === axis ? [1, extent] : [0, extent])))
        : x.neg();
    case 10:
      return where(x.greater(0), x, same(x));
    case 11: {
      const other = values.find((y) => x.ndim === 2 && y.ndim === 2 && y.shape[0] === x.shape[1] && y !== x);
      return other === undefined ? (x.ndim === 2 ? x.matmul(x.transpose()).mul(0.1) : x.div(3)) : x.matmul(other).mul(0.1);
    }
    case 12:
      return x.ndim > 0 ? x.sub(x.mean(axis, true)) : x.mul(x);
    case 13:
      return x.ndim === 1 && x.size <= 32 ? x.reshape([x.size, 1]).mul(x).mul(0.5) : x.mul(0.25);
    default:
      return x.ndim === 2 ? x.sum(0).add(x) : x.add(pick(values).sum());
  }
}
