/**
 * Sizes and static arguments that change from call to call, as far as the text of one function says so.
 *
 * Where no walk knows the shapes, the text may still say that a counter of the loop, or a number that is never the same
 * twice, flows into the shape of an argument. What bounds or cancels it (`slice([i, i + 8])`, `Math.min`) ends the trail:
 * nothing is said. Depends on: known-calls, libraries, lower/ir.
 */
import type { CompiledCall } from './facts.ts';
import { sameSpan } from './known-calls.ts';
import { isShapedByList, isShapedByNumber, joins, keepsShape } from '../libraries/kinds.ts';
import { writes, type CallEvent, type Event, type Local, type LoweredFunction } from '../lower/ir.ts';

export interface Varying {
  /** What the call names: `score`. */
  readonly name?: string;
  readonly position: number;
  /** The variable that changes; absent for a number that is new each time. */
  readonly variable?: string;
  readonly what: 'shape' | 'static';
}

const tableSize = 3;
const depthMost = 12;

/** The first argument of a compiled call that needs a program of its own with every call. */
export function varyingArgument(fn: LoweredFunction, call: CompiledCall): Varying | undefined {
  const text = new Text(fn);
  const event = text.calls.find((one) => sameSpan(one.span, call.span));
  const name = event === undefined ? undefined : text.named(event);
  const common = name === undefined ? {} : { name };
  for (const [position, argument] of event?.arguments.entries() ?? []) {
    if (argument.spread) return undefined;
    if (call.staticArgnums.includes(position)) {
      const number = text.number(argument.local);
      if (number !== undefined && (number === '' ? fn.kind !== 'module' || call.inLoop : call.inLoop))
        return { ...common, position, what: 'static', ...(number === '' ? {} : { variable: number }) };
      continue;
    }
    const shape = call.inLoop ? text.shape(argument.local) : undefined;
    if (shape !== undefined && shape !== '') return { ...common, position, what: 'shape', variable: shape };
  }
  return undefined;
}

/** One function's events by what they write. */
class Text {
  readonly calls: readonly CallEvent[];
  private readonly writers = new Map<Local, { readonly event: Event; readonly loop: boolean }[]>();
  private readonly taken = new Map<Local, Local>();
  private readonly fn: LoweredFunction;

  constructor(fn: LoweredFunction) {
    this.fn = fn;
    const inLoop = new Set(fn.blocks.flatMap((block) => block.loop ?? []));
    for (const block of fn.blocks) {
      for (const event of block.events) {
        const to = writes(event);
        if (to !== undefined) this.writers.set(to, [...(this.writers.get(to) ?? []), { event, loop: inLoop.has(block.id) }]);
      }
      if (block.end.kind === 'next') this.taken.set(block.end.to, block.end.iterator);
    }
    this.calls = fn.blocks.flatMap(({ events }) => events.filter((event): event is CallEvent => event.kind === 'call'));
  }

  private writer(local: Local): Event | undefined {
    const all = this.writers.get(local) ?? [];
    return all.length === 1 ? all[0]!.event : undefined;
  }

  /** What a call names. */
  named(event: CallEvent): string | undefined {
    if (event.key?.kind === 'name') return event.key.name;
    const made = event.function === undefined ? undefined : this.writer(event.function);
    return made?.kind === 'outer' ? made.variable.name : made?.kind === 'copy' ? this.fn.locals[made.from]?.name : undefined;
  }

  private nameOf(local: Local): string {
    return this.fn.locals[local]?.name ?? '';
  }

  /** The variable that makes a number change from round to round; empty for one that is new each time. */
  number(local: Local, depth = 0): string | undefined {
    if (depth > depthMost) return undefined;
    const iterator = this.taken.get(local);
    if (iterator !== undefined)
      return this.many(iterator) && this.fn.locals[local]?.type.holds === 'nothing' ? this.nameOf(local) : undefined;
    const all = this.writers.get(local) ?? [];
    if (all.length > 1) {
      const steps = all.some(({ event, loop }) => loop && event.kind === 'copy' && this.stepsFrom(event.from, local));
      return steps && !this.fewRounds(local) ? this.nameOf(local) : undefined;
    }
    const event = all[0]?.event;
    switch (event?.kind) {
      case 'copy':
        return this.number(event.from, depth + 1);
      case 'binary': {
        if (!/^[-+*]$/.test(event.operator)) return undefined;
        const [left, right] = [this.number(event.left, depth + 1), this.number(event.right, depth + 1)];
        // Of two that change, the difference may not.
        return left !== undefined && right !== undefined ? undefined : (left ?? right);
      }
      case 'call':
        return event.callee.kind === 'library' &&
          event.callee.library === 'standard' &&
          /^(Math\.random|DateConstructor\.now|Performance\.now)$/.test(event.callee.name)
          ? ''
          : undefined;
      default:
        return undefined;
    }
  }

  /** The variable that makes the shape of an array change from round to round. */
  shape(local: Local, depth = 0): string | undefined {
    if (depth > depthMost) return undefined;
    const all = this.writers.get(local) ?? [];
    if (all.length > 1)
      return all.some(({ event, loop }) => loop && event.kind === 'copy' && this.growsFrom(event.from, local))
        ? this.nameOf(local)
        : undefined;
    const event = all[0]?.event;
    if (event?.kind === 'copy') return this.shape(event.from, depth + 1);
    if (event?.kind === 'property')
      return event.key.kind === 'name' && keepsShape(event.key.name) ? this.shape(event.object, depth + 1) : undefined;
    if (event?.kind !== 'call' || event.callee.kind !== 'library' || event.callee.library === 'standard') return undefined;
    const op = lastOf(event.callee.name);
    const given = event.arguments.map(({ local: argument }) => argument);
    if (op === 'slice' || op === 'dynamicSlice') return first(given, (argument) => this.extent(argument, depth));
    if (isShapedByNumber(op)) return given.length === 1 ? this.number(given[0]!, depth + 1) : undefined;
    if (isShapedByList(op)) return first(given, (argument) => this.inList(argument, depth));
    if (op === 'array' && given[0] !== undefined) return this.hostPart(given[0], depth);
    if (!keepsShape(op)) return undefined;
    return first([...(event.receiver === undefined ? [] : [event.receiver]), ...given], (argument) => this.shape(argument, depth + 1));
  }

  /** `[a, b]` in a slice: its extent changes when one of the two does. */
  private extent(local: Local, depth: number): string | undefined {
    const list = this.list(local);
    if (list?.length !== 2) return undefined;
    const [from, to] = list.map((one) => this.number(one, depth + 1));
    return from !== undefined && to !== undefined ? undefined : (from ?? to);
  }

  private inList(local: Local, depth: number): string | undefined {
    return first(this.list(local) ?? [], (one) => this.number(one, depth + 1));
  }

  private list(local: Local): readonly Local[] | undefined {
    const event = this.writer(local);
    if (event?.kind === 'copy') return this.list(event.from);
    if (event?.kind !== 'array' || event.elements.some((element) => element === undefined || element.spread)) return undefined;
    return event.elements.flatMap((element) => (element === undefined ? [] : [element.local]));
  }

  /** `values.slice(0, n)` of host data. */
  private hostPart(local: Local, depth: number): string | undefined {
    const event = this.writer(local);
    if (event?.kind === 'copy') return depth > depthMost ? undefined : this.hostPart(event.from, depth + 1);
    if (event?.kind !== 'call' || event.key?.kind !== 'name' || !/^(slice|subarray)$/.test(event.key.name)) return undefined;
    const [from, to] = event.arguments.map((argument) => this.number(argument.local, depth + 1));
    return from !== undefined && to !== undefined ? undefined : (from ?? to);
  }

  /** Is a value the variable itself with something added? */
  private stepsFrom(local: Local, variable: Local, depth = 0): boolean {
    const event = this.writer(local);
    if (depth > depthMost || event === undefined) return false;
    if (event.kind === 'copy') return this.stepsFrom(event.from, variable, depth + 1);
    return (
      event.kind === 'binary' && /^[-+*]$/.test(event.operator) && (this.stands(event.left, variable) || this.stands(event.right, variable))
    );
  }

  /** `x = concatenate([x, …])` */
  private growsFrom(local: Local, variable: Local, depth = 0): boolean {
    const event = this.writer(local);
    if (depth > depthMost || event === undefined) return false;
    if (event.kind === 'copy') return this.growsFrom(event.from, variable, depth + 1);
    if (event.kind !== 'call' || event.callee.kind !== 'library' || !joins(event.callee.name)) return false;
    return event.arguments.some(({ local: argument }) => (this.list(argument) ?? [argument]).some((one) => this.stands(one, variable)));
  }

  private stands(local: Local, variable: Local): boolean {
    if (local === variable) return true;
    const event = this.writer(local);
    if (event?.kind === 'property' && event.key.kind === 'name' && event.key.name === 'ref') return this.stands(event.object, variable);
    return event?.kind === 'copy' && this.stands(event.from, variable);
  }

  /** A loop that is compared with a small number is a table of sizes. */
  private fewRounds(variable: Local): boolean {
    for (const { events } of this.fn.blocks)
      for (const event of events) {
        if (event.kind !== 'binary' || !/^[<>]=?$/.test(event.operator)) continue;
        const other = this.stands(event.left, variable) ? event.right : this.stands(event.right, variable) ? event.left : undefined;
        const bound = other === undefined ? undefined : this.writer(other);
        if (bound?.kind === 'literal' && typeof bound.value === 'number' && bound.value <= tableSize) return true;
      }
    return false;
  }

  /** Does a loop take more than a few values from this? */
  private many(iterator: Local): boolean {
    const event = this.writer(iterator);
    if (event?.kind !== 'iterate' || event.over === 'in') return false;
    const source = this.list(event.from);
    if (source !== undefined) return source.length > tableSize;
    return this.isParameter(event.from);
  }

  private isParameter(local: Local): boolean {
    if (this.fn.locals[local]?.kind === 'parameter') return true;
    const event = this.writer(local);
    return event?.kind === 'copy' && this.isParameter(event.from);
  }
}

const lastOf = (name: string): string => name.slice(name.lastIndexOf('.') + 1);

function first<T>(all: readonly Local[], find: (local: Local) => T | undefined): T | undefined {
  for (const local of all) {
    const found = find(local);
    if (found !== undefined) return found;
  }
  return undefined;
}
