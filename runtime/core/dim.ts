/**
 * A dimension: a number, or a sum of products of names with integer factors (`n`, `2·n·m + 1`).
 *
 * Symbolic dimensions are polynomials in normal form, so equal dimensions print equally. Comparison answers yes, no or
 * unknown: names stand for any integer >= 1 (sizes of arrays that people compute with), and what can't be decided is
 * unknown, which accuses nobody. Depends on: nothing.
 */
export interface Polynomial {
  /** Factor of each product of names; the key is the sorted names joined by `·`, the empty key is the constant. */
  readonly terms: ReadonlyMap<string, number>;
}
export type Dim = number | Polynomial;
export type Answer = 'yes' | 'no' | 'unknown';

/** A dimension that is known by its name only. */
export const named = (name: string): Dim => ({ terms: new Map([[name, 1]]) });

export const isKnown = (dim: Dim): dim is number => typeof dim === 'number';

const termsOf = (dim: Dim): ReadonlyMap<string, number> => (typeof dim === 'number' ? new Map(dim === 0 ? [] : [['', dim]]) : dim.terms);

function normal(terms: Map<string, number>): Dim {
  for (const [names, factor] of terms) if (factor === 0) terms.delete(names);
  if (terms.size === 0) return 0;
  if (terms.size === 1 && terms.has('')) return terms.get('')!;
  return { terms: new Map([...terms].sort(([a], [b]) => (a === '' ? 1 : b === '' ? -1 : a < b ? -1 : 1))) };
}

export function plus(a: Dim, b: Dim): Dim {
  if (typeof a === 'number' && typeof b === 'number') return a + b;
  const sum = new Map(termsOf(a));
  for (const [names, factor] of termsOf(b)) sum.set(names, (sum.get(names) ?? 0) + factor);
  return normal(sum);
}

export function times(a: Dim, b: Dim): Dim {
  if (typeof a === 'number' && typeof b === 'number') return a * b;
  const product = new Map<string, number>();
  for (const [namesA, factorA] of termsOf(a))
    for (const [namesB, factorB] of termsOf(b)) {
      const names = [...split(namesA), ...split(namesB)].sort().join('·');
      product.set(names, (product.get(names) ?? 0) + factorA * factorB);
    }
  return normal(product);
}

export const minus = (a: Dim, b: Dim): Dim => plus(a, times(-1, b));

export const productOf = (dims: readonly Dim[]): Dim => dims.reduce(times, 1);

/** a / b where the division leaves no rest for every value of the names; otherwise undefined. */
export function quotient(a: Dim, b: Dim): Dim | undefined {
  if (typeof a === 'number' && typeof b === 'number') return b !== 0 && a % b === 0 ? a / b : undefined;
  const divisor = [...termsOf(b)];
  if (divisor.length !== 1) return same(a, b) === 'yes' ? 1 : undefined;
  const [names, factor] = divisor[0]!;
  const result = new Map<string, number>();
  for (const [own, value] of termsOf(a)) {
    const rest = split(own);
    for (const name of split(names)) {
      const at = rest.indexOf(name);
      if (at < 0) return undefined;
      rest.splice(at, 1);
    }
    if (value % factor !== 0) return undefined;
    result.set(rest.join('·'), value / factor);
  }
  return normal(result);
}

/** Are two dimensions equal, for every value of their names? */
export function same(a: Dim, b: Dim): Answer {
  if (typeof a === 'number' && typeof b === 'number') return a === b ? 'yes' : 'no';
  const rest = termsOf(minus(a, b));
  if (rest.size === 0) return 'yes';
  const factors = [...rest.values()];
  // All terms of one sign, names at least 1: the difference can't be zero.
  if (factors.every((factor) => factor > 0) || factors.every((factor) => factor < 0)) return 'no';
  return 'unknown';
}

/** Is a <= b, for every value of their names? */
export function atMost(a: Dim, b: Dim): Answer {
  if (typeof a === 'number' && typeof b === 'number') return a <= b ? 'yes' : 'no';
  const rest = [...termsOf(minus(b, a))];
  const least = rest.reduce((sum, [names, factor]) => (names !== '' && factor < 0 ? -Infinity : sum + factor), 0);
  const most = rest.reduce((sum, [names, factor]) => (names !== '' && factor > 0 ? Infinity : sum + factor), 0);
  return least >= 0 ? 'yes' : most < 0 ? 'no' : 'unknown';
}

/** The value when every name has one; otherwise undefined. */
export function valueOf(dim: Dim, values: ReadonlyMap<string, number>): number | undefined {
  if (typeof dim === 'number') return dim;
  let sum = 0;
  for (const [names, factor] of dim.terms) {
    let product = factor;
    for (const name of split(names)) {
      const value = values.get(name);
      if (value === undefined) return undefined;
      product *= value;
    }
    sum += product;
  }
  return sum;
}

/** The names in it, each once. */
export const namesIn = (dim: Dim): readonly string[] => (typeof dim === 'number' ? [] : [...new Set([...dim.terms.keys()].flatMap(split))]);

export function printDim(dim: Dim): string {
  if (typeof dim === 'number') return String(dim);
  const parts = [...dim.terms].map(([names, factor]) =>
    names === '' ? String(factor) : factor === 1 ? names : factor === -1 ? `-${names}` : `${factor}·${names}`,
  );
  return parts.join(' + ').replaceAll('+ -', '- ');
}

const split = (names: string): string[] => (names === '' ? [] : names.split('·'));
