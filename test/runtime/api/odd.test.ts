/**
 * Odd arguments (NaN, infinities, empty arrays, mixed dtypes, places outside): what JAX answers, as test/goldens/numpy.py wrote it down.
 *
 * Depends on: runtime, test/support, test/goldens.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { DType } from '../../../runtime/core/dtype.ts';
import * as tidemark from '../../../runtime/index.ts';
import { near, numbersOf, onCpu } from '../../support/arrays.ts';

interface Written {
  readonly s: readonly number[];
  readonly t: DType;
  readonly v: readonly (number | string | boolean)[];
}
interface Row {
  readonly name: string;
  readonly args: readonly unknown[];
  readonly expected: Written | readonly Written[];
}
const rows = JSON.parse(readFileSync(new URL('../../goldens/numpy.json', import.meta.url), 'utf8')) as readonly Row[];
const special: Readonly<Record<string, number>> = { nan: NaN, inf: Infinity, '-inf': -Infinity, '-0': -0 };
const isRecord = (x: unknown): x is Readonly<Record<string, unknown>> => typeof x === 'object' && x !== null && !Array.isArray(x);
const flat = (x: unknown): readonly unknown[] => (Array.isArray(x) ? x.flatMap(flat) : [x]);
const numberOf = (x: unknown): number => (isRecord(x) ? special[x['n'] as string]! : typeof x === 'string' ? special[x]! : Number(x));
const shapeOf = (x: unknown): readonly number[] => (Array.isArray(x) ? [x.length, ...(x.length > 0 ? shapeOf(x[0]) : [])] : []);

function decoded(x: unknown): unknown {
  if (Array.isArray(x)) return x.map(decoded);
  if (!isRecord(x)) return x;
  if ('$' in x) {
    const [dtype, shape] = [x['t'] as DType, (x['s'] as readonly number[] | undefined) ?? shapeOf(x['$'])];
    const values = flat(x['$']).map(numberOf);
    return dtype === 'uint32' ? tidemark.np.array(Uint32Array.from(values), { shape }) : tidemark.np.array(values, { shape, dtype });
  }
  if ('n' in x && typeof x['n'] === 'string') return numberOf(x);
  return Object.fromEntries(Object.entries(x).map(([name, value]) => [name, decoded(value)]));
}
function member(name: string): (...args: unknown[]) => unknown {
  const path = name.split('.');
  const root: unknown = path.length > 1 && path[0] !== 'linalg' && path[0] !== 'fft' ? tidemark : tidemark.np;
  return path.reduce((own, key) => (own as Readonly<Record<string, unknown>>)[key], root) as (...args: unknown[]) => unknown;
}

describe('odd arguments', () => {
  before(() => {
    onCpu();
  });

  for (const name of new Set(rows.map((row) => row.name)))
    it(`of ${name} give what JAX gives`, () => {
      for (const { args, expected } of rows.filter((row) => row.name === name)) {
        const title = `${name}(${JSON.stringify(args).slice(1, -1)})`;
        const result = member(name)(...args.map(decoded));
        const found = (Array.isArray(result) ? result : [result]) as readonly tidemark.Array[];
        const wanted = (Array.isArray(expected) ? expected : [expected]) as readonly Written[];
        assert.equal(found.length, wanted.length, title);
        found.forEach((own, k) => {
          const { s, t, v } = wanted[k]!;
          assert.deepEqual([own.dtype, own.shape], [t, s], title);
          near(numbersOf(own), v.map(numberOf), t === 'float16' ? 4e-3 : 2e-4, title);
        });
      }
    });
});
