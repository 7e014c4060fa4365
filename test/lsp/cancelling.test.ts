/**
 * Work that nobody wants any more ends within a few steps, wherever it is, and leaves nothing behind.
 *
 * Steps are counted, not milliseconds: a question is given up at its n-th look at the token, for many n, and the next
 * answer is that of a workspace that was never interrupted. Depends on: workspace, fixture.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { Cancelled, createWorkspace, type CancelToken, type Workspace } from '../../language-server/workspace.ts';
import { lay, type Fixture } from '../support/fixture.ts';

const branches = Array.from({ length: 12 }, (_, i) => `  if (flags[${i}]) x = next(x, ${i});`).join('\n');
const text = `import { jit, np, type Array } from 'tidemark';
const scale = jit((x: Array): Array => x.mul(2).add(1));
function next(x: Array, by: number): Array {
  const y = x.add(by);
  x.dispose();
  return y;
}
export async function main(flags: readonly boolean[]): Promise<void> {
  let x = np.ones([512, 1024]);
${branches}
  const y = scale(x);
  x.dispose();
  console.log(await y.sum().item(), await x.sum().item());
  y.dispose();
}
`;

/** A token that is cancelled when it is looked at for the n-th time. */
function cancelledAt(n: number): CancelToken & { readonly looks: number } {
  let looks = 0;
  return {
    get isCancelled() {
      return ++looks >= n;
    },
    get looks() {
      return looks;
    },
  };
}

describe('cancelling', function () {
  this.timeout(0);
  let fixture: Fixture;
  let workspace: Workspace;
  let file: string;
  let whole: string;
  let looks: number;

  const ask = async (token: CancelToken): Promise<string> =>
    JSON.stringify([await workspace.diagnostics(token, file), await workspace.functions(token, file)]);

  before(async () => {
    fixture = lay([{ name: 'src/app.ts', text }]);
    file = join(fixture.folder, 'src/app.ts');
    workspace = createWorkspace({ cwd: fixture.folder });
    const token = cancelledAt(Number.POSITIVE_INFINITY);
    whole = await ask(token);
    looks = token.looks;
  });
  after(() => fixture.remove());

  it('looks at the token in every part of the work', () => {
    const report = JSON.parse(whole) as [{ rule: string }[], unknown[]];
    assert.ok(
      report[0].some(({ rule }) => rule === 'use-after-dispose'),
      whole,
    );
    // Statements, steps of the walk and events of the compiled walk: far more than one look per file and function.
    assert.ok(looks > 60, `${looks} looks`);
  });

  it('ends at the look that sees it, and the next answer is whole', async () => {
    for (let n = 1; n < looks; n += Math.ceil(looks / 23)) {
      workspace.setText(file, `${text}// ${n}\n`);
      const token = cancelledAt(n);
      await assert.rejects(ask(token), Cancelled, `look ${n} of ${looks}`);
      assert.ok(token.looks - n <= 2, `went on for ${token.looks - n} looks after look ${n}`);
      workspace.setText(file, text);
      assert.equal(await ask({ isCancelled: false }), whole, `after look ${n}`);
    }
  });
});
