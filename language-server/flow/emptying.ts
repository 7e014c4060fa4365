/**
 * Collections that some text of the project empties, or sets anew, whether or not a walk came by.
 *
 * Depends on: lower/ir, libraries.
 */
import { models } from '../libraries/index.ts';
import type { Event, Local, LoweredFunction, Project } from '../lower/ir.ts';

const standard = models.find(({ id }) => id === 'standard');

/** Names of methods by which members leave a collection: `splice`, `pop`, `clear`. */
export const leaving: ReadonlySet<string> = new Set(
  Object.entries(standard?.calls ?? {}).flatMap(([name, { role }]) =>
    role?.kind === 'collection' && (role.does === 'take' || role.does === 'remove' || role.does === 'clear')
      ? [name.slice(name.lastIndexOf('.') + 1)]
      : [],
  ),
);

/** Those of `homes` (`file#:history`, `class.fields.list`) that a function of the project empties or overwrites. */
export function emptiedInText(project: Project, homes: ReadonlySet<string>): ReadonlySet<string> {
  const found = new Set<string>();
  if (homes.size === 0) return found;
  for (const unit of project.units.values())
    for (const fn of unit.functions.values()) {
      if (fn.kind === 'module' || fn.kind === 'constructor' || fn.kind === 'fields') continue;
      const homeOf = homesIn(fn);
      const add = (home: string | undefined): void => void (home !== undefined && homes.has(home) && found.add(home));
      for (const { events } of fn.blocks)
        for (const event of events) {
          if (event.kind === 'setOuter') add(`${event.variable.function}:${event.variable.name}`);
          if (event.kind === 'setProperty' && event.key.kind === 'name') {
            if (event.key.name === 'length') add(homeOf.get(event.object));
            else if (event.declares !== true) add(fieldOf(fn, event));
          }
          if (event.kind === 'call' && event.receiver !== undefined && event.key?.kind === 'name' && leaving.has(event.key.name))
            add(homeOf.get(event.receiver));
        }
    }
  return found;
}

/** Libraries all of whose variables some text of the project frees at once. */
export function clearedLibraries(project: Project): ReadonlySet<string> {
  const found = new Set<string>();
  for (const { id, freesUnscoped } of models)
    for (const unit of freesUnscoped === undefined ? [] : project.units.values())
      for (const { blocks } of unit.functions.values())
        for (const { events } of blocks)
          for (const event of events)
            if (event.kind === 'call' && event.callee.kind === 'library' && event.callee.library === id)
              if (freesUnscoped!.includes(event.callee.name)) found.add(id);
  return found;
}

/** Locals that hold what a module's variable or a field of the object at hand holds. */
function homesIn(fn: LoweredFunction): ReadonlyMap<Local, string> {
  const homes = new Map<Local, string>();
  for (const { events } of fn.blocks)
    for (const event of events) {
      const home =
        event.kind === 'outer'
          ? `${event.variable.function}:${event.variable.name}`
          : event.kind === 'property'
            ? fieldOf(fn, event)
            : undefined;
      if (home !== undefined && 'to' in event) homes.set(event.to, home);
      if (event.kind === 'copy' && homes.has(event.from)) homes.set(event.to, homes.get(event.from)!);
    }
  return homes;
}

/** The field of a class that a property access on a value of that class means. */
function fieldOf(fn: LoweredFunction, event: Extract<Event, { kind: 'property' | 'setProperty' }>): string | undefined {
  const owner = fn.locals[event.object]?.type.class ?? (event.object === fn.self ? fn.class : undefined);
  return owner === undefined || event.key.kind !== 'name' ? undefined : `${owner}.fields.${event.key.name}`;
}
