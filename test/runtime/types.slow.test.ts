/**
 * The declarations that are packed, in a strict project of a user: the README's programs, and those of jax-js's README with the import changed.
 *
 * Depends on: dist/types (made by `npm run build`), typescript, @jax-js/jax (its README).
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const root = fileURLToPath(new URL('../../', import.meta.url));
const declared = path.join(root, 'dist', 'types', 'runtime');

const options: ts.CompilerOptions = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: false,
  noEmit: true,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2022.d.ts', 'lib.esnext.disposable.d.ts'],
  types: ['node'],
  typeRoots: [path.join(root, 'node_modules', '@types')],
  paths: {
    tidemark: [path.join(declared, 'index.d.ts')],
    'tidemark/jax-js': [path.join(declared, 'jax-js.d.ts')],
    'tidemark/testing': [path.join(declared, 'testing.d.ts')],
  },
};

const blocksOf = (file: string): string[] => [...readFileSync(file, 'utf8').matchAll(/```ts\n([\s\S]*?)```/g)].map(([, text]) => text!);

/** What a block of a README takes for granted: names that stand in the blocks before it. */
function whole(block: string): string {
  const lines = [
    ...(/from ["']/.test(block) ? [] : ["import { jit, numpy as np } from 'tidemark/jax-js';"]),
    ...(/\bar\b/.test(block) && !/const ar\b/.test(block) ? ['const ar = np.array([1, 2, 3]);'] : []),
    ...(/\btrain\(/.test(block) ? ['declare const train: (steps: number) => Promise<void>;'] : []),
  ];
  return [...lines, block, 'export {};'].join('\n');
}

const programs: Readonly<Record<string, string>> = Object.fromEntries(
  [
    ...blocksOf(path.join(root, 'README.md')),
    ...blocksOf(path.join(root, 'node_modules', '@jax-js', 'jax', 'README.md')).map((text) =>
      text.replaceAll('@jax-js/jax', 'tidemark/jax-js'),
    ),
  ].map((text, k) => [path.join(root, `user-${k}.mts`), whole(text)]),
);

describe('the declarations of the package', function () {
  this.timeout(120_000);

  it('compile with the programs of READMEs, strictly', () => {
    assert.ok(existsSync(path.join(declared, 'jax-js.d.ts')), 'dist/types is not there: npm run build');
    assert.ok(Object.keys(programs).length > 10);
    const host = ts.createCompilerHost(options);
    const { fileExists, getSourceFile, readFile } = host;
    host.fileExists = (file) => file in programs || fileExists(file);
    host.readFile = (file) => programs[file] ?? readFile(file);
    host.getSourceFile = (file, languageVersion, ...rest) =>
      file in programs ? ts.createSourceFile(file, programs[file]!, languageVersion) : getSourceFile(file, languageVersion, ...rest);
    const program = ts.createProgram(Object.keys(programs), options, host);
    const faults = ts.getPreEmitDiagnostics(program).map(({ file, start, messageText }) => {
      const at = file === undefined ? undefined : file.getLineAndCharacterOfPosition(start ?? 0);
      const line = file === undefined || at === undefined ? '' : file.text.split('\n')[at.line];
      return `${path.relative(root, file?.fileName ?? '')}:${(at?.line ?? 0) + 1} ${ts.flattenDiagnosticMessageText(messageText, '\n')}\n  ${line}`;
    });
    assert.deepEqual(faults, []);
  });
});
