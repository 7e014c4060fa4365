/**
 * Builds the blocks of one function: the current block, handlers, and what must run on the way out.
 *
 * A `finally` body or the disposal of a `using` is a cleanup: leaving its region (by return, break, continue) emits it
 * again, with the handler and cleanups of the region outside. Depends on: ir.
 */
import type { Block, BlockId, End, Event, Local, LocalFact, Span, TypeFact } from './ir.ts';

export interface Cleanup {
  /** Emits the cleanup at the current place. */
  emit(): void;
  readonly handler: BlockId | undefined;
}

export interface Target {
  readonly labels: readonly string[];
  readonly break?: BlockId;
  readonly continue?: BlockId;
  readonly cleanups: number;
}

interface OpenBlock {
  readonly id: BlockId;
  readonly events: Event[];
  end: End | undefined;
  readonly handler: BlockId | undefined;
  loop?: readonly BlockId[];
}

export class Graph {
  readonly locals: LocalFact[] = [];
  private readonly open: OpenBlock[] = [];
  private at: OpenBlock;
  handler: BlockId | undefined;
  readonly cleanups: Cleanup[] = [];
  readonly targets: Target[] = [];
  private readonly uniques = new Map<string, number>();
  /** A `catch` stands around the current place. */
  catches = 0;

  constructor() {
    this.at = this.make();
  }

  private make(): OpenBlock {
    const block: OpenBlock = { id: this.open.length, events: [], end: undefined, handler: this.handler };
    this.open.push(block);
    return block;
  }

  local({ name, kind, type, captured, span }: Omit<LocalFact, 'unique'>): Local {
    const base = name ?? 't';
    const seen = this.uniques.get(base) ?? 0;
    this.uniques.set(base, seen + 1);
    // Spelt out: spreading them took more time than all else of a local.
    if (name === undefined && span === undefined) this.locals.push({ kind, type, captured, unique: `${base}~${seen}` });
    else
      this.locals.push({
        kind,
        type,
        captured,
        unique: name !== undefined && seen === 0 ? base : `${base}~${seen}`,
        ...(name === undefined ? {} : { name }),
        ...(span === undefined ? {} : { span }),
      });
    return this.locals.length - 1;
  }

  temporary(type: TypeFact): Local {
    return this.local({ kind: 'temporary', type, captured: false });
  }

  markCaptured(local: Local): void {
    const fact = this.locals[local]!;
    if (!fact.captured) this.locals[local] = { ...fact, captured: true };
  }

  emit(event: Event): void {
    if (this.at.end === undefined) this.at.events.push(event);
  }

  get reachable(): boolean {
    return this.at.end === undefined;
  }

  block(): BlockId {
    return this.make().id;
  }

  /** Continues in `id`, a block made before; its handler is the one in force when it was made. */
  enter(id: BlockId): void {
    this.at = this.open[id]!;
  }

  /** Continues in a fresh block with the handler now in force. */
  fresh(): BlockId {
    const next = this.make();
    this.end({ kind: 'goto', target: next.id });
    this.at = next;
    return next.id;
  }

  end(end: End): void {
    this.at.end ??= end;
  }

  goto(target: BlockId): void {
    this.end({ kind: 'goto', target });
  }

  get current(): BlockId {
    return this.at.id;
  }

  /** After a jump: what follows can't be reached, but is lowered all the same. */
  dead(): void {
    this.at = this.make();
  }

  get size(): number {
    return this.open.length;
  }

  markLoop(head: BlockId, from: number): void {
    this.markLoopOf(
      head,
      this.open.slice(from).map((block) => block.id),
    );
  }

  markLoopOf(head: BlockId, body: readonly BlockId[]): void {
    this.open[head]!.loop = [head, ...body.filter((id) => id !== head)];
  }

  /** Runs the cleanups above `depth`, innermost first, as on the way out. */
  leave(depth: number): void {
    const saved = this.cleanups.splice(depth);
    const handler = this.handler;
    for (let i = saved.length - 1; i >= 0; i--) {
      this.cleanups.splice(depth, Infinity, ...saved.slice(0, i));
      this.handler = saved[i]!.handler;
      this.fresh();
      saved[i]!.emit();
    }
    this.cleanups.splice(depth, Infinity, ...saved);
    this.handler = handler;
  }

  finish(span: Span): readonly Block[] {
    this.end({ kind: 'return', span });
    return this.open.map((block) => ({
      id: block.id,
      events: block.events,
      end: block.end ?? { kind: 'unreachable' },
      ...(block.handler === undefined ? {} : { handler: block.handler }),
      ...(block.loop === undefined ? {} : { loop: block.loop }),
    }));
  }
}
