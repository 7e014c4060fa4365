/**
 * The settings in one table, in the order in which people see them: the manifest and its texts are generated from it.
 *
 * `path` is the name after `tidemark.`; `restricted` ones are ignored in an untrusted workspace because they say what is
 * executed. Depends on: nothing.
 */
export interface Setting {
  readonly path: string;
  readonly category: 'Findings' | 'Numbers in the editor' | 'Profiling' | 'Runtime memory';
  readonly text: string;
  readonly schema: Readonly<Record<string, unknown>>;
  /** Texts of the values of an `enum`, in its order. */
  readonly choices?: readonly string[];
  readonly scope: 'resource' | 'window' | 'machine-overridable';
  readonly restricted?: true;
}

const severities = ['off', 'hint', 'info', 'warning', 'error'];

export const settings: readonly Setting[] = [
  {
    path: 'rules',
    category: 'Findings',
    text: 'Severity of a rule, by its name, for example `{ "leak": "error", "late-free": "off" }`. Rules that are not named keep their own severity.',
    schema: { type: 'object', default: {}, additionalProperties: { type: 'string', enum: severities } },
    scope: 'resource',
  },
  {
    path: 'minBytes',
    category: 'Findings',
    text: 'Hints about memory start at this many bytes.',
    schema: { type: 'integer', default: 1048576, minimum: 0 },
    scope: 'resource',
  },
  {
    path: 'memoryBudget',
    category: 'Findings',
    text: 'The most memory that the programs of this project may use, for example `4 GiB`. A comment `// @budget 64 MiB` above a function, or on the second line of a file, goes first. Empty: no budget.',
    schema: {
      type: 'string',
      default: '',
      pattern: '^$|^\\s*\\d+(\\.\\d+)?\\s*([KMGT]i?)?B?\\s*$',
      patternErrorMessage: 'A number with B, KiB, MiB or GiB.',
    },
    scope: 'resource',
  },
  {
    path: 'codeLens',
    category: 'Numbers in the editor',
    text: 'Shows the estimated and the measured peak above functions, and the link that measures.',
    schema: { type: 'boolean', default: true },
    scope: 'resource',
  },
  {
    path: 'inlay',
    category: 'Numbers in the editor',
    text: 'Shows measured memory at the end of lines that allocate. Nothing is shown before the first measurement.',
    schema: { type: 'string', enum: ['all', 'peak', 'off'], default: 'all' },
    choices: ['Every line that allocates at least `#tidemark.minBytes#` bytes.', 'Only the line where the peak was reached.', 'Nothing.'],
    scope: 'resource',
  },
  {
    path: 'lifetimes',
    category: 'Numbers in the editor',
    text: 'Underlines where the array under the caret is alive: solid where it is certain, dashed where it depends on the path taken.',
    schema: { type: 'boolean', default: true },
    scope: 'resource',
  },
  {
    path: 'nodePath',
    category: 'Profiling',
    text: 'The Node (20.11 or later) that runs measured programs. It has to be a real Node: an Electron cannot host WebGPU. Empty: the `node` on the PATH.',
    schema: { type: 'string', default: '' },
    scope: 'machine-overridable',
    restricted: true,
  },
  {
    path: 'profile.device',
    category: 'Profiling',
    text: 'The device on which programs that use `tidemark` are measured.',
    schema: { type: 'string', enum: ['webgpu', 'cpu'], default: 'webgpu' },
    choices: [
      'WebGPU: the graphics processor, or software where there is none.',
      'The reference device: same plan and same bytes, no graphics processor.',
    ],
    scope: 'resource',
  },
  {
    path: 'profile.timeoutSeconds',
    category: 'Profiling',
    text: 'A measured program is ended after this many seconds; what was measured until then is kept.',
    schema: { type: 'integer', default: 300, minimum: 1, maximum: 86400 },
    scope: 'resource',
  },
  {
    path: 'profile.args',
    category: 'Profiling',
    text: 'Command-line arguments of measured programs.',
    schema: { type: 'array', default: [], items: { type: 'string' } },
    scope: 'resource',
    restricted: true,
  },
  {
    path: 'profile.environment',
    category: 'Profiling',
    text: 'Environment variables of measured programs.',
    schema: { type: 'object', default: {}, additionalProperties: { type: 'string' } },
    scope: 'resource',
    restricted: true,
  },
  {
    path: 'profile.cwd',
    category: 'Profiling',
    text: 'Working directory of measured programs, relative to the workspace folder. Empty: the workspace folder.',
    schema: { type: 'string', default: '' },
    scope: 'resource',
    restricted: true,
  },
  {
    path: 'profile.entries',
    category: 'Profiling',
    text: 'What is run to measure a file, for example `{ "src/model.ts": "test/model.test.ts" }`. A file that is not named runs itself. Paths are relative to the workspace folder; an address such as `http://localhost:5173/` is opened in Chrome.',
    schema: { type: 'object', default: {}, additionalProperties: { type: 'string' } },
    scope: 'resource',
    restricted: true,
  },
  {
    path: 'profile.chromePath',
    category: 'Profiling',
    text: 'The Chrome or Chromium in which pages are measured. Empty: the one that is installed.',
    schema: { type: 'string', default: '' },
    scope: 'machine-overridable',
    restricted: true,
  },
  {
    path: 'memory.allocator',
    category: 'Runtime memory',
    text: 'How the runtime gets memory from the device.',
    schema: { type: 'string', enum: ['bfc', 'platform'], default: 'bfc' },
    choices: ['From slabs, best fit with coalescing.', 'One buffer per array, given back at once: slower, nothing is kept.'],
    scope: 'resource',
  },
  {
    path: 'memory.preallocate',
    category: 'Runtime memory',
    text: 'Reserves `#tidemark.memory.fraction#` of the limit at the start: less fragmentation and an early error, but nothing left for other users of the device.',
    schema: { type: 'boolean', default: false },
    scope: 'resource',
  },
  {
    path: 'memory.fraction',
    category: 'Runtime memory',
    text: 'The share of the limit that `#tidemark.memory.preallocate#` reserves.',
    schema: { type: 'number', default: 0.75, exclusiveMinimum: 0, maximum: 1 },
    scope: 'resource',
  },
  {
    path: 'memory.limit',
    category: 'Runtime memory',
    text: 'The most that the runtime takes from the device, for example `2 GiB`. Empty: what the device gives, a quarter of the main memory where it is software.',
    schema: {
      type: 'string',
      default: '',
      pattern: '^$|^\\s*\\d+(\\.\\d+)?\\s*([KMGT]i?)?B?\\s*$',
      patternErrorMessage: 'A number with B, KiB, MiB or GiB.',
    },
    scope: 'resource',
  },
];
