/**
 * Lowered functions as text: every way out runs its cleanups, chains and conditions are branches, calls are resolved.
 *
 * Depends on: lower, libraries, program, support.
 */
import assert from 'node:assert/strict';
import { models } from '../../language-server/libraries/index.ts';
import { lowerFile } from '../../language-server/lower/lower.ts';
import { createNaming } from '../../language-server/lower/naming.ts';
import { print } from '../../language-server/lower/print.ts';
import { createTexts } from '../../language-server/program/host.ts';
import { createProgram, createRegistry } from '../../language-server/program/program.ts';
import { lay } from '../support/fixture.ts';

const text = `
import { np, type Array } from 'tidemark';
export function leaves(x: Array, flag: boolean): number {
  outer: for (let i = 0; i < 3; i++) {
    using y = x.mul(i);
    for (;;) {
      if (flag) continue outer;
      if (i > 1) break outer;
      return y.size;
    }
  }
  return 0;
}
export function guarded(x: Array): number {
  try {
    return x.size;
  } finally {
    x.dispose();
  }
}
export const optional = (x?: { y?: Array }): number => x?.y?.sum().size ?? 0;
`;

describe('lowering', function () {
  this.timeout(120_000);
  const printed = new Map<string, string>();

  before(() => {
    const fixture = lay([{ name: 'a.ts', text }]);
    const facts = createProgram(createTexts(), createRegistry(), `${fixture.folder}/tsconfig.json`).facts();
    const unit = lowerFile({ facts, models, naming: createNaming(facts) }, facts.program.getSourceFile(fixture.files[0]!)!);
    for (const fn of unit.functions.values()) printed.set(fn.name, print(fn));
    fixture.remove();
  });

  const count = (name: string, what: string): number => (printed.get(name) ?? '').split(what).length - 1;

  it('a using declaration is disposed on every way out of its block: continue, break, return, and the end', () =>
    assert.equal(count('leaves', 'dispose y'), 4));

  it('a finally body is copied before the return and after the block', () =>
    assert.equal(count('guarded', '.dispose() -> tidemark:Array.dispose'), 2));

  it('each optional link is a branch', () => assert.equal(count('optional', 'nullish'), 3));

  it('methods are named by the type that declares them', () => assert.equal(count('optional', '-> tidemark:Array.sum'), 1));
});
