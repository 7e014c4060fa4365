/**
 * What people read of arrays and compiled functions: the hover's table, and the documents of each stage.
 *
 * Depends on: language-server (workspace), node.
 */
import assert from 'node:assert/strict';
import { join, resolve } from 'node:path';
import { reuseOf } from '../../runtime/events/reuse.ts';
import { createWorkspace } from '../../language-server/workspace.ts';

const cases = resolve(import.meta.dirname, '..', 'cases');
const file = join(cases, 'explained.ts');
const never = { isCancelled: false };

const program = `import { jit, np, nn, type Array } from 'tidemark';
export const step = jit(
  (weights: Array, x: Array): Array => {
    const h1 = x.matmul(weights);
    const h2 = nn.softmax(h1, -1);
    const h3 = h2.matmul(weights);
    const folded = h3.mul(2);
    const h4 = folded.add(x);
    return h4.matmul(weights);
  },
  { donateArgnums: [1] },
);
export function main(): void {
  const weights = np.ones([256, 256]);
  const batch = np.ones([1024, 256]);
  const kept = { batch };
  const result = step(weights, batch);
  result.dispose();
  weights.dispose();
  void kept;
}
`;

async function hovered(word: string, nth = 0): Promise<string> {
  const workspace = createWorkspace({ cwd: cases });
  workspace.setText(file, program);
  let at = -1;
  for (let i = 0; i <= nth; i++) at = program.indexOf(word, at + 1);
  const before = program.slice(0, at).split('\n');
  return (await workspace.hover(never, file, { line: before.length, column: before.at(-1)!.length + 1 })) ?? '';
}

const rows = (text: string): readonly string[] =>
  text
    .replaceAll('&nbsp;&nbsp;', '')
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| |'));

describe('hover of an array', () => {
  it('says shape, bytes, life, freeing and donation of an array outside of compiled functions', async () => {
    const text = await hovered('weights = np');
    assert.match(text, /^\*\*`weights`\*\* `f32\[256,256\]`\n/);
    assert.deepEqual(rows(text), ['| bytes | 256.0 KiB |', '| alive | line 14 to line 19 |', '| donated | no |', '| freed | on line 19 |']);
  });

  it('says where it was donated, and what holds it', async () => {
    const text = await hovered('batch = np');
    assert.ok(rows(text).includes('| donated | on line 17 |'), text);
    assert.match(text, /\| held by&nbsp;&nbsp; \| .*`kept/);
  });

  it('says of a parameter of a compiled function what is passed, and whether it is given away', async () => {
    assert.ok(rows(await hovered('x: Array')).includes('| memory | donated: the function may write over it |'));
    assert.ok(rows(await hovered('weights: Array')).includes('| memory | its own: the caller keeps it |'));
  });

  it('says what lies in the space of what', async () => {
    const text = await hovered('h4 =');
    assert.match(text, /`f32\[1024,256\]`/);
    assert.match(text, /\| memory&nbsp;&nbsp; \| (reuses the space of|takes over the buffer of|updated in place, over) `\w+`/);
  });

  it('says of what is computed inside of a kernel that it takes no memory', async () => {
    assert.ok(
      rows(await hovered('folded =')).some((row) => row.includes('none of its own')),
      await hovered('folded ='),
    );
  });

  it('says of a parameter that the function gives it away (liesel PR 272, elegy PR 226, crazyflow PR 110)', async () => {
    const source = `import { jit, np, type Array } from 'tidemark';
const factor = jit((a: Array, b: Array): Array => a.matmul(b), { donateArgnums: 0 });
export function solve(matrix: Array, right: Array): Array {
  return factor(matrix, right);
}
export function main(): void {
  using right = np.ones([64, 64]);
  solve(np.ones([64, 64]), right).dispose();
}
`;
    const workspace = createWorkspace({ cwd: cases });
    workspace.setText(file, source);
    const columnOf = (word: string): number => source.split('\n')[2]!.indexOf(word) + 1;
    const of = async (word: string): Promise<string> => (await workspace.hover(never, file, { line: 3, column: columnOf(word) })) ?? '';
    assert.ok(rows(await of('matrix')).includes('| donated | on line 4 |'), await of('matrix'));
    assert.doesNotMatch(await of('right'), /donated/);
  });

  it('says nothing of what is no array', async () => assert.equal(await hovered('main'), ''));
});

describe('the life of an array', () => {
  /** The source with a line under each: `=` certain, `-` possible, `^` born, `!` last use, `#` donated. */
  async function drawn(source: string, word: string): Promise<string> {
    const workspace = createWorkspace({ cwd: cases });
    workspace.setText(file, source);
    const before = source.slice(0, source.indexOf(word)).split('\n');
    const life = await workspace.life(never, file, { line: before.length, column: before.at(-1)!.length + 1 });
    const lines = source.split('\n');
    const under = lines.map((line) => ' '.repeat(line.length).split(''));
    const letters = { born: '^', lastUse: '!', donated: '#' };
    for (const { start, end, certain, kind } of life?.ranges ?? []) {
      for (let line = start.line; line <= end.line; line++) {
        const from = line === start.line ? start.column - 1 : 0;
        const to = line === end.line ? end.column - 1 : under[line - 1]!.length;
        for (let at = from; at < to; at++) under[line - 1]![at] = kind === 'alive' ? (certain ? '=' : '-') : letters[kind];
      }
    }
    return lines.flatMap((line, i) => [line, ...(under[i]!.join('').trim() === '' ? [] : [under[i]!.join('').trimEnd()])]).join('\n');
  }

  it('is certain where every way uses it, possible where only some do, and none where it is not needed', async () => {
    const source = `import { np, type Array } from 'tidemark';
export function total(x: Array, deep: boolean): Array {
  const h = np.tanh(x);
  console.log('made');
  if (deep) {
    console.log('deep');
    return h.add(x);
  } else {
    console.log('flat');
  }
  return x.mul(2);
}`;
    assert.equal(
      await drawn(source, 'h ='),
      `import { np, type Array } from 'tidemark';
export function total(x: Array, deep: boolean): Array {
  const h = np.tanh(x);
  ^^^^^^^^^^^^^^^^^^^^^
  console.log('made');
  --------------------
  if (deep) {
  --------
    console.log('deep');
    ====================
    return h.add(x);
    =======!!!!!!!!
  } else {
    console.log('flat');
  }
  return x.mul(2);
}`,
    );
  });

  it('goes on through the loop that reads it', async () => {
    const source = `import { np, type Array } from 'tidemark';
export async function sum(x: Array, n: number): Promise<void> {
  const h = np.tanh(x);
  for (let i = 0; i < n; i++) {
    using y = h.mul(i);
    console.log(await y.item());
  }
  h.dispose();
  x.dispose();
}`;
    const text = await drawn(source, 'h =');
    assert.match(text, /console\.log\(await y\.item\(\)\);\n {4}=+\n/, text);
    assert.match(text, /h\.dispose\(\);\n {2}!+\n {2}x\.dispose\(\);\n\}$/, text);
  });
});

describe('a compiled function explained', () => {
  it('has a text for each stage, with lines and names', async () => {
    const workspace = createWorkspace({ cwd: cases });
    workspace.setText(file, program);
    const explanation = await workspace.explain(never, file, { name: 'step', line: 3 });
    assert.equal(explanation?.why, null);
    const { trace, ir, schedule, plan } = explanation!.stages;
    assert.match(trace!, /^a {2}weights {2}f32\[256,256\]\nb {2}x {8}f32\[1024,256\] +donated$/m);
    assert.match(trace!, /= dot b a .* # explained\.ts:4:\d+$/m);
    assert.ok(ir!.split('\n').length <= trace!.split('\n').length);
    assert.match(schedule!, /^ *0 {2}k0 \S+ +x, weights +h1 #\d+ +explained\.ts:4:\d+$/m);
    assert.match(plan!, /^peak +[\d.]+ MiB; no plan of this order needs less than [\d.]+ MiB$/m);
    assert.match(plan!, /^#\d+ +h4 +f32\[1024,256\] +1\.0 MiB +·+━+·* +explained\.ts:8:\d+/m);
  });

  it('says why there is no text', async () => {
    const workspace = createWorkspace({ cwd: cases });
    workspace.setText(file, `import { jit, type Array } from 'tidemark';\nexport const f = jit((x: Array): Array => x.add(1));\n`);
    const explanation = await workspace.explain(never, file, { name: 'f', line: 2 });
    assert.equal(explanation?.stages.plan, null);
    assert.ok(explanation.why !== null && explanation.why.length > 10, explanation.why ?? '');
    assert.equal(await workspace.explain(never, file, { name: 'nobody', line: 99 }), undefined);
  });

  it('counts reuse for the lens', async () => {
    const workspace = createWorkspace({ cwd: cases });
    workspace.setText(file, program);
    const fact = (await workspace.functions(never, file)).find(({ name }) => name === 'step');
    assert.ok(fact?.compiled !== undefined && fact.compiled.inPlace + fact.compiled.space > 0, JSON.stringify(fact));
    const { argumentBytes, outputBytes, aliasBytes, tempBytes } = fact.compiled;
    assert.ok(argumentBytes > 0 && outputBytes > 0, 'what the bytes are for');
    assert.ok(fact.staticPeakBytes! <= argumentBytes + outputBytes - aliasBytes + tempBytes);
  });
});

describe('whose bytes a value has', () => {
  const value = (born: number, dies: number, offset: number, more: object = {}) => ({
    place: 0,
    bytes: 256,
    shape: [64],
    dtype: 'float32' as const,
    born,
    dies,
    what: 'temp' as const,
    region: 0,
    offset,
    ...more,
  });

  it("fresh, over an operand, taken over, or a dead value's", () => {
    const values = [
      value(0, 9, 0, { what: 'argument', region: 1 }),
      value(0, 2, 0),
      value(1, 3, 256),
      value(2, 4, 0),
      value(3, 5, 256, { reuses: 2 }),
      value(3, 9, 0, { region: 1, reuses: 0 }),
      value(1, 3, 384, { bytes: 256 }),
    ];
    assert.deepEqual(
      values.map((_, i) => reuseOf(values, i)),
      [undefined, undefined, undefined, { kind: 'space', of: 1 }, { kind: 'inPlace', of: 2 }, { kind: 'takesOver', of: 0 }, undefined],
    );
  });
});
