/**
 * Indices in normal form: a constant plus coordinates, each with a factor.
 *
 * A reshape asks for the quotient and the rest of a position, and what it yields is often read as a position again; with
 * the bounds of coordinates known most of that cancels: `over(12·c0 + c1, 12)` is c0 when c1 < 12. What is left tells the
 * printers which reads lie side by side. Everything else stays an opaque term.
 * Depends on: ops.
 */
import { added, divided as over, int, intAdd, intDiv, intMod, intMul, intSub, rest, scaled } from '../ops/arithmetic.ts';
import type { Scalar } from '../ops/scalar.ts';
import type { Keys } from './keys.ts';

export interface Term {
  readonly atom: Scalar;
  readonly key: string;
  readonly factor: number;
}

export interface Affine {
  readonly constant: number;
  /** Sorted by key, no factor 0. */
  readonly terms: readonly Term[];
}

/** The extents that coordinates and counters run over: 0 <= value < extent. */
export interface Bounds {
  readonly extents: readonly number[];
  readonly counters: Map<symbol, number>;
  readonly keys: Keys;
}

export function affineOf(scalar: Scalar, bounds: Bounds): Affine {
  switch (scalar.kind) {
    case 'constant':
      return { constant: scalar.value, terms: [] };
    case 'coordinate':
      return bounds.extents[scalar.axis] === 1 ? { constant: 0, terms: [] } : atom(scalar, bounds);
    case 'variable':
      return bounds.counters.get(scalar.variable) === 1 ? { constant: 0, terms: [] } : atom(scalar, bounds);
    case 'apply': {
      const [a, b] = scalar.operands;
      if (scalar.apply === intAdd) return sum(affineOf(a!, bounds), affineOf(b!, bounds), 1, bounds);
      if (scalar.apply === intSub) return sum(affineOf(a!, bounds), affineOf(b!, bounds), -1, bounds);
      if (scalar.apply === intMul) return product(affineOf(a!, bounds), affineOf(b!, bounds), scalar, bounds);
      if (scalar.apply === intDiv || scalar.apply === intMod) {
        const divisor = affineOf(b!, bounds);
        if (divisor.terms.length === 0 && divisor.constant > 0)
          return divided(affineOf(a!, bounds), divisor.constant, scalar.apply === intDiv ? 'over' : 'rest', bounds);
      }
      return atom(scalar, bounds);
    }
    case 'load':
    case 'choose':
    case 'loop':
      return atom(scalar, bounds);
  }
}

/** The same index, written as short as the normal form allows. */
export function scalarOf({ constant, terms }: Affine): Scalar {
  const sum = terms.reduce<Scalar | undefined>((left, { atom: one, factor }) => {
    const next = scaled(one, int(factor));
    return left === undefined ? next : added(left, next);
  }, undefined);
  return sum === undefined ? int(constant) : added(sum, int(constant));
}

export const sameAffine = (a: Affine, b: Affine): boolean =>
  a.constant === b.constant &&
  a.terms.length === b.terms.length &&
  a.terms.every(({ key, factor }, i) => key === b.terms[i]!.key && factor === b.terms[i]!.factor);

export const factorOf = ({ terms }: Affine, key: string): number => terms.find((term) => term.key === key)?.factor ?? 0;

const atom = (scalar: Scalar, { keys }: Bounds): Affine => ({ constant: 0, terms: [{ atom: scalar, key: keys.of(scalar), factor: 1 }] });

function sum(a: Affine, b: Affine, sign: 1 | -1, bounds: Bounds): Affine {
  if (b.terms.length === 0) return { constant: a.constant + sign * b.constant, terms: a.terms };
  const terms = new Map(a.terms.map((term) => [term.key, term]));
  for (const term of b.terms) {
    const factor = (terms.get(term.key)?.factor ?? 0) + sign * term.factor;
    if (factor === 0) terms.delete(term.key);
    else terms.set(term.key, { ...term, factor });
  }
  return { constant: a.constant + sign * b.constant, terms: joined(sorted([...terms.values()]), bounds.keys) };
}

function product(a: Affine, b: Affine, scalar: Scalar, bounds: Bounds): Affine {
  const [left, right] = a.terms.length === 0 ? [b, a] : [a, b];
  if (right.terms.length > 0) return atom(scalar, bounds);
  const by = right.constant;
  if (by === 0) return { constant: 0, terms: [] };
  return { constant: left.constant * by, terms: left.terms.map((term) => ({ ...term, factor: term.factor * by })) };
}

/** a / k or a % k: the part that k divides comes out when the rest is known to stay below k. */
function divided(a: Affine, k: number, what: 'over' | 'rest', bounds: Bounds): Affine {
  if (k === 1) return what === 'over' ? a : { constant: 0, terms: [] };
  const inside: Term[] = [];
  const outside: Term[] = [];
  for (const term of a.terms) (term.factor % k === 0 ? outside : inside).push(term);
  const constantInside = ((a.constant % k) + k) % k;
  const left: Affine = { constant: constantInside, terms: inside };
  const quotients: Affine = {
    constant: (a.constant - constantInside) / k,
    terms: outside.map((term) => ({ ...term, factor: term.factor / k })),
  };
  const { low, high } = rangeOf(left, bounds);
  const positive = rangeOf(a, bounds).low >= 0;
  if (low >= 0 && high < k) return what === 'over' ? quotients : left;
  if (low >= 0 && positive) {
    const quotient = atom(over(scalarOf(left), k), bounds);
    return what === 'over' ? sum(quotient, quotients, 1, bounds) : atom(rest(scalarOf(left), k), bounds);
  }
  return atom((what === 'over' ? over : rest)(scalarOf(a), k), bounds);
}

/** x·k·over(X, k) + x·rest(X, k) is x·X. */
function joined(terms: readonly Term[], keys: Keys): readonly Term[] {
  for (const term of terms) {
    const { atom: scalar, factor } = term;
    if (scalar.kind !== 'apply' || scalar.apply !== intMod) continue;
    const [of, by] = scalar.operands;
    if (by!.kind !== 'constant') continue;
    const k = by!.value;
    const partner = terms.find(
      ({ atom: other, factor: theirs }) =>
        theirs === factor * k &&
        other.kind === 'apply' &&
        other.apply === intDiv &&
        other.operands[1]!.kind === 'constant' &&
        other.operands[1]!.value === k &&
        keys.of(other.operands[0]!) === keys.of(of!),
    );
    if (partner === undefined) continue;
    const others = terms.filter((one) => one !== term && one !== partner);
    const inner = plainTerms(of!, keys);
    if (inner === undefined) continue;
    const merged = new Map(others.map((one) => [one.key, one]));
    for (const one of inner) {
      const joint = (merged.get(one.key)?.factor ?? 0) + one.factor * factor;
      if (joint === 0) merged.delete(one.key);
      else merged.set(one.key, { ...one, factor: joint });
    }
    return joined(sorted([...merged.values()]), keys);
  }
  return terms;
}

/** Terms of a sum as `scalarOf` writes it, when it has no constant. */
function plainTerms(scalar: Scalar, keys: Keys): Term[] | undefined {
  if (scalar.kind === 'constant') return scalar.value === 0 ? [] : undefined;
  if (scalar.kind === 'apply' && scalar.apply === intAdd) {
    const [a, b] = scalar.operands.map((one) => plainTerms(one, keys));
    return a === undefined || b === undefined ? undefined : [...a, ...b];
  }
  if (scalar.kind === 'apply' && scalar.apply === intMul && scalar.operands[1]!.kind === 'constant')
    return [{ atom: scalar.operands[0]!, key: keys.of(scalar.operands[0]!), factor: scalar.operands[1]!.value }];
  return [{ atom: scalar, key: keys.of(scalar), factor: 1 }];
}

const sorted = (terms: readonly Term[]): Term[] => terms.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));

/** Least and greatest value; infinite where a term is opaque. */
export function rangeOf({ constant, terms }: Affine, bounds: Bounds): { readonly low: number; readonly high: number } {
  let low = constant;
  let high = constant;
  for (const { atom: one, factor } of terms) {
    const extent = extentOf(one, bounds);
    const most = factor * (extent - 1);
    if (factor > 0) high += most;
    else low += most;
    if (extent === Infinity) return { low: -Infinity, high: Infinity };
  }
  return { low, high };
}

function extentOf(scalar: Scalar, bounds: Bounds): number {
  if (scalar.kind === 'coordinate') return bounds.extents[scalar.axis] ?? Infinity;
  if (scalar.kind === 'variable') return bounds.counters.get(scalar.variable) ?? Infinity;
  if (scalar.kind === 'apply' && (scalar.apply === intMod || scalar.apply === intDiv)) {
    const [of, by] = scalar.operands;
    if (by!.kind !== 'constant') return Infinity;
    const { low, high } = rangeOf(affineOf(of!, bounds), bounds);
    if (low < 0) return Infinity;
    return scalar.apply === intMod ? by!.value : Math.floor(high / by!.value) + 1;
  }
  return Infinity;
}
