/**
 * The JSON schema of `tidemark.json`: what editors complete and check while one writes it.
 *
 * Rules and their words come from the rules themselves; the rest says what `config` reads. `npm run write` puts it into
 * `tidemark.schema.json`, which the extension contributes. Depends on: rules.
 */
import { rules } from '../../language-server/rules/index.ts';

const text = (description: string): object => ({ type: 'string', description });
const names = (description: string): object => ({ type: 'array', items: { type: 'string' }, description });
const bytes = (description: string): object => ({
  description,
  anyOf: [
    { type: 'integer', minimum: 0 },
    { type: 'string', pattern: '^\\s*[0-9.]+\\s*[KMGTkmgt]?i?[Bb]\\s*$' },
  ],
});

const verbs = ['inspects', 'reads', 'stores', 'donates', 'consumes', 'disposes', 'keeps', 'records'];

const call = {
  type: 'object',
  additionalProperties: false,
  properties: {
    arguments: {
      type: 'object',
      description: 'What happens to each argument, by position; `receiver` is the object the method is called on, `rest` all others.',
      propertyNames: { pattern: '^([0-9]+|receiver|rest)$' },
      additionalProperties: { enum: verbs },
    },
    result: {
      description: 'Where the result comes from: made by the call, plain data, unknown, or an argument by another name.',
      anyOf: [
        { enum: ['creates', 'host', 'unknown'] },
        { type: 'object', required: ['aliases'], additionalProperties: false, properties: { aliases: { type: 'integer', minimum: 0 } } },
      ],
    },
    scope: { type: 'boolean', description: 'Frees what its callback made, but the result.' },
    compiles: {
      description: 'Makes a compiled function of its argument, as `jit` does; its options may donate arguments.',
      oneOf: [
        { type: 'boolean' },
        {
          type: 'object',
          properties: {
            function: { type: 'integer', minimum: 0, description: 'Which argument is the function; 0 when absent.' },
            options: { type: 'integer', minimum: 0, description: 'Which argument holds the options; 1 when absent.' },
          },
          additionalProperties: false,
        },
      ],
    },
    transforms: {
      enum: ['grad', 'valueAndGrad', 'vmap', 'checkpoint', 'other'],
      description: 'Makes another function of its first argument, which it traces when called.',
    },
    traces: { type: 'integer', minimum: 0, description: 'Traces the function that is this argument, at the call.' },
  },
};

const library = {
  type: 'object',
  required: ['modules'],
  additionalProperties: false,
  properties: {
    id: text('How the library is called here; its first module when absent.'),
    modules: { ...names('Package names; a trailing `*` matches any rest.'), minItems: 1 },
    arrays: names('Type names whose values are device arrays.'),
    owners: names('Type names whose values own arrays and are freed as a whole.'),
    convention: { enum: ['borrows', 'consumes'], description: 'Do operations leave their arguments to the caller, or take a reference?' },
    free: names('Methods that free the receiver, in order of preference.'),
    freeTwice: { type: 'boolean', description: 'Is freeing twice legal?' },
    metadata: names('Properties that stay readable on a dead array.'),
    noun: text('What one calls an array there.'),
    retain: text('The property that takes a further reference.'),
    copy: text('The method that copies an array.'),
    scopeName: text('The function that wraps work whose intermediates are freed.'),
    aliases: { type: 'object', additionalProperties: { type: 'string' }, description: 'Names by which a namespace export is also known.' },
    calls: { type: 'object', additionalProperties: call, description: 'What calls do, by qualified name: `Table.read`, `ops.add`.' },
  },
};

export const configSchema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'Tidemark',
  type: 'object',
  additionalProperties: false,
  properties: {
    $schema: { type: 'string' },
    rules: {
      type: 'object',
      description: 'The severity of each rule.',
      additionalProperties: false,
      properties: Object.fromEntries(
        rules.map(({ id, summary, severity }) => [
          id,
          { enum: ['off', 'hint', 'info', 'warning', 'error'], description: summary, default: severity },
        ]),
      ),
    },
    minBytes: bytes('Hints about bytes start here.'),
    memoryBudget: bytes('The budget of the project: `4GiB`.'),
    assume: {
      type: 'object',
      description: 'Sizes of dimensions that the text does not say, by name.',
      additionalProperties: { type: 'number', minimum: 0 },
    },
    libraries: { type: 'array', items: library, description: 'Models of further libraries.' },
  },
} as const;

/** The text of `tidemark.schema.json`. */
export const configSchemaText = (): string => `${JSON.stringify(configSchema, null, 2)}\n`;
