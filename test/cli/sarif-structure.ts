/**
 * The part of SARIF 2.1.0 that `tidemark check` writes, as a schema in words of its own: closed, so that a misspelt key is a fault.
 *
 * Depends on: nothing.
 */
const text = { type: 'object', properties: { text: { type: 'string', minLength: 1 } }, required: ['text'], additionalProperties: false };
const region = {
  type: 'object',
  properties: Object.fromEntries(
    ['startLine', 'startColumn', 'endLine', 'endColumn'].map((name) => [name, { type: 'integer', minimum: 1 }]),
  ),
  required: ['startLine'],
  additionalProperties: false,
};
const artifactLocation = {
  type: 'object',
  properties: { uri: { type: 'string', pattern: '^[^\\\\ ]+$' }, uriBaseId: { type: 'string' } },
  required: ['uri'],
  additionalProperties: false,
};
const physicalLocation = {
  type: 'object',
  properties: { artifactLocation, region },
  required: ['artifactLocation'],
  additionalProperties: false,
};
const list = (items: object, more: object = {}): object => ({ type: 'array', items, ...more });

export const sarifStructure = {
  type: 'object',
  properties: {
    $schema: { type: 'string', pattern: 'sarif-2\\.1\\.0' },
    version: { const: '2.1.0' },
    runs: list({
      type: 'object',
      properties: {
        tool: {
          type: 'object',
          properties: {
            driver: {
              type: 'object',
              properties: {
                name: { type: 'string' },
                semanticVersion: { type: 'string' },
                rules: list(
                  {
                    type: 'object',
                    properties: {
                      id: { type: 'string' },
                      name: { type: 'string' },
                      shortDescription: text,
                      fullDescription: text,
                      help: text,
                    },
                    required: ['id'],
                    additionalProperties: false,
                  },
                  { uniqueItems: true },
                ),
              },
              required: ['name'],
              additionalProperties: false,
            },
          },
          required: ['driver'],
          additionalProperties: false,
        },
        columnKind: { enum: ['utf16CodeUnits', 'unicodeCodePoints'] },
        originalUriBaseIds: {
          type: 'object',
          additionalProperties: { type: 'object', properties: { description: text }, additionalProperties: false },
        },
        results: list({
          type: 'object',
          properties: {
            ruleId: { type: 'string' },
            ruleIndex: { type: 'integer', minimum: 0 },
            level: { enum: ['none', 'note', 'warning', 'error'] },
            message: text,
            locations: list({ type: 'object', properties: { physicalLocation }, additionalProperties: false }),
            relatedLocations: list({
              type: 'object',
              properties: { id: { type: 'integer', minimum: 0 }, message: text, physicalLocation },
              additionalProperties: false,
            }),
            fixes: list({
              type: 'object',
              properties: {
                description: text,
                artifactChanges: list(
                  {
                    type: 'object',
                    properties: {
                      artifactLocation,
                      replacements: list(
                        {
                          type: 'object',
                          properties: {
                            deletedRegion: region,
                            insertedContent: { type: 'object', properties: { text: { type: 'string' } }, additionalProperties: false },
                          },
                          required: ['deletedRegion'],
                          additionalProperties: false,
                        },
                        { minItems: 1 },
                      ),
                    },
                    required: ['artifactLocation', 'replacements'],
                    additionalProperties: false,
                  },
                  { minItems: 1 },
                ),
              },
              required: ['artifactChanges'],
              additionalProperties: false,
            }),
            partialFingerprints: { type: 'object', additionalProperties: { type: 'string' } },
            properties: { type: 'object' },
          },
          required: ['message'],
          additionalProperties: false,
        }),
      },
      required: ['tool'],
      additionalProperties: false,
    }),
  },
  required: ['version', 'runs'],
  additionalProperties: false,
};
