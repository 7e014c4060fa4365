/**
 * What one walk over a program does to memory, in order: arrays are born, used and freed, compiled calls run.
 *
 * Time counts these happenings. The ledger only writes down; peaks and late frees are folds over it (`memory/`). Bytes
 * may be symbolic; known ones are rounded up as the allocator does. Depends on: core (aval, dim), lower/ir.
 */
import { avalBytes, type Aval } from '../../runtime/core/aval.ts';
import { isKnown, minus, plus, type Dim } from '../../runtime/core/dim.ts';
import type { FunctionId, Span } from '../lower/ir.ts';

export type Freed = 'dispose' | 'using' | 'scope' | 'donated' | 'consumed';

export interface Life {
  readonly aval: Aval | undefined;
  /** Undefined when the shape isn't known. */
  readonly bytes: Dim | undefined;
  readonly made: Span;
  /** The function whose activation made it, and that activation. */
  readonly function: FunctionId | undefined;
  readonly activation: number;
  readonly born: number;
  name?: string;
  /** Where the local that first got it is declared. */
  declaration?: Span;
  lastUse: number;
  lastUseAt: Span;
  freed?: { readonly time: number; readonly how: Freed; readonly at: Span };
  /** Something reads it when it is dead, or may read it until a promise settles that nobody awaits. */
  readLate: boolean;
  /** A scope frees it, whoever else does. */
  scoped: boolean;
}

/** A point at which bytes in use may be highest. */
export interface Moment {
  readonly time: number;
  /** In use when it happens: arrays of known shape. */
  readonly inUse: Dim;
  /** Nothing of unknown size is alive. */
  readonly exact: boolean;
  readonly at: Span;
  readonly what: 'allocation' | 'run';
  /** Bytes that are in use only during a run, on top of its arguments. */
  readonly duringBytes: Dim;
  /** Functions that are running, outermost first. */
  readonly activations: readonly number[];
  /** The compiled function that runs. */
  readonly target?: FunctionId;
}

export interface Activation {
  readonly id: number;
  readonly function: FunctionId;
  readonly from: number;
  to: number;
}

export const allocated = (aval: Aval): Dim => {
  const bytes = avalBytes(aval);
  return isKnown(bytes) ? Math.ceil(bytes / 256) * 256 : bytes;
};

export class Ledger {
  readonly lives: Life[] = [];
  readonly moments: Moment[] = [];
  readonly activations: Activation[] = [];
  private readonly ofArray = new WeakMap<object, Life>();
  private readonly references = new WeakMap<object, number>();
  private readonly running: Activation[] = [];
  private readonly scopes: Set<Life>[] = [];
  /** Arrays that asynchronous functions have read since their first `await`. */
  private readonly readers = new Map<Set<object>, number>();
  private inUse: Dim = 0;
  private unknownAlive = 0;
  private now = 0;

  enter(id: FunctionId): () => void {
    const activation: Activation = { id: this.activations.length, function: id, from: this.now, to: Number.POSITIVE_INFINITY };
    this.activations.push(activation);
    this.running.push(activation);
    return () => {
      activation.to = this.now;
      this.running.pop();
    };
  }

  lifeOf(array: object): Life | undefined {
    return this.ofArray.get(array);
  }

  /** `array` is new; nothing when it is known already (an alias). `own`: its bytes, where the library counts in another way. */
  born(array: object, aval: Aval | undefined, made: Span, own?: Dim): Life {
    const known = this.ofArray.get(array);
    if (known !== undefined) return known;
    const bytes = aval === undefined ? undefined : (own ?? allocated(aval));
    const time = ++this.now;
    const life: Life = {
      aval,
      bytes,
      made,
      function: this.running.at(-1)?.function,
      activation: this.running.at(-1)?.id ?? -1,
      born: time,
      lastUse: time,
      lastUseAt: made,
      readLate: false,
      scoped: this.scopes.length > 0,
    };
    this.ofArray.set(array, life);
    this.lives.push(life);
    this.scopes.at(-1)?.add(life);
    if (bytes === undefined) this.unknownAlive++;
    else this.inUse = plus(this.inUse, bytes);
    this.moment('allocation', made, 0);
    return life;
  }

  used(array: object, at: Span): void {
    const life = this.ofArray.get(array);
    if (life === undefined) return;
    for (const [reader, since] of this.readers) if (life.born <= since) reader.add(array);
    if (life.freed !== undefined) {
      life.readLate = true;
      return;
    }
    life.lastUse = ++this.now;
    life.lastUseAt = at;
  }

  /** The time of the last happening. */
  time(): number {
    return this.now;
  }

  /** From now on reads of arrays that are there already are remembered in `reader`, until it is closed. */
  read(reader: Set<object>): () => void {
    this.readers.set(reader, this.now);
    return () => this.readers.delete(reader);
  }

  /** Arrays that are still alive. */
  alive(arrays: Iterable<object>): readonly object[] {
    return [...arrays].filter((array) => this.ofArray.get(array)?.freed === undefined);
  }

  /** Nobody awaited what reads these arrays. */
  leftOpen(arrays: Iterable<object>): void {
    for (const array of arrays) {
      const life = this.ofArray.get(array);
      if (life !== undefined) life.readLate = true;
    }
  }

  freed(array: object, how: Freed, at: Span): void {
    const life = this.ofArray.get(array);
    if (life !== undefined) this.end(life, how, at);
  }

  /** One more reference, where a library counts them. */
  retain(array: object): void {
    this.references.set(array, (this.references.get(array) ?? 1) + 1);
  }

  /** One reference less; the last one frees. */
  released(array: object, how: Freed, at: Span): void {
    const left = (this.references.get(array) ?? 1) - 1;
    this.references.set(array, left);
    if (left <= 0) this.freed(array, how, at);
  }

  /** A compiled call runs: `duringBytes` on top of what is in use. */
  ran(at: Span, duringBytes: Dim, target: FunctionId | undefined): void {
    this.now++;
    this.moment('run', at, duringBytes, target);
  }

  /** All that `run` makes and `kept` doesn't reach is freed at its end. */
  scope<T>(run: () => T, kept: (value: T) => readonly object[], at: Span): T {
    const own = new Set<Life>();
    this.scopes.push(own);
    let value: T;
    try {
      value = run();
    } finally {
      this.scopes.pop();
    }
    const safe = new Set(kept(value).map((array) => this.ofArray.get(array)));
    for (const life of own) {
      if (!safe.has(life)) this.end(life, 'scope', at);
      else {
        life.scoped = this.scopes.length > 0;
        this.scopes.at(-1)?.add(life);
      }
    }
    return value;
  }

  private end(life: Life, how: Freed, at: Span): void {
    if (life.freed !== undefined) return;
    life.freed = { time: ++this.now, how, at };
    if (life.bytes === undefined) this.unknownAlive--;
    else this.inUse = minus(this.inUse, life.bytes);
  }

  private moment(what: Moment['what'], at: Span, duringBytes: Dim, target?: FunctionId): void {
    this.moments.push({
      time: this.now,
      inUse: this.inUse,
      exact: this.unknownAlive === 0,
      at,
      what,
      duringBytes,
      activations: this.running.map(({ id }) => id),
      ...(target === undefined ? {} : { target }),
    });
  }
}
