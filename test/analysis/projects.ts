/**
 * Lowered projects for tests: files of the disk, or texts.
 *
 * Depends on: language-server (program, lower, libraries).
 */
import { models } from '../../language-server/libraries/index.ts';
import type { Project, Unit } from '../../language-server/lower/ir.ts';
import { lowerFile } from '../../language-server/lower/lower.ts';
import { createNaming } from '../../language-server/lower/naming.ts';
import { createTexts } from '../../language-server/program/host.ts';
import { createProgram, createRegistry } from '../../language-server/program/program.ts';

export interface Lowered {
  readonly project: Project;
  readonly units: readonly Unit[];
  readonly textOf: (file: string) => string | undefined;
}

/** Lowers `files` (absolute paths) under the tsconfig at `config`; `texts` lie over the disk's. */
export function lowered(files: readonly string[], config: string, texts: ReadonlyMap<string, string> = new Map()): Lowered {
  const disk = createTexts();
  for (const [file, text] of texts) disk.open(file, text);
  const program = createProgram(disk, createRegistry(), config);
  for (const file of files) program.add(file);
  const facts = program.facts();
  const naming = createNaming(facts);
  const own = facts.program.getSourceFiles().filter((source) => facts.isOwn(source));
  const units = new Map<string, Unit>();
  for (const source of own) if (files.includes(source.fileName)) units.set(source.fileName, lowerFile({ facts, models, naming }, source));
  const project: Project = {
    units,
    function: (id) => [...units.values()].map((unit) => unit.functions.get(id)).find((fn) => fn !== undefined),
    class: (id) => [...units.values()].map((unit) => unit.classes.get(id)).find((found) => found !== undefined),
  };
  return { project, units: [...units.values()], textOf: (file) => disk.read(file) };
}
