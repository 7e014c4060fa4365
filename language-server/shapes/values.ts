/**
 * What a local holds while a lowered program is walked: real JavaScript values where the text says them, and stand-ins.
 *
 * Numbers, strings, lists, records, Maps and functions are themselves, so that what the runtime offers can be called
 * with them directly. What the text doesn't say is `Unknown`; a number known by its name only carries that name as a
 * dimension. Arrays are whatever the interpreter in force makes (tracers while tracing, `ShapedArray` outside).
 * Depends on: core (dim), lower/ir.
 */
import { isKnown, minus, named, plus, printDim, times, type Dim } from '../../runtime/core/dim.ts';
import type { HasAval } from '../../runtime/core/program.ts';
import type { ClassId, FunctionId, Span, TypeFact } from '../lower/ir.ts';

/** A value that the text doesn't say. `dim`: it is a number, and this is what is known of it. */
export class Unknown {
  readonly why: string;
  readonly dim: Dim | undefined;
  constructor(why: string, dim?: Dim) {
    this.why = why;
    this.dim = dim;
  }
}

/** A number that the text says, under the name that the text gives it: walks that ask for formulas keep both. */
export class NamedNumber extends Unknown {
  readonly value: number;
  constructor(value: number, dim: Dim) {
    super(`the size ${printDim(dim)}`, dim);
    this.value = value;
  }
}

/** The number itself, for whatever is no size. */
export const plain = (value: unknown): unknown => (value instanceof NamedNumber ? value.value : value);

/** An array of which not even the rank is known. */
export class UnknownArray {
  readonly made: Span | undefined;
  constructor(made: Span | undefined) {
    this.made = made;
  }
}

/** A typed array of the host: its contents are never made. */
export class HostBuffer {
  readonly type: string;
  readonly length: number | Unknown;
  constructor(type: string, length: number | Unknown) {
    this.type = type;
    this.length = length;
  }
}

/** The promise of an asynchronous function that reads arrays after its first `await`: they are in use until it settles. */
export class Settling {
  readonly value: unknown;
  readonly reads: ReadonlySet<object>;
  constructor(value: unknown, reads: ReadonlySet<object>) {
    this.value = value;
    this.reads = reads;
  }
}

/** Variables that a function's closures share. */
export interface Cell {
  value: unknown;
}

/** The variables around a closure: those of the function that made it, then those around that. */
export interface Environment {
  readonly function: FunctionId;
  readonly cells: Map<string, Cell>;
  readonly parent: Environment | undefined;
}

export interface ClosureFacts {
  readonly function: FunctionId;
  readonly environment: Environment | undefined;
  /** Its `name` when the program runs: that of its declaration, or of the variable or property that it is the initial value of. */
  name: string;
}

export interface ClassFacts {
  readonly class: ClassId;
  readonly environment: Environment | undefined;
  readonly statics: Record<string, unknown>;
}

export type AnyFunction = (...args: unknown[]) => unknown;

// Facts are properties of their functions: tables of hundreds of thousands of weak keys cost the collector more than the walk.
const closureKey = Symbol('closure');
const classKey = Symbol('class');
type Marked = AnyFunction & { [closureKey]?: ClosureFacts; [classKey]?: ClassFacts };
const instances = new WeakMap<object, ClassFacts>();

/** A walked function is a JavaScript function, so that `tree.map`, `grad` or `Array.prototype.map` can call it. */
export function closure(facts: ClosureFacts, call: AnyFunction): AnyFunction {
  (call as Marked)[closureKey] = facts;
  return call;
}
export const closureFacts = (value: unknown): ClosureFacts | undefined =>
  typeof value === 'function' ? (value as Marked)[closureKey] : undefined;

export function classValue(facts: ClassFacts, construct: AnyFunction): AnyFunction {
  (construct as Marked)[classKey] = facts;
  return construct;
}
export const classFacts = (value: unknown): ClassFacts | undefined =>
  typeof value === 'function' ? (value as Marked)[classKey] : undefined;

/** Instances have a prototype of their own, so that nobody takes them for plain trees. */
const instancePrototype = Object.create(null) as object;
export function instance(facts: ClassFacts): Record<string, unknown> {
  const made = Object.create(instancePrototype) as Record<string, unknown>;
  instances.set(made, facts);
  return made;
}
export const instanceFacts = (value: unknown): ClassFacts | undefined => (isObject(value) ? instances.get(value) : undefined);

export const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

export const isArray = (value: unknown): value is HasAval => isObject(value) && !isPlain(value) && 'aval' in value;

export const isUnknown = (value: unknown): value is Unknown => value instanceof Unknown;

export function isPlain(value: unknown): value is Record<string, unknown> {
  if (!isObject(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** A stand-in for a value of a type: trees keep their known fields, so that arrays in them are found again. */
export function unknownOf(type: TypeFact | undefined, why: string, name?: string, made?: Span, depth = 0): unknown {
  if (type === undefined || depth > 4) return new Unknown(why);
  if (type.holds === 'array') return new UnknownArray(made);
  if (type.holds === 'tree' && type.fields !== undefined && type.class === undefined && type.element === undefined) {
    const fields = Object.entries(type.fields);
    const tuple = fields.length > 0 && fields.every(([key], i) => key === String(i));
    const members = fields.map(
      ([key, fact]) => [key, unknownOf(fact, why, name === undefined ? undefined : `${name}.${key}`, made, depth + 1)] as const,
    );
    return tuple ? members.map(([, value]) => value) : Object.fromEntries(members);
  }
  return type.holds === 'nothing' && name !== undefined && !type.callable ? new Unknown(why, named(name)) : new Unknown(why);
}

/** The number as a dimension, when it is one. */
export function dimOf(value: unknown): Dim | undefined {
  if (typeof value === 'number') return Number.isInteger(value) ? value : undefined;
  return value instanceof Unknown ? value.dim : undefined;
}

/** A dimension as the program sees it. */
export const dimValue = (dim: Dim): unknown => (isKnown(dim) ? dim : new Unknown(`the size ${printDim(dim)}`, dim));

/** Sums, differences and products of sizes keep their names. */
export function arithmetic(operator: string, left: unknown, right: unknown): Dim | undefined {
  const [a, b] = [dimOf(left), dimOf(right)];
  if (a === undefined || b === undefined) return undefined;
  switch (operator) {
    case '+':
      return plus(a, b);
    case '-':
      return minus(a, b);
    case '*':
      return times(a, b);
    default:
      return undefined;
  }
}

/** The same for an argument: a number, a list of them, a record of options. */
export function plainArgument(value: unknown): unknown {
  if (value instanceof NamedNumber) return value.value;
  const isNamed = (item: unknown): boolean => item instanceof NamedNumber;
  if (Array.isArray(value)) return value.some(isNamed) ? value.map(plain) : value;
  return isPlain(value) && Object.values(value).some(isNamed)
    ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]))
    : value;
}

/** A size computed from others, as far as it is known by name; the number itself where it isn't. */
export function computed(operator: string, left: NamedNumber | number, right: NamedNumber | number): NamedNumber | undefined {
  const dim = arithmetic(operator, left, right);
  const [a, b] = [plain(left) as number, plain(right) as number];
  if (dim === undefined || isKnown(dim)) return undefined;
  return new NamedNumber(operator === '+' ? a + b : operator === '-' ? a - b : a * b, dim);
}

/** Visits every array-like leaf in a nested value, each object once. */
export function eachLeaf(value: unknown, visit: (leaf: unknown, path: readonly string[]) => void, limit = 100_000): void {
  const seen = new Set<object>();
  let count = 0;
  const walk = (node: unknown, path: readonly string[]): void => {
    if (count++ > limit) return;
    if (!isObject(node) || isArray(node) || node instanceof Unknown || node instanceof UnknownArray || node instanceof HostBuffer) {
      visit(node, path);
      return;
    }
    if (seen.has(node)) return;
    seen.add(node);
    if (Array.isArray(node)) node.forEach((item, i) => walk(item, [...path, String(i)]));
    else if (node instanceof Map) [...node].forEach(([key, item]) => walk(item, [...path, String(key)]));
    else if (node instanceof Set) [...node].forEach((item, i) => walk(item, [...path, String(i)]));
    else Object.entries(node).forEach(([key, item]) => walk(item, [...path, key]));
  };
  walk(value, []);
}

/** All arrays in nested values. */
export function arraysIn(...values: readonly unknown[]): readonly HasAval[] {
  const found = new Set<HasAval>();
  eachLeaf(values, (leaf) => {
    if (isArray(leaf)) found.add(leaf);
  });
  return [...found];
}

export function holdsUnknown(value: unknown): 'no' | 'scalar' | 'array' {
  let answer: 'no' | 'scalar' | 'array' = 'no';
  eachLeaf(value, (leaf) => {
    if (leaf instanceof UnknownArray) answer = 'array';
    else if (leaf instanceof Unknown && answer === 'no') answer = 'scalar';
  });
  return answer;
}

interface JustIterator {
  next(): { readonly done?: boolean; readonly value: unknown };
}
export const isIterator = (value: unknown): value is JustIterator =>
  typeof value === 'object' && value !== null && 'next' in value && typeof value.next === 'function';

export function listOf(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value;
  if (typeof value === 'string' || value instanceof Map || value instanceof Set) return [...value];
  if (isIterator(value)) {
    const items: unknown[] = [];
    for (let step = value.next(); step.done !== true; step = value.next()) items.push(step.value);
    return items;
  }
  return undefined;
}
