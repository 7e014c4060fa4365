/**
 * Why rules stayed silent, in words: counts of what the walk could not say, and places whose loss nobody would notice.
 *
 * Depends on: flow/collector, flow/facts, lower/ir, libraries, protocol.
 */
import { at } from '../flow/collector.ts';
import type { Facts } from '../flow/facts.ts';
import { models } from '../libraries/index.ts';
import { callOf } from '../libraries/model.ts';
import type { CallEvent, Project, Span } from '../lower/ir.ts';
import type { ReportPlace, Silence } from '../protocol.ts';

/** Most often first. */
export function silenceList(silences: ReadonlyMap<string, number>, frees: readonly Silence[]): readonly Silence[] {
  const counted = [...silences].map(([key, count]) => {
    const colon = key.indexOf(': ');
    return colon < 0 ? { rule: 'flow', reason: key, count } : { rule: key.slice(0, colon), reason: key.slice(colon + 2), count };
  });
  return [...counted, ...frees].sort((a, b) => b.count - a.count);
}

/** Places that free something which nobody would miss, were it not freed: there a forgotten free goes unnoticed. */
export function silentFrees(project: Project, facts: Facts, placeOf: (span: Span) => ReportPlace): readonly Silence[] {
  const found = new Map<string, Map<string, ReportPlace>>();
  for (const unit of project.units.values())
    for (const fn of unit.functions.values())
      for (const { events } of fn.blocks)
        for (const event of events) {
          if (event.kind !== 'call' || !frees(event)) continue;
          const place = at(event.span);
          const doubt = facts.freed.has(place) ? facts.freed.get(place) : `no ${facts.visited.has(fn.id) ? 'path' : 'walk'} comes by`;
          if (doubt === undefined) continue;
          const places = found.get(doubt) ?? new Map<string, ReportPlace>();
          found.set(doubt, places.set(place, placeOf(event.span)));
        }
  return [...found].map(([doubt, places]) => ({
    rule: 'leak',
    reason: `were this not freed, it would go unnoticed: ${doubt}`,
    count: places.size,
    places: [...places.values()],
  }));
}

/** A call that frees, by its library's model or by its name. */
function frees({ callee, key, receiver }: CallEvent): boolean {
  if (receiver !== undefined && key?.kind === 'name' && models.some(({ free }) => free.includes(key.name))) return true;
  if (callee.kind !== 'library') return false;
  const model = models.find(({ id }) => id === callee.library);
  const call = model === undefined ? undefined : callOf(model, callee.name);
  return call?.role?.kind === 'scope' || call?.role?.kind === 'treeLeaves';
}
