/**
 * Forgets one `dispose`, `destroy`, `tidy` or `.ref` in 200 places of the fetched packages and asks whether it is seen:
 * `node --import tsx test/corpora/mutate.ts [PLACES]`.
 *
 * Places are drawn evenly over packages, by a fixed seed. A place counts as reported when its package has an error or
 * warning that it did not have before. For the others, the reasons for silence that appear with the edit are counted by
 * rule. Depends on: fetch.mjs, language-server/workspace.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import type { CheckReport } from '../../language-server/protocol.ts';
import { createWorkspace } from '../../language-server/workspace.ts';
import { forgettable, type Place as Forgettable } from '../fuzz/forget.ts';
import { seeded } from '../fuzz/seeded.ts';
import { fetchAll } from './fetch.mjs';

interface Place extends Forgettable {
  readonly package: string;
  readonly folder: string;
  readonly file: string;
}

const wanted = Number(process.argv[2] ?? 200);
const random = seeded(4);

const byPackage = fetchAll().map(({ name, folder, files }) => ({
  name,
  folder,
  places: files.flatMap((file: string) => placesOf(name, folder, file)),
}));

const chosen = draw(byPackage.map(({ places }) => places));
const counts = new Map<string, [number, number]>();
const silences = new Map<string, number>();
let reported = 0;
for (const folder of new Set(chosen.map((place) => place.folder))) {
  const places = chosen.filter((place) => place.folder === folder);
  const workspace = createWorkspace({ cwd: folder });
  const before = await workspace.check([folder], { explainSilence: true });
  for (const place of places) {
    const path = join(folder, place.file);
    workspace.setText(path, place.text);
    const after = await workspace.check([folder], { explainSilence: true });
    workspace.setText(path, undefined);
    const seen = fresh(before, after);
    const count = counts.get(place.what) ?? [0, 0];
    counts.set(place.what, [count[0] + 1, count[1] + (seen.length > 0 ? 1 : 0)]);
    if (seen.length > 0) reported++;
    else for (const reason of freshSilence(before, after)) silences.set(reason, (silences.get(reason) ?? 0) + 1);
    console.log(
      `${seen.length > 0 ? 'reported' : 'silent  '} ${place.package} ${place.file}:${place.line} ${place.what}: ${place.source}${seen.length > 0 ? ` -> ${seen[0]}` : ''}`,
    );
  }
}
for (const [what, [all, found]] of counts) console.log(`${what}: ${found} of ${all}`);
for (const [reason, count] of [...silences].toSorted((a, b) => b[1] - a[1])) console.log(`silent ${count} × ${reason}`);
console.log(`${chosen.length} places, ${reported} reported (${((100 * reported) / Math.max(1, chosen.length)).toFixed(0)} %)`);

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

const keyOf = ({ rule, file, message }: CheckReport['diagnostics'][number]): string => `${rule} ${file} ${message}`;

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

function freshSilence(before: CheckReport, after: CheckReport): readonly string[] {
  const old = new Map((before.silence ?? []).map(({ rule, reason, count }) => [`${rule}: ${reason}`, count]));
  const now = (after.silence ?? []).filter(({ rule, reason, count }) => count > (old.get(`${rule}: ${reason}`) ?? 0));
  return now.length > 0 ? now.map(({ rule, reason }) => `${rule}: ${reason}`) : ['no rule looked at it'];
}
