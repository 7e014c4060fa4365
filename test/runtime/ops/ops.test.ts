/**
 * Walks the table: every entry is complete, and does what its neighbours in mathematics say.
 *
 * Depends on: runtime, test/support.
 */
import assert from 'node:assert/strict';
import { printAval, type Aval } from '../../../runtime/core/aval.ts';
import { named, valueOf, type Dim } from '../../../runtime/core/dim.ts';
import { isFloat } from '../../../runtime/core/dtype.ts';
import { array } from '../../../runtime/functions/creation.ts';
import { grad, jvp, vmap } from '../../../runtime/functions/transforms.ts';
import { stack } from '../../../runtime/functions/shaping.ts';
import { apply, type Entry } from '../../../runtime/ops/apply.ts';
import { table } from '../../../runtime/ops/table.ts';
import type { Array as Value } from '../../../runtime/ops/value.ts';
import { near, numbers, numbersOf, onCpu } from '../../support/arrays.ts';
import { elsewhere, samples, type Operand, type Sample } from './samples.ts';

const count = (shape: readonly number[]): number => shape.reduce((product, extent) => product * extent, 1);
const contents = (operand: Operand, seed: number): readonly number[] => {
  if (operand.values !== undefined) return operand.values;
  const raw = numbers(count(operand.shape), seed, ...(operand.range ?? [-1, 1]));
  return isFloat(operand.dtype ?? 'float32') ? raw.map(Math.fround) : raw.map(Math.floor);
};
const made = (operand: Operand, values: readonly number[]): Value =>
  array([...values], { shape: operand.shape, dtype: operand.dtype ?? 'float32' });
const operandsOf = (sample: Sample): readonly Value[] => sample.operands.map((operand, k) => made(operand, contents(operand, k + 1)));
const run = (entry: Entry, operands: readonly Value[], sample: Sample): Value => apply(entry, operands, sample.parameters ?? {});

/** A number out of any result: every element weighed differently. */
function weighed(entry: Entry, operands: readonly Value[], sample: Sample): Value {
  const y = run(entry, operands, sample);
  return y.mul(array(numbers(y.size, 99), { shape: y.shape })).sum();
}
const weighedNumber = (entry: Entry, values: readonly (readonly number[])[], sample: Sample): number =>
  weighed(
    entry,
    sample.operands.map((o, k) => made(o, values[k]!)),
    sample,
  ).itemSync();

/** (f(x + h) - f(x - h)) / 2h in single precision: good for about three digits. */
function slopes(entry: Entry, sample: Sample, position: number): readonly number[] {
  const values = sample.operands.map((operand, k) => contents(operand, k + 1));
  const h = 2 ** -7;
  return values[position]!.map((_, element) => {
    const moved = (by: number): number =>
      weighedNumber(
        entry,
        values.map((list, k) => (k === position ? list.map((v, e) => (e === element ? v + by : v)) : list)),
        sample,
      );
    return (moved(h) - moved(-h)) / (2 * h);
  });
}

const floatsOf = (sample: Sample): readonly number[] =>
  sample.operands.flatMap((operand, k) => (isFloat(operand.dtype ?? 'float32') ? [k] : []));

describe('table of ops', () => {
  before(() => {
    onCpu();
  });

  it('has a sample for every entry, and no sample without one', () => {
    assert.deepEqual(
      [...table.keys()].filter((id) => !(id in samples) && !elsewhere.includes(id)),
      [],
    );
    assert.deepEqual(
      Object.keys(samples).filter((id) => !table.has(id)),
      [],
    );
  });

  for (const [id, list] of Object.entries(samples))
    list.forEach((sample, n) => {
      const entry = table.get(id)!;
      const title = list.length === 1 ? id : `${id} (${n + 1})`;

      it(`${title}: values agree with an independent formula`, () => {
        const operands = operandsOf(sample);
        const result = numbersOf(run(entry, operands, sample));
        if (sample.expected) near(result, sample.expected, 1e-6, title);
        const { formula } = sample;
        if (formula === undefined) return;
        const values = operands.map((x) => numbersOf(x));
        near(
          result,
          result.map((_, k) => formula(...values.map((v) => v[v.length === 1 ? 0 : k]!))),
          2e-6,
          title,
        );
      });

      it(`${title}: the shape rule says the same of names as of numbers`, () => {
        const avals: readonly Aval[] = operandsOf(sample).map((x) => x.aval);
        const [concrete] = entry.infer(avals, sample.parameters ?? {});
        const result = run(entry, operandsOf(sample), sample);
        assert.equal(
          printAval({ shape: concrete!.shape, dtype: concrete!.dtype }),
          printAval({ shape: result.shape, dtype: result.dtype }),
        );
        // Views and contractions with extents in their parameters are bound to numbers.
        const { kind } = entry.body;
        if (kind !== 'elementwise' && kind !== 'reduction' && kind !== 'contraction') return;
        const names = new Map<string, number>();
        const symbolic = avals.map((aval): Aval => ({
          ...aval,
          shape: aval.shape.map((extent): Dim => {
            names.set(`d${String(extent)}`, extent as number);
            return named(`d${String(extent)}`);
          }),
        }));
        const [general] = entry.infer(symbolic, sample.parameters ?? {});
        assert.deepEqual(
          general!.shape.map((dim) => valueOf(dim, names)),
          concrete!.shape,
        );
      });

      if (entry.gradient !== undefined && !sample.rough)
        it(`${title}: the gradient agrees with finite differences`, () => {
          for (const position of floatsOf(sample)) {
            const result = run(entry, operandsOf(sample), sample);
            if (!isFloat(result.dtype)) continue;
            const gradient = grad((...xs: unknown[]) => weighed(entry, xs as Value[], sample), { argnums: position })(
              ...operandsOf(sample),
            ) as Value;
            near(numbersOf(gradient), slopes(entry, sample, position), 6e-3, `${title}, operand ${position}`);
          }
        });

      if (entry.tangent !== undefined && entry.gradient !== undefined && !sample.rough)
        it(`${title}: tangent and gradient are transposes of each other`, () => {
          const operands = operandsOf(sample);
          if (!isFloat(run(entry, operands, sample).dtype)) return;
          const tangents = operands.map((x, k) => array(numbers(x.size, k + 50), { shape: x.shape }));
          const along = (jvp((...xs: unknown[]) => weighed(entry, xs as Value[], sample), operands, tangents)[1] as Value).itemSync();
          const positions = floatsOf(sample);
          const gradients = grad((...xs: unknown[]) => weighed(entry, xs as Value[], sample), { argnums: positions })(
            ...operands,
          ) as readonly Value[];
          const sum = positions.reduce((total, position, k) => total + gradients[k]!.mul(tangents[position]!).sum().itemSync(), 0);
          near([along], [sum], 1e-4, title);
        });

      if (sample.operands.length > 0)
        it(`${title}: a batch is what a loop gives`, () => {
          const size = 3;
          const rows = Array.from({ length: size }, (_, row) =>
            sample.operands.map((operand, k) =>
              made(
                operand,
                operand.dtype === undefined || isFloat(operand.dtype)
                  ? contents(operand, k + 1).map((v) => v + 0.03 * row)
                  : contents(operand, k + 1),
              ),
            ),
          );
          const every = sample.operands.map((_, k) => k);
          // All batched; each one alone; the last axis instead of the first.
          for (const chosen of [every, ...(every.length > 1 ? every.map((k) => [k]) : [])])
            for (const last of [false, true]) {
              const axes = every.map((k) => (chosen.includes(k) ? (last ? sample.operands[k]!.shape.length : 0) : null));
              const operands = every.map((k) =>
                chosen.includes(k)
                  ? stack(
                      rows.map((row) => row[k]!),
                      last ? -1 : 0,
                    )
                  : rows[0]![k]!,
              );
              const batch = vmap((...xs: unknown[]) => run(entry, xs as Value[], sample), axes)(...operands) as Value;
              const loop = rows.flatMap((row) =>
                numbersOf(
                  run(
                    entry,
                    every.map((k) => (chosen.includes(k) ? row[k]! : rows[0]![k]!)),
                    sample,
                  ),
                ),
              );
              near(numbersOf(batch), loop, 1e-5, `${title}, batched ${chosen.join()}${last ? ' at the last axis' : ''}`);
            }
        });

      if (sample.operands.length > 0) {
        const every = sample.operands.map((_, k) => k);
        // Whole numbers and truths come in another order in other rows.
        const varied = (operand: Operand, k: number, row: number): Value => {
          const values = contents(operand, k + 1);
          return made(
            operand,
            isFloat(operand.dtype ?? 'float32') ? values.map((v) => v + 0.02 * row) : row % 2 ? values.toReversed() : values,
          );
        };

        it(`${title}: a batch of batches is what two loops give`, () => {
          const [outer, inner] = [2, 3];
          const cell = (k: number, i: number, j: number): Value => varied(sample.operands[k]!, k, i * inner + j);
          // The inner batch lies at the last axis of the first operand, and at the first of the others.
          const axes = every.map((k) => (k === 0 ? sample.operands[0]!.shape.length : 0));
          const operands = every.map((k) =>
            stack(
              Array.from({ length: outer }, (_, i) =>
                stack(
                  Array.from({ length: inner }, (_, j) => cell(k, i, j)),
                  axes[k],
                ),
              ),
            ),
          );
          const batch = vmap(vmap((...xs: unknown[]) => run(entry, xs as Value[], sample), axes))(...operands) as Value;
          const loops = Array.from({ length: outer * inner }, (_, at) =>
            numbersOf(
              run(
                entry,
                every.map((k) => cell(k, Math.floor(at / inner), at % inner)),
                sample,
              ),
            ),
          ).flatMap((part) => [...part]);
          near(numbersOf(batch), loops, 1e-5, title);
        });

        it(`${title}: a batch of nothing is nothing, with the shape of its elements`, () => {
          const one = run(entry, operandsOf(sample), sample);
          const none = sample.operands.map(({ shape, dtype }) => array([], { shape: [0, ...shape], dtype: dtype ?? 'float32' }));
          const batch = vmap((...xs: unknown[]) => run(entry, xs as Value[], sample))(...none) as Value;
          assert.deepEqual([batch.shape, batch.dtype, [...numbersOf(batch)]], [[0, ...one.shape], one.dtype, []]);
        });
      }
    });
});
