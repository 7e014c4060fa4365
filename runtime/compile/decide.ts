/**
 * Which variables are stored, and which live only inside the kernels that use them.
 *
 * Walks backward. A variable's *homes* are the stored ones into whose expression it would be written. It stays inside when
 * it has one home and is computed once there; when it has several, or is read at several places, only if it costs next to
 * nothing: by itself, or beside the products of the program.
 * A reduction or product stays inside one elementwise consumer at its own coordinates (an epilogue). Entries are asked
 * for their kind of body, never for their name. Depends on: core, ops, simplify.
 */
import type { KnownAval } from '../core/aval.ts';
import { isLiteral, type Equation, type Variable } from '../core/program.ts';
import { coordinatesOf } from '../ops/arithmetic.ts';
import type { Op } from '../ops/op.ts';
import type { Scalar } from '../ops/scalar.ts';
import { visit } from './scalar-walk.ts';
import { makeNumbers, type Flat } from './simplify.ts';

export interface Decision {
  readonly stored: ReadonlySet<Variable>;
  /** Stored without bytes of their own: the contiguous view of another stored variable. */
  readonly aliases: ReadonlyMap<Variable, Variable>;
  /** Products written as one kernel with what follows them: result -> product. */
  readonly products: ReadonlyMap<Variable, Equation<Op>>;
}

/** `none` stores everything: the baseline that fusion may not be worse than. */
export type Eagerness = 'all' | 'careful' | 'none';

export interface DecideOptions {
  readonly eagerness: Eagerness;
  /** Stored whatever else is decided. */
  readonly forced: ReadonlySet<Variable>;
}

type Nature =
  /** Arithmetic on elements, or none at all (views; `bordered`: with a number where there is nothing to read). */
  | { readonly kind: 'map'; readonly cost: number; readonly plainView: boolean; readonly bordered?: true }
  /** A loop for every element. */
  | { readonly kind: 'anchor'; readonly product: boolean }
  | { readonly kind: 'barrier' };

const count = ({ shape }: KnownAval): number => shape.reduce((product, extent) => product * extent, 1);
const cheap = 2;
/** What is read more often is stored; and what is read at more places, though at each only a part of it is. */
const mostReads = 2;
const mostParts = 5;
/** Operations that take about as long as writing and reading an element. */
const asCheapAsStoring = 8;
/** A sum of so few elements is written out as arithmetic. */
export const fewElements = 4;
/** Of the program's work, the part that may be done twice so that fewer values are stored. */
const shareDoneTwice = 1 / 64;
const mostEquations = 200;

interface Fate {
  readonly homes: ReadonlySet<Variable>;
  /** Every use is at the home's own coordinates. */
  readonly aligned: boolean;
  /** How often an element of it would be computed. */
  readonly repeats: number;
  /** Its homes, each with the way from there to it: the places where its expression would stand, and how much of it each reads. */
  readonly places: ReadonlyMap<string, number>;
  /** Read as a factor of a product, perhaps through views. */
  readonly factor: boolean;
  readonly mustStore: boolean;
}

export function decide(flat: Flat, { eagerness, forced }: DecideOptions): Decision {
  const uses = usesOf(flat);
  const natures = new Map(flat.equations.map((equation) => [equation, natureOf(equation)]));
  const outputs = new Set<Variable>(flat.outputs.filter((atom): atom is Variable => !isLiteral(atom)));
  const inputs = new Set(flat.inputs);
  const stored = new Set<Variable>();
  const fates = new Map<Variable, Fate>();
  const products = new Map<Variable, Equation<Op>>();
  /** Homes that already hold a loop of their own, and equations per home. */
  const anchored = new Set<Variable>();
  const sizes = new Map<Variable, number>();
  const numberOf = makeNumbers();
  const spare = { flops: eagerness === 'all' ? shareDoneTwice * workOf(flat) : 0 };
  for (const equation of flat.equations.toReversed()) {
    const nature = natures.get(equation)!;
    for (const variable of equation.outputs) {
      const fate = fateOf(variable, uses.get(variable) ?? [], natures, stored, fates, numberOf);
      const inside =
        !forced.has(variable) &&
        !outputs.has(variable) &&
        equation.outputs.length === 1 &&
        staysInside(nature, equation, fate, { eagerness, anchored, sizes, products, spare });
      const home = inside ? [...fate.homes] : [variable];
      if (inside) fates.set(variable, fate);
      else stored.add(variable);
      for (const one of home) sizes.set(one, (sizes.get(one) ?? 0) + 1);
      if (nature.kind === 'anchor' && home[0] !== undefined) {
        anchored.add(home[0]);
        if (nature.product) products.set(home[0], equation);
      }
    }
  }
  return { stored, aliases: aliasesOf(flat, stored, inputs, outputs), products };
}

interface Use {
  readonly equation: Equation<Op>;
  readonly operand: number;
}

function usesOf(flat: Flat): Map<Variable, Use[]> {
  const uses = new Map<Variable, Use[]>();
  for (const equation of flat.equations)
    equation.inputs.forEach((atom, operand) => {
      if (isLiteral(atom)) return;
      const list = uses.get(atom);
      if (list === undefined) uses.set(atom, [{ equation, operand }]);
      else list.push({ equation, operand });
    });
  return uses;
}

export function natureOf({ op, inputs, outputs, parameters }: Equation<Op>): Nature {
  const avals = inputs.map(({ aval }) => aval);
  switch (op.body.kind) {
    case 'elementwise':
      return { kind: 'map', cost: Math.max(1, op.flops(avals, parameters)), plainView: false };
    case 'view':
      return { kind: 'map', cost: 0, plainView: true };
    case 'reduction': {
      const elements = op.body.axes(parameters).reduce((product, axis) => product * avals[0]!.shape[axis]!, 1);
      return elements <= fewElements ? { kind: 'map', cost: elements, plainView: false } : { kind: 'anchor', product: false };
    }
    case 'contraction': {
      const product = [...avals, outputs[0]!.aval].every(({ dtype }) => dtype === 'float32') && inputs.every((atom) => !isLiteral(atom));
      return { kind: 'anchor', product };
    }
    case 'element': {
      const output = outputs[0]!.aval;
      const scalar = op.body.scalar({ at: coordinatesOf(output.shape.length), load: loadOf(avals), inputs: avals, output, parameters });
      let loops = false;
      let loads = 0;
      visit([scalar], (one) => {
        loops ||= one.kind === 'loop';
        loads += one.kind === 'load' ? 1 : 0;
      });
      if (isBordered(scalar)) return { kind: 'map', cost: 0, plainView: false, bordered: true };
      return loops
        ? { kind: 'anchor', product: false }
        : { kind: 'map', cost: Math.max(op.flops(avals, parameters), loads > 2 ? cheap + 1 : 0), plainView: false };
    }
    case 'update':
    case 'control':
      return { kind: 'barrier' };
  }
}

/** An element of an operand under a condition, a number otherwise: a padded array. */
const isBordered = (scalar: Scalar): boolean =>
  scalar.kind === 'choose' && scalar.then.kind === 'load' && scalar.otherwise.kind === 'constant';

const loadOf =
  (avals: readonly KnownAval[]) =>
  (operand: number, index: readonly Scalar[]): Scalar => ({ kind: 'load', operand, index, dtype: avals[operand]!.dtype });

function fateOf(
  variable: Variable,
  uses: readonly Use[],
  natures: ReadonlyMap<Equation<Op>, Nature>,
  stored: ReadonlySet<Variable>,
  fates: ReadonlyMap<Variable, Fate>,
  numberOf: (one: unknown) => number,
): Fate {
  const homes = new Set<Variable>();
  let aligned = true;
  let repeats = 1;
  const places = new Map<string, number>();
  let mustStore = uses.length === 0;
  let factor = false;
  for (const { equation, operand } of uses) {
    const nature = natures.get(equation)!;
    const result = equation.outputs[0]!;
    if (equation.op.body.kind === 'control' || (equation.op.body.kind === 'update' && equation.op.body.target === operand))
      mustStore = true;
    const inside = fates.get(result);
    const isStored = stored.has(result);
    for (const home of isStored ? [result] : (inside?.homes ?? [])) homes.add(home);
    const straight = nature.kind === 'map' && sameElements(equation, variable) && (isStored || inside?.aligned === true);
    aligned &&= straight;
    repeats = Math.max(repeats, timesRead(equation, variable) * (isStored ? 1 : (inside?.repeats ?? 1)));
    // Elementwise steps lead to the same place: what stands there is computed once.
    const way = sameElements(equation, variable) ? '' : `/${numberOf(equation)}`;
    const from = isStored ? [[`${numberOf(result)}`, 1] as const] : (inside?.places ?? []);
    for (const [place, share] of from) if (places.size <= mostParts) places.set(place + way, share * partRead(equation, nature, variable));
    if (nature.kind === 'anchor' && equation.op.body.kind === 'element') mustStore = true;
    factor ||= equation.op.body.kind === 'contraction' || inside?.factor === true;
  }
  return { homes, aligned, repeats, places, factor, mustStore };
}

/** Elementwise, or a contiguous view: element i of the result needs element i of the operand and no other. */
function sameElements({ op, inputs, parameters, outputs }: Equation<Op>, variable: Variable): boolean {
  switch (op.body.kind) {
    case 'elementwise':
      return outputs[0]!.aval.shape.length === variable.aval.shape.length;
    case 'view':
      return (
        op.body.contiguous?.(
          inputs.map(({ aval }) => aval),
          parameters,
        ) ?? false
      );
    case 'reduction':
    case 'contraction':
    case 'element':
    case 'update':
    case 'control':
      return false;
  }
}

/** Which part of the operand is read: less than 1 by a slice; 1 by what reads each element once, also inside of a border. */
function partRead({ op, outputs }: Equation<Op>, nature: Nature, variable: Variable): number {
  if (op.body.kind === 'reduction' || op.body.kind === 'update' || (nature.kind === 'map' && nature.bordered === true)) return 1;
  return count(outputs[0]!.aval) / Math.max(1, count(variable.aval));
}

/** How often an element of the operand is read by the equation, about. */
function timesRead({ op, outputs }: Equation<Op>, variable: Variable): number {
  if (op.body.kind === 'reduction' || op.body.kind === 'update') return 1;
  return Math.max(1, count(outputs[0]!.aval) / Math.max(1, count(variable.aval)));
}

interface Circumstances {
  readonly eagerness: Eagerness;
  readonly anchored: ReadonlySet<Variable>;
  readonly sizes: ReadonlyMap<Variable, number>;
  readonly products: ReadonlyMap<Variable, Equation<Op>>;
  /** Floating-point operations that may yet be done twice. */
  readonly spare: { flops: number };
}

/** Floating-point operations of the program's products: beside them a few more on their results don't count. */
const workOf = ({ equations }: Flat): number =>
  equations.reduce((sum, { op, inputs, outputs, parameters }) => {
    if (op.body.kind !== 'contraction') return sum;
    const avals = inputs.map(({ aval }) => aval);
    return sum + op.flops(avals, parameters) * count(outputs[0]!.aval);
  }, 0);

function staysInside(nature: Nature, equation: Equation<Op>, fate: Fate, circumstances: Circumstances): boolean {
  const { eagerness, anchored, sizes, products, spare } = circumstances;
  if (nature.kind === 'barrier' || fate.homes.size === 0) return false;
  const home = [...fate.homes][0]!;
  if (nature.kind === 'anchor') {
    if (eagerness === 'none' || fate.mustStore || fate.factor || fate.homes.size > 1 || !fate.aligned) return false;
    // One loop nest per kernel; several reductions of one extent would do, but each would hold the others' operands alive.
    return !anchored.has(home) && !products.has(home);
  }
  if (nature.plainView) return !fate.mustStore;
  if (fate.mustStore || eagerness === 'none') return false;
  if (nature.bordered) return !isFull(fate, sizes);
  // A factor is read where it lies; only views may stand between.
  if (fate.factor) return false;
  const free = equation.inputs.every(isLiteral) || equation.inputs.length === 0;
  if (free && nature.cost <= 8) return true;
  if (isFull(fate, sizes)) return false;
  if (fate.places.size > 1) {
    if (eagerness === 'careful') return false;
    if (fate.places.size > mostParts) return false;
    if (nature.cost <= cheap && readsOf(fate) <= mostReads) return true;
    if (fate.places.size > mostReads) return false;
    if (fate.repeats > 1) return fate.repeats * fate.places.size * nature.cost <= asCheapAsStoring;
    const again = nature.cost * count(equation.outputs[0]!.aval);
    if (again > spare.flops) return false;
    spare.flops -= again;
    return true;
  }
  if (eagerness === 'careful' && shrinks(equation)) return false;
  return fate.repeats <= 1 || nature.cost <= 1 || (fate.repeats - 1) * nature.cost <= asCheapAsStoring;
}

/** How often each element is read at all places together, about. */
const readsOf = ({ places }: Fate): number => [...places.values()].reduce((sum, part) => sum + part, 0);

const isFull = ({ homes }: Fate, sizes: ReadonlyMap<Variable, number>): boolean =>
  [...homes].some((one) => (sizes.get(one) ?? 0) >= mostEquations);

/** The result is smaller than what it is read from: storing it may set larger operands free. */
function shrinks({ inputs, outputs }: Equation<Op>): boolean {
  const read = inputs.reduce((sum, atom) => sum + (isLiteral(atom) ? 0 : count(atom.aval)), 0);
  return outputs.some(({ aval }) => count(aval) < read);
}

function aliasesOf(
  flat: Flat,
  stored: ReadonlySet<Variable>,
  inputs: ReadonlySet<Variable>,
  outputs: ReadonlySet<Variable>,
): Map<Variable, Variable> {
  const aliases = new Map<Variable, Variable>();
  const roots = new Map<Variable, Variable>();
  const outputRoots = new Set<Variable>(outputs);
  for (const equation of flat.equations) {
    const [operand] = equation.inputs;
    const result = equation.outputs[0]!;
    if (!stored.has(result) || operand === undefined || isLiteral(operand) || equation.op.body.kind !== 'view') continue;
    if (!sameElements(equation, operand) || !stored.has(operand) || inputs.has(operand)) continue;
    const root = roots.get(operand) ?? operand;
    // Two results of the program have two buffers.
    if (outputs.has(result) && outputRoots.has(root)) continue;
    if (outputs.has(result)) outputRoots.add(root);
    aliases.set(result, root);
    roots.set(result, root);
  }
  return aliases;
}
