/**
 * Walks a project from its roots until every branch was taken that can be: what shapes reach which calls.
 *
 * First the top levels and the functions that need no arguments, then whatever was not reached, with unknown arguments.
 * Each walk follows the decisions of a former one up to a condition, and takes another way there. Walks are bounded in
 * number and length; what lies beyond is not seen, and so accuses nobody. Depends on: run, lower/ir, libraries.
 */
import type { LibraryModel } from '../libraries/model.ts';
import type { BlockId, FunctionId, LoweredFunction, Project, Unit } from '../lower/ir.ts';
import { places, type Places } from './places.ts';
import { Run, type Coverage } from './run.ts';

export interface Exploration {
  readonly runs: readonly Run[];
  readonly places: Places;
  readonly reached: ReadonlySet<FunctionId>;
}

export interface ExploreOptions {
  readonly project: Project;
  readonly models: readonly LibraryModel[];
  /** Units to start from; others are walked when they are called. */
  readonly units: readonly Unit[];
  readonly checkpointed?: FunctionId;
  readonly stopped?: () => boolean;
}

const walksPerRoot = 10;
const eventsPerWalk = 120_000;
const mostWalks = 200;

export function explore(options: ExploreOptions): Exploration {
  const { project, models, units } = options;
  const byId = new Map(models.map((model) => [model.id, model]));
  const shared = places(project);
  const coverage: Coverage = new Map();
  const reached = new Set<FunctionId>();
  const runs: Run[] = [];

  function walk(fn: LoweredFunction, prefix: readonly BlockId[]): Run {
    const run = new Run({
      project,
      model: (id) => byId.get(id),
      coverage,
      prefix,
      places: shared,
      eventLimit: eventsPerWalk,
      ...(options.checkpointed === undefined ? {} : { checkpointed: options.checkpointed }),
    });
    run.root(fn);
    for (const id of run.reached) reached.add(id);
    runs.push(run);
    return run;
  }

  function fromRoot(fn: LoweredFunction): void {
    const waiting: (readonly BlockId[])[] = [[]];
    for (let count = 0; count < walksPerRoot && waiting.length > 0 && runs.length < mostWalks && options.stopped?.() !== true; count++) {
      const prefix = waiting.shift()!;
      const { decisions } = walk(fn, prefix);
      decisions.forEach(({ site, others }, i) => {
        if (i < prefix.length) return;
        for (const other of others) {
          const covered = coverage.get(site)!;
          if (covered.has(other)) continue;
          covered.add(other);
          waiting.push([...decisions.slice(0, i).map(({ taken }) => taken), other]);
        }
      });
    }
  }

  for (const fn of rootsOf(units)) if (!reached.has(fn.id)) fromRoot(fn);
  return { runs, places: shared, reached };
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
