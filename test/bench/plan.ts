/**
 * How good plans and orders are, and how fast: one command, `node --import tsx test/bench/plan.ts [packing|orders] [--short]`.
 *
 * Ratios are to the lower bound. Times are CPU time of this process, so a busy machine does not spoil them; every plan and
 * every order is judged before it is counted. `XLA` is the better of its two heap orders (size, then duration; duration,
 * then size; smallest gap), computed here. The packing instances are looked for in TIDEMARK_SHARED or ../shared.
 * Depends on: runtime/plan, runtime/compile, test/plan/support.
 */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import process from 'node:process';
import { ancestry, leastPeak } from '../../runtime/compile/order/bound.ts';
import type { Graph } from '../../runtime/compile/order/graph.ts';
import { listOrder, postOrder, programOrder, sharedFirstOrder } from '../../runtime/compile/order/greedy.ts';
import { peakOf } from '../../runtime/compile/order/judge.ts';
import { peakAlong, wire } from '../../runtime/compile/order/walk.ts';
import { order } from '../../runtime/compile/schedule.ts';
import { leastBytes } from '../../runtime/plan/bound.ts';
import { faults } from '../../runtime/plan/faults.ts';
import { improve, improved } from '../../runtime/plan/improve.ts';
import { ordered, placeInOrder, quickPlan } from '../../runtime/plan/plan.ts';
import type { Buffer, Plan } from '../../runtime/plan/problem.ts';
import { knownGraphs, packing, sharedPacking } from '../plan/support.ts';
import { skips, transformerStep, wideBranches, wired } from './plan-graphs.ts';

const now = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

const short = process.argv.includes('--short');
const only = process.argv.slice(2).find((word) => !word.startsWith('-'));

const challengeCapacity = 1_048_576;

function challenge(folder: string, files: readonly string[]): void {
  const marks = short ? [100, 1000] : [100, 1000, 10_000];
  const rows = files.map((file) => {
    const buffers = packing(folder, file);
    const bound = leastBytes(buffers);
    for (let i = 0; i < 5; i++) quickPlan(buffers);
    const [quick, quickMs] = timed(() => judged(buffers, quickPlan(buffers)));
    const [fitted, fitMs] = timed(() =>
      judged(buffers, improved(buffers, quick, { now, until: now() + 20_000 }, { capacity: challengeCapacity }).plan),
    );
    const anytime = reachedAt(buffers, quick, marks).map((plan) => judged(buffers, plan).bytes / bound);
    return {
      name: file.slice(0, 1),
      ratios: [xla(buffers).bytes / bound, quick.bytes / bound, ...anytime],
      quickMs,
      fits: fitted.bytes <= challengeCapacity,
      fitMs,
    };
  });
  print(
    `the challenging set of minimalloc (ratio to the lower bound; capacity ${challengeCapacity})`,
    ['', 'XLA', 'quick', ...marks.map((ms) => `${ms / 1000} s`), 'quick ms', 'fits capacity', 'ms'],
    [
      ...rows.map(({ name, ratios, quickMs, fits, fitMs }) => [
        name,
        ...ratios.map(ratio),
        quickMs.toFixed(1),
        fits ? 'yes' : 'NO',
        fitMs.toFixed(0),
      ]),
      [
        'mean',
        ...rows[0]!.ratios.map((_, i) => ratio(rows.reduce((sum, row) => sum + row.ratios[i]!, 0) / rows.length)),
        '',
        `${rows.filter(({ fits }) => fits).length} of ${rows.length}`,
        rows.reduce((sum, { fitMs }) => sum + fitMs, 0).toFixed(0),
      ],
    ],
  );
  const tighter: readonly (readonly [string, number, number])[] = [
    ['C.1048576.csv', 1_039_360, 1000],
    ['D.1048576.csv', 1_040_384, 1000],
    ['D.1048576.csv', 1_032_192, 10_000],
    ['J.1048576.csv', 1_047_552, 10_000],
  ];
  print(
    'below the published capacity',
    ['', 'capacity', 'within ms', 'bytes', 'ms'],
    tighter
      .filter(([file]) => files.includes(file))
      .map(([file, capacity, limit]) => {
        const buffers = packing(folder, file);
        const [plan, ms] = timed(() =>
          judged(buffers, improved(buffers, quickPlan(buffers), { now, until: now() + limit }, { capacity }).plan),
        );
        return [
          file.slice(0, 1),
          String(capacity),
          String(limit),
          plan.bytes <= capacity ? String(plan.bytes) : `NO (${plan.bytes})`,
          ms.toFixed(0),
        ];
      }),
  );
}

function traces(folder: string, files: readonly string[]): void {
  const marks = short ? [100, 1000] : [100, 1000, 10_000];
  print(
    'traces of real programs (ratio to the lower bound)',
    ['', 'buffers', 'lower bound', 'XLA', 'quick', ...marks.map((ms) => `${ms / 1000} s`), 'quick ms'],
    files.map((file) => {
      const buffers = packing(folder, file);
      const bound = leastBytes(buffers);
      const [quick, ms] = timed(() => judged(buffers, quickPlan(buffers)));
      const anytime = reachedAt(buffers, quick, marks).map((plan) => judged(buffers, plan).bytes / bound);
      return [
        file.replace('.csv', ''),
        String(buffers.length),
        String(bound),
        ...[xla(buffers).bytes / bound, quick.bytes / bound, ...anytime].map((x) => x.toFixed(5)),
        ms.toFixed(1),
      ];
    }),
  );
}

/** The plan in hand at each of the moments. */
function reachedAt(buffers: readonly Buffer[], quick: Plan, marks: readonly number[]): Plan[] {
  const start = now();
  const reached: Plan[] = [];
  let plan = quick;
  for (const step of improve(buffers, quick)) {
    while (reached.length < marks.length && now() - start >= marks[reached.length]!) reached.push(plan);
    if (reached.length === marks.length) return reached;
    plan = step.plan;
  }
  return [...reached, ...marks.slice(reached.length).map(() => plan)];
}

function xla(buffers: readonly Buffer[]): Plan {
  const bytes = (b: Buffer): number => -b.bytes;
  const life = (b: Buffer): number => b.born - b.dies;
  const plans = (
    [
      [bytes, life],
      [life, bytes],
    ] as const
  ).map((keys) => placeInOrder(buffers, ordered(buffers, keys), 'snuggest'));
  return plans[0]!.bytes <= plans[1]!.bytes ? plans[0]! : plans[1]!;
}

function judged(buffers: readonly Buffer[], plan: Plan): Plan {
  assert.deepEqual(faults(buffers, plan.offsets, plan.bytes), []);
  return plan;
}

function orders(): void {
  const limit = short ? 500 : 5000;
  const graphs: readonly (readonly [string, Graph])[] = [
    ...knownGraphs().map(({ name, graph, optimalPeak }) => [`${name} (optimum ${optimalPeak})`, graph] as const),
    ['transformer, 2 layers', transformerStep(2, { tokens: 256, width: 256 })],
    ['transformer, 12 layers', transformerStep(12, { tokens: 256, width: 256 })],
    ['transformer, 2 layers, small batch', transformerStep(2, { tokens: 16, width: 256 })],
    ['transformer, 12 layers, small batch', transformerStep(12, { tokens: 16, width: 256 })],
    ['transformer, 60 layers, small batch', transformerStep(60, { tokens: 16, width: 256 })],
    ['wired at random', wired(60, 1)],
    ['wired at random', wired(300, 2)],
    ['wired at random', wired(2000, 3)],
    ['wide branches', wideBranches(3, 3, 1)],
    ['wide branches', wideBranches(4, 4, 2)],
    ['wide branches', wideBranches(5, 4, 3)],
    ['long skips', skips(20)],
  ];
  for (const [, graph] of graphs.slice(0, 8)) order(graph, { now, until: now() + 50 });
  print(
    `orders (peaks; the search has ${limit} ms; XLA is the best of its three orders)`,
    ['', 'nodes', 'program', 'XLA', '50 ms', 'ms', 'found', 'by', 'lower bound', 'proved', 'ms'],
    graphs.map(([name, graph]) => {
      const wiring = wire(graph);
      const program = peakAlong(wiring, programOrder(wiring));
      const choice = Math.min(...[listOrder, sharedFirstOrder, postOrder].map((rule) => peakAlong(wiring, rule(wiring)!)));
      const [quick, quickMs] = timed(() => order(graph, { now, until: now() + 50 }));
      const [found, ms] = timed(() => order(graph, { now, until: now() + limit }));
      assert.equal(peakOf(graph, found.order), found.peakBytes);
      assert.ok(leastPeak(wiring, ancestry(wiring)) <= found.orderLowerBoundBytes && quick.peakBytes <= program);
      return [
        name,
        String(graph.nodes.length),
        ...[program, choice, quick.peakBytes].map(String),
        quickMs.toFixed(0),
        String(found.peakBytes),
        found.by,
        String(found.orderLowerBoundBytes),
        found.optimal ? 'yes' : 'no',
        ms.toFixed(0),
      ];
    }),
  );
}

function timed<T>(work: () => T): [T, number] {
  const start = now();
  const result = work();
  return [result, now() - start];
}

const ratio = (value: number): string => value.toFixed(3);

function print(title: string, head: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = head.map((cell, i) => Math.max(cell.length, ...rows.map((row) => row[i]!.length)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)))
      .join('  ')
      .trimEnd();
  process.stdout.write(`\n${title}\n${[head, ...rows].map(line).join('\n')}\n`);
}

const folder = sharedPacking();
if (only !== 'orders') {
  if (folder === undefined) process.stdout.write('no packing instances: set TIDEMARK_SHARED\n');
  else {
    const files = readdirSync(folder).filter((file) => file.endsWith('.csv'));
    challenge(
      folder,
      files.filter((file) => /^[A-K]\.1048576/.test(file)),
    );
    traces(
      folder,
      files.filter((file) => !/^[A-K]\.1048576/.test(file)),
    );
  }
}
if (only !== 'packing') orders();
