/**
 * A file that is lowered again after an edit is what lowering it afresh gives, place for place; and what the edit cannot
 * have touched is kept.
 *
 * Depends on: lower, libraries, program, support.
 */
import assert from 'node:assert/strict';
import { models } from '../../language-server/libraries/index.ts';
import { lowerFile, type LoweringInput } from '../../language-server/lower/lower.ts';
import { createNaming } from '../../language-server/lower/naming.ts';
import { relower, type Lowered } from '../../language-server/lower/relower.ts';
import { createTexts } from '../../language-server/program/host.ts';
import { createProgram, createRegistry } from '../../language-server/program/program.ts';
import { lay } from '../support/fixture.ts';

const text = `
import { jit, np, type Array } from 'tidemark';
let last: Array | undefined;
export function first(x: Array) {
  const y = x.mul(2);
  return y;
}
export const step = jit((x: Array) => {
  const twice = x.add(x);
  return twice;
});
export class Mean {
  private total = np.zeros([3]);
  readonly scaled = (by: number) => this.total.mul(by);
  add(x: Array): void {
    const next = this.total.add(x);
    this.total.dispose();
    this.total = next;
  }
}
export function user(n: number) {
  const made = first(np.ones([n]));
  const keep = () => made.size;
  using out = step(made);
  return [keep(), out.size];
}
if (last) user(3);
`;

describe('lowering again after an edit', function () {
  this.timeout(120_000);
  const fixture = lay([{ name: 'a.ts', text }]);
  const file = fixture.files[0]!;
  const texts = createTexts();
  const program = createProgram(texts, createRegistry(), `${fixture.folder}/tsconfig.json`);
  after(() => fixture.remove());

  const lowered = (now: string, before?: Lowered): { readonly again: Lowered; readonly fresh: Lowered['unit'] } => {
    texts.open(file, now);
    const facts = program.facts();
    const input: LoweringInput = { facts, models, naming: createNaming(facts) };
    const source = facts.program.getSourceFile(file)!;
    return { again: relower(input, source, before), fresh: lowerFile(input, source) };
  };

  const edits: readonly (readonly [title: string, from: string, to: string, keeps: boolean])[] = [
    ['a statement more', 'const y = x.mul(2);', 'const y = x.mul(2);\n  const z = y.add(1);', true],
    ['a statement less, in a method', '    this.total.dispose();\n', '', true],
    ['inside what is compiled', 'x.add(x)', 'x.add(x).mul(3)', true],
    ['a callback more', 'using out = step(made);', 'const more = () => keep();\n  using out = step(made);\n  more();', true],
    ['another result type', 'return y;\n}', 'return y.size;\n}', false],
    ['a variable of the module is assigned', 'const y = x.mul(2);', 'const y = x.mul(2);\n  last = y;', false],
    ['a class inside', 'const y = x.mul(2);', 'class Box {}\n  const y = x.mul(2);', false],
    ['a brace too few', 'return twice;\n}', 'return twice;\n', false],
    ['a comment that swallows', 'const twice', '/* const twice', false],
    ['a parameter more', 'add(x: Array)', 'add(x: Array, n = 1)', false],
    ['between functions', 'export class', 'const zero = 0;\nexport class', false],
  ];
  const typeOfX = ({ unit }: Lowered, id: string): unknown => unit.functions.get(id)!.locals.find(({ name }) => name === 'x')!.type;
  for (const [title, from, to, keeps] of edits)
    it(`${title}: ${keeps ? 'the rest is kept' : 'all is made again'}`, () => {
      assert.ok(text.includes(from));
      const before = lowered(text).again;
      const now = text.replace(from, to);
      const { again, fresh } = lowered(now, before);
      assert.deepEqual(again.unit, fresh);
      assert.deepEqual([...again.unit.functions.keys()], [...fresh.functions.keys()]);
      const other = `${file}#${now.indexOf(to) < text.indexOf('export const step') ? 'step' : 'first'}`;
      // A type fact is made anew with its function.
      assert.equal(typeOfX(before, other) === typeOfX(again, other), keeps);
      const back = lowered(text, again);
      assert.deepEqual(back.again.unit, back.fresh);
    });
});
