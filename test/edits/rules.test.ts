/**
 * Fixes from end to end: a program is checked, the fix that a rule offers is applied, and the result is checked again.
 *
 * After the fix the text is what its author would have written, TypeScript accepts it, the finding is gone and none is
 * new. `safe` says what `--fix` would apply unasked. Depends on: support, cli/apply-edits.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { applyEdits } from '../../language-server/cli/apply-edits.ts';
import type { Diagnostic, Fix } from '../../language-server/protocol.ts';
import { checkAll } from '../support/check.ts';
import { filesOf, lay } from '../support/fixture.ts';

interface Row {
  readonly title: string;
  readonly rule: string;
  /** The beginning of the fix's title. */
  readonly fix: string;
  readonly safe: boolean;
  readonly before: string;
  /** Lines to replace: the rest stays to the letter. */
  readonly lines: Readonly<Record<number, string>>;
  /** What is still to be done by hand, or was hidden behind the first finding. */
  readonly left?: readonly string[];
}

const tf = `import * as tf from '@tensorflow/tfjs';\n`;
const jax = `import { numpy as np } from '@jax-js/jax';\n`;
const own = `import { jit, np, type Array } from 'tidemark';\n`;

const rows: readonly Row[] = [
  {
    title: 'a tensor is disposed after its last use',
    rule: 'leak',
    fix: 'Dispose `x`',
    safe: true,
    before: `${tf}export function run(values: number[]): void {\n  const x = tf.tensor1d(values);\n  if (values.length > 3) x.print();\n}\n`,
    lines: { 4: '  if (values.length > 3) x.print();\n  x.dispose();' },
  },
  {
    title: 'what is returned is kept until the tensor is disposed',
    rule: 'leak',
    fix: 'Dispose `x`',
    safe: true,
    before: `${tf}export function run(values: number[]): number {\n  const x = tf.tensor1d(values);\n  return x.dataSync()[0]!;\n}\n`,
    lines: { 4: '  const result = x.dataSync()[0]!;\n  x.dispose();\n  return result;' },
  },
  {
    title: 'a tensor that user code sees is not disposed unasked',
    rule: 'leak',
    fix: 'Dispose `x`',
    safe: false,
    before: `${tf}const show = (t: tf.Tensor): void => t.print();\nexport function run(values: number[]): void {\n  const x = tf.tensor1d(values);\n  show(x);\n}\n`,
    lines: { 5: '  show(x);\n  x.dispose();' },
  },
  {
    title: 'every path frees it in a finally',
    rule: 'leak',
    fix: 'Free `x`',
    safe: false,
    before: `${tf}export function run(values: number[]): number {\n  const x = tf.tensor1d(values);\n  if (values.length > 3) return 0;\n  return x.dataSync()[0]!;\n}\n`,
    lines: {
      4: '  try {\n    if (values.length > 3) return 0;',
      5: '    return x.dataSync()[0]!;\n  } finally {\n    x.dispose();\n  }',
    },
  },
  {
    title: 'the whole chain stands in the tidy',
    rule: 'leak',
    fix: 'Wrap in `tidy`',
    safe: true,
    before: `${tf}export function total(t: tf.Tensor): number {\n  return t.square().sum().dataSync()[0]!;\n}\n`,
    lines: { 3: '  return tf.tidy(() => t.square().sum().dataSync())[0]!;' },
  },
  {
    title: 'a result that nobody takes is disposed on the spot',
    rule: 'leak',
    fix: 'Dispose the result',
    safe: true,
    before: `${tf}export function run(t: tf.Tensor): void {\n  t.add(1)\n}\n`,
    lines: { 3: '  t.add(1).dispose()' },
  },
  {
    title: 'const becomes using',
    rule: 'leak',
    fix: 'Declare `y`',
    safe: true,
    before: `${own}export function run(x: Array): number {\n  const y = x.mul(2);\n  return y.size;\n}\n`,
    lines: { 3: '  using y = x.mul(2);' },
  },
  {
    title: 'the old array is freed when a field gets a new one',
    rule: 'leak',
    fix: 'Dispose the old',
    safe: false,
    before: `${tf}export class Mean {\n  private value: tf.Tensor = tf.scalar(0);\n  add(x: tf.Tensor): void {\n    this.value = this.value.add(x);\n  }\n  dispose(): void {\n    this.value.dispose();\n  }\n}\n`,
    lines: { 5: '    const next = this.value.add(x);\n    this.value?.dispose();\n    this.value = next;' },
  },
  {
    title: 'a surplus reference goes',
    rule: 'leak',
    fix: 'Remove this `.ref`',
    safe: true,
    before: `${jax}export function run(): number[] {\n  const x = np.ones([4]);\n  const y = np.square(x.ref);\n  return y.js() as number[];\n}\n`,
    lines: { 4: '  const y = np.square(x);' },
  },
  {
    title: 'the earlier of two uses takes a reference',
    rule: 'missing-ref',
    fix: 'Pass a reference',
    safe: true,
    before: `${jax}export function run(x: np.Array): np.Array {\n  const y = np.square(x);\n  return y.add(x);\n}\n`,
    lines: { 3: '  const y = np.square(x.ref);' },
  },
  {
    title: 'twice in one call: the receiver takes a reference',
    rule: 'missing-ref',
    fix: 'Pass a reference',
    safe: true,
    before: `${jax}export function run(x: np.Array): np.Array {\n  return x.mul(x);\n}\n`,
    lines: { 3: '  return x.ref.mul(x);' },
  },
  {
    title: 'a use on one path only asks first',
    rule: 'missing-ref',
    fix: 'Pass a reference',
    safe: false,
    before: `${jax}export function run(x: np.Array, more: boolean): np.Array {\n  const y = np.square(x);\n  if (more) return y.add(x);\n  return y;\n}\n`,
    lines: { 3: '  const y = np.square(x.ref);' },
    left: ['leak'],
  },
  {
    title: 'the second dispose goes',
    rule: 'double-donate',
    fix: 'Remove the second',
    safe: true,
    before: `${jax}export function run(): number[] {\n  const x = np.ones([4]);\n  const values = x.js() as number[];\n  x.dispose();\n  return values;\n}\n`,
    lines: { 5: '' },
  },
  {
    title: 'a donated array is read before the call',
    rule: 'use-after-donate',
    fix: 'Read it before',
    safe: false,
    before: `${own}const step = jit((x: Array) => x.mul(2), { donateArgnums: [0] });\nexport function run(): number {\n  const w = np.ones([4]);\n  using next = step(w);\n  using sum = w.sum();\n  return next.size + sum.size;\n}\n`,
    lines: { 5: '  using sum = w.sum();\n  using next = step(w);', 6: '' },
  },
  {
    title: 'a copy is donated',
    rule: 'use-after-donate',
    fix: 'Donate a copy',
    safe: false,
    before: `${own}const step = jit((x: Array) => x.mul(2), { donateArgnums: [0] });\nexport function run(): Array {\n  const w = np.ones([4]);\n  using next = step(w);\n  void next.size;\n  return w;\n}\n`,
    lines: { 5: '  using next = step(w.copy());' },
  },
  {
    title: 'the dispose comes after the last use',
    rule: 'use-after-dispose',
    fix: 'Move the dispose',
    safe: false,
    before: `${tf}export function run(values: number[]): tf.Tensor {\n  const x = tf.tensor1d(values);\n  x.dispose();\n  const y = x.add(1);\n  return y;\n}\n`,
    lines: { 4: '', 5: '  const y = x.add(1);\n  x.dispose();' },
  },
  {
    title: 'a compiled function is made once',
    rule: 'jit-in-loop',
    fix: 'Move `jit` out',
    safe: false,
    before: `${own}export function run(x: Array, rounds: number): number {\n  let size = 0;\n  for (let i = 0; i < rounds; i++) {\n    const f = jit((v: Array) => v.mul(2));\n    using y = f(x);\n    size += y.size;\n  }\n  return size;\n}\n`,
    lines: { 2: 'const f = jit((v: Array) => v.mul(2));\n\nexport function run(x: Array, rounds: number): number {', 5: '' },
  },
  {
    title: 'a class gets a dispose',
    rule: 'owner-without-dispose',
    fix: 'Add `dispose()`',
    safe: false,
    before: `${own}export class Table {\n  private readonly rows = np.ones([4]);\n  get size(): number {\n    return this.rows.size;\n  }\n}\n`,
    lines: { 6: '  }\n\n  dispose(): void {\n    this.rows.dispose();', 7: '  }\n}' },
  },
  {
    title: 'an idle comment goes',
    rule: 'unused-suppression',
    fix: 'Remove the comment',
    safe: true,
    before: `${own}// tidemark-ignore leak: gone since the rewrite\nexport const shape = (x: Array): readonly number[] => x.shape;\n`,
    lines: { 2: '' },
  },
  {
    title: 'what a scope reads asynchronously is read outside',
    rule: 'async-tidy',
    fix: 'Compute in the `tidy`, await outside',
    safe: false,
    before: `${tf}export async function run(x: tf.Tensor): Promise<number> {\n  const [mean] = await tf.tidy(() => x.square().mean().data());\n  return mean!;\n}\n`,
    lines: {
      3: '  const kept = tf.tidy(() => x.square().mean());\n  const [mean] = await kept.data();\n  kept.dispose();',
    },
  },
  {
    title: 'a scope whose promise is returned, in the manner of its author',
    rule: 'async-tidy',
    fix: 'Compute in the `tidy`, await outside',
    safe: false,
    before: `import * as tf from "@tensorflow/tfjs"\nexport async function show(x: tf.Tensor3D, canvas: HTMLCanvasElement) {\n\treturn tf.tidy(() => {\n\t\tconst light = x.mul(2) // twice\n\t\treturn tf.browser.toPixels(light.clipByValue(0, 1) as tf.Tensor3D, canvas)\n\t})\n}\n`,
    lines: {
      3: '\tconst kept = tf.tidy(() => {',
      5: '\t\treturn light.clipByValue(0, 1) as tf.Tensor3D',
      6: '\t})\n\tconst result = await tf.browser.toPixels(kept, canvas)\n\tkept.dispose()\n\treturn result',
    },
  },
  {
    title: 'a scope that nobody waits for is awaited',
    rule: 'async-tidy',
    fix: 'Await the `scope`',
    safe: false,
    before: `import { np, scope } from 'tidemark';\nexport async function run(): Promise<void> {\n  void scope(async () => {\n    console.log(await np.ones([4]).sum().item());\n  });\n}\n`,
    lines: { 3: '  await scope(async () => {' },
  },
  {
    title: 'a stand-in that is stored outside is returned and stored by the caller',
    rule: 'tracer-escape',
    fix: 'Return it',
    safe: false,
    before: `import { jit, numpy as np } from '@jax-js/jax';\nlet last: np.Array | undefined;\nconst forward = jit((x: np.Array) => {\n  const hidden = np.tanh(x);\n  last = hidden.ref; // for later\n  return hidden.sum();\n});\nexport function run(): number {\n  last?.dispose();\n  const energy = forward(np.ones([3]));\n  return energy.item() as number;\n}\n`,
    lines: {
      5: '',
      6: '  return [hidden.ref, hidden.sum()] as const;',
      10: '  const [hidden, energy] = forward(np.ones([3]));\n  last = hidden; // for later',
    },
  },
];

describe('fixes of rules', function () {
  this.timeout(180_000);
  let found: readonly (readonly Diagnostic[])[] = [];
  let again: readonly (readonly Diagnostic[])[] = [];
  let errors: readonly (readonly string[])[] = [];
  const after: string[] = [];

  before(async () => {
    found = await checkAll(rows.map((row) => row.before));
    after.push(
      ...rows.map((row, i) => {
        const fix = fixOf(row, found[i]!);
        return fix === undefined ? row.before : applyEdits(row.before, fix.edits);
      }),
    );
    again = await checkAll(after);
    errors = typeErrors(after);
  });

  for (const [i, row] of rows.entries()) {
    it(`${row.rule}: ${row.title}`, () => {
      const fix = fixOf(row, found[i]!);
      assert.ok(
        fix !== undefined,
        `no such fix; found: ${found[i]!.map((d) => `${d.rule}: ${d.fixes.map((f) => f.title).join(', ')}`).join('; ')}`,
      );
      assert.equal(fix.disabled, undefined);
      assert.equal(fix.safe, row.safe, 'safe');
      assert.equal(after[i], expected(row));
      assert.deepEqual(errors[i], []);
      assert.deepEqual(
        again[i]!.filter(({ severity }) => severity === 'error' || severity === 'warning').map(({ rule }) => rule),
        row.left ?? [],
      );
    });
  }
});

const fixOf = (row: Row, diagnostics: readonly Diagnostic[]): Fix | undefined =>
  diagnostics
    .filter(({ rule }) => rule === row.rule)
    .flatMap(({ fixes }) => fixes)
    .find(({ title }) => title.startsWith(row.fix));

/** The lines of `before` with those that the row names replaced; an empty one is gone. */
function expected({ before, lines }: Row): string {
  return before
    .split('\n')
    .flatMap((line, index) => {
      const put = lines[index + 1];
      return put === undefined ? [line] : put === '' ? [] : [put];
    })
    .join('\n');
}

/** What TypeScript has against each text. */
function typeErrors(texts: readonly string[]): readonly (readonly string[])[] {
  const fixture = lay(texts.flatMap((text, i) => filesOf(text).map(({ text: part }) => ({ name: `f${i}.ts`, text: part }))));
  try {
    const config = ts.parseJsonConfigFileContent(
      JSON.parse(readFileSync(join(fixture.folder, 'tsconfig.json'), 'utf8')),
      ts.sys,
      fixture.folder,
    );
    const program = ts.createProgram(config.fileNames, config.options);
    return texts.map((_, i) => {
      const file = program.getSourceFile(join(fixture.folder, `f${i}.ts`));
      return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)].map(({ messageText }) =>
        ts.flattenDiagnosticMessageText(messageText, '\n'),
      );
    });
  } finally {
    fixture.remove();
  }
}
