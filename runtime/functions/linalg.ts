/**
 * Linear algebra: factorisations and what follows from them.
 *
 * Factorisations are loops over columns (`loop` entries), so that they differentiate, batch and keep one body however large
 * the matrix is. Depends on: core, ops, control, functions.
 */
import { printAval } from '../core/aval.ts';
import { argumentWrong, describe, shapesDisagree } from '../core/errors.ts';
import { composed, lift, type ArrayLike } from '../ops/apply.ts';
import { abs, div, log, sqrt, where, sign } from '../ops/elementwise.ts';
import { dynamicSlice, dynamicUpdateSlice } from '../ops/gather.ts';
import { matmul } from '../ops/matmul.ts';
import { argmax, max, sum, prod } from '../ops/reduce.ts';
import { broadcastShape } from '../ops/family.ts';
import { optionsOf } from '../ops/options.ts';
import * as s from '../ops/shape.ts';
import type { Value } from '../ops/value.ts';
import { customJvp } from './calls.ts';
import { foriLoop } from './loops.ts';
import { eye, tril, triu } from './creation.ts';
import { diagonal, outer } from './linear.ts';
import { argsort } from './sorting.ts';
import { concatenate, expandDims, matrixTranspose } from './shaping.ts';
import { vmap } from './transforms.ts';

const square = (operation: string, x: ArrayLike): Value => {
  const value = lift(x);
  const own = value.dtype === 'float16' || value.dtype === 'float32' ? value : value.astype('float32');
  if (own.ndim < 2 || own.shape[own.ndim - 1] !== own.shape[own.ndim - 2])
    throw shapesDisagree(operation, [printAval(value.aval)], 'the last two axes have to be equal');
  return own;
};
/** A function of one matrix (and more) applied to all in a batch. */
function batched(f: (...matrices: Value[]) => unknown, ...operands: readonly Value[]): unknown {
  const rank = operands[0]!.ndim;
  return rank === 2 ? f(...operands) : vmap((...parts: unknown[]) => batched(f, ...(parts as Value[])))(...operands);
}
const column = (x: Value, j: Value): Value => dynamicSlice(x, [0, j], [x.shape[0]!, 1]).reshape([x.shape[0]!]);
const row = (x: Value, j: Value): Value => dynamicSlice(x, [j, 0], [1, x.shape[1]!]).reshape([x.shape[1]!]);
const withColumn = (x: Value, j: Value, values: Value): Value => dynamicUpdateSlice(x, values.reshape([x.shape[0]!, 1]), [0, j]);
const at = (x: Value, j: Value): Value => dynamicSlice(x, [j], [1]).reshape([]);

/** The lower triangle L with L·Lᵀ = a, for a symmetric and positive definite. */
export const cholesky = composed(
  'cholesky',
  (a: ArrayLike, options: { readonly upper?: boolean; readonly symmetrizeInput?: boolean } = {}): Value => {
    const { upper, symmetrizeInput } = optionsOf('cholesky', options, { upper: false, symmetrizeInput: true });
    const own = square('cholesky', a);
    const input = !symmetrizeInput ? own : own.add(matrixTranspose(own)).mul(0.5);
    const lower = batched((m: Value) => {
      const n = m.shape[0]!;
      const index = s.iota([n], 0, 'int32');
      return foriLoop(
        0,
        n,
        (j, l: Value) => {
          const left = column(m, j).sub(matmul(l, row(l, j)));
          const pivot = sqrt(at(left, j));
          return withColumn(l, j, where(index.less(j), 0, where(index.equal(j), pivot, left.div(pivot))));
        },
        m.zerosLike(),
      );
    }, input) as Value;
    return upper ? matrixTranspose(lower) : lower;
  },
);

/** x with a·x = b for a triangular, by substitution from one end. */
const substituted = (a: Value, b: Value, lower: boolean, unit: boolean): Value => {
  const n = a.shape[0]!;
  return foriLoop(
    0,
    n,
    (k, x: Value) => {
      const i = lower ? k : k.mul(-1).add(n - 1);
      const own = row(a, i);
      const index = s.iota([n], 0, 'int32');
      const others = where(index.equal(i), 0, own);
      const left = row(b, i).sub(matmul(others, x));
      return dynamicUpdateSlice(x, (unit ? left : left.div(at(own, i))).reshape([1, b.shape[1]!]), [i, 0]);
    },
    b.zerosLike(),
  );
};
export interface TriangularOptions {
  readonly leftSide?: boolean;
  readonly lower?: boolean;
  readonly transposeA?: boolean;
  readonly unitDiagonal?: boolean;
}
/** x with x·a = b, or a·x = b with `leftSide`, for a triangular; the other triangle of a is not read. */
export const triangularSolve = composed('triangularSolve', (a: ArrayLike, b: ArrayLike, options: TriangularOptions = {}): Value => {
  const given = optionsOf('triangularSolve', options, { leftSide: false, lower: false, transposeA: false, unitDiagonal: false });
  const own = square('triangularSolve', a);
  const right = lift(b).astype(own.dtype);
  if (right.ndim < 2 || right.shape[right.ndim - (given.leftSide ? 2 : 1)] !== own.shape[own.ndim - 1])
    throw shapesDisagree(
      'triangularSolve',
      [printAval(own.aval), printAval(right.aval)],
      given.leftSide
        ? 'a·x = b needs as many rows in b as in a'
        : 'x·a = b needs as many columns in b as in a (for a·x = b pass { leftSide: true })',
    );
  if (!given.leftSide)
    return matrixTranspose(triangularSolve(own, matrixTranspose(right), { ...given, leftSide: true, transposeA: !given.transposeA }));
  const matrix = given.transposeA ? matrixTranspose(own) : own;
  const lower = given.lower !== given.transposeA;
  const table = lower ? tril(matrix) : triu(matrix);
  const wide = right.broadcastTo([...own.shape.slice(0, -2), ...right.shape.slice(-2)]);
  return batched((m: Value, r: Value) => substituted(m, r, lower, given.unitDiagonal), table, wide) as Value;
});

/** [L and U packed in one matrix, the row swapped in at each step, the permutation of rows], of matrices [..., m, n]. */
export const lu = composed(
  'lu',
  (a: ArrayLike): [Value, Value, Value] =>
    batched(
      (m: Value) => {
        const [rowCount, columnCount] = m.shape as [number, number];
        const steps = Math.min(rowCount, columnCount);
        const index = s.iota([rowCount], 0, 'int32');
        const across = s.iota([columnCount], 0, 'int32');
        const start: [Value, Value, Value] = [m, s.full([steps], 0, 'int32'), index];
        if (steps === 0) return start;
        return foriLoop(
          0,
          steps,
          (j, [packed, pivots, order]: [Value, Value, Value]): [Value, Value, Value] => {
            const candidates = where(index.less(j), -1, abs(column(packed, j)));
            const pivot = argmax(candidates);
            const swapped = where(index.equal(j), pivot, where(index.equal(pivot), j, index));
            const rows = packed.take(swapped, 0);
            const head = row(rows, j);
            const factor = where(index.greater(j), column(rows, j).div(at(head, j)), 0);
            const reduced = rows.sub(outer(factor, where(across.greater(j), head, 0)));
            const packedNext = withColumn(reduced, j, where(index.greater(j), factor, column(rows, j)));
            return [packedNext, dynamicUpdateSlice(pivots, pivot.reshape([1]), [j]), order.take(swapped, 0)];
          },
          start,
        );
      },
      floatMatrix('lu', a),
    ) as [Value, Value, Value],
);

/** x with a·x = b. b is a vector, or has one column per system. */
export const solve = composed('solve', (a: ArrayLike, b: ArrayLike): Value => {
  const own = square('solve', a);
  const right = lift(b).astype(own.dtype);
  const vector = right.ndim === 1;
  if (right.ndim === 0 || right.shape[vector ? 0 : right.ndim - 2] !== own.shape[own.ndim - 1])
    throw shapesDisagree('solve', [printAval(own.aval), printAval(right.aval)], 'b needs as many rows as a has');
  const table = vector ? expandDims(right, -1) : right;
  const lead = broadcastShape(
    'solve',
    [own, table].map((x) => ({ shape: x.shape.slice(0, -2), dtype: x.dtype })),
  ) as readonly number[];
  const wide = table.broadcastTo([...lead, ...table.shape.slice(-2)]);
  const spread = own.broadcastTo([...lead, ...own.shape.slice(-2)]);
  if (wide.size === 0) return vector ? right : wide;
  const x = batched(
    (m: Value, r: Value) => {
      const [packed, , order] = lu(m);
      const first = substituted(tril(packed, -1), r.take(order, 0), true, true);
      return substituted(triu(packed), first, false, false);
    },
    spread,
    wide,
  ) as Value;
  return vector ? x.reshape(x.shape.slice(0, -1)) : x;
});
/** The inverse of a square matrix. */
export const inv = composed('inv', (a: ArrayLike): Value => {
  const own = square('inv', a);
  return solve(own, eye(own.shape[own.ndim - 1]!, own.dtype));
});
const signAndLog = (a: ArrayLike): { readonly sign: Value; readonly diagonalOfLu: Value } => {
  const [packed, pivots] = lu(a);
  const n = packed.shape[packed.ndim - 1]!;
  const swaps = pivots
    .notEqual(s.iota([n], 0, 'int32'))
    .astype('int32')
    .sum(-1);
  const d = diagonal(packed, 0, -2, -1);
  return { sign: where(swaps.mod(2).equal(0), 1, -1), diagonalOfLu: d };
};
/** The determinant of a square matrix. */
export const det = composed('det', (a: ArrayLike): Value => {
  const { sign: own, diagonalOfLu } = signAndLog(square('det', a));
  return prod(diagonalOfLu, -1).mul(own);
});
/** [sign, logarithm of the absolute value] of the determinant. */
export const slogdet = composed('slogdet', (a: ArrayLike): [Value, Value] => {
  const { sign: own, diagonalOfLu } = signAndLog(square('slogdet', a));
  return [prod(sign(diagonalOfLu), -1).mul(own), log(abs(diagonalOfLu)).sum(-1)];
});

/** [Q, R] with orthonormal columns in Q: Householder reflections, column by column. */
export const qr = composed(
  'qr',
  (a: ArrayLike, options: { readonly mode?: 'reduced' | 'complete' } = {}): [Value, Value] =>
    batched(
      (m: Value) => {
        const { mode } = optionsOf('qr', options, { mode: 'reduced' as 'reduced' | 'complete' });
        if (mode !== 'reduced' && mode !== 'complete')
          throw argumentWrong('qr', `mode ${JSON.stringify(mode)}`, 'its modes are "reduced" and "complete"');
        const [rows, columns] = m.shape as [number, number];
        const steps = Math.min(rows, columns);
        const index = s.iota([rows], 0, 'int32');
        const [q, r] = foriLoop(
          0,
          steps,
          (j, [q0, r0]: [Value, Value]): [Value, Value] => {
            const x = where(index.less(j), 0, column(r0, j));
            const head = at(x, j);
            const length = sqrt(sum(x.mul(x)));
            const alpha = where(head.less(0), length, length.neg());
            const v = where(index.equal(j), x.sub(alpha), x);
            const norm = sum(v.mul(v));
            const scale = where(norm.equal(0), 0, div(2, where(norm.equal(0), 1, norm)));
            const reflect = (y: Value): Value => y.sub(outer(v.mul(scale), matmul(v, y)));
            return [q0.sub(outer(matmul(q0, v).mul(scale), v)), reflect(r0)];
          },
          [eye(rows, m.dtype), m] as [Value, Value],
        );
        const upper = triu(r);
        if (mode === 'complete') return [q, upper];
        return [q.slice([], [0, steps]), upper.slice([0, steps], [])];
      },
      floatMatrix('qr', a),
    ) as [Value, Value],
);
const floated = (a: ArrayLike): Value => {
  const value = lift(a);
  return value.dtype === 'float16' || value.dtype === 'float32' ? value : value.astype('float32');
};
function floatMatrix(operation: string, a: ArrayLike): Value {
  const value = floated(a);
  if (value.ndim < 2) throw shapesDisagree(operation, [printAval(value.aval)], 'it takes a matrix, or a stack of them');
  return value;
}

/** Cyclic Jacobi sweeps: every pair of columns is rotated until nothing is left beside the diagonal. */
const sweeps = 12;
function jacobi(m: Value): [Value, Value] {
  const n = m.shape[0]!;
  if (n === 1) return [m.reshape([1]), eye(1, m.dtype)];
  const pairs = (n * (n - 1)) / 2;
  // The pair that is next goes round with the matrices: (0, 1), (0, 2) … (n - 2, n - 1), and again.
  type Sweep = [Value, Value, Value, Value];
  const rotate = (_: Value, [a, v, p, q]: Sweep): Sweep => {
    const [rowP, rowQ] = [row(a, p), row(a, q)];
    const [app, aqq, apq] = [at(rowP, p), at(rowQ, q), at(rowP, q)];
    const theta = aqq.sub(app).div(where(apq.equal(0), 1, apq.mul(2)));
    const t = where(apq.equal(0), 0, where(theta.less(0), -1, 1).div(abs(theta).add(sqrt(theta.mul(theta).add(1)))));
    const c = t.mul(t).add(1).pow(-0.5);
    const sn = t.mul(c);
    const turnRows = (x: Value): Value => {
      const [x1, x2] = [row(x, p), row(x, q)];
      return dynamicUpdateSlice(
        dynamicUpdateSlice(x, x1.mul(c).sub(x2.mul(sn)).reshape([1, n]), [p, 0]),
        x1.mul(sn).add(x2.mul(c)).reshape([1, n]),
        [q, 0],
      );
    };
    const turnColumns = (x: Value): Value => {
      const [x1, x2] = [column(x, p), column(x, q)];
      return withColumn(withColumn(x, p, x1.mul(c).sub(x2.mul(sn))), q, x1.mul(sn).add(x2.mul(c)));
    };
    const rowDone = q.add(1).greaterEqual(n);
    const nextP = where(rowDone, where(p.add(2).greaterEqual(n), 0, p.add(1)), p);
    return [turnColumns(turnRows(a)), turnColumns(v), nextP, where(rowDone, nextP.add(1), q.add(1))];
  };
  const start: Sweep = [m, eye(n, m.dtype), s.full([], 0, 'int32'), s.full([], 1, 'int32')];
  const [a, v] = foriLoop(0, sweeps * pairs, rotate, start);
  return [diagonal(a), v];
}

/** [eigenvalues in ascending order, eigenvectors in columns] of a symmetric matrix. */
export const eigh = composed('eigh', (a: ArrayLike, options: { readonly symmetrizeInput?: boolean } = {}): [Value, Value] => {
  const { symmetrizeInput } = optionsOf('eigh', options, { symmetrizeInput: true });
  const own = square('eigh', a);
  const input = !symmetrizeInput ? own : own.add(matrixTranspose(own)).mul(0.5);
  return batched(decomposed as (m: Value) => [Value, Value], input) as [Value, Value];
});
const decomposed = customJvp((m) => {
  const [values, vectors] = jacobi(m as Value);
  const order = argsort(values);
  return [values.take(order, 0), vectors.take(order, 1)];
});
// A vector turns towards each other one by what the change couples, over the distance of their values.
decomposed.defjvp(([m], [change]) => {
  const [values, vectors] = decomposed(m) as [Value, Value];
  const coupled = matmul(matmul(vectors.transpose(), change as Value), vectors);
  const distance = expandDims(values, 0).sub(expandDims(values, 1));
  const turn = where(distance.equal(0), 0, coupled.div(where(distance.equal(0), 1, distance)));
  return [
    [values, vectors],
    [diagonal(coupled), matmul(vectors, turn)],
  ];
});
/** Eigenvalues of a symmetric matrix, in ascending order. */
export const eigvalsh = composed(
  'eigvalsh',
  (a: ArrayLike, options: { readonly symmetrizeInput?: boolean } = {}): Value => eigh(a, options)[0],
);

/** [U, S, Vᵀ] with S descending; by the eigenvectors of aᵀ·a, refined through a itself. */
const svdParts = composed(
  'svd',
  (a: ArrayLike, fullMatrices: boolean): [Value, Value, Value] =>
    batched(
      (m: Value) => {
        const [rows, columns] = m.shape as [number, number];
        if (rows < columns) {
          const [u, values, vt] = svdParts(matrixTranspose(m), fullMatrices);
          return [matrixTranspose(vt), values, matrixTranspose(u)];
        }
        const [, r] = qr(m);
        const [values, v] = eigh(matmul(matrixTranspose(r), r));
        const descending = argsort(values.neg());
        const basis = v.take(descending, 1);
        const scaled = matmul(m, basis);
        const singular = sqrt(sum(scaled.mul(scaled), 0));
        const u = scaled.div(where(singular.equal(0), 1, singular));
        if (!fullMatrices || rows === columns) return [u, singular, matrixTranspose(basis)];
        const [q] = qr(u, { mode: 'complete' });
        const signs = sign(sum(q.slice([], [0, columns]).mul(u), 0));
        return [concatenate([q.slice([], [0, columns]).mul(signs), q.slice([], [columns, rows])], 1), singular, matrixTranspose(basis)];
      },
      floatMatrix('svd', a),
    ) as [Value, Value, Value],
);
/** [U, S, Vᵀ] with a = U·diag(S)·Vᵀ and S descending; S alone with `computeUv: false`. */
export function svd(a: ArrayLike, options: { readonly fullMatrices?: boolean; readonly computeUv: false }): Value;
export function svd(a: ArrayLike, options?: { readonly fullMatrices?: boolean; readonly computeUv?: true }): [Value, Value, Value];
export function svd(
  a: ArrayLike,
  options: { readonly fullMatrices?: boolean; readonly computeUv?: boolean } = {},
): [Value, Value, Value] | Value {
  const { fullMatrices, computeUv } = optionsOf('svd', options, { fullMatrices: true, computeUv: true });
  const parts = svdParts(a, fullMatrices);
  return computeUv ? parts : parts[1];
}
/** Singular values, descending. */
export const svdvals = composed('svdvals', (a: ArrayLike): Value => svdParts(a, false)[1]);
/** The pseudo-inverse, by singular values. */
export const pinv = composed('pinv', (a: ArrayLike): Value => inverted(floatMatrix('pinv', a)) as Value);
const inverted = customJvp((a) => {
  const [u, values, vt] = svdParts(a as Value, false);
  const cut = max(values, -1, true).mul(1e-6 * Math.max(...(a as Value).shape.slice(-2)));
  const inverse = where(values.greater(cut), div(1, where(values.equal(0), 1, values)), 0);
  return matmul(matrixTranspose(vt).mul(expandDims(inverse, -2)), matrixTranspose(u));
});
// Golub and Pereyra (1973): it holds wherever the rank stays the same, whether or not singular values are equal.
inverted.defjvp(([given], [change]) => {
  const [a, da] = [given as Value, change as Value];
  const p = inverted(a) as Value;
  const [pt, dat] = [matrixTranspose(p), matrixTranspose(da)];
  const left = matmul(matmul(p, pt), dat.sub(matmul(dat, matmul(a, p))));
  const right = matmul(dat.sub(matmul(matmul(p, a), dat)), matmul(pt, p));
  return [p, left.add(right).sub(matmul(p, matmul(da, p)))];
});
/** The x of least length among those that minimise |a·x - b|. */
export const lstsq = composed('lstsq', (a: ArrayLike, b: ArrayLike): Value => {
  const [own, right] = [floatMatrix('lstsq', a), lift(b)];
  if (own.ndim !== 2 || right.ndim < 1 || right.ndim > 2 || right.shape[0] !== own.shape[0])
    throw shapesDisagree(
      'lstsq',
      [printAval(own.aval), printAval(right.aval)],
      'it takes a matrix, and a vector or matrix of as many rows',
    );
  return matmul(pinv(own), right);
});
/** How many singular values are not negligible. int32. */
export const matrixRank = composed('matrixRank', (a: ArrayLike): Value => {
  const values = svdvals(a);
  return values
    .greater(max(values, -1, true).mul(1.1920929e-7 * Math.max(...lift(a).shape.slice(-2))))
    .astype('int32')
    .sum(-1);
});
/** A square matrix to a whole power. */
export const matrixPower = composed('matrixPower', (a: ArrayLike, n: number): Value => {
  const own = square('matrixPower', a);
  if (!Number.isInteger(n)) throw argumentWrong('matrixPower', `${describe(n)} as its power`, 'a power is a whole number');
  if (n < 0) return matrixPower(inv(own), -n);
  let [result, power]: [Value | undefined, Value] = [undefined, own];
  for (let left = n; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) result = result === undefined ? power : matmul(result, power);
    if (left > 1) power = matmul(power, power);
  }
  return result ?? eye(own.shape[own.ndim - 1]!, own.dtype).broadcastTo(own.shape);
});
export * from './norms.ts';
export { cross, multiDot } from './products.ts';
export { diagonal, outer, matmul, matrixTranspose };
export { trace, tensordot, vecdot } from './linear.ts';
