/**
 * A mocha reporter that prints what failed as it fails, and writes the counts where the test script reads them.
 *
 * Depends on: mocha.
 */
import { writeFileSync } from 'node:fs';
import mocha from 'mocha';

export default class Counts extends mocha.reporters.Base {
  constructor(runner, options) {
    super(runner, options);
    const failures = [];
    runner.on('pass', () => process.stdout.write('.'));
    runner.on('pending', () => process.stdout.write(','));
    runner.on('fail', (test, error) => {
      process.stdout.write('!');
      failures.push({ title: test.fullTitle(), error: String(error?.message ?? error).slice(0, 2000) });
    });
    runner.once('end', () => {
      process.stdout.write('\n');
      this.epilogue();
      const { passes, failures: failed, pending } = this.stats;
      const file = process.env.TIDEMARK_TEST_COUNTS;
      if (file !== undefined) writeFileSync(file, JSON.stringify({ passes, failed, pending, failures }));
    });
  }
}
