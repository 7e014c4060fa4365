/**
 * One path of the walk: frames, heap, and what is known of tested values.
 *
 * A state belongs to one path and is changed in place; `fork` makes another. Paths are kept apart instead of being
 * joined, so two tests of one unchanged value are one test; where there would be too many, the surplus is dropped and
 * counted. Objects that were there before the walk (made by module top levels) are read from a shared base and copied on
 * the first write. Depends on: values, lower/ir.
 */
import type { FunctionId, Local, Span } from '../lower/ir.ts';
import { copyFrame, mapFrame, type Frame } from './frame.ts';
import { everyKey, forEachId, hasKey, mapList, mapValue, merged } from './references.ts';
import { anonymous, heapKey, hostValue, objectValue, type Later, type Node, type ObjectId, type Value } from './values.ts';

export type { Frame };

export interface Scope {
  /** It began with a call of its own, and ends with another. */
  readonly opened?: boolean;
  readonly started?: Span;
  /** Something that was made in it is held by nobody any more: it frees that. */
  readonly frees?: boolean;
  readonly span: Span;
  readonly library: string;
}

export interface Lost {
  readonly id: ObjectId;
  readonly node: Node;
  readonly how: 'end' | 'overwritten' | 'deleted';
  readonly span?: Span;
  readonly context: string;
}

export class State {
  frame: Frame;
  readonly heap: Map<ObjectId, Node>;
  readonly base: ReadonlyMap<ObjectId, Node>;
  readonly facts: Map<string, boolean>;
  readonly scopes: Scope[];
  readonly lost: Map<string, Lost>;
  readonly later: Later[];
  readonly laterDone: Set<string>;
  /** Callbacks that ran and will run again: what they hold stays held. */
  readonly again: Map<string, Value>;
  readonly seen: Set<string>;
  /** Members of collections that a loop is at: what happens to one happens to all. */
  readonly iterating: Set<ObjectId>;
  tracing: number;
  /** A handler was entered: for messages. */
  caught: boolean;

  constructor(frame: Frame, base: ReadonlyMap<ObjectId, Node>, from?: State) {
    this.frame = frame;
    this.base = base;
    this.heap = new Map(from?.heap);
    this.facts = new Map(from?.facts);
    this.scopes = [...(from?.scopes ?? [])];
    this.lost = new Map(from?.lost);
    this.later = [...(from?.later ?? [])];
    this.laterDone = new Set(from?.laterDone);
    this.again = new Map(from?.again);
    this.seen = new Set(from?.seen);
    this.iterating = new Set(from?.iterating);
    this.tracing = from?.tracing ?? 0;
    this.caught = from?.caught ?? false;
  }

  fork(): State {
    return new State(copyFrame(this.frame), this.base, this);
  }

  get(id: ObjectId): Node | undefined {
    return this.heap.get(id) ?? this.base.get(id);
  }

  node(value: Value | undefined): Node | undefined {
    if (value === undefined) return undefined;
    return value.kind === 'object' ? this.get(value.id) : value.kind === 'marked' ? this.node(value.of) : undefined;
  }

  put(id: ObjectId, node: Node): void {
    this.heap.set(id, node);
  }

  change(id: ObjectId, patch: Partial<Node>): void {
    const node = this.get(id);
    if (node !== undefined) this.heap.set(id, { ...node, ...patch });
  }

  local(local: Local): Value {
    return this.frame.locals.get(local) ?? anonymous;
  }

  set(local: Local, value: Value): void {
    this.frame.locals.set(local, value);
    const fact = this.frame.fn.locals[local];
    if (fact?.captured) this.setField(this.frame.environment, fact.unique, value);
  }

  setField(id: ObjectId, name: string, value: Value): void {
    const node = this.get(id);
    if (node === undefined || node.fields.get(name)?.key === value.key) return;
    const fields = new Map(node.fields);
    fields.set(name, value);
    this.change(id, { fields });
  }

  enterFrame(frame: Frame): void {
    this.frame = frame;
  }

  /** Back to the caller: its frame may be shared with other paths, so it is copied. */
  leaveFrame(): void {
    const parent = this.frame.parent;
    if (parent !== undefined) this.frame = copyFrame(parent);
  }

  /**
   * A fresh object for `base`. Earlier ones that are still held move on by a generation; what nobody holds is handed to
   * `dropped`.
   */
  allocate(base: ObjectId, node: Node, dropped: (id: ObjectId, node: Node) => void): Value {
    if (this.heap.has(base)) {
      const held = this.reachable();
      const generations = [base, `${base}~`, `${base}~~`] as const;
      for (const id of generations) {
        const old = this.heap.get(id);
        if (old !== undefined && !held.has(id)) {
          this.heap.delete(id);
          dropped(id, old);
        }
      }
      const renames = new Map<ObjectId, ObjectId>();
      if (this.heap.has(generations[0])) {
        if (this.heap.has(generations[1])) renames.set(generations[1], generations[2]);
        renames.set(generations[0], generations[1]);
        this.rename(renames);
      }
    }
    this.heap.set(base, node);
    return objectValue(base);
  }

  private rename(renames: ReadonlyMap<ObjectId, ObjectId>): void {
    const map = (value: Value): Value => mapValue(value, (id) => renames.get(id) ?? id);
    this.mapAll(map);
    for (const [from, to] of renames) {
      const node = this.heap.get(from);
      if (node === undefined) continue;
      this.heap.delete(from);
      const older = this.heap.get(to);
      this.heap.set(to, older === undefined ? node : merged(older, node));
    }
    for (const [key, lost] of this.lost) if (renames.has(lost.id)) this.lost.set(key, { ...lost, id: renames.get(lost.id)! });
  }

  mapAll(map: (value: Value) => Value): void {
    this.frame = mapFrame(this.frame, map);
    for (const [id, node] of this.heap) {
      let fields: Map<string, Value> | undefined;
      for (const [name, value] of node.fields) {
        const next = map(value);
        if (next !== value) (fields ??= new Map(node.fields)).set(name, next);
      }
      const pool = mapList(node.pool, map);
      if (fields !== undefined || pool !== node.pool)
        this.heap.set(id, {
          ...node,
          fields: fields ?? node.fields,
          pool: pool.filter((value, i) => pool.findIndex((other) => other.key === value.key) === i),
        });
    }
    for (const [i, later] of this.later.entries()) this.later[i] = { ...later, value: map(later.value) };
    for (const [key, again] of this.again) this.again.set(key, map(again));
  }

  /** A symbol gets a new meaning: what was known of it is forgotten, and what still holds the old one becomes anonymous. */
  renew(symbol: string): void {
    if (!this.seen.has(symbol)) {
      this.seen.add(symbol);
      return;
    }
    const mark = `${symbol};`;
    for (const fact of [...this.facts.keys()]) if (fact.includes(mark)) this.facts.delete(fact);
    this.mapAll((value) =>
      value.kind === 'host' && value.symbol.includes(mark)
        ? value.type === undefined
          ? anonymous
          : { ...hostValue('', value.type), key: '?' }
        : value,
    );
    for (const [id, node] of this.heap) {
      if (!hasKey(node.fields, (name) => name.startsWith('[') && name.includes(mark))) continue;
      const fields = new Map<string, Value>();
      const pool = [...node.pool];
      for (const [name, value] of node.fields) {
        if (name.startsWith('[') && name.includes(mark)) {
          if (!pool.some((member) => member.key === value.key)) pool.push(value);
        } else fields.set(name, value);
      }
      this.heap.set(id, { ...node, fields, pool });
    }
  }

  /** Tests of what this frame made and nobody holds any more can't be asked again: paths that differ in them alone are one. */
  forgetTests(): void {
    if (this.facts.size === 0) return;
    const mark = `${this.frame.context}:`;
    let live: ReadonlySet<string> | undefined;
    for (const fact of [...this.facts.keys()])
      for (const symbol of symbolsIn(fact, mark)) {
        live ??= this.liveSymbols(mark);
        if (live.has(symbol) || this.isOfObject(symbol, mark.length)) continue;
        this.facts.delete(fact);
        break;
      }
  }

  private liveSymbols(mark: string): ReadonlySet<string> {
    const found = new Set<string>();
    const add = (value: Value): void => {
      if (value.kind === 'host') for (const symbol of symbolsIn(value.symbol, mark)) found.add(symbol);
    };
    this.frame.locals.forEach(add);
    for (const node of this.heap.values()) {
      node.fields.forEach(add);
      node.pool.forEach(add);
    }
    return found;
  }

  /** A property of an object that is still there may be read again. */
  private isOfObject(symbol: string, from: number): boolean {
    for (let dot = symbol.indexOf('.', from); dot >= 0; dot = symbol.indexOf('.', dot + 1))
      if (this.heap.has(symbol.slice(0, dot))) return true;
    return false;
  }

  /** Host data keeps no name from one run to the next: symbols begin anew. */
  forgetSymbols(): void {
    this.mapAll((value) =>
      value.kind === 'host' && value.symbol !== ''
        ? value.type === undefined
          ? anonymous
          : { ...hostValue('', value.type), key: '?' }
        : value,
    );
    for (const [id, node] of this.heap) {
      if (!hasKey(node.fields, (name) => name.startsWith('['))) continue;
      const fields = new Map([...node.fields].filter(([name]) => !name.startsWith('[')));
      const moved = [...node.fields].filter(([name, value]) => name.startsWith('[') && value.kind !== 'literal').map(([, value]) => value);
      this.heap.set(id, {
        ...node,
        fields,
        pool: [...node.pool, ...moved.filter((value) => !node.pool.some((other) => other.key === value.key))],
      });
    }
    this.facts.clear();
    this.seen.clear();
  }

  /** Ids of the heap that somebody holds: frames, environments, objects from before the walk, callbacks to come. */
  reachable(extra: readonly Value[] = []): Set<ObjectId> {
    const seen = new Set<ObjectId>();
    const work: ObjectId[] = [];
    const visitId = (id: ObjectId): void => {
      if (!seen.has(id)) {
        seen.add(id);
        work.push(id);
      }
    };
    const visit = (value: Value): void => forEachId(value, visitId);
    for (let frame: Frame | undefined = this.frame; frame !== undefined; frame = frame.parent) {
      for (const value of frame.locals.values()) visit(value);
      visitId(frame.environment);
      if (frame.self !== undefined) visit(frame.self);
      frame.yields.forEach(visit);
    }
    extra.forEach(visit);
    for (const later of this.later) visit(later.value);
    for (const again of this.again.values()) visit(again);
    for (const id of this.heap.keys()) if (this.base.has(id)) visitId(id);
    while (work.length > 0) {
      const id = work.pop()!;
      const node = this.heap.get(id);
      // What is only in the base can hold nothing of the heap.
      if (node === undefined || node.shape === 'recorder') continue;
      node.fields.forEach(visit);
      node.pool.forEach(visit);
      // What a promise still reads is not forgotten once it is gone.
      for (const { id: read } of node.pending ?? []) if (this.heap.get(read)?.life?.dead === true) visitId(read);
    }
    return seen;
  }

  /** Removes what nobody holds. */
  collect(dropped: (id: ObjectId, node: Node) => void, extra: readonly Value[] = []): void {
    const held = this.reachable(extra);
    if (held.size >= this.heap.size && everyKey(this.heap, held)) return;
    for (const [id, node] of [...this.heap]) {
      if (held.has(id)) continue;
      const part = node.life?.part;
      if (part !== undefined && held.has(part)) continue;
      this.heap.delete(id);
      if (!this.handedOn(id, node, held)) dropped(id, node);
    }
  }

  /** Parts of a tree that somebody still holds stand by themselves once the tree is gone; were those all, nothing is lost with it. */
  private handedOn(id: ObjectId, tree: Node, held: ReadonlySet<ObjectId>): boolean {
    if (tree.life === undefined || tree.shape === 'array') return false;
    let found = 0;
    for (const [partId, node] of this.heap) {
      if (node.life?.part !== id || !held.has(partId)) continue;
      const { part: _, ...life } = node.life;
      this.heap.set(partId, { ...node, life });
      found++;
    }
    const taken = [...tree.fields.keys()].filter((name) => /^\d+$/.test(name)).length;
    return found > 0 && (tree.count === undefined || tree.count <= taken);
  }

  key(live: ReadonlySet<Local> | undefined, withFacts: boolean): string {
    const parts: string[] = [];
    const { locals } = this.frame;
    if (live === undefined || live.size > 0)
      for (const local of [...locals.keys()].sort((a, b) => a - b))
        if (live === undefined || live.has(local)) parts.push(`${local}${locals.get(local)!.key}`);
    parts.push('|', heapKey(this.heap, this.base), '|');
    if (this.lost.size > 0) parts.push([...this.lost.keys()].sort().join());
    if (withFacts && this.facts.size > 0)
      parts.push(
        '|',
        [...this.facts]
          .map(([fact, truth]) => `${fact}${truth ? '+' : '-'}`)
          .sort()
          .join(),
      );
    parts.push(`|${this.scopes.length}${this.later.map((l) => l.key).join()}`);
    return parts.join(' ');
  }
}

export const functionOf = (state: State): FunctionId => state.frame.fn.id;

/** The symbols in a text that begin with `mark`. */
function symbolsIn(text: string, mark: string): readonly string[] {
  const found: string[] = [];
  for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, at + 1)) found.push(text.slice(at, text.indexOf(';', at) + 1));
  return found;
}
