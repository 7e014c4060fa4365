/**
 * Is a compiled function called only where the analysis sees it?
 *
 * The value of a `jit(…)` may be bound to one constant, and that constant may only be called, or asked to plan or to
 * drop its programs. Anything else (exported, stored, passed on) means callers that aren't known.
 * Depends on: lower/ir, flow/facts.
 */
import type { CompiledCall } from '../flow/facts.ts';
import { reads, type Event, type Local, type LoweredFunction, type Project, type Span } from '../lower/ir.ts';
import { spanKey } from './analysis.ts';

export function isKnownOnlyHere(project: Project, jit: Span, calls: readonly CompiledCall[]): boolean {
  const made = findMade(project, jit);
  if (made === undefined) return false;
  const known = new Set(calls.map(({ span }) => spanKey(span)));
  const names = follow(made.fn, made.local, known);
  if (names === undefined) return false;
  const unit = project.units.get(made.fn.file);
  if (unit === undefined || names.some((name) => made.fn.kind === 'module' && unit.exports?.has(name) !== false)) return false;
  for (const { functions } of project.units.values()) {
    for (const fn of functions.values()) {
      for (const event of eventsOf(fn)) {
        if (event.kind === 'setOuter' && event.variable.function === made.fn.id && names.includes(event.variable.name)) return false;
        if (event.kind !== 'outer' || event.variable.function !== made.fn.id || !names.includes(event.variable.name)) continue;
        if (follow(fn, event.to, known) === undefined) return false;
      }
    }
  }
  return true;
}

function findMade(project: Project, jit: Span): { readonly fn: LoweredFunction; readonly local: Local } | undefined {
  const unit = project.units.get(jit.file);
  for (const fn of unit?.functions.values() ?? []) {
    for (const event of eventsOf(fn)) if (event.kind === 'call' && spanKey(event.span) === spanKey(jit)) return { fn, local: event.to };
  }
  return undefined;
}

/** Names that the value is bound to in `fn`; undefined when it is used for more than calls. */
function follow(fn: LoweredFunction, local: Local, known: ReadonlySet<string>): readonly string[] | undefined {
  const names: string[] = [];
  const locals = new Set<Local>([local]);
  const waiting = [local];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    const { name, unique, kind, captured } = fn.locals[at]!;
    if (name !== undefined && (captured || fn.kind === 'module')) names.push(unique);
    if (kind === 'parameter') return undefined;
    for (const event of eventsOf(fn)) {
      if (!reads(event).includes(at)) continue;
      if (event.kind === 'copy') {
        if (!locals.has(event.to)) {
          locals.add(event.to);
          waiting.push(event.to);
        }
      } else if (!isPlainUse(event, at, known)) return undefined;
    }
    if (fn.blocks.some(({ end }) => (end.kind === 'return' || end.kind === 'throw') && end.value === at)) return undefined;
  }
  return names;
}

/** A call that is known, `f.lower(…)`, `f.dispose()`. */
function isPlainUse(event: Event, local: Local, known: ReadonlySet<string>): boolean {
  if (event.kind === 'property') return true;
  if (event.kind !== 'call' || event.arguments.some((argument) => argument.local === local)) return false;
  if (event.function === local) return known.has(spanKey(event.span));
  return event.receiver === local && event.key?.kind === 'name' && (event.key.name === 'lower' || event.key.name === 'dispose');
}

const eventsOf = (fn: LoweredFunction): readonly Event[] => fn.blocks.flatMap(({ events }) => events);

/** Those of `disposals` that run whenever the call has run, and only then: in its own stretch of code, behind it. */
export function onlyAfter(project: Project, call: Span, disposals: readonly Span[]): readonly Span[] {
  for (const fn of project.units.get(call.file)?.functions.values() ?? []) {
    for (const { events } of fn.blocks) {
      const at = events.findIndex((event) => event.kind === 'call' && spanKey(event.span) === spanKey(call));
      if (at < 0) continue;
      const behind = events.slice(at + 1).filter((event) => event.kind === 'call');
      return disposals.filter(({ file, start, end }) =>
        behind.some(({ span }) => span.file === file && span.start <= start && end <= span.end),
      );
    }
  }
  return [];
}
