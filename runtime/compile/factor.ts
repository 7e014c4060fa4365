/**
 * How a factor of a matrix product is read: the place of its elements, taken apart by what each part depends on.
 *
 *     place = start(batch) + free(row or column) + depth(k) [+ mixed]        if inside(…)
 *
 * What depends on one of them alone is computed once for it, so the loop over the depth adds two numbers. A padded array
 * is read where the array itself lies, with the border as a condition on sums of a free and a depth part; so neither
 * border nor gaps are ever stored. Depends on: ops, affine, kernel.
 */
import { added, and, int, intDiv, intMod, isInside, isInsideFunction } from '../ops/arithmetic.ts';
import { constant, dtypeOf, type Scalar } from '../ops/scalar.ts';
import { affineOf, rangeOf, scalarOf, type Affine, type Bounds, type Term } from './affine.ts';
import type { Factor } from './kernel.ts';
import { visit } from './scalar-walk.ts';

type Part = 'start' | 'free' | 'depth' | 'mixed';

/** `free`: the coordinate of rows or of columns. Undefined when the element isn't an array's, or one that data decides on. */
export function factorOf(element: Scalar, free: number, bounds: Bounds): Factor | undefined {
  const read = withoutBorder(element);
  if (read === undefined) return undefined;
  const { load, conditions, value } = read;
  const affine = affineOf(load.index[0]!, bounds);
  const parts = partsOf(affine, free);
  if (parts === undefined || (parts.mixed.length > 0 && conditions.length === 0)) return undefined;
  const grouped = conditions.map((one) => conditionOf(one, free, bounds));
  if (grouped.some((one) => one === undefined)) return undefined;
  const inside = grouped.reduce<Scalar>((all, one) => and(all, one!), constant(1, 'bool'));
  const strideOf = (terms: readonly Term[], kind: 'coordinate' | 'variable'): number | undefined =>
    terms.length === 0 ? 0 : terms.length === 1 && terms[0]!.atom.kind === kind ? terms[0]!.factor : undefined;
  const freeStride = strideOf(parts.free, 'coordinate');
  const depthStride = strideOf(parts.depth, 'variable');
  return {
    operand: load.operand,
    start: sumOf(parts.start, affine.constant),
    free: sumOf(parts.free),
    ...(freeStride === undefined ? {} : { freeStride }),
    depth: sumOf(parts.depth),
    ...(depthStride === undefined ? {} : { depthStride }),
    ...(parts.mixed.length === 0
      ? {}
      : { mixed: sumOf(parts.mixed.map((term) => ({ ...term, atom: quotientOf(term.atom, free, bounds) }))) }),
    ...(inside.kind === 'constant' && inside.value === 1 ? {} : { border: { inside, value } }),
  };
}

/** The array under borders, and under which conditions it is read; all borders have one value. */
function withoutBorder(
  element: Scalar,
): { readonly load: Extract<Scalar, { kind: 'load' }>; readonly conditions: readonly Scalar[]; readonly value: number } | undefined {
  if (element.kind === 'load') return { load: element, conditions: [], value: 0 };
  if (element.kind !== 'choose' || element.otherwise.kind !== 'constant') return undefined;
  const { value } = element.otherwise;
  const inner = withoutBorder(element.then);
  if (inner === undefined || (inner.conditions.length > 0 && !Object.is(inner.value, value))) return undefined;
  return { load: inner.load, conditions: [element.condition, ...inner.conditions], value };
}

const sumOf = (terms: readonly Term[], shift = 0): Scalar => scalarOf({ constant: shift, terms });

function partsOf({ terms }: Affine, free: number): Readonly<Record<Part, readonly Term[]>> | undefined {
  const parts: Record<Part, Term[]> = { start: [], free: [], depth: [], mixed: [] };
  for (const term of terms) {
    const part = partOf(term.atom, free);
    if (part === undefined) return undefined;
    parts[part].push(term);
  }
  return parts;
}

/** What a term depends on; undefined when on data, or on the other factor's coordinate. */
function partOf(atom: Scalar, free: number): Part | undefined {
  const found = new Set<Part | undefined>();
  visit([atom], (one) => {
    if (one.kind === 'variable') found.add('depth');
    else if (one.kind === 'coordinate') found.add(one.axis === 0 ? 'start' : one.axis === free ? 'free' : undefined);
    else if (one.kind === 'load' || one.kind === 'loop' || one.kind === 'choose') found.add(undefined);
  });
  return found.has(undefined) ? undefined : found.size > 1 ? 'mixed' : [...found][0];
}

/** The same number as a sum of what depends on one thing alone, and of quotients of such sums. */
function groupedOf(scalar: Scalar, free: number, bounds: Bounds): Scalar | undefined {
  const affine = affineOf(scalar, bounds);
  const parts = partsOf(affine, free);
  if (parts === undefined) return undefined;
  const mixed = parts.mixed.map((term) => ({ ...term, atom: quotientOf(term.atom, free, bounds) }));
  return [sumOf(parts.start), sumOf(parts.free, affine.constant), sumOf(parts.depth), sumOf(mixed)].reduce(added, int(0));
}

function quotientOf(atom: Scalar, free: number, bounds: Bounds): Scalar {
  if (atom.kind !== 'apply' || (atom.apply !== intDiv && atom.apply !== intMod)) return atom;
  const [of, by] = atom.operands;
  const grouped = groupedOf(of!, free, bounds);
  return grouped === undefined ? atom : { ...atom, operands: [grouped, by!] };
}

/** A condition on whole numbers with its sides grouped, and what always holds left out. */
function conditionOf(condition: Scalar, free: number, bounds: Bounds): Scalar | undefined {
  if (dtypeOf(condition) !== 'bool') return groupedOf(condition, free, bounds);
  if (condition.kind === 'constant') return condition;
  if (condition.kind !== 'apply') return undefined;
  const operands = condition.operands.map((one) => conditionOf(one, free, bounds));
  if (operands.some((one) => one === undefined)) return undefined;
  const [a, b] = operands as readonly Scalar[];
  if (condition.apply === isInsideFunction && b!.kind === 'constant') {
    const { low, high } = rangeOf(affineOf(a!, bounds), bounds);
    return low >= 0 && high < b!.value ? constant(1, 'bool') : isInside(a!, b!.value);
  }
  return { ...condition, operands: operands as readonly Scalar[] };
}

/** The whole sum. */
export const placeOf = ({ start, free, depth, mixed }: Factor): Scalar => [start, free, depth, ...(mixed ? [mixed] : [])].reduce(added);
