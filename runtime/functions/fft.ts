/**
 * Fourier transforms of pairs { real, imag }.
 *
 * A length is split into small factors (mixed radix): each step is a contraction with a small table of roots and a
 * pointwise product, so a transform is a few fused kernels and differentiates by itself. Prime lengths take one
 * contraction of their own. Depends on: core, ops.
 */
import { composed, lift, type ArrayLike } from '../ops/apply.ts';
import { cos, sin, where } from '../ops/elementwise.ts';
import { axisOf } from '../ops/family.ts';
import { matmul } from '../ops/matmul.ts';
import { iota, sameShape, sliceAlong } from '../ops/shape.ts';
import type { Value } from '../ops/value.ts';
import { printAval } from '../core/aval.ts';
import { argumentWrong, describe, shapesDisagree } from '../core/errors.ts';
import { countArg } from '../ops/options.ts';
import { floorDivide } from './math.ts';
import { concatenate, flip, roll } from './shaping.ts';

export interface ComplexPair {
  readonly real: Value;
  readonly imag: Value;
}
export interface PairLike {
  readonly real: ArrayLike;
  readonly imag: ArrayLike;
}

const largestTable = 64;
/** A factor of n that is at most the table's length; n itself when it has none. */
function factorOf(n: number): number {
  if (n <= largestTable) return n;
  for (let factor = largestTable; factor > 1; factor--) if (n % factor === 0) return factor;
  return n;
}

/** Roots exp(sign·2πi·j·k/n) for j below rows and k below columns; the product is reduced by n first, so angles stay exact. */
function roots(rows: number, columns: number, n: number, sign: number): ComplexPair {
  const product = iota([rows, columns], 0, 'int32')
    .mul(iota([rows, columns], 1, 'int32'))
    .mod(n);
  // Counted in quarter turns, so that only angles below a quarter are rounded, and quarters are exact.
  const quarters = product.mul(4);
  const quarter = floorDivide(quarters, n);
  const angle = quarters
    .sub(quarter.mul(n))
    .astype('float32')
    .mul(Math.PI / 2 / n);
  const [c, s] = [cos(angle), sin(angle)];
  const turned = (values: readonly Value[]): Value =>
    where(quarter.less(2), where(quarter.equal(0), values[0]!, values[1]!), where(quarter.equal(2), values[2]!, values[3]!));
  return { real: turned([c, s.neg(), c.neg(), s]), imag: turned([s, c, s.neg(), c.neg()]).mul(sign) };
}
const times = (a: ComplexPair, b: ComplexPair): ComplexPair => ({
  real: a.real.mul(b.real).sub(a.imag.mul(b.imag)),
  imag: a.real.mul(b.imag).add(a.imag.mul(b.real)),
});
const through = (x: ComplexPair, table: ComplexPair): ComplexPair => ({
  real: matmul(x.real, table.real).sub(matmul(x.imag, table.imag)),
  imag: matmul(x.real, table.imag).add(matmul(x.imag, table.real)),
});
const each = (x: ComplexPair, f: (part: Value) => Value): ComplexPair => ({ real: f(x.real), imag: f(x.imag) });

/** Along the last axis of [rows, n]: n = p·q, q transforms of length p, a turn, p transforms of length q (Cooley and Tukey 1965). */
function transformed(x: ComplexPair, sign: number): ComplexPair {
  const [rows, n] = x.real.shape as [number, number];
  const p = factorOf(n);
  if (p === n) return through(x, roots(n, n, n, sign));
  const q = n / p;
  // Element j1·q + j2 -> [rows, j2, j1].
  const columns = each(x, (part) =>
    part
      .reshape([rows, p, q])
      .transpose([0, 2, 1])
      .reshape([rows * q, p]),
  );
  const inner = each(through(columns, roots(p, p, p, sign)), (part) => part.reshape([rows, q, p]));
  const turn = roots(q, p, n, sign);
  const turned = times(inner, turn);
  const rest = each(turned, (part) => part.transpose([0, 2, 1]).reshape([rows * p, q]));
  // Result k2·p + k1 from [rows, k1, k2].
  return each(transformed(rest, sign), (part) => part.reshape([rows, p, q]).transpose([0, 2, 1]).reshape([rows, n]));
}

function lifted(a: PairLike): ComplexPair {
  if (typeof a !== 'object' || a === null || !('real' in a) || !('imag' in a))
    throw argumentWrong('fft', describe(a), 'pass a pair { real, imag } of arrays, or use rfft for a real array');
  const pair = { real: lift(a.real).astype('float32'), imag: lift(a.imag).astype('float32') };
  if (!sameShape(pair.real.shape, pair.imag.shape))
    throw shapesDisagree('fft', [printAval(pair.real.aval), printAval(pair.imag.aval)], 'real and imaginary part have to have one shape');
  return pair;
}
function along(a: ComplexPair, axis: number, sign: number, scale: number): ComplexPair {
  const extent = a.real.shape[axisOf('fft', axis, a.real.aval)]!;
  if (extent === 0) throw shapesDisagree('fft', [printAval(a.real.aval)], `axis ${axis} has no elements`);
  const at = axisOf('fft', axis, a.real.aval);
  const last = a.real.ndim - 1;
  const moved = each(a, (part) => part.moveAxis(at, last));
  const n = a.real.shape[at]!;
  const out = transformed(
    each(moved, (part) => part.reshape([-1, n])),
    sign,
  );
  return each(out, (part) => {
    const whole = part.reshape(moved.real.shape).moveAxis(last, at);
    return scale === 1 ? whole : whole.mul(scale);
  });
}
/** The discrete Fourier transform along an axis (the last). */
export const fft = composed('fft', (a: PairLike, axis: number = -1): ComplexPair => along(lifted(a), axis, -1, 1));
/** The inverse transform: `ifft(fft(x))` is x. */
export const ifft = composed('ifft', (a: PairLike, axis: number = -1): ComplexPair => {
  const own = lifted(a);
  return along(own, axis, 1, 1 / own.real.shape[axisOf('ifft', axis, own.real.aval)]!);
});

const every = (axes: readonly number[] | null | undefined, rank: number): readonly number[] =>
  axes ?? Array.from({ length: rank }, (_, k) => k);
/** Transforms along all axes, or the given ones. */
export const fftn = composed('fftn', (a: PairLike, axes?: readonly number[] | null): ComplexPair => {
  const own = lifted(a);
  return every(axes, own.real.ndim).reduce<ComplexPair>((x, axis) => fft(x, axis), own);
});
/** Inverse transforms along all axes, or the given ones. */
export const ifftn = composed('ifftn', (a: PairLike, axes?: readonly number[] | null): ComplexPair => {
  const own = lifted(a);
  return every(axes, own.real.ndim).reduce<ComplexPair>((x, axis) => ifft(x, axis), own);
});
/** Transforms along the last two axes. */
export const fft2 = (a: PairLike, axes: readonly number[] = [-2, -1]): ComplexPair => fftn(a, axes);
/** Inverse transforms along the last two axes. */
export const ifft2 = (a: PairLike, axes: readonly number[] = [-2, -1]): ComplexPair => ifftn(a, axes);

const half = (a: ComplexPair, axis: number): ComplexPair => {
  const at = axisOf('rfft', axis, a.real.aval);
  return each(a, (part) => sliceAlong(part, at, 0, Math.floor(part.shape[at]! / 2) + 1));
};
/** Of real input only the first half of the result, which says all. */
export const rfft = composed('rfft', (a: ArrayLike, axis: number = -1): ComplexPair => {
  const real = lift(a).astype('float32');
  return half(fft({ real, imag: real.zerosLike() }, axis), axis);
});
/** The whole spectrum from its half: the rest is the conjugate, turned round. */
function mirrored(a: ComplexPair, axis: number): ComplexPair {
  const at = axisOf('irfft', axis, a.real.aval);
  const count = a.real.shape[at]!;
  if (count < 2) throw shapesDisagree('irfft', [printAval(a.real.aval)], `axis ${axis} needs two elements at least`);
  const tail = each(a, (part) => flip(sliceAlong(part, at, 1, count - 1), at));
  return { real: concatenate([a.real, tail.real], at), imag: concatenate([a.imag, tail.imag.neg()], at) };
}
/** The inverse of `rfft`, of 2·(m - 1) samples. */
export const irfft = composed('irfft', (a: PairLike, axis: number = -1): Value => ifft(mirrored(lifted(a), axis), axis).real);
/** `rfft` along the last of the axes, `fft` along the others. */
export const rfftn = composed('rfftn', (a: ArrayLike, axes?: readonly number[] | null): ComplexPair => {
  const real = lift(a);
  const list = every(axes, real.ndim);
  return list.slice(0, -1).reduceRight<ComplexPair>((x, axis) => fft(x, axis), rfft(real, list[list.length - 1]!));
});
/** The inverse of `rfftn`. */
export const irfftn = composed('irfftn', (a: PairLike, axes?: readonly number[] | null): Value => {
  const own = lifted(a);
  const list = every(axes, own.real.ndim);
  return irfft(
    list.slice(0, -1).reduce<ComplexPair>((x, axis) => ifft(x, axis), own),
    list[list.length - 1]!,
  );
});
/** `rfftn` of the last two axes. */
export const rfft2 = (a: ArrayLike, axes: readonly number[] = [-2, -1]): ComplexPair => rfftn(a, axes);
/** The inverse of `rfft2`. */
export const irfft2 = (a: PairLike, axes: readonly number[] = [-2, -1]): Value => irfftn(a, axes);
/** The transform of a signal whose second half is the conjugate of the first: real. */
export const hfft = composed('hfft', (a: PairLike, axis: number = -1): Value => {
  const own = lifted(a);
  const whole = irfft({ real: own.real, imag: own.imag.neg() }, axis);
  return whole.mul(whole.shape[axisOf('hfft', axis, whole.aval)]!);
});
/** The inverse of `hfft`. */
export const ihfft = composed('ihfft', (a: ArrayLike, axis: number = -1): ComplexPair => {
  const out = rfft(a, axis);
  const n = lift(a).shape[axisOf('ihfft', axis, lift(a).aval)]!;
  return { real: out.real.mul(1 / n), imag: out.imag.mul(-1 / n) };
});

/** The frequencies that belong to the elements of a transform of n samples, d apart. */
export const fftfreq = composed('fftfreq', (n: number, d: number = 1): Value => {
  countArg('fftfreq', 'n', n, 1);
  const k = iota([n], 0, 'int32');
  return k
    .add(Math.floor(n / 2))
    .mod(n)
    .sub(Math.floor(n / 2))
    .astype('float32')
    .mul(1 / (n * d));
});
/** The same for a transform of real samples. */
export const rfftfreq = composed('rfftfreq', (n: number, d: number = 1): Value =>
  iota([Math.floor(countArg('rfftfreq', 'n', n, 1) / 2) + 1], 0, 'float32').mul(1 / (n * d)),
);
const shiftAxes = (x: Value, axes: number | readonly number[] | null | undefined): readonly number[] =>
  (axes === undefined || axes === null ? x.shape.map((_, k) => k) : typeof axes === 'number' ? [axes] : axes).map((axis) =>
    axisOf('fftshift', axis, x.aval),
  );
/** The zero frequency moved to the middle. */
export const fftshift = composed('fftshift', (a: ArrayLike, axes?: number | readonly number[] | null): Value => {
  const x = lift(a);
  const list = shiftAxes(x, axes);
  return roll(
    x,
    list.map((k) => Math.floor(x.shape[k]! / 2)),
    list,
  );
});
/** The zero frequency moved back to the front. */
export const ifftshift = composed('ifftshift', (a: ArrayLike, axes?: number | readonly number[] | null): Value => {
  const x = lift(a);
  const list = shiftAxes(x, axes);
  return roll(
    x,
    list.map((k) => -Math.floor(x.shape[k]! / 2)),
    list,
  );
});
