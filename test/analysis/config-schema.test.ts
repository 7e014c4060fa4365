/**
 * The schema of `tidemark.json` accepts what the analyser understands, and refuses what it complains of.
 *
 * Depends on: language-server/config, scripts/support/config-schema, ajv.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { parseConfig } from '../../language-server/config.ts';
import { configSchema, configSchemaText } from '../../scripts/support/config-schema.ts';

const good: Readonly<Record<string, unknown>> = {
  'nothing at all': {},
  'severities and limits': { rules: { leak: 'error', 'late-free': 'off' }, minBytes: '64 KiB', memoryBudget: '4GiB', assume: { B: 32 } },
  'a budget in bytes': { memoryBudget: 1024 },
  'a library': {
    libraries: [
      {
        modules: ['@acme/arrays'],
        arrays: ['Table'],
        convention: 'borrows',
        free: ['close'],
        calls: {
          'Table.take': { arguments: { receiver: 'consumes', 0: 'reads' }, result: 'creates' },
          same: { result: { aliases: 0 } },
          compile: { compiles: { options: 2 } },
          derive: { transforms: 'grad' },
          loop: { traces: 1 },
        },
      },
    ],
  },
};

/** Each with what `config` says of it. */
const bad: Readonly<Record<string, unknown>> = {
  'no object': [],
  'an unknown severity': { rules: { leak: 'fatal' } },
  'a library without modules': { libraries: [{ arrays: ['Table'] }] },
  'a library that is a name': { libraries: ['@acme/arrays'] },
  'an unknown verb': { libraries: [{ modules: ['a'], calls: { f: { arguments: { 0: 'eats' } } } }] },
  'an unknown transformation': { libraries: [{ modules: ['a'], calls: { f: { transforms: 'melt' } } }] },
  'a call that is a word': { libraries: [{ modules: ['a'], calls: { f: 'creates' } }] },
};

describe('the schema of tidemark.json', () => {
  const validate = new Ajv({ allErrors: true }).compile(configSchema);

  for (const [title, value] of Object.entries(good)) {
    it(`accepts ${title}`, () => {
      assert.ok(validate(value), JSON.stringify(validate.errors));
      assert.deepEqual(parseConfig(value).faults, []);
    });
  }

  for (const [title, value] of Object.entries(bad)) {
    it(`refuses ${title}, as the analyser does`, () => {
      assert.equal(validate(value), false);
      assert.notDeepEqual(parseConfig(value).faults, []);
    });
  }

  it('refuses a rule and a setting that do not exist', () => {
    assert.equal(validate({ rules: { leaks: 'error' } }), false);
    assert.equal(validate({ minbytes: 1 }), false);
  });

  it('is the file that the extension contributes (else: npm run write)', () => {
    const root = new URL('../../', import.meta.url);
    assert.equal(readFileSync(new URL('tidemark.schema.json', root), 'utf8'), configSchemaText());
    const manifest = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as {
      contributes: { jsonValidation: readonly { fileMatch: string; url: string }[] };
    };
    assert.deepEqual(manifest.contributes.jsonValidation, [{ fileMatch: 'tidemark.json', url: './tidemark.schema.json' }]);
  });
});
