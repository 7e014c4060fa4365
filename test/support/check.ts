/**
 * The only code in tests that calls the analysis.
 *
 * One program for many fixtures: each goes into a folder of its own, all are checked at once, so that the libraries'
 * types are read once. Depends on: workspace, fixture.
 */
import { relative } from 'node:path';
import type { CheckReport, Diagnostic } from '../../language-server/protocol.ts';
import { createWorkspace, type CheckOptions } from '../../language-server/workspace.ts';
import { filesOf, lay } from './fixture.ts';

/** The diagnostics of each fixture, in order; files are named as in the fixture. */
export async function checkAll(fixtures: readonly string[], options: CheckOptions = {}): Promise<readonly (readonly Diagnostic[])[]> {
  const files = fixtures.flatMap((text, i) => filesOf(text).map((file) => ({ name: `f${i}/${file.name}`, text: file.text })));
  const fixture = lay(files);
  try {
    const report = await createWorkspace({ cwd: fixture.folder }).check(['.'], options);
    return fixtures.map((_, i) =>
      report.diagnostics.filter(({ file }) => file.startsWith(`f${i}/`)).map((d) => ({ ...d, file: relative(`f${i}`, d.file) })),
    );
  } finally {
    fixture.remove();
  }
}

export async function checkFolder(folder: string, options: CheckOptions = {}): Promise<CheckReport> {
  return createWorkspace({ cwd: folder }).check(['.'], options);
}
