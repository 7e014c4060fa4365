/**
 * Arrays that are consumed: every use takes one reference, `.ref` adds one, and the last use ends the array.
 *
 * An owned array wraps a value of the runtime and counts. A call unwraps its arguments, runs, wraps its results, and takes
 * the references; what is passed to a call with its last reference is donated, so its buffer may be overwritten. Inside of
 * a traced function the same counting goes on over tracers. Depends on: core, ops, array.
 */
import { printAval, type Aval } from '../core/aval.ts';
import { currentInterpreter, type HostArray } from '../core/interpreter.ts';
import { ArrayDeletedError, typeError } from '../core/errors.ts';
import { printPlace, userPlace } from '../core/stack.ts';
import type { Place } from '../core/source.ts';
import type { DType } from '../core/dtype.ts';
import { LiteralValue, Value, type Contents, type DTypeArg } from '../ops/value.ts';
import { quotientOf } from '../ops/elementwise.ts';
import type { Axis, ReduceOptions } from '../ops/reduce.ts';
import type { Index } from '../ops/indexing.ts';
import { argsort, sort } from '../functions/sorting.ts';
import { diagonal } from '../functions/linear.ts';
import { DeviceArray, DonatedArray } from './array.ts';

/** Arrays whose last reference was taken while a function was traced: they live as long as its program. */
let held: Value[] | undefined;

/** Collects what `run` consumes for good while it traces. */
export function holding<T>(list: Value[], run: () => T): T {
  const former = held;
  held = list;
  try {
    return run();
  } finally {
    held = former;
  }
}

export type OwnedLike = Array | number | boolean;
type OwnedIndex = Exclude<Index, Value> | Array;

export class Array {
  readonly value: Value;
  private references = 1;
  private ended: Place | undefined;

  /** Somebody else holds the buffer: an argument that a traced function sees as it is. */
  private readonly borrowed: boolean;

  constructor(value: Value, borrowed = false) {
    this.value = value;
    this.borrowed = borrowed;
  }

  get aval(): Aval {
    return this.value.aval;
  }
  get shape(): number[] {
    return [...this.value.shape];
  }
  get dtype(): DType {
    return this.value.dtype;
  }
  get ndim(): number {
    return this.value.ndim;
  }
  get size(): number {
    return this.value.size;
  }
  get nbytes(): number {
    return this.value.nbytes;
  }
  get weakType(): boolean {
    return this.value.weakType;
  }
  get device(): string {
    return this.value instanceof DeviceArray ? this.value.device.kind : 'traced';
  }
  get refCount(): number {
    return this.references;
  }
  get isDisposed(): boolean {
    return this.references === 0;
  }
  toString(): string {
    return this.value.toString();
  }

  /** The same array with one more reference: it may be used once more. */
  get ref(): this {
    this.ensureAlive();
    this.references++;
    return this;
  }

  ensureAlive(uses = 1): void {
    if (this.references >= uses) return;
    const what = printAval(this.aval);
    if (this.references > 0)
      throw new ArrayDeletedError(
        'missing-ref',
        `${what} is used ${uses} times in one call and has ${this.references} reference${this.references === 1 ? '' : 's'}`,
        [],
        'add .ref at every use but the last',
      );
    throw new ArrayDeletedError(
      'missing-ref',
      `${what} was used after its last reference was taken`,
      [`taken at ${printPlace(this.ended)}`],
      'add .ref at every use but the last',
    );
  }

  /** Takes references; `keep` when the buffer was given to the call. */
  release(uses: number, given: boolean, place: Place | undefined): void {
    this.references -= uses;
    if (this.references > 0) return;
    this.ended = place;
    if (given || this.borrowed) return;
    if (currentInterpreter().run === undefined && this.value instanceof DeviceArray) held?.push(this.value);
    else if (this.value instanceof DeviceArray) this.value.release('consume', place);
  }

  dispose(): void {
    this.ensureAlive();
    this.release(1, false, userPlace());
  }
  [Symbol.dispose](): void {
    if (this.references > 0) this.dispose();
  }

  neg(): Array {
    return consume((x) => x.neg(), this);
  }
  add(other: OwnedLike): Array {
    return consume((x, y) => x.add(y), this, besideIntegers(other, this));
  }
  sub(other: OwnedLike): Array {
    return consume((x, y) => x.sub(y), this, besideIntegers(other, this));
  }
  mul(other: OwnedLike): Array {
    return consume((x, y) => x.mul(y), this, besideIntegers(other, this));
  }
  div(other: OwnedLike): Array {
    return consume(quotient, this, besideIntegers(other, this));
  }
  mod(other: OwnedLike): Array {
    return consume((x, y) => x.mod(y), this, besideIntegers(other, this));
  }
  pow(other: OwnedLike): Array {
    return consume((x, y) => x.pow(y), this, besideIntegers(other, this));
  }
  greater(other: OwnedLike): Array {
    return consume((x, y) => x.greater(y), this, besideIntegers(other, this));
  }
  less(other: OwnedLike): Array {
    return consume((x, y) => x.less(y), this, besideIntegers(other, this));
  }
  equal(other: OwnedLike): Array {
    return consume((x, y) => x.equal(y), this, besideIntegers(other, this));
  }
  notEqual(other: OwnedLike): Array {
    return consume((x, y) => x.notEqual(y), this, besideIntegers(other, this));
  }
  greaterEqual(other: OwnedLike): Array {
    return consume((x, y) => x.greaterEqual(y), this, besideIntegers(other, this));
  }
  lessEqual(other: OwnedLike): Array {
    return consume((x, y) => x.lessEqual(y), this, besideIntegers(other, this));
  }
  matmul(other: Array): Array {
    return consume((x, y) => x.matmul(y), this, other);
  }
  sum(axis?: Axis, options?: ReduceOptions): Array {
    return consume((x) => x.sum(axis, options), this);
  }
  prod(axis?: Axis, options?: ReduceOptions): Array {
    return consume((x) => x.prod(axis, options), this);
  }
  mean(axis?: Axis, options?: ReduceOptions): Array {
    return consume((x) => x.mean(axis, options), this);
  }
  max(axis?: Axis, options?: ReduceOptions): Array {
    return consume((x) => x.max(axis, options), this);
  }
  min(axis?: Axis, options?: ReduceOptions): Array {
    return consume((x) => x.min(axis, options), this);
  }
  any(axis?: Axis, options?: ReduceOptions): Array {
    return consume((x) => x.any(axis, options), this);
  }
  all(axis?: Axis, options?: ReduceOptions): Array {
    return consume((x) => x.all(axis, options), this);
  }
  reshape(shape: number | readonly number[]): Array {
    return consume((x) => x.reshape(shape), this);
  }
  transpose(permutation?: readonly number[]): Array {
    return consume((x) => x.transpose(permutation), this);
  }
  flatten(): Array {
    return consume((x) => x.flatten(), this);
  }
  ravel(): Array {
    return consume((x) => x.ravel(), this);
  }
  astype(dtype: DTypeArg): Array {
    return consume((x) => x.astype(dtype), this);
  }
  view(dtype?: DType): Array {
    return consume((x) => x.view(dtype), this);
  }
  diagonal(offset?: number, axis1?: number, axis2?: number): Array {
    return consume((x) => diagonal(x, offset, axis1, axis2), this);
  }
  sort(axis?: number): Array {
    return consume((x) => sort(x, axis), this);
  }
  argsort(axis?: number): Array {
    return consume((x) => argsort(x, axis), this);
  }
  slice(...index: readonly OwnedIndex[]): Array {
    return consume((x, ...parts) => x.slice(...(parts as Index[])), this, ...index);
  }

  /** Slices along the first axis; the array itself is consumed at the end. */
  *[Symbol.iterator](): IterableIterator<Array> {
    const count = this.shape[0];
    if (count === undefined) throw typeError('an array without axes has nothing to go through');
    for (let k = 0; k < count; k++) yield (k === count - 1 ? this : this.ref).slice(k);
  }

  private read<T>(reader: (x: Value) => T): T {
    this.ensureAlive();
    const result = reader(this.value);
    this.release(1, false, userPlace());
    return result;
  }
  async data(): Promise<HostArray> {
    return widened(await this.read((x) => x.data()));
  }
  jsAsync(): Promise<Contents> {
    return this.read((x) => x.jsAsync());
  }
  dataSync(): HostArray {
    return widened(this.read((x) => x.dataSync()));
  }
  js(): Contents {
    return this.read((x) => x.js());
  }
  /** The only element, at once: on the cpu device. */
  item(): number {
    return this.read((x) => x.itemSync());
  }
  async blockUntilReady(): Promise<this> {
    this.ensureAlive();
    if (this.value instanceof DeviceArray) await this.value.blockUntilReady();
    return this;
  }
  [Symbol.toPrimitive](): number {
    return this.item();
  }
}

/** As jax-js has it, truth is read as whole numbers. */
const widened = (contents: HostArray): HostArray => (contents instanceof Uint8Array ? Int32Array.from(contents) : contents);

const isInteger = (dtype: DType): boolean => dtype === 'int32' || dtype === 'uint32';
/** As jax-js has it, a number beside integers is one of them, without what stands behind its point. */
export const besideIntegers = <T>(operand: T, ...others: readonly unknown[]): T | number =>
  typeof operand === 'number' && others.length > 0 && others.every((other) => other instanceof Array && isInteger(other.dtype))
    ? Math.trunc(operand)
    : operand;
/** As jax-js has it, integers are divided towards zero by the method, and as floats by `np.divide`. */
const quotient = (x: Value, y: Value | number | boolean): Value =>
  isInteger(x.dtype) && (typeof y === 'number' ? Number.isInteger(y) : typeof y === 'object' && isInteger(y.dtype))
    ? quotientOf(x, y)
    : x.div(y);

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' &&
  value !== null &&
  (Object.getPrototypeOf(value) === Object.prototype || Object.getPrototypeOf(value) === null);

/** Every owned array in a tree replaced. */
export function unwrapped(tree: unknown, of: (array: Array) => Value): unknown {
  if (tree instanceof Array) return of(tree);
  if (globalThis.Array.isArray(tree)) return tree.map((item) => unwrapped(item, of));
  if (isPlain(tree)) return Object.fromEntries(Object.entries(tree).map(([key, item]) => [key, unwrapped(item, of)]));
  return tree;
}
/** Every value in a tree as an owned array. */
export function wrapped(tree: unknown, borrowed = false): unknown {
  if (tree instanceof LiteralValue) return tree.literal;
  // eslint-disable-next-line @typescript-eslint/no-array-constructor -- this module's own class
  if (tree instanceof Value) return new Array(tree, borrowed);
  if (globalThis.Array.isArray(tree)) return tree.map((item) => wrapped(item, borrowed));
  if (isPlain(tree)) return Object.fromEntries(Object.entries(tree).map(([key, item]) => [key, wrapped(item, borrowed)]));
  if (typeof tree === 'function') return ownedFunction(tree as (...args: unknown[]) => unknown);
  return tree;
}

/** How often each array stands in a tree. */
function usesIn(tree: unknown): ReadonlyMap<Array, number> {
  const uses = new Map<Array, number>();
  unwrapped(tree, (array) => {
    uses.set(array, (uses.get(array) ?? 0) + 1);
    return array.value;
  });
  return uses;
}

export interface ConsumeOptions {
  /** The callee takes buffers of last references (ops and compiled calls do; transformations that keep residuals don't). */
  readonly donates: boolean;
}

/** Calls `f` on the values behind its arguments, and takes one reference per use. */
export function consuming(f: (...args: unknown[]) => unknown, args: readonly unknown[], { donates }: ConsumeOptions): unknown {
  const place = userPlace();
  const uses = usesIn(args);
  for (const [array, count] of uses) array.ensureAlive(count);
  const eager = currentInterpreter().run !== undefined;
  const given = new Set<Array>();
  const values = args.map((arg) =>
    unwrapped(arg, (array) => {
      if (!donates || !eager || array.refCount !== 1 || uses.get(array) !== 1 || !(array.value instanceof DeviceArray)) return array.value;
      given.add(array);
      return new DonatedArray(array.value);
    }),
  );
  const results = f(...values);
  const out = new Set<unknown>();
  const collect = (tree: unknown): void => {
    if (tree instanceof Value) out.add(tree instanceof DonatedArray ? tree.source : tree);
    else if (globalThis.Array.isArray(tree)) tree.forEach(collect);
    else if (isPlain(tree)) Object.values(tree).forEach(collect);
  };
  collect(results);
  // A result that is the argument itself (a reshape to its own shape) goes on with the reference it came with.
  for (const [array, count] of uses) array.release(count, out.has(array.value) || (given.has(array) && array.value.isDisposed), place);
  return wrapped(unsourced(results));
}
function unsourced(tree: unknown): unknown {
  if (tree instanceof DonatedArray) return tree.source;
  if (globalThis.Array.isArray(tree)) return tree.map(unsourced);
  if (isPlain(tree)) return Object.fromEntries(Object.entries(tree).map(([key, item]) => [key, unsourced(item)]));
  return tree;
}

function consume(f: (x: Value, ...rest: never[]) => Value, ...args: readonly unknown[]): Array {
  return consuming(f as (...args: unknown[]) => unknown, args, { donates: true }) as Array;
}

const ownedFunction = (f: (...args: unknown[]) => unknown): ((...args: unknown[]) => unknown) =>
  Object.assign((...args: unknown[]) => consuming(f, args, { donates: false }), {
    dispose: () => {
      if ('dispose' in f && typeof f.dispose === 'function') f.dispose();
    },
  });

/** A function of owned arrays as one of values: what the runtime traces. */
export function asTraced(f: (...args: never[]) => unknown): (...args: unknown[]) => unknown {
  const call = (...args: unknown[]): unknown => {
    const result = f(...(args.map((arg) => wrapped(arg, true)) as never[]));
    return unwrapped(result, (array) => {
      array.ensureAlive();
      const { value } = array;
      array.release(1, true, undefined);
      return value;
    });
  };
  return Object.defineProperty(call, 'name', { value: f.name });
}
