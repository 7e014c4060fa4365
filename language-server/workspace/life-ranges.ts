/**
 * The life of one local as stretches of text: where it is certainly still needed, and where that depends on the path taken.
 *
 *     const h = np.tanh(x);        born
 *     if (deep) {                  possible: only one way uses it
 *       total = total.add(h);      certain, then the last use
 *     } else {
 *       log('flat');               not alive: nothing on this way needs it
 *     }
 *
 * A backward analysis; a state is a pair of bits, "some way from here uses it" (joined by or) and "every way does" (joined
 * by and, started at yes so that loops find the greatest solution). Writing the local ends the former value's life.
 * Exceptions count for "some way" only, else nothing near a call were certain. Depends on: lower/ir.
 */
import { reads, successors, type Block, type Event, type Local, type LoweredFunction, type Span } from '../lower/ir.ts';

export interface Stretch {
  readonly start: number;
  readonly end: number;
  readonly certain: boolean;
}

interface State {
  readonly may: boolean;
  readonly must: boolean;
}

const dead: State = { may: false, must: false };
const used: State = { may: true, must: true };

/** Maximal stretches in order of text; `isUse` says whether an event uses the local, through temporaries too. */
export function stretches(
  fn: LoweredFunction,
  local: Local,
  isUse: (event: Event) => boolean,
  usedAtEnd: (block: Block) => boolean,
): readonly Stretch[] {
  const before = solve(fn, local, isUse, usedAtEnd);
  const { start, end } = fn.span;
  // One cell per character: a later and narrower event says more than the expression around it.
  const cells = new Uint8Array(Math.max(0, end - start));
  const painted: { readonly span: Span; readonly state: State }[] = [];
  for (const block of fn.blocks) {
    let state = outOf(fn, block, before, usedAtEnd);
    for (const event of block.events.toReversed()) {
      const after = state;
      state = step(event, local, isUse, state);
      const own = isUse(event) ? used : after;
      if (own.may && event.kind !== 'enter' && event.kind !== 'exit') painted.push({ span: event.span, state: own });
      else if (event.kind === 'call' || event.kind === 'copy' || event.kind === 'literal') painted.push({ span: event.span, state: dead });
    }
    if (block.end.kind === 'return' && usedAtEnd(block)) painted.push({ span: block.end.span, state: used });
  }
  painted.sort((a, b) => b.span.end - b.span.start - (a.span.end - a.span.start));
  for (const { span, state } of painted)
    cells.fill(state.must ? 2 : state.may ? 1 : 3, Math.max(0, span.start - start), Math.max(0, span.end - start));
  return runs(cells, start);
}

/** Gaps between two painted stretches belong to the one before, unless that one is dead. */
function runs(cells: Uint8Array, start: number): readonly Stretch[] {
  const found: Stretch[] = [];
  let at = 0;
  while (at < cells.length) {
    const kind = cells[at]!;
    let to = at + 1;
    while (to < cells.length && cells[to] === kind) to += 1;
    if (kind === 1 || kind === 2) {
      const previous = found.at(-1);
      const certain = kind === 2;
      if (previous !== undefined && previous.certain === certain && gapIsOpen(cells, previous.end - start, at))
        found[found.length - 1] = { ...previous, end: start + to };
      else found.push({ start: start + at, end: start + to, certain });
    }
    at = to;
  }
  return found;
}

function gapIsOpen(cells: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) if (cells[at] !== 0) return false;
  return true;
}

/** The state before each block. */
function solve(
  fn: LoweredFunction,
  local: Local,
  isUse: (event: Event) => boolean,
  usedAtEnd: (block: Block) => boolean,
): ReadonlyMap<number, State> {
  const before = new Map<number, State>(fn.blocks.map(({ id }) => [id, { may: false, must: true }]));
  for (let changed = true; changed;) {
    changed = false;
    for (const block of fn.blocks.toReversed()) {
      const state = block.events.reduceRight((after, event) => step(event, local, isUse, after), outOf(fn, block, before, usedAtEnd));
      const known = before.get(block.id)!;
      if (known.may === state.may && known.must === state.must) continue;
      before.set(block.id, state);
      changed = true;
    }
  }
  return before;
}

function outOf(fn: LoweredFunction, block: Block, before: ReadonlyMap<number, State>, usedAtEnd: (block: Block) => boolean): State {
  if (usedAtEnd(block)) return used;
  const next = successors(block.end).map((id) => before.get(id) ?? dead);
  const thrown = block.handler === undefined ? dead : (before.get(block.handler) ?? dead);
  return { may: next.some(({ may }) => may) || thrown.may, must: next.length > 0 && next.every(({ must }) => must) };
}

function step(event: Event, local: Local, isUse: (event: Event) => boolean, after: State): State {
  if (isUse(event)) return used;
  return 'to' in event && event.to === local ? dead : after;
}

/** Uses of a local and of the temporaries that reading it makes. */
export function usesThrough(fn: LoweredFunction, local: Local): ReadonlySet<Local> {
  const same = new Set<Local>([local]);
  for (const { events } of fn.blocks)
    for (const event of events)
      if (event.kind === 'copy' && event.from === local && fn.locals[event.to]?.name === undefined) same.add(event.to);
  return same;
}

export const readsAny = (event: Event, locals: ReadonlySet<Local>): boolean => reads(event).some((one) => locals.has(one));
