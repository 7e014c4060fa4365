/**
 * Several files in one string: `// @file a.ts` begins a file; without one the whole is `main.ts`.
 *
 * Written into a folder of its own under the system's temporary folder, with the checkout's node_modules linked in, so that
 * types come from the real declarations. Depends on: node:.
 */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const checkout = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

const compilerOptions = {
  target: 'es2022',
  module: 'esnext',
  moduleResolution: 'bundler',
  lib: ['esnext', 'dom', 'dom.iterable'],
  types: ['@webgpu/types'],
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  moduleDetection: 'force',
  esModuleInterop: true,
  allowImportingTsExtensions: true,
  allowJs: true,
  jsx: 'preserve',
};

export interface Fixture {
  readonly folder: string;
  /** Absolute names, in order. */
  readonly files: readonly string[];
  remove(): void;
}

/** Splits a text at its `// @file` lines. */
export function filesOf(text: string, fallback = 'main.ts'): readonly { readonly name: string; readonly text: string }[] {
  const parts = text.split(/^[ \t]*\/\/ @file (\S+)[ \t]*$/m);
  const files: { name: string; text: string }[] = [];
  if (parts[0]!.trim() !== '') files.push({ name: fallback, text: parts[0]! });
  for (let i = 1; i < parts.length; i += 2) files.push({ name: parts[i]!, text: parts[i + 1]! });
  return files;
}

/** Lays files into a fresh folder. The runtime's own types are those of the corpus, which need no build. */
export function lay(
  files: readonly { readonly name: string; readonly text: string }[],
  options: { readonly tsconfig?: boolean } = {},
): Fixture {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-fixture-'));
  symlinkSync(join(checkout, 'node_modules'), join(folder, 'node_modules'));
  if (options.tsconfig !== false)
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, include: ['**/*', join(checkout, 'test/cases/tidemark.d.ts')] }),
    );
  for (const { name, text } of files) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return { folder, files: files.map(({ name }) => join(folder, name)), remove: () => rmSync(folder, { recursive: true, force: true }) };
}
