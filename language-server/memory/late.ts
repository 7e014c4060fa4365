/**
 * Arrays that stay alive across the peak though nothing reads them any more.
 *
 * In the walk with the highest peak an array counts when its last use lies before that peak, its end behind it, and the
 * peak would be lower by `minBytes` had it been freed at its last use. No walk may show it used later.
 * Depends on: core (dim), compiled, lower/ir.
 */
import { isKnown, plus } from '../../runtime/core/dim.ts';
import type { Life, Ledger } from '../compiled/ledger.ts';
import type { Span } from '../lower/ir.ts';
import { spanKey, type Analysis } from './analysis.ts';

export interface LateFree {
  /** The declaration of the local that keeps it. */
  readonly declaration: Span;
  readonly name: string;
  readonly made: Span;
  readonly lastUse: Span;
  readonly freedAt: Span;
  readonly how: 'dispose' | 'using';
  readonly peakAt: Span;
  readonly bytes: number;
  readonly savesBytes: number;
}

/** Of the arrays that `file` declares. */
export function lateFrees({ exploration }: Analysis, minBytes: number, file: string): readonly LateFree[] {
  const found = new Map<string, LateFree>();
  const usedLater = new Set<string>();
  for (const { ledger, ended } of exploration.runs) {
    if (ended !== undefined) continue;
    const lives = ledger.lives.filter(
      ({ bytes, freed, declaration }) =>
        typeof bytes === 'number' && bytes >= minBytes && freed !== undefined && declaration?.file === file,
    );
    if (lives.length === 0) continue;
    // The peak may be elsewhere where something of unknown size is alive.
    if (ledger.moments.some(({ exact }) => !exact)) continue;
    const moments = series(ledger);
    const top = highest(moments);
    if (top === undefined) continue;
    for (const life of lives) {
      const { bytes, freed, declaration, name } = life;
      if (typeof bytes !== 'number' || bytes < minBytes || freed === undefined || declaration === undefined || name === undefined) continue;
      const at = spanKey(declaration);
      if (life.born > top.time || freed.time <= top.time) continue;
      const lastUse = endOfUse(ledger, life);
      if (lastUse >= top.time) usedLater.add(at);
      else if (!life.scoped && (freed.how === 'dispose' || freed.how === 'using') && !name.startsWith('this.')) {
        const savesBytes = top.bytes - peakWithout(moments, life, lastUse);
        if (savesBytes < minBytes) continue;
        const best = found.get(at);
        if (best !== undefined && best.savesBytes >= savesBytes) continue;
        found.set(at, {
          declaration,
          name,
          made: life.made,
          lastUse: life.lastUseAt,
          freedAt: freed.at,
          how: freed.how,
          peakAt: top.at,
          bytes,
          savesBytes,
        });
      }
    }
  }
  return [...found].filter(([at]) => !usedLater.has(at)).map(([, late]) => late);
}

/** Who frees an array can do so only when the calls that it made with it have ended. */
function endOfUse({ activations }: Ledger, { lastUse, freed }: Life): number {
  const end = freed?.time ?? Number.POSITIVE_INFINITY;
  return activations.reduce(
    (latest, { from, to }) => (from < lastUse && lastUse <= to && to < end ? Math.max(latest, to) : latest),
    lastUse,
  );
}

interface Point {
  readonly time: number;
  readonly bytes: number;
  readonly at: Span;
}

function series({ moments }: Ledger): readonly Point[] {
  return moments.flatMap(({ time, inUse, duringBytes, at }) => {
    const bytes = plus(inUse, duringBytes);
    return isKnown(bytes) ? [{ time, bytes, at }] : [];
  });
}

const highest = (points: readonly Point[]): Point | undefined =>
  points.reduce<Point | undefined>((best, point) => (best === undefined || point.bytes > best.bytes ? point : best), undefined);

/** The peak if the array had been freed right after its last use. */
function peakWithout(points: readonly Point[], { bytes, freed }: Life, lastUse: number): number {
  const own = typeof bytes === 'number' ? bytes : 0;
  const end = freed?.time ?? Number.POSITIVE_INFINITY;
  return points.reduce((most, point) => Math.max(most, point.time > lastUse && point.time < end ? point.bytes - own : point.bytes), 0);
}
