/**
 * The abstract values of the walk, and the objects of its heap.
 *
 * A value is host data (a literal, or an unknown one with a symbol that says "the same as there"), an object of the heap,
 * or something callable. Values carry a `key`: equal keys, equal values. An object stands for what one place of the
 * program made in one call context; a place that runs again while its earlier object is still held gets a generation
 * (`~`), the third of which stands for many. Depends on: lower/ir.
 */
import type { ClassId, FunctionId, Literal, Span, TypeFact } from '../lower/ir.ts';
import type { Death } from './facts.ts';

export type ObjectId = string;

export type Value = { readonly key: string } & (
  | { readonly kind: 'literal'; readonly value: Literal }
  /** Host data of unknown content; `callable` when its type says so. */
  | { readonly kind: 'host'; readonly symbol: string; readonly type?: TypeFact }
  | { readonly kind: 'object'; readonly id: ObjectId }
  | { readonly kind: 'closure'; readonly function: FunctionId; readonly environment: ObjectId | undefined; readonly self?: Value }
  | { readonly kind: 'class'; readonly class: ClassId; readonly environment: ObjectId | undefined }
  | { readonly kind: 'external'; readonly library: string | undefined; readonly name: string }
  /** What `jit`, `grad` and their kin make of a function. */
  | {
      readonly kind: 'compiled';
      readonly of: Value;
      readonly how: 'jit' | 'pmap' | 'vmap' | 'grad' | 'valueAndGrad' | 'checkpoint' | 'other';
      readonly library: string;
      readonly jit: Span;
      readonly donates: readonly number[];
      readonly statics: readonly number[];
      readonly ranIn: string;
    }
  /** `donate(x)`: given away to the call that takes it. */
  | { readonly kind: 'marked'; readonly of: Value }
);

export const literalValue = (value: Literal): Value => ({
  kind: 'literal',
  value,
  key: typeof value === 'string' ? `"${value}` : `=${String(value)}`,
});
export const undefinedValue = literalValue(undefined);
export const hostValue = (symbol: string, type?: TypeFact): Value => ({
  kind: 'host',
  symbol,
  key: `?${symbol}`,
  ...(type === undefined ? {} : { type }),
});
export const anonymous: Value = { kind: 'host', symbol: '', key: '?' };
export const objectValue = (id: ObjectId): Value => ({ kind: 'object', id, key: `@${id}` });
export const closureValue = (fn: FunctionId, environment: ObjectId | undefined, self?: Value): Value => ({
  kind: 'closure',
  function: fn,
  environment,
  key: `fn ${fn} ${environment ?? ''} ${self?.key ?? ''}`,
  ...(self === undefined ? {} : { self }),
});
export const externalValue = (library: string | undefined, name: string): Value => ({
  kind: 'external',
  library,
  name,
  key: `ext ${library ?? ''}:${name}`,
});

/** The life of one device array (or of an object that owns arrays, or of all the arrays in a tree of unknown form). */
export interface Life {
  readonly library: string;
  readonly dead: boolean;
  readonly death?: Death;
  readonly diedAt?: Span;
  /** References held, where the library counts them. */
  readonly refs: number;
  readonly made?: Span;
  readonly name?: string;
  readonly declaration?: Span;
  /** Made here; the caller's; or held by a module or a field since before the walk began. */
  readonly origin: 'here' | 'caller' | 'field';
  /** Unknown code holds it too, or may have freed it: nothing more can be said. */
  readonly escaped: boolean;
  /** How it came to that. */
  readonly shared?: string;
  /** Depth of the scope that will free it; 0 when none does. */
  readonly scope: number;
  /** Stands for a value of a trace. */
  readonly traced: boolean;
  readonly owner: boolean;
  /** An owner that has nothing of its own yet: to lose it loses nothing. */
  readonly empty?: boolean;
  /** A child of a tree of unknown form: freed with it, never lost by itself. */
  readonly part?: ObjectId;
  readonly lastRef?: Span;
  readonly lastUse?: Span;
  /** Where a field, variable or collection let go of it while a variable of the function still had it. */
  readonly lostAt?: { readonly span: Span; readonly how: 'overwritten' | 'deleted'; readonly variable: boolean };
  /** Its use after death was reported on this path. */
  readonly misused?: boolean;
  /** Made while another function waited: whether both run at once is not known. */
  readonly raced?: boolean;
  /** The parameter it was passed for last: function, position, and where the parameter stands. */
  readonly passed?: { readonly function: FunctionId; readonly position: number; readonly signature: Span };
  /** The collection it was put into, in a loop. */
  readonly added?: Span;
  /** Arguments of compiled calls that it went into without being given away. */
  readonly watches: readonly string[];
  /** A part of the tree was freed or handed on by itself. */
  readonly opened?: boolean;
  /** Code that nobody knows returned it: it may be one that others have. */
  readonly foreign?: boolean;
  /** A generator waits while its consumer has it, and then frees it so. */
  readonly lent?: { readonly death: Death; readonly diedAt?: Span };
  /** Freed here, whoever else may hold it: that it is gone is certain. */
  readonly sure?: boolean;
  /** The last `.ref` was taken from what a field or an outer variable holds. */
  readonly refOfKept?: boolean;
  /** Made in a function, for messages and filters. */
  readonly function: FunctionId;
  /** Values read after the first wait of a call that is still running. */
  readonly typeName?: string;
}

export type Shape =
  'object' | 'list' | 'map' | 'instance' | 'tree' | 'promise' | 'iterator' | 'recorder' | 'environment' | 'array' | 'generator';

export interface Node {
  readonly shape: Shape;
  readonly fields: ReadonlyMap<string, Value>;
  /** Members without a known key. */
  readonly pool: readonly Value[];
  /** There may be members nobody has asked for yet. */
  readonly open: boolean;
  readonly many: boolean;
  readonly type: TypeFact;
  readonly life?: Life;
  readonly class?: ClassId;
  /** The function whose activation an environment is. */
  readonly function?: FunctionId;
  /** Where a collection is at home: `file#:history`, `class.field`. */
  readonly home?: string;
  readonly traced?: boolean;
  readonly count?: number;
  /** Promise: arrays that are read until it settles. */
  readonly pending?: readonly { readonly id: ObjectId; readonly span: Span }[];
  readonly made?: Span;
  readonly escaped?: boolean;
}

const keys = new WeakMap<Node, number>();

/** Small numbers for long texts that are compared often: equal numbers, equal texts. */
interface Numbers {
  readonly nodes: Map<string, number>;
  readonly ids: Map<ObjectId, number>;
  /** By id and node. */
  readonly entries: Map<number, number>;
}
const numbersOf = new WeakMap<object, Numbers>();
const mostNodes = 2 ** 26;

/** Equal keys, equal heaps among those of one `walk`, in whatever order they were filled. */
export function heapKey(heap: ReadonlyMap<ObjectId, Node>, walk: object): string {
  let numbers = numbersOf.get(walk);
  if (numbers === undefined) {
    numbers = { nodes: new Map(), ids: new Map(), entries: new Map() };
    numbersOf.set(walk, numbers);
  }
  const found = new Uint32Array(heap.size);
  let i = 0;
  for (const [id, node] of heap) found[i++] = numberOf(numbers.entries, numberOf(numbers.ids, id) * mostNodes + nodeKey(node, numbers));
  return found.sort().join();
}

function numberOf<Key>(numbers: Map<Key, number>, key: Key): number {
  let number = numbers.get(key);
  if (number === undefined) {
    number = numbers.size;
    numbers.set(key, number);
  }
  return number;
}

function fieldsKey(fields: Node['fields']): string {
  let text = '';
  for (const [name, value] of fields) text += `${name}:${value.key},`;
  return text;
}

function nodeKey(node: Node, numbers: Numbers): number {
  const known = keys.get(node);
  if (known !== undefined) return known;
  const life = node.life;
  const text = `${node.shape}${node.many ? '*' : ''}${node.open ? '…' : ''}{${fieldsKey(node.fields)}|${node.pool.length === 0 ? '' : node.pool.map((v) => v.key).join(',')}}${
    life === undefined
      ? ''
      : `<${life.dead ? life.death : 'held'}${life.diedAt?.start ?? ''} ${life.refs} ${life.escaped ? 'e' : ''} ${life.scope} ${life.opened ? 'o' : ''}${life.empty ? '0' : ''} ${life.watches.join()} ${life.lastRef?.start ?? ''} ${life.made?.start ?? ''}>`
  }${node.pending === undefined ? '' : node.pending.map((p) => p.id).join()}`;
  const number = numberOf(numbers.nodes, text);
  keys.set(node, number);
  return number;
}

/** A callback that was left for later. */
export interface Later {
  readonly value: Value;
  readonly key: string;
  /** Some time; again and again (a listener); or in a scope that frees what it leaves. */
  readonly how: 'once' | 'often' | 'scoped';
}

export const emptyFields: ReadonlyMap<string, Value> = new Map();
