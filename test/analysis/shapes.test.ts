/**
 * What walks say of shapes, calls and peaks: rows of source and the facts expected of it.
 *
 * Depends on: language-server (memory, compiled), test/analysis/projects.
 */
import assert from 'node:assert/strict';
import { join, resolve } from 'node:path';
import { printAval } from '../../runtime/core/aval.ts';
import { printDim } from '../../runtime/core/dim.ts';
import { analyse } from '../../language-server/memory/analysis.ts';
import { staticPeaks } from '../../language-server/memory/peak.ts';
import type { Project } from '../../language-server/lower/ir.ts';
import { lowered } from './projects.ts';

const cases = resolve(import.meta.dirname, '..', 'cases');

interface Row {
  readonly title: string;
  readonly source: string;
  /** Arguments of each call of a compiled function, in order of appearance. */
  readonly calls?: readonly string[];
  /** Static peak of functions: bytes, or a formula. */
  readonly peaks?: Readonly<Record<string, string>>;
}

const rows: readonly Row[] = [
  {
    title: 'sizes come through parameters, fields and constants',
    source: `
const WIDTH = 32;
const scale = jit((x: Array): Array => x.mul(2));
class Table { readonly rows: Array; constructor(count: number) { this.rows = np.ones([count, WIDTH]); } }
export function main(): void { const table = new Table(100); scale(table.rows).dispose(); table.rows.dispose(); }`,
    calls: ['x: f32[100,32]'],
  },
  {
    title: 'closures, spreads and array methods are walked',
    source: `
const total = jit((xs: Array[]): Array => xs.reduce((a, b) => a.add(b)));
export function main(): void { const parts = [1, 2, 3].map((n) => np.full([n, 4], n)); total([...parts, np.ones([1, 4])]).dispose(); }`,
    calls: ['xs[0]: f32[1,4], xs[1]: f32[2,4], xs[2]: f32[3,4], xs[3]: f32[1,4]'],
  },
  {
    title: 'a size that nobody says is a name',
    source: `
export function table(n: number): Array { const a = np.ones([n, n]); const b = a.add(1); a.dispose(); return b; }`,
    peaks: { table: '8·n·n' },
  },
  {
    title: 'arrays of a scope end with it',
    source: `
export function main(): void { using sum = scope(() => { const a = np.ones([1024]); const b = a.mul(2); return b.add(a).sum(); }); void sum.shape; }`,
    peaks: { main: '12544' },
  },
  {
    title: 'both ways of a condition are taken',
    source: `
const scale = jit((x: Array): Array => x.mul(2));
export function run(large: boolean): void { const x = large ? np.ones([64]) : np.ones([8]); scale(x).dispose(); x.dispose(); }`,
    calls: ['x: f32[64]', 'x: f32[8]'],
  },
];

describe('shapes', function () {
  this.timeout(120_000);
  const files = new Map(
    rows.map(({ source }, i) => [join(cases, `shapes-${i}.ts`), `import { jit, np, scope, type Array } from 'tidemark';\n${source}\n`]),
  );
  let project: Project;
  before(() => {
    ({ project } = lowered([...files.keys()], join(cases, 'tsconfig.json'), files));
  });

  for (const [i, row] of rows.entries()) {
    it(row.title, () => {
      const file = [...files.keys()][i]!;
      const unit = project.units.get(file)!;
      const analysis = analyse(project, [unit]);
      const seen = analysis.exploration.runs
        .flatMap(({ calls }) => calls)
        .map(({ leaves }) => leaves.map(({ path, aval }) => `${path}: ${aval === undefined ? '?' : printAval(aval)}`).join(', '));
      if (row.calls !== undefined) assert.deepEqual([...new Set(seen)].sort(), [...row.calls].sort());
      const peaks = new Map(
        staticPeaks(unit, analysis).map(({ function: fn, bytes }) => [fn.name, bytes === undefined ? '?' : printDim(bytes)]),
      );
      for (const [name, bytes] of Object.entries(row.peaks ?? {})) assert.equal(peaks.get(name), bytes, name);
    });
  }
});
