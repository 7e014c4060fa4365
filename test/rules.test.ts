/**
 * Walks the rules: named after their files, listed, documented, and finding exactly what the carets of their cases say.
 *
 * Depends on: rules, support.
 */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Diagnostic } from '../language-server/protocol.ts';
import { withCases } from '../language-server/rules/index.ts';
import { checkAll } from './support/check.ts';
import { checkout } from './support/fixture.ts';
import { expectationsOf, withCarets } from './support/markers.ts';

describe('rules', function () {
  this.timeout(180_000);
  const all = withCases.flatMap(({ rule, cases }) => [
    ...cases.bad.map((text) => ({ rule, text, good: false })),
    ...cases.good.map((text) => ({ rule, text, good: true })),
  ]);
  let found: readonly (readonly Diagnostic[])[] = [];

  before(async () => {
    found = await checkAll(all.map(({ text }) => text));
  });

  it('every rule is a file named after its id, and listed', () => {
    const files = readdirSync(join(checkout, 'language-server/rules'))
      .filter((name) => !['rule.ts', 'index.ts', 'words.ts'].includes(name))
      .map((name) => name.replace(/\.ts$/, ''));
    assert.deepEqual(withCases.map(({ rule }) => rule.id).sort(), files.sort());
  });

  for (const { rule, cases } of withCases) {
    it(`${rule.id} is documented, with cases of both kinds`, () => {
      assert.ok(rule.docs.trim().length > 80, 'docs');
      assert.ok(rule.summary.endsWith('.'), 'summary is a sentence');
      assert.ok(cases.bad.length > 0 && cases.good.length > 0);
    });
  }

  for (const [i, { rule, text, good }] of all.entries()) {
    it(`${rule.id} ${good ? 'is silent on' : 'reports'} case ${i}`, () => {
      const own = found[i]!.filter((d) => d.rule === rule.id);
      const expected = good ? [] : expectationsOf(text).map((e) => `${e.line}:${e.column} ${e.severity}: ${e.message}`);
      const seen = own.map((d) => `${d.line}:${d.column} ${d.severity}: ${d.message}`);
      // A case may state the beginning of a message only: figures of a plan are tested where plans are.
      assert.deepEqual(
        seen.map((text_, k) => (text_.startsWith(expected[k] ?? '\0') ? expected[k] : text_)),
        expected,
        `found:\n${withCarets(text, own)}`,
      );
    });
  }

  it('no good case gets a report of any rule that says something is wrong', () => {
    const wrong = all.flatMap(({ good, rule }, i) =>
      good
        ? found[i]!.filter((d) => d.severity === 'error' || d.severity === 'warning').map(
            (d) => `${rule.id} case ${i}: ${d.rule} ${d.line}: ${d.message}`,
          )
        : [],
    );
    assert.deepEqual(wrong, []);
  });
});
