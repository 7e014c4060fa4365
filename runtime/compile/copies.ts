/**
 * What an executable copies, where, and why it could not be written where it was.
 *
 * Copies inside of loops and branches are told like the others; they cost at every round.
 * Depends on: core, control, layout, storage, fuse.
 */
import { printAval } from '../core/aval.ts';
import type { Variable } from '../core/program.ts';
import type { Place } from '../core/source.ts';
import type { BodyPlan, Bodies, ControlNode } from './control.ts';
import type { Node } from './fuse.ts';
import type { Layout } from './layout.ts';
import { formOf } from './simplify.ts';
import { roundedBytes, type Copy } from './storage.ts';

/** Where the text of a place that ran was written. */
export type Written = (place: Place) => Place;
export interface Copied {
  readonly bytes: number;
  readonly place: Place | undefined;
  readonly reason: string;
}

/** The copies that updates and carries of this program start with. */
export const copiesOf = (layout: Layout, inputs: readonly Variable[], paths: readonly string[], written: Written): readonly Copied[] =>
  layout.stored.copies.map((copy) => ({
    bytes: roundedBytes(copy.result.aval),
    place: placeOf(layout, copy.result),
    reason: reasonOf(copy, layout, inputs, paths, written),
  }));

/** Those of the bodies of its control flow. */
export const copiesInside = (layout: Layout, bodies: Bodies, written: Written): readonly Copied[] =>
  layout.order.flatMap((node) => {
    if (node.kind !== 'control') return [];
    const rounds = formOf(node.equation)?.kind !== 'choice';
    const inside = (plan: BodyPlan): readonly Copied[] => [
      ...plan.moves.map(({ variable, aval }): Copied => ({
        bytes: roundedBytes(aval),
        place: placeOf(plan.layout, variable) ?? node.equation.place,
        reason: rounds
          ? `the next ${printAval(aval)} can't be written over the last one, at every round of the loop`
          : `${printAval(aval)} is not where the other branches leave theirs`,
      })),
      ...(oddRounds(node) ? plan.alternating : []).map(({ variable }): Copied => ({
        bytes: roundedBytes(variable.aval),
        place: placeOf(plan.layout, variable) ?? node.equation.place,
        reason: `${printAval(variable.aval)} is in the loop's other buffer after an odd number of rounds; once, at its end`,
      })),
      ...copiesOf(plan.layout, plan.inputs, [], written).map((copy) =>
        rounds ? { ...copy, reason: `${copy.reason}, at every round of the loop` } : copy,
      ),
      ...copiesInside(plan.layout, plan.bodies, written),
    ];
    return bodies.of(node, layout.stored).flatMap(inside);
  });

function oddRounds(node: ControlNode): boolean {
  const form = formOf(node.equation);
  return form?.kind === 'loop' && form.length % 2 === 1;
}

export type Made = { readonly place: Place | undefined; readonly role?: 'gradient' | 'again' };

export function madeBy(node: Node, result: number): Made {
  if (node.kind === 'control') return { place: node.equation.place, ...(node.equation.role ? { role: node.equation.role } : {}) };
  const { place, role } = node.kernel.results[result]!;
  return { place, ...(role ? { role } : {}) };
}

function placeOf(layout: Layout, variable: Variable): Place | undefined {
  for (const node of layout.order) {
    const result = node.results.indexOf(variable);
    if (result >= 0) return madeBy(node, result).place;
  }
  return undefined;
}

const lineText = (place: Place | undefined): string =>
  place === undefined ? '' : ` at ${place.file.replace(/^.*[\\/]/, '')}:${place.line}`;

function reasonOf(
  { target, because, readAt }: Copy,
  layout: Layout,
  inputs: readonly Variable[],
  paths: readonly string[],
  written: Written,
): string {
  const input = inputs.indexOf(target);
  const path = paths[input];
  const name = path === undefined ? printAval(target.aval) : `\`${path}\``;
  switch (because) {
    case 'argument':
      return `${name} is ${paths.length === 0 ? 'a constant of the body' : 'an argument that is not donated'}`;
    case 'output':
      return `${name} is also returned`;
    case 'read later': {
      const node = readAt === undefined ? undefined : layout.order[readAt];
      if (node === undefined) return `${name} is read by the same step`;
      const { place } = madeBy(node, 0);
      return `${name} is read later${lineText(place && written(place))}`;
    }
  }
}
