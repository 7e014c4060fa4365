/**
 * Products of arrays: dot, einsum and their kin, polynomials, convolution in one dimension.
 *
 * Depends on: core, ops.
 */
import { printAval } from '../core/aval.ts';
import { argumentWrong, describe, shapesDisagree } from '../core/errors.ts';
import { isFloat } from '../core/dtype.ts';
import { apply, commonType, composed, lift, scalarOf, type ArrayLike } from '../ops/apply.ts';
import { axisOf, broadcastShape, typed } from '../ops/family.ts';
import { dot as dotGeneral, matmul } from '../ops/matmul.ts';
import { countArg, optionsOf } from '../ops/options.ts';
import { sum } from '../ops/reduce.ts';
import * as s from '../ops/shape.ts';
import { where } from '../ops/elementwise.ts';
import type { Value } from '../ops/value.ts';
import { concatenate, expandDims, flip, moveaxis } from './shaping.ts';

export { matmul } from '../ops/matmul.ts';

const paired = (x: ArrayLike, y: ArrayLike): readonly [Value, Value] => {
  const values = [lift(x), lift(y)];
  const type = commonType(values);
  return values.map((value) => typed(value, { dtype: type.dtype })) as unknown as readonly [Value, Value];
};
/** A contraction whose extents are checked under the name that the user called. */
const contracted = (operation: string, a: Value, b: Value, contract: readonly [readonly number[], readonly number[]]): Value => {
  contract[0].forEach((axis, k) => {
    const [left, right] = [a.shape[axis], b.shape[contract[1][k]!]];
    if (left !== right)
      throw shapesDisagree(
        operation,
        [printAval(a.aval), printAval(b.aval)],
        `dimensions ${String(left)} and ${String(right)} have to be equal`,
      );
  });
  return dotGeneral(a, b, { contract, batch: [[], []] });
};
const last = (x: Value, back = 1): number => x.ndim - back;

/** NumPy's dot: products for scalars, else the last axis with the second to last of y. */
export const dot = composed('dot', (x: ArrayLike, y: ArrayLike): Value => {
  const [a, b] = paired(x, y);
  if (a.ndim === 0 || b.ndim === 0) return a.mul(b);
  return contracted('dot', a, b, [[last(a)], [b.ndim === 1 ? 0 : last(b, 2)]]);
});
/** The product of all elements of both, summed. */
export const vdot = composed('vdot', (x: ArrayLike, y: ArrayLike): Value => dot(lift(x).reshape([-1]), lift(y).reshape([-1])));
/** Sums of products over the last axis of both. */
export const inner = composed('inner', (x: ArrayLike, y: ArrayLike): Value => {
  const [a, b] = paired(x, y);
  return a.ndim === 0 || b.ndim === 0 ? a.mul(b) : contracted('inner', a, b, [[last(a)], [last(b)]]);
});
/** All products of an element of x with one of y: [x.size, y.size]. */
export const outer = composed('outer', (x: ArrayLike, y: ArrayLike): Value =>
  lift(x)
    .reshape([-1, 1])
    .mul(lift(y).reshape([1, -1])),
);
/** Sums of products along one axis (the last). */
export const vecdot = composed('vecdot', (x: ArrayLike, y: ArrayLike, options: { readonly axis?: number } = {}): Value => {
  const { axis } = optionsOf('vecdot', options, { axis: -1 });
  const [a, b] = paired(x, y);
  const product = a.mul(b);
  const total = sum(product, axisOf('vecdot', axis, product.aval));
  return a.dtype === 'bool' ? total.notEqual(0) : total;
});
/** Matrices [..., m, n] times vectors [..., n]. */
export const matvec = composed('matvec', (x: ArrayLike, y: ArrayLike): Value => {
  const product = matmul(x, expandDims(y, -1));
  return product.reshape(product.shape.slice(0, -1));
});
/** Vectors [..., n] times matrices [..., n, m]. */
export const vecmat = composed('vecmat', (x: ArrayLike, y: ArrayLike): Value => {
  const product = matmul(expandDims(x, -2), y);
  return product.reshape([...product.shape.slice(0, -2), product.shape[last(product)]!]);
});

/** Sums of products over the last `axes` axes of x and the first of y, or over given lists of axes. */
export const tensordot = composed(
  'tensordot',
  (x: ArrayLike, y: ArrayLike, axes: number | readonly [number | readonly number[], number | readonly number[]] = 2): Value => {
    const [a, b] = paired(x, y);
    if (typeof axes === 'number') countArg('tensordot', 'axes', axes);
    else if (!Array.isArray(axes) || axes.length !== 2 || listOf(axes[0] as number).length !== listOf(axes[1] as number).length)
      throw argumentWrong('tensordot', `${describe(axes)} as axes`, 'give it a count, or two lists of as many axes: [[1], [0]]');
    if (typeof axes === 'number' && axes > Math.min(a.ndim, b.ndim))
      throw shapesDisagree('tensordot', [printAval(a.aval), printAval(b.aval)], `one of them has fewer than ${axes} axes`);
    const contract: readonly [readonly number[], readonly number[]] =
      typeof axes === 'number'
        ? [Array.from({ length: axes }, (_, k) => a.ndim - axes + k), Array.from({ length: axes }, (_, k) => k)]
        : [listOf(axes[0]).map((k) => axisOf('tensordot', k, a.aval)), listOf(axes[1]).map((k) => axisOf('tensordot', k, b.aval))];
    return contracted('tensordot', a, b, contract);
  },
);
const listOf = (axes: number | readonly number[]): readonly number[] => (typeof axes === 'number' ? [axes] : axes);

/** Two operands with letters for their axes are contracted to the letters in `keep`. */
function contractPair(
  x: Value,
  xs: readonly string[],
  y: Value,
  ys: readonly string[],
  keep: readonly string[],
): { readonly value: Value; readonly letters: readonly string[] } {
  const [a, as] = dropped(x, xs, [...ys, ...keep]);
  const [b, bs] = dropped(y, ys, [...xs, ...keep]);
  const common = as.filter((letter) => bs.includes(letter));
  const batch = common.filter((letter) => keep.includes(letter));
  const contracted = common.filter((letter) => !keep.includes(letter));
  const at = (letters: readonly string[], wanted: readonly string[]): readonly number[] => wanted.map((letter) => letters.indexOf(letter));
  const value = dotGeneral(a, b, { contract: [at(as, contracted), at(bs, contracted)], batch: [at(as, batch), at(bs, batch)] });
  return { value, letters: [...batch, ...as.filter((l) => !common.includes(l)), ...bs.filter((l) => !common.includes(l))] };
}

/** Letters that nobody else needs are summed away; letters that stand twice become a diagonal. */
function dropped(x: Value, letters: readonly string[], needed: readonly string[]): readonly [Value, readonly string[]] {
  let [value, own] = diagonals(x, letters);
  const gone = own.flatMap((letter, axis) => (needed.includes(letter) ? [] : [axis]));
  if (gone.length > 0) value = sum(value, gone);
  own = own.filter((_, axis) => !gone.includes(axis));
  return [value, own];
}
function diagonals(x: Value, letters: readonly string[]): [Value, readonly string[]] {
  const twice = letters.findIndex((letter, k) => letters.indexOf(letter) !== k);
  if (twice < 0) return [x, letters];
  const first = letters.indexOf(letters[twice]!);
  const shape = x.shape;
  const onDiagonal = s.iota(shape, first, 'int32').equal(s.iota(shape, twice, 'int32'));
  return diagonals(
    sum(where(onDiagonal, x, scalarOf(0, { dtype: x.dtype })), twice),
    letters.filter((_, k) => k !== twice),
  );
}

/** Einstein's sums: `einsum('bij,bjk->bik', x, y)`, with `...` for shared leading axes; or operands each followed by a list of axis numbers. */
export const einsum = composed('einsum', (first: string | ArrayLike, ...rest: readonly (ArrayLike | readonly number[])[]): Value => {
  const { operands, inputs, output } =
    typeof first === 'string' ? parsed(first, rest as readonly ArrayLike[]) : fromLists([first, ...rest]);
  const shared = commonType(operands);
  const values = operands.map((x) => typed(x, { dtype: shared.dtype }));
  if (values.length === 0) throw argumentWrong('einsum', 'no arrays', 'pass the subscripts, then one array for each part');
  const extents = new Map<string, number>();
  inputs.forEach((letters, k) => {
    letters.forEach((letter, axis) => {
      const extent = values[k]!.shape[axis]!;
      const known = extents.get(letter);
      if (known !== undefined && known !== extent && known !== 1 && extent !== 1)
        throw shapesDisagree(
          'einsum',
          values.map((x) => printAval(x.aval)),
          `"${letter}" stands for ${known} and for ${extent} elements`,
        );
      if (known === undefined || known === 1) extents.set(letter, extent);
    });
  });
  const unknown = output.find((letter) => !extents.has(letter));
  if (unknown !== undefined)
    throw argumentWrong('einsum', `"${unknown}" in the result`, 'every letter of the result has to stand in an operand');
  let factors = values.map((x, k): Factor => {
    const kept = inputs[k]!.map((letter, axis) => x.shape[axis] === extents.get(letter));
    return { value: x.reshape(x.shape.filter((_, axis) => kept[axis])), letters: inputs[k]!.filter((_, axis) => kept[axis]) };
  });
  while (factors.length > 1) {
    const [i, j] = cheapestPair(factors, extents);
    const [a, b] = [factors[i]!, factors[j]!];
    const rest = factors.filter((_, k) => k !== i && k !== j);
    const needed = new Set([...output, ...rest.flatMap(({ letters }) => letters)]);
    factors = [contractPair(a.value, a.letters, b.value, b.letters, [...needed]), ...rest];
  }
  const [value, letters] = dropped(factors[0]!.value, factors[0]!.letters, output);
  return value.transpose(output.map((letter) => letters.indexOf(letter)));
});
/** An operand whose axes have these names. An axis of one element that is wider elsewhere is left out: the others spread over it. */
interface Factor {
  readonly value: Value;
  readonly letters: readonly string[];
}
/** The pair with the fewest products; the first of those, so that two operands and equal ones stay in order. */
function cheapestPair(factors: readonly Factor[], extents: ReadonlyMap<string, number>): readonly [number, number] {
  let best: readonly [number, number] = [0, 1];
  let least = Infinity;
  factors.forEach((a, i) => {
    factors.slice(i + 1).forEach((b, k) => {
      const products = [...new Set([...a.letters, ...b.letters])].reduce((n, letter) => n * extents.get(letter)!, 1);
      if (products < least) [best, least] = [[i, i + 1 + k], products];
    });
  });
  return best;
}
interface Subscripts {
  readonly operands: readonly Value[];
  readonly inputs: readonly (readonly string[])[];
  readonly output: readonly string[];
}
function parsed(text: string, arrays: readonly ArrayLike[]): Subscripts {
  const operands = arrays.map(lift);
  const [left, right] = text.replaceAll(' ', '').split('->') as [string, string | undefined];
  const parts = left.split(',');
  if (parts.length !== operands.length)
    throw shapesDisagree(
      'einsum',
      operands.map((x) => printAval(x.aval)),
      `"${text}" is for ${parts.length} operands`,
    );
  // The axes under `...` get names of their own, counted from the end.
  const dots = parts.map((part, k) => (part.includes('...') ? operands[k]!.ndim - (part.length - 3) : 0));
  const names = (count: number): readonly string[] => Array.from({ length: count }, (_, k) => `.${count - k}`);
  const expand = (part: string, count: number): readonly string[] =>
    part.split('...').flatMap((letters, k) => [...(k === 1 ? names(count) : []), ...letters]);
  const inputs = parts.map((part, k) => expand(part, dots[k]!));
  inputs.forEach((letters, k) => {
    if (letters.length !== operands[k]!.ndim)
      throw shapesDisagree('einsum', [printAval(operands[k]!.aval)], `"${parts[k]!}" names ${letters.length} axes`);
  });
  const widest = Math.max(0, ...dots);
  const output =
    right === undefined
      ? [
          ...names(widest),
          ...[...new Set(inputs.flat())]
            .filter((l) => !l.startsWith('.') && inputs.flat().filter((other) => other === l).length === 1)
            .sort(),
        ]
      : expand(right, widest);
  return { operands, inputs, output };
}
function fromLists(args: readonly (ArrayLike | readonly number[])[]): Subscripts {
  const odd = args.length % 2 === 1;
  const pairs = odd ? args.slice(0, -1) : args;
  const operands = pairs.filter((_, k) => k % 2 === 0).map((x) => lift(x as ArrayLike));
  const inputs = pairs.filter((_, k) => k % 2 === 1).map((axes) => (axes as readonly number[]).map(String));
  const all = inputs.flat();
  return {
    operands,
    inputs,
    output: odd
      ? (args[args.length - 1] as readonly number[]).map(String)
      : [...new Set(all)].filter((l) => all.filter((other) => other === l).length === 1).sort(),
  };
}

/** The diagonal of two axes, as the last axis; `offset` above 0 lies to the right. */
export const diagonal = composed('diagonal', (x: ArrayLike, offset: number = 0, axis1: number = 0, axis2: number = 1): Value => {
  const value = lift(x);
  if (value.ndim < 2) throw shapesDisagree('diagonal', [printAval(value.aval)], 'it needs two axes at least');
  const [a, b] = [axisOf('diagonal', axis1, value.aval), axisOf('diagonal', axis2, value.aval)];
  if (a === b || !Number.isInteger(offset))
    throw argumentWrong(
      'diagonal',
      `offset ${offset} and axes ${axis1} and ${axis2}`,
      'the offset is a whole number, and the axes are different',
    );
  const moved = moveaxis(value, [a, b], [value.ndim - 2, value.ndim - 1]);
  const [rows, columns] = moved.shape.slice(-2) as [number, number];
  const length = Math.max(0, offset >= 0 ? Math.min(rows, columns - offset) : Math.min(rows + offset, columns));
  const [top, left] = [Math.min(rows, Math.max(0, -offset)), Math.min(columns, Math.max(0, offset))];
  const square = s.sliceAlong(s.sliceAlong(moved, moved.ndim - 2, top, top + length), moved.ndim - 1, left, left + length);
  const same = s.iota([length, length], 0, 'int32').equal(s.iota([length, length], 1, 'int32'));
  return sum(where(same, square, scalarOf(0, { dtype: value.dtype })), square.ndim - 1).astype(value.dtype);
});
/** The sum of a diagonal. */
export const trace = composed('trace', (x: ArrayLike, offset: number = 0, axis1: number = 0, axis2: number = 1): Value =>
  sum(diagonal(x, offset, axis1, axis2), -1),
);
/** A square array with the given k-th diagonal, or the k-th diagonal of one. */
export const diag = composed('diag', (x: ArrayLike, k: number = 0): Value => {
  const value = lift(x);
  countArg('diag', 'k', k, -Infinity);
  if (value.ndim === 0 || value.ndim > 2) throw shapesDisagree('diag', [printAval(value.aval)], 'it takes a vector or a matrix');
  if (value.ndim !== 1) return diagonal(value, k);
  const n = value.size + Math.abs(k);
  const padded = concatenate([s.full([Math.max(0, k)], 0, value.dtype), value, s.full([Math.max(0, -k)], 0, value.dtype)]);
  const on = s
    .iota([n, n], 0, 'int32')
    .add(k)
    .equal(s.iota([n, n], 1, 'int32'));
  return where(on, padded.reshape([1, n]).broadcastTo([n, n]), scalarOf(0, { dtype: value.dtype }));
});
/** The flattened elements on the k-th diagonal of a square array. */
export const diagflat = composed('diagflat', (x: ArrayLike, k: number = 0): Value => diag(lift(x).reshape([-1]), k));
/** Index arrays of the main diagonal of an array with `rank` axes of n elements. */
export const diagIndices = (n: number, rank = 2): Value[] => {
  countArg('diagIndices', 'n', n);
  return Array.from({ length: countArg('diagIndices', 'rank', rank) }, () => s.iota([n], 0, 'int32'));
};
/** Index arrays of the main diagonal of x. */
export const diagIndicesFrom = (x: ArrayLike): Value[] => {
  const value = lift(x);
  if (value.ndim < 2 || value.shape.some((extent) => extent !== value.shape[0]))
    throw shapesDisagree('diagIndicesFrom', [printAval(value.aval)], 'it needs two axes at least, all of one extent');
  return diagIndices(value.shape[0]!, value.ndim);
};

/** Powers of a vector in columns, the highest first unless `increasing`. */
export const vander = composed(
  'vander',
  (x: ArrayLike, options: { readonly n?: number; readonly N?: number; readonly increasing?: boolean } = {}): Value => {
    const given = optionsOf('vander', options, {
      n: undefined as number | undefined,
      N: undefined as number | undefined,
      increasing: false,
    });
    const own = lift(x);
    if (own.ndim !== 1) throw shapesDisagree('vander', [printAval(own.aval)], 'it takes a vector');
    const value = (own.dtype === 'bool' ? own.astype('int32') : own).reshape([-1, 1]);
    const n = countArg('vander', 'n', given.N ?? given.n ?? value.size);
    const exponents = s.iota([1, n], 1, value.dtype);
    return value.pow((given.increasing ? exponents : exponents.mul(-1).add(n - 1)).broadcastTo([value.size, n]));
  },
);
/** The polynomial with coefficients p (along the first axis, the highest power first) at x. */
export const polyval = composed('polyval', (p: ArrayLike, x: ArrayLike): Value => {
  const factors = lift(p);
  if (factors.ndim === 0)
    throw shapesDisagree('polyval', [printAval(factors.aval)], 'it needs a list of coefficients, the highest power first');
  const type = commonType([factors, lift(x)]);
  const [at, own] = [typed(lift(x), type), typed(factors, type)];
  const shape = broadcastShape('polyval', [at.aval, { shape: own.shape.slice(1), dtype: own.dtype }]) as readonly number[];
  let value = s.full(shape, 0, type.dtype === 'bool' ? 'int32' : type.dtype);
  for (let k = 0; k < own.shape[0]!; k++) value = value.mul(at).add(own.takeSlice(0, k));
  return value;
});
const padFront = (x: Value, n: number): Value =>
  x.shape[0] === n ? x : concatenate([s.full([n - x.shape[0]!, ...x.shape.slice(1)], 0, x.dtype), x]);
/** Coefficients along the first axis, the highest power first, lined up at the constant term. */
const linedUp = (operation: string, p: ArrayLike, q: ArrayLike): readonly [Value, Value] => {
  const [a, b] = paired(p, q).map((x) => (x.dtype === 'bool' ? x.astype('int32') : x)) as [Value, Value];
  if (a.ndim === 0 || b.ndim === 0)
    throw shapesDisagree(operation, [printAval(a.aval), printAval(b.aval)], 'it needs lists of coefficients, the highest power first');
  const n = Math.max(a.shape[0]!, b.shape[0]!);
  return [padFront(a, n), padFront(b, n)];
};
/** The sum of two polynomials. */
export const polyadd = composed('polyadd', (p: ArrayLike, q: ArrayLike): Value => {
  const [a, b] = linedUp('polyadd', p, q);
  return a.add(b);
});
/** The difference of two polynomials. */
export const polysub = composed('polysub', (p: ArrayLike, q: ArrayLike): Value => {
  const [a, b] = linedUp('polysub', p, q);
  return a.sub(b);
});
/** The product of two polynomials. */
export const polymul = composed('polymul', (p: ArrayLike, q: ArrayLike): Value => convolve(lift(p), lift(q), 'full'));
/** The m-th derivative of a polynomial. */
export const polyder = composed('polyder', (p: ArrayLike, m: number = 1): Value => {
  countArg('polyder', 'm', m);
  const given = lift(p);
  if (given.ndim === 0)
    throw shapesDisagree('polyder', [printAval(given.aval)], 'it needs a list of coefficients, the highest power first');
  let own = isFloat(given.dtype) ? given : given.astype('float32');
  for (let k = 0; k < m; k++) {
    const n = own.shape[0]!;
    own =
      n <= 1
        ? own.slice([0, 0])
        : own.slice([0, n - 1]).mul(
            s
              .iota([n - 1], 0, own.dtype)
              .mul(-1)
              .add(n - 1)
              .reshape([n - 1, ...own.shape.slice(1).map(() => 1)]),
          );
  }
  return own;
});

/** Sums of products of x with y turned round, at every overlap (`full`), those as long as the longer (`same`), or whole ones (`valid`). */
export const convolve = composed('convolve', (x: ArrayLike, y: ArrayLike, mode: 'full' | 'same' | 'valid' = 'full'): Value => {
  const [a, b] = paired(x, y);
  if (!overlaps.includes(mode)) throw argumentWrong('convolve', `mode ${describe(mode)}`, 'its modes are "full", "same" and "valid"');
  if (a.ndim !== 1 || b.ndim !== 1 || a.size === 0 || b.size === 0)
    throw shapesDisagree('convolve', [printAval(a.aval), printAval(b.aval)], 'it takes two vectors that are not empty');
  const [long, short] = a.size >= b.size ? [a, b] : [b, a];
  const [n, m] = [long.size, short.size];
  const low = mode === 'valid' ? 0 : mode === 'full' ? m - 1 : Math.floor(m / 2);
  const high = mode === 'valid' ? 0 : mode === 'full' ? m - 1 : m - 1 - Math.floor(m / 2);
  const bordered = concatenate([s.full([low], 0, long.dtype), long, s.full([high], 0, long.dtype)]);
  return slidingProducts(bordered, flip(short), n + low + high - m + 1);
});
/** Sums of products of x with y as it stands, at every overlap, those as long as the longer, or whole ones. */
export const correlate = composed('correlate', (x: ArrayLike, y: ArrayLike, mode: 'full' | 'same' | 'valid' = 'valid'): Value => {
  const [a, b] = paired(x, y);
  // With the shorter first the result runs the other way, so that `same` keeps the right middle (as JAX has it).
  return a.size >= b.size || a.ndim !== 1 || b.ndim !== 1 ? convolve(a, flip(b), mode) : flip(convolve(b, flip(a), mode));
});
const overlaps: readonly string[] = ['full', 'same', 'valid'];
const slidingProducts = (x: Value, window: Value, count: number): Value => {
  const m = window.size;
  const table = apply(s.windowsEntry, [x], { window: [m], stride: [1], dilation: [1] });
  return dotGeneral(table, window, { contract: [[1], [0]], batch: [[], []] }).reshape([count]);
};
