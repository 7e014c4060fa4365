/**
 * Walks a project from its roots until every branch was taken that can be: what shapes reach which calls.
 *
 * First the top levels and the functions that need no arguments, then whatever was not reached, with unknown arguments.
 * Each walk follows the decisions of a former one up to a condition, and takes another way there. Walks from one root
 * depend on nothing but the project, so several explorations of it share them. They are bounded in number and length;
 * what lies beyond is not seen, and so accuses nobody. Depends on: run, lower/ir, libraries.
 */
import type { LibraryModel } from '../libraries/model.ts';
import type { BlockId, FunctionId, LoweredFunction, Project, Unit } from '../lower/ir.ts';
import { Run, type Coverage } from './run.ts';

/** What one walk saw. The world that it went through, with all its values, is not kept. */
export type Seen = Pick<Run, 'ledger' | 'calls' | 'captured' | 'reached' | 'ended'>;

export interface Exploration {
  readonly runs: readonly Seen[];
  readonly reached: ReadonlySet<FunctionId>;
}

/** What walks from one root saw. */
export interface Walked {
  readonly runs: readonly Seen[];
  readonly reached: ReadonlySet<FunctionId>;
}

export interface ExploreOptions {
  readonly project: Project;
  readonly models: readonly LibraryModel[];
  /** Units to start from; others are walked when they are called. */
  readonly units: readonly Unit[];
  readonly checkpointed?: FunctionId;
  /** Walks keep the names of sizes, noted here with their values, and are shorter. */
  readonly sizes?: Map<string, number>;
  readonly look?: (() => void) | undefined;
  /** What is known of roots of the same project, with the same models and nothing checkpointed; gains what is found out. */
  readonly known?: Map<FunctionId, Walked>;
}

const walksPerRoot = 10;
const eventsPerWalk = 120_000;
const mostWalks = 200;
/** Formulas are for the eye: a program of which they need more goes without. */
const eventsPerNamedWalk = 20_000;

export function explore(options: ExploreOptions): Exploration {
  const byId = new Map(options.models.map((model) => [model.id, model]));
  const reached = new Set<FunctionId>();
  const runs: Seen[] = [];
  for (const fn of rootsOf(options.units)) {
    if (reached.has(fn.id)) continue;
    if (runs.length >= mostWalks) break;
    const walked = options.known?.get(fn.id) ?? fromRoot(fn, options, byId);
    options.known?.set(fn.id, walked);
    for (const id of walked.reached) reached.add(id);
    runs.push(...walked.runs);
  }
  return { runs, reached };
}

function fromRoot(
  fn: LoweredFunction,
  { project, checkpointed, sizes, look }: ExploreOptions,
  models: ReadonlyMap<string, LibraryModel>,
): Walked {
  const coverage: Coverage = new Map();
  const reached = new Set<FunctionId>();
  const runs: Seen[] = [];
  const waiting: (readonly BlockId[])[] = [[]];
  for (let prefix = waiting.shift(); prefix !== undefined && runs.length < walksPerRoot; prefix = waiting.shift()) {
    const run = new Run({
      project,
      model: (id) => models.get(id),
      coverage,
      prefix,
      eventLimit: sizes === undefined ? eventsPerWalk : eventsPerNamedWalk,
      look,
      ...(checkpointed === undefined ? {} : { checkpointed }),
      ...(sizes === undefined ? {} : { sizes }),
    });
    run.root(fn);
    for (const id of run.reached) reached.add(id);
    const { ledger, calls, captured, ended } = run;
    runs.push({ ledger, calls, captured, reached: run.reached, ended });
    const given = prefix.length;
    run.decisions.forEach(({ site, others }, i) => {
      if (i < given) return;
      for (const other of others) {
        const covered = coverage.get(site)!;
        if (covered.has(other)) continue;
        covered.add(other);
        waiting.push([...run.decisions.slice(0, i).map(({ taken }) => taken), other]);
      }
    });
  }
  return { runs, reached };
}

/** Top levels, then functions without parameters, then the others; only those at the top level of a file or in a class. */
function rootsOf(units: readonly Unit[]): readonly LoweredFunction[] {
  const functions = units.flatMap((unit) =>
    [...unit.functions.values()].filter(
      ({ kind, parent }) => kind !== 'fields' && (kind === 'module' || parent === unit.module || parent === undefined),
    ),
  );
  const order = (fn: LoweredFunction): number =>
    fn.kind === 'module' ? 0 : fn.class === undefined ? (fn.parameters.length === 0 ? 1 : 3) : fn.kind === 'constructor' ? 2 : 4;
  return functions.toSorted((a, b) => order(a) - order(b));
}
