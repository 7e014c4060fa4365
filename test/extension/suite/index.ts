/**
 * What the extension host loads: runs the suite that TIDEMARK_E2E_SUITE names and writes its counts to TIDEMARK_E2E_RESULTS.
 *
 * Depends on: mocha, the suites.
 */
import { renameSync, writeFileSync } from 'node:fs';
import Mocha from 'mocha';

export async function run(): Promise<void> {
  const mocha = new Mocha({ ui: 'bdd', timeout: 120_000, reporter: 'spec', color: false });
  mocha.suite.emit('pre-require', globalThis, '', mocha);
  const suite = process.env['TIDEMARK_E2E_SUITE'];
  if (suite === 'restricted') await import('./restricted.ts');
  else {
    await import('./trusted.ts');
    await import('./documents.ts');
    await import('./training.ts');
  }
  const failures: string[] = [];
  const passed: string[] = [];
  const results = process.env['TIDEMARK_E2E_RESULTS']!;
  // After each test: where time runs out, what was tested until then is told.
  const write = (): void => writeFileSync(`${results}.part`, JSON.stringify({ passed, failures }));
  write();
  await new Promise<void>((resolve) => {
    mocha
      .run(() => resolve())
      .on('pass', (test) => {
        passed.push(`${test.fullTitle()} (${test.duration ?? 0} ms)`);
        write();
      })
      .on('fail', (test, error: Error) => {
        failures.push(`${test.fullTitle()}: ${error.stack ?? error.message}`);
        write();
      });
  });
  renameSync(`${results}.part`, results);
  if (failures.length > 0) throw new Error(`${failures.length} failed`);
}
