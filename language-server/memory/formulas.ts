/**
 * The static peak of a function as a formula of the sizes that its text names: `12·n·n` where `n` is 1024.
 *
 * The program is walked once more with sizes that keep their names beside their values, so the same branches are taken.
 * A formula stands only where its value is the peak that the exact walk found: fusion, rounding to granules and
 * conditions on sizes are no polynomials, and where they matter there is none. Depends on: core (dim), compiled, lower/ir.
 */
import { isKnown, namesIn, plus, printDim, valueOf, type Dim } from '../../runtime/core/dim.ts';
import { explore } from '../compiled/explore.ts';
import { models } from '../libraries/index.ts';
import type { FunctionId, Project, Unit } from '../lower/ir.ts';

/** More terms than this are no help to anybody. */
const mostTerms = 3;
/** What rounding to granules may add. */
const tolerance = 1 / 1000;

/**
 * @param peaks bytes of the exact walk, by function
 * @returns a formula in bytes for each of them that has one, as people read it
 */
export function formulas(
  project: Project,
  unit: Unit,
  peaks: ReadonlyMap<FunctionId, number>,
  look: () => void,
): ReadonlyMap<FunctionId, string> {
  if (peaks.size === 0) return new Map();
  const sizes = new Map<string, number>();
  const { runs } = explore({ project, models, units: [unit], sizes, look });
  const found = new Map<FunctionId, { readonly formula: Dim; readonly bytes: number }>();
  for (const { ledger } of runs) {
    for (const { inUse, exact, duringBytes, activations, target } of ledger.moments) {
      const formula = plus(inUse, duringBytes);
      const bytes = exact ? valueOf(formula, sizes) : undefined;
      if (bytes === undefined) continue;
      const running = activations.map((activation) => ledger.activations[activation]!.function);
      for (const id of target === undefined ? running : [...running, target])
        if (bytes > (found.get(id)?.bytes ?? 0)) found.set(id, { formula, bytes });
    }
  }
  return new Map(
    [...found].flatMap(([id, { formula, bytes }]) => {
      const peak = peaks.get(id);
      const isIt = peak !== undefined && Math.abs(peak - bytes) <= peak * tolerance;
      const text = isIt && !isKnown(formula) && formula.terms.size <= mostTerms ? readable(formula) : undefined;
      return text === undefined ? [] : [[id, text] as const];
    }),
  );
}

/** Sizes by their names alone; undefined where two of them would read the same. */
function readable(formula: Dim): string | undefined {
  const sizes = namesIn(formula);
  const names = new Set(sizes.map((size) => size.replace(/=.*/, '')));
  return names.size === sizes.length ? printDim(formula).replaceAll(/=\d+/g, '') : undefined;
}
