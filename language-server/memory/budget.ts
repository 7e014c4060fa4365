/**
 * Which statement crosses the budget that applies to it: a function's, its file's, or the project's.
 *
 * Bytes in use are the whole program's, as a run would count them. Depends on: core (dim), compiled, lower/ir.
 */
import { isKnown, plus } from '../../runtime/core/dim.ts';
import type { Ledger, Life } from '../compiled/ledger.ts';
import type { Project, Span } from '../lower/ir.ts';
import { spanKey, type Analysis } from './analysis.ts';

export interface Crossing {
  readonly span: Span;
  readonly bytes: number;
  readonly budgetBytes: number;
  /** Whose budget it is, for people: the function's name, or the file's. */
  readonly budgetOf: string;
  /** The largest arrays alive there. */
  readonly contributors: readonly { readonly name: string | undefined; readonly made: Span; readonly bytes: number }[];
}

export function crossings(project: Project, { exploration }: Analysis, projectBudget: number | undefined): readonly Crossing[] {
  const found = new Map<string, Crossing>();
  if (projectBudget === undefined && !hasBudgets(project)) return [];
  for (const { ledger } of exploration.runs) {
    for (const crossing of crossingsIn(project, ledger, projectBudget)) {
      const at = `${spanKey(crossing.span)} ${crossing.budgetOf}`;
      if ((found.get(at)?.bytes ?? -1) < crossing.bytes) found.set(at, crossing);
    }
  }
  return [...found.values()];
}

const budgeted = new WeakMap<Project, boolean>();

function hasBudgets(project: Project): boolean {
  const known = budgeted.get(project);
  if (known !== undefined) return known;
  const found = [...project.units.values()].some(
    ({ budgetBytes, functions }) => budgetBytes !== undefined || [...functions.values()].some((fn) => fn.budgetBytes !== undefined),
  );
  budgeted.set(project, found);
  return found;
}

/** The first crossing of each budget in one walk. */
function crossingsIn(project: Project, ledger: Ledger, projectBudget: number | undefined): readonly Crossing[] {
  const crossed = new Set<string>();
  const found: Crossing[] = [];
  for (const moment of ledger.moments) {
    const bytes = plus(moment.inUse, moment.duringBytes);
    if (!isKnown(bytes)) continue;
    for (const { budgetBytes, of } of budgetsAt(project, ledger, moment.at, moment.activations, projectBudget)) {
      if (bytes <= budgetBytes || crossed.has(of)) continue;
      crossed.add(of);
      const alive = ledger.lives.filter(
        (life) => life.born <= moment.time && (life.freed === undefined || life.freed.time > moment.time) && typeof life.bytes === 'number',
      );
      found.push({ span: moment.at, bytes, budgetBytes, budgetOf: of, contributors: largest(alive) });
    }
  }
  return found;
}

function budgetsAt(
  project: Project,
  ledger: Ledger,
  at: Span,
  activations: readonly number[],
  projectBudget: number | undefined,
): readonly { budgetBytes: number; of: string }[] {
  const own = activations.flatMap((id) => {
    const fn = project.function(ledger.activations[id]!.function);
    return fn?.budgetBytes === undefined ? [] : [{ budgetBytes: fn.budgetBytes, of: `\`${fn.name}\`` }];
  });
  if (own.length > 0) return own;
  const file = project.units.get(at.file)?.budgetBytes;
  if (file !== undefined) return [{ budgetBytes: file, of: 'this file' }];
  return projectBudget === undefined ? [] : [{ budgetBytes: projectBudget, of: 'the project' }];
}

const largest = (lives: readonly Life[]): Crossing['contributors'] =>
  lives
    .toSorted((a, b) => Number(b.bytes) - Number(a.bytes))
    .slice(0, 4)
    .map(({ name, made, bytes }) => ({ name, made, bytes: Number(bytes) }));
