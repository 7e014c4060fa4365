/**
 * Every place that names the array under the caret: where it is declared, written and read, closures included.
 *
 * Read from the lowered functions, so a name that is shadowed or that only looks the same is not taken for it.
 * Depends on: array-life, explained, lower/ir.
 */
import type { Event, LoweredFunction, Span, Unit, Variable } from '../lower/ir.ts';
import { find } from './array-life.ts';
import { holdsArrays } from './explained.ts';

export interface Occurrence {
  readonly span: Span;
  readonly writes: boolean;
}

/** In the order of the text; undefined when no array is named at the offset. `text` is the file's. */
export function occurrencesAt(unit: Unit, offset: number, text: string): readonly Occurrence[] | undefined {
  const variable = variableAt(unit, offset);
  const owner = variable === undefined ? undefined : unit.functions.get(variable.function);
  const local = owner?.locals.findIndex(({ unique }) => unique === variable!.name) ?? -1;
  const fact = owner?.locals[local];
  if (owner === undefined || fact?.name === undefined) return undefined;
  const { name } = fact;
  const found = new Map<number, Occurrence>();
  const note = ({ start, end }: Span, writes: boolean): void => {
    // An assignment stands for its target, a use for itself.
    const named = text.startsWith(name, start) && !/[\w$]/.test(text.charAt(start + name.length));
    if (named && (writes || end - start === name.length) && !found.has(start))
      found.set(start, { span: { file: unit.file, start, end: start + name.length }, writes });
  };
  if (fact.span !== undefined) note(fact.span, true);
  for (const fn of unit.functions.values())
    for (const { events } of fn.blocks)
      for (const event of events) {
        if (fn === owner && event.kind === 'copy' && event.to === local) note(event.span, true);
        if (fn === owner && event.kind === 'copy' && event.from === local) note(event.span, false);
        if (isOf(event, 'setOuter', variable!)) note(event.span, true);
        if (isOf(event, 'outer', variable!)) note(event.span, false);
      }
  return [...found.values()].toSorted((a, b) => a.span.start - b.span.start);
}

const isOf = (event: Event, kind: 'outer' | 'setOuter', { function: owner, name }: Variable): boolean =>
  event.kind === kind && event.variable.function === owner && event.variable.name === name;

/** The local that is named at an offset, or the one of an enclosing function that a closure names there. */
function variableAt(unit: Unit, offset: number): Variable | undefined {
  const here = find(unit, offset);
  if (here !== undefined) return variableOf(here.fn, here.local);
  for (const fn of unit.functions.values())
    for (const { events } of fn.blocks)
      for (const event of events)
        if (
          event.kind === 'outer' &&
          event.span.start <= offset &&
          offset <= event.span.end &&
          holdsArrays(fn.locals[event.to]?.type.holds ?? 'nothing')
        )
          return event.variable;
  return undefined;
}

const variableOf = (fn: LoweredFunction, local: number): Variable => ({ function: fn.id, name: fn.locals[local]!.unique });
