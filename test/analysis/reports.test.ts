/**
 * What surprised users of array libraries, as programs that the analysis reads: the mistake marked on its line, with words.
 *
 * Each title names the public report (owner/project#number) that told of it; `surprises` and `reports` of test/runtime run the others.
 * Depends on: language-server (workspace), support.
 */
import assert from 'node:assert/strict';
import { join, resolve } from 'node:path';
import type { Diagnostic, ServerSettings } from '../../language-server/protocol.ts';
import { createWorkspace, type Workspace } from '../../language-server/workspace.ts';
import { checkAll } from '../support/check.ts';

interface Report {
  readonly title: string;
  /** `// @expect rule` marks the lines; what isn't marked must be silent, at every severity but hint. */
  readonly text: string;
  /** What one of the messages says. */
  readonly says?: RegExp;
  /** Title of a fix that is offered. */
  readonly fix?: RegExp;
}

const reports: readonly Report[] = [
  {
    title: 'jax#1733: a training step that could give its weights away says which argument, and how many bytes',
    text: `
import { jit, np, type Array } from 'tidemark';
const step = jit((w: Array, g: Array): Array => w.sub(g.mul(0.1)));
export function main(): void {
  let w = np.ones([1024, 1024]); // @expect leak
  using g = np.ones([1024, 1024]);
  for (let k = 0; k < 3; k++) {
    w = step(w, g); // @expect leak missed-donation
  }
  w.dispose();
}`,
    says: /`w`.*4\.0 MiB/s,
    fix: /donate/i,
  },
  {
    title: 'jax#9635, jax#12627: one array twice, deep in literals',
    text: `
import { jit, np, type Array } from 'tidemark';
const step = jit((s: { a: { x: Array[] } }, b: Array) => [s.a.x[0]!.add(1), b.mul(2)] as const, { donateArgnums: [0, 1] });
export function main(): void {
  const x = np.ones([1024]);
  const deep = { a: { x: [x] } };
  const [u, v] = step(deep, x); // @expect double-donate
  u.dispose();
  v.dispose();
}`,
    says: /deep\.a\.x\[0\]|s\.a\.x\[0\]|`x`/,
  },
  {
    title: 'xla#22604: donating twice in a row is a use after the first donation',
    text: `
import { jit, np, type Array } from 'tidemark';
const step = jit((x: Array) => x.mul(2), { donateArgnums: 0 });
export function main(): void {
  const x = np.ones([1024]);
  const a = step(x);
  const b = step(x); // @expect use-after-donate
  a.dispose();
  b.dispose();
}`,
  },
  {
    title: 'optax PR 1059: an initialiser that returns its argument makes an alias',
    text: `
import { jit, np, type Array } from 'tidemark';
const init = (p: Array): { z: Array; count: Array } => ({ z: p, count: np.zeros([]) });
const step = jit((p: Array, s: { z: Array; count: Array }) => [p.add(1), { z: s.z.mul(2), count: s.count.add(1) }] as const, {
  donateArgnums: [0, 1],
});
export function main(): void {
  const params = np.ones([1024]);
  const state = init(params);
  const [next, other] = step(params, state); // @expect double-donate
  next.dispose();
  other.z.dispose();
  other.count.dispose();
}`,
  },
  {
    title: 'liesel PR 272, elegy PR 226, crazyflow PR 110: a method of a library that donates a leaf its user still holds',
    text: `
// @file model.ts
import { jit, type Array } from 'tidemark';
const advance = jit((w: Array): Array => w.mul(0.5), { donateArgnums: 0 });
export class Model {
  weights: Array;
  constructor(weights: Array) {
    this.weights = weights;
  }
  step(): void {
    this.weights = advance(this.weights);
  }
  [Symbol.dispose](): void {
    this.weights.dispose();
  }
}
// @file main.ts
import { np } from 'tidemark';
import { Model } from './model.ts';
export async function main(): Promise<void> {
  const start = np.ones([1024]);
  using model = new Model(start);
  model.step();
  console.log(await start.data()); // @expect use-after-donate
}`,
  },
  {
    title: 'jaxmg PR 29: a solver of another module takes the caller’s matrix; the second call is the mistake',
    text: `
// @file solver.ts
import { jit, type Array } from 'tidemark';
const factor = jit((a: Array): Array => a.matmul(a), { donateArgnums: 0 });
export function solve(matrix: Array, right: Array): Array {
  using factors = factor(matrix);
  return factors.matmul(right);
}
// @file main.ts
import { np } from 'tidemark';
import { solve } from './solver.ts';
export function main(): void {
  const a = np.ones([64, 64]);
  using b = np.ones([64, 1]);
  using first = solve(a, b);
  using second = solve(a, b); // @expect use-after-donate
  console.log(first.shape, second.shape);
}`,
    says: /`a`/,
  },
  {
    title: 'jax#7144: evaluation before the donating step is no mistake, after it it is one',
    text: `
import { jit, np, type Array } from 'tidemark';
const train = jit((w: Array): Array => w.mul(0.5), { donateArgnums: 0 });
const evaluate = jit((w: Array): Array => w.sum());
export function main(): void {
  let w = np.ones([1024]);
  for (let k = 0; k < 2; k++) {
    using before = evaluate(w);
    console.log(before.itemSync());
    w = train(w);
  }
  const last = train(w);
  using after = evaluate(w); // @expect use-after-donate
  console.log(after.itemSync());
  last.dispose();
}`,
  },
  {
    title: 'orbax#626: a checkpoint that reads after a wait reads what the next step was given',
    text: `
import { jit, np, type Array } from 'tidemark';
const step = jit((w: Array): Array => w.add(1), { donateArgnums: 0 });
async function save(w: Array): Promise<void> {
  await new Promise((done) => setTimeout(done, 1));
  console.log(await w.data()); // @expect use-after-donate
}
export async function main(): Promise<void> {
  const w = np.zeros([1024]);
  const saving = save(w);
  const next = step(w);
  await saving;
  next.dispose();
}`,
  },
  {
    title: 'jax#16647, jax#10197, jax#1034: a replay buffer written out of place is told to donate its storage',
    text: `
import { jit, lax, np, type Array } from 'tidemark';
const write = jit((storage: Array, row: Array, at: number): Array => lax.dynamicUpdateSlice(storage, row, [at, 0]));
export function main(): void {
  let storage = np.zeros([100_000, 32]); // @expect leak
  using row = np.ones([1, 32]);
  for (let k = 0; k < 3; k++) {
    storage = write(storage, row, k); // @expect leak missed-donation
  }
  storage.dispose();
}`,
    says: /`storage`.*12\.2 MiB/s,
  },
  {
    title: 'jax#282: compiled anew in every round, each holding its constant',
    text: `
import { jit, np, type Array } from 'tidemark';
export function main(): void {
  using x = np.ones([1024]);
  for (let k = 0; k < 3; k++) {
    const f = jit((v: Array): Array => v.mul(k)); // @expect jit-in-loop
    f(x).dispose();
  }
}`,
  },
  {
    title: 'jax#6905, jax#16278, jax#3220, jax#11448: parameters that a compiled function closes over are told with bytes',
    text: `
import { jit, np, type Array } from 'tidemark';
const params = np.ones([1024, 1024]);
const predict = jit((x: Array): Array => x.matmul(params)); // @expect captured-constant
export function main(): void {
  using x = np.ones([8, 1024]);
  predict(x).dispose();
}`,
    says: /`params`.*4\.0 MiB/s,
    fix: /parameter|argument/,
  },
  {
    title: 'jax#10878: a number of the host that changes with every step as a static argument is a program per step',
    text: `
import { jit, np, type Array } from 'tidemark';
const noisy = jit((x: Array, sigma: number): Array => x.mul(sigma), { staticArgnums: [1] });
export function main(): void {
  using x = np.ones([1024]);
  for (let k = 0; k < 1000; k++) {
    noisy(x, 1 / (k + 1)).dispose(); // @expect retrace
  }
}`,
    says: /for every new static argument/,
  },
  {
    title: 'jax#10007, jax#19429, jax#2072: a cache that no one empties gains arrays for ever',
    text: `
import { np, type Array } from 'tidemark';
const cache = new Map<string, Array>();
export function main(queries: AsyncIterable<string>): Promise<void> {
  return answer(queries);
}
async function answer(queries: AsyncIterable<string>): Promise<void> {
  for await (const query of queries) {
    const embedding = np.full([1024], query.length);
    cache.set(query, embedding); // @expect retained-in-loop
  }
}`,
  },
  {
    title: 'jax#9064: losses kept on the device pin memory; read to the host they do not',
    text: `
import { jit, np, type Array } from 'tidemark';
const step = jit((w: Array) => [w.sum(), w.mul(0.5)] as const, { donateArgnums: 0 });
export async function main(): Promise<void> {
  let w = np.ones([1024]);
  const kept: Array[] = [];
  const read: number[] = [];
  for (let k = 0; k < 100; k++) {
    const [loss, next] = step(w);
    read.push(await loss.item());
    kept.push(loss); // @expect retained-in-loop
    w = next;
  }
  console.log(read, kept.length);
  w.dispose();
}`,
  },
];

const marksOf = (text: string): readonly string[] => {
  const marks: string[] = [];
  let file = 'main.ts';
  let at = 0;
  for (const line of text.split('\n')) {
    const opened = /^\s*\/\/ @file (\S+)/.exec(line)?.[1];
    if (opened !== undefined) [file, at] = [opened, 0];
    // A file's text begins with the end of the line that names it.
    at++;
    for (const rule of /@expect (.+)/.exec(line)?.[1]?.split(' ') ?? []) marks.push(`${file}:${at} ${rule}`);
  }
  return marks.sort();
};

describe('reports of users, read by the analysis', function () {
  this.timeout(120_000);
  let found: readonly (readonly Diagnostic[])[];
  before(async () => {
    found = await checkAll(reports.map(({ text }) => text));
  });

  reports.forEach(({ title, text, says, fix }, i) => {
    it(title, () => {
      const own = found[i]!.filter(({ severity }) => severity !== 'hint');
      assert.deepEqual(own.map((d) => `${d.file}:${d.line} ${d.rule}`).sort(), marksOf(text));
      if (says !== undefined)
        assert.ok(
          own.some(({ message }) => says.test(message)),
          own.map(({ message }) => message).join('\n'),
        );
      if (fix !== undefined)
        assert.ok(
          own.flatMap(({ fixes }) => fixes).some(({ title: offered, disabled }) => disabled === undefined && fix.test(offered)),
          JSON.stringify(own.flatMap(({ fixes }) => fixes)),
        );
    });
  });
});

const folder = resolve(import.meta.dirname, '..', 'cases');
const shown = join(folder, 'shown.ts');
const never = { isCancelled: false };
/** What the types of the corpus leave out. */
const more = `
declare module 'tidemark' {
  interface At {
    set(value: Array | number): Array;
  }
  interface Array {
    at(...index: (number | readonly number[])[]): At;
    less(other: number): Array;
  }
  namespace lax {
    function cond<T>(test: Array, yes: (x: T) => T, no: (x: T) => T, x: T): T;
    function map(f: (x: Array) => Array, xs: Array, options?: { batchSize?: number }): Array;
  }
}`;

function opened(text: string, settings: ServerSettings = {}): Workspace {
  const workspace = createWorkspace({ cwd: folder });
  workspace.setSettings(settings);
  workspace.setText(shown, `${text}${more}`);
  return workspace;
}

describe('reports of users, answered before anything runs', function () {
  this.timeout(120_000);
  const updates = `
import { jit, lax, np, vmap, type Array } from 'tidemark';
export const inPlace = jit((x: Array): Array => x.at([0, 4], []).set(0), { donateArgnums: 0 });
export const copying = jit((x: Array) => [x.at([0, 4], []).set(0), x] as const);
export const rows = jit((x: Array, at: Array): Array => vmap((k: Array) => lax.dynamicUpdateSlice(x, np.zeros([1]), [k]))(at));
export function main(): void {
  using x = np.ones([1024, 1024]);
  const [changed, same] = copying(x);
  changed.dispose();
  same.dispose();
  inPlace(np.ones([1024, 1024])).dispose();
  using y = np.ones([8192]);
  using at = np.arange(8192);
  rows(y, at).dispose();
}
`;

  it('jax#9132: an update in place takes no bytes, one out of place those of the array', async () => {
    const facts = await opened(updates).functions(never, shown);
    const peakOf = (wanted: string): number => facts.find(({ name }) => name === wanted)!.staticPeakBytes!;
    assert.equal(peakOf('inPlace'), 4 * 2 ** 20);
    assert.equal(peakOf('copying'), 8 * 2 ** 20);
  });

  it('jax#23358: a batched update of one row is over the budget before it runs, at its call', async () => {
    const found = await opened(updates, { memoryBudget: '64MiB' }).diagnostics(never, shown);
    const [over, ...others] = found.filter(({ rule }) => rule === 'peak-over-budget');
    assert.deepEqual(others, []);
    assert.equal(over!.line, 14);
    assert.match(over!.message, /^2\d\d\.\d MiB are in use here, above the budget of 64\.0 MiB/);
  });

  it('jax#11319, jax#14808: the peaks of a map at once and in batches stand side by side', async () => {
    const facts = await opened(`
import { jit, vmap, lax, np, type Array } from 'tidemark';
const score = (x: Array): Array => np.tanh(x.reshape([256, 1]).matmul(x.reshape([1, 256]))).sum();
export const all = jit((xs: Array): Array => vmap(score)(xs));
export const batches = jit((xs: Array): Array => lax.map(score, xs, { batchSize: 4 }));
export function main(): void {
  using x = np.ones([1024, 256]);
  all(x).dispose();
  batches(x).dispose();
}
`).functions(never, shown);
    const peakOf = (wanted: string): number => facts.find(({ name }) => name === wanted)!.staticPeakBytes!;
    assert.ok(peakOf('all') > 256 * 2 ** 20 && peakOf('batches') < 4 * 2 ** 20, `${peakOf('all')} and ${peakOf('batches')} bytes`);
  });

  it('PyAutoFit PR 1453, tsim PR 84, aimz#227: the peak as a formula of the batch: what is fixed, and what each adds', async () => {
    const facts = await opened(`
import { np } from 'tidemark';
export function probe(batch: number): void {
  using w = np.ones([784, 256]);
  using x = np.ones([batch, 784]);
  using y = x.matmul(w);
  console.log(y.shape);
}
`).functions(never, shown);
    assert.equal(facts.find(({ name }) => name === 'probe')!.staticPeak, `${4 * (784 + 256)}·batch + ${4 * 784 * 256}`);
  });

  it('jax#31292, ott#423: the largest batch that fits a budget, without a run', async () => {
    const text = `
import { np } from 'tidemark';
// @budget 1KiB
export function small(batch: number): void {
  using w = np.ones([16, 16]);
  using y = np.ones([batch, 16]).matmul(w);
  console.log(y.shape);
}
export function probe(batch: number): void {
  using w = np.ones([784, 256]);
  using x = np.ones([batch, 784]);
  using y = x.matmul(w);
  console.log(y.shape);
}
`;
    const facts = await opened(text, { memoryBudget: '64MiB' }).functions(never, shown);
    const fits = (wanted: string): unknown => facts.find(({ name }) => name === wanted)!.fits;
    const most = Math.floor((64 * 2 ** 20 - 4 * 784 * 256) / (4 * (784 + 256)));
    assert.deepEqual(fits('probe'), { dimension: 'batch', most, budgetBytes: 64 * 2 ** 20 });
    assert.deepEqual(fits('small'), { dimension: 'batch', most: 0, budgetBytes: 1024 });
  });

  it('jax#38145: a loop whose body may pass its carry through is planned without a copy', async () => {
    const facts = await opened(`
import { jit, lax, np, type Array } from 'tidemark';
const body = (i: Array, c: Array): Array => lax.cond(i.less(4), (v: Array) => v.add(1), (v: Array) => v, c);
export const f = jit((x: Array): Array => lax.foriLoop(0, 8, body, x), { donateArgnums: 0 });
export function main(): void {
  f(np.ones([256, 256])).dispose();
}
`).functions(never, shown);
    assert.equal(facts.find(({ name }) => name === 'f')!.compiled!.copies, 0);
  });
});
