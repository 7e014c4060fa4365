/**
 * Runs the analyser on many program texts at once: each becomes a file of one temporary project.
 *
 * Depends on: language-server/workspace.
 */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Diagnostic } from '../../language-server/protocol.ts';
import { createWorkspace } from '../../language-server/workspace.ts';

const clone = resolve(fileURLToPath(import.meta.url), '../../..');

const compilerOptions = {
  target: 'es2022',
  module: 'nodenext',
  moduleResolution: 'nodenext',
  lib: ['es2023', 'esnext.disposable', 'dom'],
  types: ['@webgpu/types'],
  strict: true,
  skipLibCheck: true,
  noEmit: true,
  allowImportingTsExtensions: true,
  noUncheckedIndexedAccess: true,
  paths: { tidemark: [join(clone, 'runtime/index.ts')] },
};

/** The diagnostics of each text, in the order of the texts; positions are those of the text. */
export async function checkTexts(texts: readonly string[]): Promise<readonly (readonly Diagnostic[])[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-check-'));
  try {
    symlinkSync(join(clone, 'node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['src'] }));
    mkdirSync(join(folder, 'src'));
    const files = texts.map((text, index) => {
      const name = `src/p${index}.ts`;
      writeFileSync(join(folder, name), text);
      return name;
    });
    const workspace = createWorkspace({ cwd: folder });
    const { diagnostics } = await workspace.check([folder]);
    return files.map((name) => diagnostics.filter(({ file }) => file === name));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Errors and warnings: what says that something is wrong. */
export const faults = (diagnostics: readonly Diagnostic[]): readonly Diagnostic[] =>
  diagnostics.filter(({ severity }) => severity === 'error' || severity === 'warning');
