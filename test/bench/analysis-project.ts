/**
 * A project of the size that people have, made of generated programs: 200 files, one of them 2,000 lines long.
 *
 * Every file holds functions of one dialect, exports them, and calls those of the file before it, so that an edit has
 * callers and callees elsewhere. The same count gives the same text. Depends on: the generator of test/fuzz.
 */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generate } from '../fuzz/generate.ts';
import { print, type Dialect } from '../fuzz/program.ts';

export interface BenchProject {
  readonly folder: string;
  readonly tsconfig: string;
  readonly files: readonly string[];
  /** The file that is edited. */
  readonly edited: string;
  readonly lines: number;
}

const ofFile: readonly Dialect[] = ['tfjs', 'jax-js', 'webgpu', 'tfjs'];

export function writeProject(folder: string, nodeModules: string, { files = 200, lines = 120, longest = 2000 } = {}): BenchProject {
  mkdirSync(join(folder, 'src'), { recursive: true });
  symlinkSync(nodeModules, join(folder, 'node_modules'));
  const tsconfig = join(folder, 'tsconfig.json');
  const compilerOptions = {
    target: 'es2022',
    module: 'esnext',
    moduleResolution: 'bundler',
    lib: ['es2023', 'esnext.disposable', 'dom'],
    types: ['@webgpu/types'],
    strict: true,
    skipLibCheck: true,
    noEmit: true,
    noUncheckedIndexedAccess: true,
  };
  writeFileSync(tsconfig, JSON.stringify({ compilerOptions, include: ['src'] }, undefined, 2));
  const paths: string[] = [];
  let total = 0;
  let previous: { readonly module: string; readonly dialect: Dialect; readonly flags: number } | undefined;
  for (let index = 0; index < files; index++) {
    const dialect = ofFile[index % ofFile.length]!;
    const least = index === files - 1 ? longest : lines;
    const module = `part${index}`;
    const { text, flags } = fileOf(dialect, index * 1000 + 1, least, previous);
    const path = join(folder, 'src', `${module}.ts`);
    writeFileSync(path, text);
    paths.push(path);
    total += text.split('\n').length;
    previous = { module, dialect, flags };
  }
  return { folder, tsconfig, files: paths, edited: paths.at(-1)!, lines: total };
}

/** Programs of one dialect under names of their own, until the file is long enough. */
function fileOf(
  dialect: Dialect,
  seed: number,
  least: number,
  previous: { module: string; flags: number } | undefined,
): { text: string; flags: number } {
  const imports = new Set<string>();
  const bodies: string[] = [];
  let count = 0;
  let flags = 0;
  for (let lines = 0; lines < least; count++) {
    const program = generate(dialect, seed + count);
    if (count === 0) flags = program.flags;
    const all = print(program).split('\n');
    for (const line of all.filter((line) => line.startsWith('import '))) imports.add(line);
    const text = all
      .filter((line) => !line.startsWith('import '))
      .join('\n')
      .replace(/\b(main|h\d+|Holder\d+)\b/g, `$1_${count}`)
      .replace(/\bcopied\b|\bjoined\b|\bbytes\b|\bdevice\b(?!\.)/g, (name) =>
        dialect === 'webgpu' && name !== 'device' ? `${name}_${count}` : name,
      );
    bodies.push(dialect === 'webgpu' ? text.replace('declare const device: GPUDevice;\n', '') : text);
    lines += all.length;
  }
  if (dialect === 'webgpu') bodies.unshift('declare const device: GPUDevice;');
  if (previous !== undefined) {
    imports.add(`import { main_0 as before } from './${previous.module}';`);
    bodies.push(`export function all(out: number[]): void {\n  before(${'true, '.repeat(previous.flags)}out);\n}\n`);
  }
  return { text: `${[...imports].join('\n')}\n\n${bodies.join('\n')}`, flags };
}
