/**
 * Programs of the kinds that people get wrong, and their correct twins: each mark found, nothing else reported.
 *
 * Beside the corpus, so that the engine isn't fitted to it: other shapes of the same mistakes, two-file programs, scripts and
 * markup. Depends on: support.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CheckReport } from '../../language-server/protocol.ts';
import { checkFolder } from '../support/check.ts';
import { checkout, lay } from '../support/fixture.ts';

/** Rules whose answer depends on shapes and plans have tests of their own. */
const planned = new Set([
  'missed-donation',
  'unusable-donation',
  'late-free',
  'peak-over-budget',
  'remat-candidate',
  'captured-constant',
  'retrace',
]);

describe('programs', function () {
  this.timeout(300_000);
  const folder = join(checkout, 'test/fixtures/programs');
  const filesOf = (sub: string): readonly { readonly name: string; readonly text: string }[] =>
    readdirSync(join(folder, sub))
      .filter((name) => /\.(tsx?|js)$/.test(name))
      .map((name) => ({ name: join(sub, name), text: readFileSync(join(folder, sub, name), 'utf8') }));
  const files = [...filesOf(''), ...filesOf('more')];
  let report: CheckReport;

  before(async () => {
    const fixture = lay(files);
    report = await checkFolder(fixture.folder);
    fixture.remove();
  });

  it('has programs of every dialect', () => assert.ok(files.length >= 170));

  for (const { name, text } of files) {
    // The programs in `more` are marked for every rule; what `@missed` names is a fault that is known not to be found.
    const all = name.startsWith('more/');
    it(name, () => {
      const marks = text.split('\n').flatMap((line, i) =>
        (/@expect (.*)$/.exec(line)?.[1] ?? '')
          .split(/\s+/)
          .filter((rule) => rule !== '' && (all || !planned.has(rule)))
          .map((rule) => `${i + 1} ${rule}`),
      );
      const isOk = name.includes('-ok');
      const own = report.diagnostics.filter(
        (d) =>
          d.file === name &&
          (all || !planned.has(d.rule)) &&
          (isOk || d.severity === 'error' || d.severity === 'warning' || (all && marks.includes(`${d.line} ${d.rule}`))),
      );
      assert.deepEqual([...new Set(own.map((d) => `${d.line} ${d.rule}`))].sort(), [...marks].sort());
    });
  }
});
