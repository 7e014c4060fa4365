/**
 * Forgets one `dispose`, `destroy`, `tidy` or `.ref` in 200 places of the fetched packages and asks whether it is seen:
 * `node --import tsx test/corpora/mutate.ts [--places N] [NAME…]`.
 *
 * Places are drawn evenly over packages, by a fixed seed. A place counts as reported when its package has an error or
 * warning that it did not have before. For the others, what the walk knew of the thing that the place frees says why
 * nobody misses it. With names, only their places are run; what was found is kept in the cache, and the sum is over all
 * that was kept.
 *
 * A place whose loss harms nobody doesn't count. That is for a person to say, in `harmless` of `test/corpora.json`, and
 * for one of these reasons alone: `gone` (on every path that comes by, it is freed by another call as well), `scoped` (a
 * scope that every caller in the package stands in frees it all the same), `nothing` (what is freed holds no memory of
 * the device, or the scope makes nothing but what it returns), `unreachable` (nothing in the package, and nobody who
 * imports it, can run the code).
 * Depends on: fetch.mjs, language-server/workspace.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import type { CheckReport } from '../../language-server/protocol.ts';
import { createWorkspace } from '../../language-server/workspace.ts';
import { forgettable, type Place as Forgettable } from '../fuzz/forget.ts';
import { seeded } from '../fuzz/seeded.ts';
import { cache, clone, corpora } from './cache.mjs';
import { fetchAll } from './fetch.mjs';

interface Place extends Forgettable {
  readonly package: string;
  readonly folder: string;
  readonly file: string;
}

/** What became of one place: the reports that the edit brought, or why there are none. */
interface Outcome {
  readonly place: string;
  readonly what: string;
  readonly reports: readonly string[];
  readonly silence: string;
}

const [wantedText = '200'] = process.argv.slice(2).filter((_, i, words) => words[i - 1] === '--places');
const wanted = Number(wantedText);
const names = process.argv.slice(2).filter((word, i, words) => !word.startsWith('--') && words[i - 1] !== '--places');
const random = seeded(4);

mkdirSync(join(cache, 'mutants'), { recursive: true });
const chosen = remembered();
const drawn = [...new Map(chosen.map(({ package: name, folder }) => [name, { name, folder }])).values()];
for (const { name, folder } of drawn) {
  if (names.length > 0 && !names.includes(name)) continue;
  const outcomes = await outcomesOf(
    folder,
    chosen.filter((place) => place.package === name),
  );
  writeFileSync(recordOf(name), JSON.stringify(outcomes));
  for (const { place, what, reports } of outcomes)
    console.log(`${reports.length > 0 ? 'reported' : 'silent  '} ${place} ${what}${reports.length > 0 ? ` -> ${reports[0]}` : ''}`);
}
sum();

function recordOf(name: string): string {
  return join(cache, 'mutants', `${name.replaceAll('/', '+')}.json`);
}

async function outcomesOf(folder: string, places: readonly Place[]): Promise<readonly Outcome[]> {
  const workspace = createWorkspace({ cwd: folder, project: 'tsconfig.json' });
  const { files } = JSON.parse(readFileSync(join(folder, 'tsconfig.json'), 'utf8')) as { readonly files: readonly string[] };
  const before = await workspace.check(files, { explainSilence: true, functions: false });
  const outcomes: Outcome[] = [];
  for (const place of places) {
    const path = join(folder, place.file);
    workspace.setText(path, place.text);
    const after = await workspace.check(files, { functions: false });
    workspace.setText(path, undefined);
    const reports = fresh(before, after);
    outcomes.push({ place: nameOf(place), what: place.what, reports, silence: reports.length > 0 ? '' : silenceAt(before, place) });
  }
  return outcomes;
}

function nameOf({ package: name, file, line, source }: Place): string {
  return `${name} ${file}:${line} ${source}`;
}

/** Prints what is on record for the places that were drawn. */
function sum(): void {
  const expected = new Set(chosen.map(nameOf));
  const all = drawn
    .filter(({ name }) => existsSync(recordOf(name)))
    .flatMap(({ name }) => JSON.parse(readFileSync(recordOf(name), 'utf8')) as readonly Outcome[])
    .filter(({ place }) => expected.has(place));
  const harmless = new Set(corpora().harmless.map(({ package: name, file, line }) => `${name} ${file}:${line} `));
  const outcomes = all.filter(({ place, reports }) => reports.length > 0 || !harmless.has(/^\S+ \S+ /.exec(place)?.[0] ?? ''));
  const counts = new Map<string, [number, number]>();
  const silences = new Map<string, number>();
  for (const { what, reports, silence } of outcomes) {
    const count = counts.get(what) ?? [0, 0];
    counts.set(what, [count[0] + 1, count[1] + (reports.length > 0 ? 1 : 0)]);
    for (const rule of new Set(reports.map((report) => report.slice(report.indexOf(' ') + 1)))) {
      const found = counts.get(`by ${rule}`) ?? [0, 0];
      counts.set(`by ${rule}`, [found[0] + 1, found[1] + 1]);
    }
    if (reports.length === 0) silences.set(`${what}: ${silence}`, (silences.get(`${what}: ${silence}`) ?? 0) + 1);
  }
  for (const [what, [places, found]] of counts)
    console.log(what.startsWith('by ') ? `reported ${what}: ${found}` : `${what}: ${found} of ${places}`);
  for (const [reason, count] of [...silences].toSorted((a, b) => b[1] - a[1])) console.log(`silent ${count} × ${reason}`);
  const reported = outcomes.filter(({ reports }) => reports.length > 0).length;
  console.log(
    `${all.length} of ${chosen.length} places run, ${all.length - outcomes.length} harmless; of ${outcomes.length}, ${reported} reported (${((100 * reported) / Math.max(1, outcomes.length)).toFixed(0)} %)`,
  );
}

/** The places, drawn anew when the list of packages, the number or the ways to find them have changed. */
function remembered(): readonly Place[] {
  const file = join(cache, 'mutants', 'places.json');
  const ways = ['unpack.mjs', '../fuzz/forget.ts'].map((path) => readFileSync(join(clone, 'test/corpora', path), 'utf8'));
  const key = createHash('sha256')
    .update(JSON.stringify([wanted, corpora().packages, ways]))
    .digest('hex');
  const known = existsSync(file)
    ? (JSON.parse(readFileSync(file, 'utf8')) as { readonly key: string; readonly places: readonly Place[] })
    : undefined;
  if (known?.key === key) return known.places;
  const pools = fetchAll().map(({ name, folder, files }) => files.flatMap((path: string) => placesOf(name, folder, path)));
  const places = draw(pools);
  writeFileSync(file, JSON.stringify({ key, places }));
  return places;
}

/** One place of each package in turn, until there are enough. */
function draw(pools: readonly (readonly Place[])[]): readonly Place[] {
  const rest = pools.map((pool) => [...pool]);
  const drawn: Place[] = [];
  while (drawn.length < wanted && rest.some((pool) => pool.length > 0)) {
    for (const pool of rest) {
      if (pool.length > 0 && drawn.length < wanted) drawn.push(...pool.splice(random.below(pool.length), 1));
    }
  }
  return drawn;
}

function placesOf(name: string, folder: string, file: string): readonly Place[] {
  const text = readFileSync(join(folder, file), 'utf8');
  if (!/@tensorflow\/tfjs|@jax-js|GPUDevice|createBuffer\(/.test(text)) return [];
  return forgettable(file, text, /@jax-js/.test(text))
    .filter(({ what }) => what === 'dispose' || what === 'scope' || what === 'ref')
    .map((place) => ({ ...place, package: name, folder, file }));
}

function keyOf({ rule, file, message }: CheckReport['diagnostics'][number]): string {
  return `${rule} ${file} ${message}`;
}

function fresh(before: CheckReport, after: CheckReport): readonly string[] {
  const old = new Map<string, number>();
  for (const one of before.diagnostics) old.set(keyOf(one), (old.get(keyOf(one)) ?? 0) + 1);
  return after.diagnostics.flatMap((one) => {
    if (one.severity !== 'error' && one.severity !== 'warning') return [];
    const left = old.get(keyOf(one)) ?? 0;
    old.set(keyOf(one), left - 1);
    return left > 0 ? [] : [`${one.line} ${one.rule}`];
  });
}

/** What the walk knew of the thing that the place frees: why nobody misses it. */
function silenceAt({ silence = [] }: CheckReport, place: Place): string {
  const found = silence.find(({ places = [] }) => places.some(({ file, line }) => file === place.file && line === place.line));
  return (
    found?.reason.slice(found.reason.indexOf(': ') + 2) ??
    (place.what === 'ref' ? 'a reference' : 'it is known, and held by something that stays')
  );
}
