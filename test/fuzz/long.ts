/**
 * The long runs: `node --import tsx test/fuzz/long.ts mutants|fixes [PROGRAMS] [DIALECT]`.
 *
 * Programs go through in batches of 50, so that memory stays small; every case that went wrong is printed.
 * Depends on: judge, fixed.
 */
import process from 'node:process';
import { fixAll } from './fixed.ts';
import { judge, shown } from './judge.ts';
import { dialects, type Dialect } from './program.ts';

const [what = 'mutants', count = '2000', only] = process.argv.slice(2);
const chosen = dialects.filter((dialect) => only === undefined || dialect === only);
const each = Math.ceil(Number(count) / chosen.length);
const verbose = process.env['SHOW'] !== '0';

function* batches(from: number): Generator<readonly number[]> {
  for (let start = 0; start < each; start += 50)
    yield Array.from({ length: Math.min(50, each - start) }, (_, index) => from + start + index);
}

async function mutants(dialect: Dialect): Promise<boolean> {
  const sum = { programs: 0, mutants: 0, faulty: 0, reported: 0, alarms: 0, unsound: 0 };
  const byGuard = new Map<string, [number, number]>();
  for (const seeds of batches(10_000)) {
    const verdicts = await judge(dialect, seeds, 4);
    for (const key of ['programs', 'mutants', 'faulty', 'reported'] as const) sum[key] += verdicts[key];
    for (const [kind, [faulty, reported]] of verdicts.byGuard) {
      const [f, r] = byGuard.get(kind) ?? [0, 0];
      byGuard.set(kind, [f + faulty, r + reported]);
    }
    sum.alarms += verdicts.alarms.length;
    sum.unsound += verdicts.unsound.length;
    if (verbose) for (const one of [...verdicts.alarms, ...verdicts.unsound, ...verdicts.missed]) console.log(shown(one));
  }
  const share = ((100 * sum.reported) / Math.max(1, sum.faulty)).toFixed(1);
  console.log(
    `${dialect}: ${sum.programs} programs, ${sum.mutants} mutants, ${sum.faulty} go wrong, ${sum.reported} reported (${share} %), ${sum.alarms} false alarms, ${sum.unsound} unsound`,
  );
  for (const [kind, [faulty, reported]] of byGuard) console.log(`  ${kind}: ${reported} of ${faulty}`);
  return sum.alarms === 0 && sum.unsound === 0 && sum.reported >= 0.95 * sum.faulty;
}

async function fixes(dialect: Dialect): Promise<boolean> {
  let [programs, applied, broken] = [0, 0, 0];
  for (const seeds of batches(50_000)) {
    const fixed = await fixAll(dialect, seeds);
    programs += seeds.length;
    applied += fixed.length;
    for (const one of fixed.filter((each) => each.broken.length > 0)) {
      broken++;
      if (verbose) console.log(`${dialect} ${one.seed}: ${one.broken.join('; ')}\n${one.before}\n--- fixed ---\n${one.after}`);
    }
  }
  console.log(`${dialect}: ${programs} programs, safe fixes in ${applied}, ${broken} broke something`);
  return broken === 0;
}

const results: boolean[] = [];
for (const dialect of chosen) results.push(await (what === 'fixes' ? fixes(dialect) : mutants(dialect)));
process.exitCode = results.every(Boolean) ? 0 : 1;
