/**
 * Where the life of the array under the caret begins and ends, and who uses it.
 *
 * Read from the lowered function alone, so it answers at once: the writes, the reads, and what frees it.
 * Depends on: lower/ir, libraries, explained, life-ranges, protocol.
 */
import { callOf } from '../libraries/model.ts';
import { models } from '../libraries/index.ts';
import { reads, type Event, type Local, type LoweredFunction, type Span, type Unit } from '../lower/ir.ts';
import type { Life, LifeRange, Position } from '../protocol.ts';
import { holdsArrays } from './explained.ts';
import { readsAny, stretches, usesThrough } from './life-ranges.ts';

/** A named local that stands at an offset. */
export interface Found {
  readonly fn: LoweredFunction;
  readonly local: Local;
  readonly name: string;
}

type Place = (span: Span) => { readonly start: Position; readonly end: Position };

/** The innermost function at an offset, and the named local that is declared or read there. */
export function find(unit: Unit, offset: number): Found | undefined {
  const around = [...unit.functions.values()]
    .filter((fn) => fn.span.start <= offset && offset <= fn.span.end && fn.kind !== 'fields')
    .sort((a, b) => a.span.end - a.span.start - (b.span.end - b.span.start));
  for (const fn of around) {
    for (const [local, fact] of fn.locals.entries()) {
      if (fact.name !== undefined && fact.span !== undefined && holds(fact.span, offset) && holdsArrays(fact.type.holds))
        return { fn, local, name: fact.name };
    }
    for (const block of fn.blocks) {
      for (const event of block.events) {
        if (event.kind !== 'copy' || !holds(event.span, offset)) continue;
        const fact = fn.locals[event.from];
        if (fact?.name !== undefined && holdsArrays(fact.type.holds) && event.span.end - event.span.start === fact.name.length)
          return { fn, local: event.from, name: fact.name };
      }
    }
  }
  return undefined;
}

const holds = (span: Span, offset: number): boolean => span.start <= offset && offset <= span.end;

export interface Use {
  readonly span: Span;
  readonly how: 'reads' | 'frees' | 'donates' | 'returns';
}

/** The events that write and use a local, through temporaries. */
export function usesOf({ fn, local }: Found): { readonly born: readonly Span[]; readonly uses: readonly Use[] } {
  const born: Span[] = [];
  const uses: Use[] = [];
  const copies = new Set<Local>();
  const fact = fn.locals[local]!;
  if (fact.kind === 'parameter' && fact.span !== undefined) born.push(fact.span);
  for (const block of fn.blocks) {
    for (const event of block.events) {
      if (event.kind === 'copy' && event.to === local) born.push(event.span);
      if (event.kind === 'copy' && event.from === local && fn.locals[event.to]?.name === undefined) {
        copies.add(event.to);
        continue;
      }
      if (!reads(event).some((read) => read === local || copies.has(read))) continue;
      uses.push({ span: event.span, how: howUsed(event, (read) => read === local || copies.has(read)) });
    }
    if (block.end.kind === 'return' && block.end.value !== undefined && (block.end.value === local || copies.has(block.end.value)))
      uses.push({ span: block.end.span, how: 'returns' });
  }
  return {
    born,
    uses: uses
      .filter((use, i) => uses.findIndex((other) => other.span.start === use.span.start && other.how === use.how) === i)
      .toSorted((a, b) => a.span.start - b.span.start),
  };
}

function howUsed(event: Event, is: (local: Local) => boolean): Use['how'] {
  if (event.kind === 'dispose') return 'frees';
  if (event.kind !== 'call' || event.callee.kind !== 'library') return 'reads';
  const { library, name } = event.callee;
  const model = models.find(({ id }) => id === library);
  const call = model === undefined ? undefined : callOf(model, name);
  if (call?.role?.kind === 'donateMark') return 'donates';
  if (event.receiver !== undefined && is(event.receiver) && call?.arguments?.receiver === 'disposes') return 'frees';
  return event.arguments.some((argument, i) => is(argument.local) && (call?.arguments?.[i] ?? call?.arguments?.rest) === 'disposes')
    ? 'frees'
    : 'reads';
}

/** The stretches of text in which the array is alive, line by line; `text` is the file's. */
export function lifeAt(unit: Unit, offset: number, text: string, place: Place): Pick<Life, 'name' | 'ranges'> | undefined {
  const found = find(unit, offset);
  if (found === undefined) return undefined;
  const { born, uses } = usesOf(found);
  const first = born[0];
  if (first === undefined) return undefined;
  const { fn, local, name } = found;
  const through = usesThrough(fn, local);
  const alive = stretches(
    fn,
    local,
    (event) => readsAny(event, through),
    ({ end }) => end.kind === 'return' && end.value !== undefined && through.has(end.value),
  );
  const last = uses.at(-1);
  const donations = uses.filter(({ how }) => how === 'donates');
  const ends = donations.length > 0 ? donations.map(({ span }) => span) : last === undefined ? [] : [last.span];
  const edges = [...born, ...ends];
  const ranges: LifeRange[] = [
    ...born.map((span) => ({ ...place(span), certain: true, kind: 'born' as const })),
    ...alive.flatMap(({ start, end, certain }) =>
      linesOf(text, Math.max(start, first.start), end)
        .flatMap((line) => without(line, edges))
        .map((line) => ({ ...place({ file: unit.file, ...line }), certain, kind: 'alive' as const })),
    ),
    ...ends.map((span) => ({ ...place(span), certain: true, kind: donations.length > 0 ? ('donated' as const) : ('lastUse' as const) })),
  ];
  return { name, ranges };
}

interface Part {
  readonly start: number;
  readonly end: number;
}

/** A stretch line by line, from the first letter to the last: space is not underlined. */
function linesOf(text: string, start: number, end: number): readonly Part[] {
  const parts: Part[] = [];
  for (const match of text.slice(start, Math.max(start, end)).matchAll(/\S(?:[^\n]*\S)?/g))
    parts.push({ start: start + match.index, end: start + match.index + match[0].length });
  return parts;
}

/** What is left of a part beside the spans that have a mark of their own. */
function without(part: Part, spans: readonly Span[]): readonly Part[] {
  return spans.reduce<readonly Part[]>(
    (parts, span) =>
      parts.flatMap(({ start, end }) =>
        [
          { start, end: Math.min(end, span.start) },
          { start: Math.max(start, span.end), end },
        ].filter((one) => one.start < one.end),
      ),
    [part],
  );
}
