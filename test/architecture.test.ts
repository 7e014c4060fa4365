/**
 * The structure of the code, checked: who may import whom, that the order of folders has no cycle, how modules open,
 * and words that are out of place.
 *
 * The table is STYLE's; a folder that isn't listed may not exist. Depends on: the files of the checkout, typescript.
 */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');

/** Folder or file -> what it may import besides itself; listed in an order in which every import points to an earlier row. */
const table: readonly (readonly [string, readonly string[]])[] = [
  ['runtime/core', []],
  ['runtime/plan', ['runtime/core']],
  ['runtime/ops', ['runtime/core']],
  ['runtime/events', ['runtime/core', 'pprof-format']],
  ['runtime/ir', ['runtime/core', 'runtime/ops']],
  ['runtime/trace', ['runtime/core', 'runtime/ops', 'runtime/ir']],
  ['runtime/transforms', ['runtime/core', 'runtime/ops', 'runtime/ir', 'runtime/trace']],
  ['runtime/control', ['runtime/core', 'runtime/ops', 'runtime/ir', 'runtime/trace', 'runtime/transforms']],
  ['runtime/functions', ['runtime/core', 'runtime/ops', 'runtime/ir', 'runtime/trace', 'runtime/transforms', 'runtime/control']],
  ['runtime/compile', ['runtime/core', 'runtime/events', 'runtime/ops', 'runtime/control', 'runtime/ir', 'runtime/plan']],
  [
    'runtime/device',
    [
      'runtime/core',
      'runtime/events',
      'runtime/ops',
      'runtime/control',
      'runtime/plan',
      'runtime/ir',
      'runtime/compile',
      'webgpu',
      'node:',
    ],
  ],
  ['runtime/api', ['runtime/!instrument', 'node:']],
  ['runtime/jax-js.ts', ['runtime/!instrument']],
  ['runtime/testing.ts', ['runtime/!instrument']],
  ['runtime/index.ts', ['runtime/!instrument']],
  ['runtime/instrument', ['runtime/core', 'runtime/events', '@jridgewell/sourcemap-codec', 'webgpu', 'node:']],
  ['language-server/protocol.ts', ['runtime/core', 'runtime/events']],
  ['language-server/program', ['typescript', 'node:']],
  ['language-server/libraries', ['runtime/core', 'runtime/ops']],
  ['language-server/lower', ['runtime/core', 'language-server/program', 'language-server/libraries', 'typescript']],
  ['language-server/flow', ['runtime/core', 'language-server/libraries', 'language-server/lower']],
  ['language-server/shapes', ['runtime/core', 'runtime/ops', 'language-server/libraries', 'language-server/lower', 'language-server/flow']],
  [
    'language-server/compiled',
    [
      ...['core', 'ops', 'control', 'functions', 'ir', 'trace', 'transforms', 'compile', 'plan', 'events'].map((name) => `runtime/${name}`),
      ...['libraries', 'lower', 'flow', 'shapes'].map((name) => `language-server/${name}`),
    ],
  ],
  [
    'language-server/memory',
    [
      ...['core', 'events', 'plan'].map((name) => `runtime/${name}`),
      ...['libraries', 'lower', 'flow', 'shapes', 'compiled'].map((name) => `language-server/${name}`),
    ],
  ],
  [
    'language-server/rules',
    [
      'runtime/core',
      'runtime/events',
      'language-server/protocol.ts',
      ...['libraries', 'lower', 'flow', 'shapes', 'memory', 'compiled'].map((name) => `language-server/${name}`),
    ],
  ],
  [
    'language-server/edits',
    ['runtime/core', 'language-server/protocol.ts', 'language-server/program', 'language-server/lower', 'typescript'],
  ],
  [
    'language-server/measure',
    [
      'runtime/core',
      'runtime/events',
      'runtime/instrument',
      'language-server/protocol.ts',
      'node:',
      'typescript',
      '@jridgewell/trace-mapping',
      'chrome-remote-interface',
    ],
  ],
  ['language-server/config.ts', ['language-server/!lsp', 'runtime/core', 'node:']],
  ['language-server/workspace', ['language-server/!lsp', 'runtime/core', 'runtime/events', 'node:']],
  ['language-server/workspace.ts', ['language-server/!lsp', 'runtime/core', 'runtime/events', 'node:']],
  [
    'language-server/lsp',
    [
      'language-server/*',
      'runtime/core',
      'runtime/events',
      'vscode-languageserver',
      'vscode-languageserver-textdocument',
      'vscode-uri',
      'node:',
    ],
  ],
  ['language-server/main.ts', ['language-server/*', 'vscode-languageserver', 'node:']],
  ['language-server/cli', ['language-server/!lsp', 'language-server/main.ts', 'runtime/core', 'runtime/events', 'runtime/plan', 'node:']],
  ['extension/timeline/view', ['runtime/core', 'runtime/events', 'extension/timeline/messages.ts', 'language-server/protocol.ts']],
  ['extension', ['runtime/core', 'runtime/events', 'language-server/protocol.ts', 'vscode', 'vscode-languageclient', 'node:']],
];

/** Files over 400 lines need a word of why they are one subject: `Long because: …` in their opening comment. */
const longest = 400;

interface Module {
  readonly path: string;
  readonly text: string;
  readonly imports: readonly string[];
}

function sources(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? sources(path) : /\.(ts|tsx|mts)$/.test(name) ? [path] : [];
  });
}

function read(path: string): Module {
  const text = readFileSync(path, 'utf8');
  const imports = ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => {
    if (!fileName.startsWith('.')) return fileName.startsWith('node:') || builtinModules.includes(fileName) ? 'node:' : packageOf(fileName);
    return relative(root, resolve(dirname(path), fileName));
  });
  return { path: relative(root, path), text, imports };
}

const packageOf = (name: string): string =>
  name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/');

const covers = (row: string, path: string): boolean => path === row || path.startsWith(`${row}/`);

/** The most specific row that a file belongs to. */
const rowOf = (path: string): string | undefined =>
  table
    .map(([row]) => row)
    .filter((row) => covers(row, path))
    .toSorted((a, b) => b.length - a.length)[0];

function allows(allowed: string, target: string): boolean {
  if (allowed.endsWith('/*')) return target.startsWith(allowed.slice(0, -1));
  const except = /^(.*)\/!(.*)$/.exec(allowed);
  if (except !== null) return target.startsWith(`${except[1]}/`) && !covers(`${except[1]}/${except[2]}`, target);
  return covers(allowed, target);
}

/** Where a word is out of place: pattern, files it is looked for in, files that may have it, and why. */
const outOfPlace: readonly { readonly what: RegExp; readonly inside: RegExp; readonly except: RegExp; readonly why: string }[] = [
  {
    what: /\.op(\.id)? ?(===|!==) /,
    inside: /./,
    except: /^runtime\/(ops|control)\/|^language-server\/libraries\//,
    why: 'nobody asks for an op by its name: let its entry say what is needed',
  },
  {
    what: /@tensorflow|tfjs|jax-js|@jax-js/,
    inside: /^(runtime|language-server)\//,
    except: /^runtime\/(instrument\/|jax-js\.ts|events\/event\.ts)|^language-server\/(libraries\/|rules\/|protocol\.ts)/,
    why: 'library names live in libraries, instrument and examples',
  },
  { what: /: any\b|<any>|as any\b|@ts-ignore|@ts-nocheck/, inside: /./, except: /^$/, why: 'no any' },
  { what: /\b(TODO|FIXME|XXX)\b/, inside: /./, except: /^$/, why: 'open work is an issue' },
  { what: /from '(vscode-languageserver|vscode)'/, inside: /^runtime\//, except: /^$/, why: 'the runtime knows no editor' },
  {
    what: /Date\.now|performance\.now|process\.env|Math\.random/,
    inside: /^runtime\/(core|ops|plan|events|ir|compile)\//,
    except: /^$/,
    why: 'these folders read no clock, no environment and no randomness',
  },
];

const withoutComments = (text: string): string =>
  text.replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ' ')).replace(/(^|\s)\/\/.*$/gm, '$1');

/** The walkthrough's sample is a program of a user, not a module of ours. */
const isSample = (path: string): boolean => path.startsWith('extension/sample/');

const modules = ['runtime', 'language-server', 'extension']
  .flatMap((folder) => sources(join(root, folder)))
  .map(read)
  .filter(({ path }) => !isSample(path));

describe('architecture', () => {
  it('finds modules to check', () => assert.ok(modules.length > 10));

  it('every file belongs to a row of the import table', () => {
    assert.deepEqual(
      modules.map(({ path }) => path).filter((path) => rowOf(path) === undefined),
      [],
    );
  });

  it('imports only what the table allows', () => {
    const faults = modules.flatMap(({ path, imports }) => {
      const row = rowOf(path);
      const allowed = table.find(([name]) => name === row)?.[1] ?? [];
      return imports
        .filter((target) => !(row !== undefined && rowOf(target) === row) && !allowed.some((entry) => allows(entry, target)))
        .map((target) => `${path} imports ${target}`);
    });
    assert.deepEqual(faults, []);
  });

  it('the order of rows has no cycle', () => {
    const order = new Map(table.map(([row], index) => [row, index]));
    const faults = modules.flatMap(({ path, imports }) =>
      imports.flatMap((target) => {
        const from = rowOf(path);
        const to = rowOf(target);
        return from !== undefined && to !== undefined && order.get(to)! > order.get(from)! && !(from === 'extension/timeline/view')
          ? [`${path} -> ${target}`]
          : [];
      }),
    );
    assert.deepEqual(faults, []);
  });

  it('every module opens with what it is and what it depends on', () => {
    const faults = modules
      .filter(({ path }) => !path.startsWith('language-server/rules/'))
      .filter(({ text }) => !/^(#!.*\n)?\/\*\*[\s\S]*?Depends\s+(\*\s+)?on:[\s\S]*?\*\//.test(text))
      .map(({ path }) => path);
    assert.deepEqual(faults, []);
  });

  it('a file has one subject', () => {
    const faults = modules
      .filter(({ text }) => text.split('\n').length > longest && !/Long because:/.test(text.slice(0, 3000)))
      .map(({ path, text }) => `${path}: ${text.split('\n').length} lines`);
    assert.deepEqual(faults, []);
  });

  for (const { what, inside, except, why } of outOfPlace)
    it(`has nothing out of place: ${why}`, () => {
      const faults = modules
        .filter(({ path }) => inside.test(path) && !except.test(path))
        .flatMap(({ path, text }) =>
          withoutComments(text)
            .split('\n')
            .flatMap((line, index) => (what.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [])),
        );
      assert.deepEqual(faults, []);
    });

  it('exports nothing by default', () => {
    assert.deepEqual(
      modules.filter(({ text }) => /^export default /m.test(text)).map(({ path }) => path),
      [],
    );
  });
});
