/**
 * Every case of the corpus through the check: recall and false alarms per rule and dialect, which can only get better.
 *
 * A mark `// @expect rule` is found when the rule reports on its line. Anything reported in an `-ok` file, and an error or
 * warning on an unmarked line, is a false alarm. `UPDATE=1` records better figures in cases.recorded.json.
 * Depends on: support, workspace, runtime.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CheckReport } from '../language-server/protocol.ts';
import { jit, lax, np } from '../runtime/index.ts';
import { onCpu } from './support/arrays.ts';
import { checkFolder } from './support/check.ts';
import { checkout } from './support/fixture.ts';

interface Figures {
  readonly marks: number;
  readonly found: number;
  readonly falseAlarms: number;
}

/**
 * Marks that the runtime outgrew, with what shows it: when that no longer holds, the mark is expected again.
 * A convolution reads its padded operand where it lies, and can't write over what neighbours still read: two plates are
 * resident with the donation and without, where the padded copy made three of them before.
 */
const outgrown: Readonly<Record<string, () => boolean>> = {
  'tidemark-40-heat-plate.ts:12 missed-donation': () => {
    using plate = np.ones([1, 1, 1024, 1024]);
    using kernel = np.full([1, 1, 3, 3], 1 / 9);
    const relax = jit((plate: np.Array, kernel: np.Array): np.Array => lax.conv(plate, kernel, [1, 1], 'SAME'));
    const { peakBytes, whatIf } = relax.lower(plate, kernel).memoryAnalysis();
    return peakBytes === 2 * plate.nbytes + 256 && whatIf.every((choice) => choice.peakBytes === peakBytes);
  },
};

const folder = join(checkout, 'test/cases');
const recordFile = join(checkout, 'test/cases.recorded.json');

export function score(
  report: Pick<CheckReport, 'diagnostics'>,
  files: readonly { readonly name: string; readonly text: string }[],
): { readonly figures: ReadonlyMap<string, Figures>; readonly misses: readonly string[]; readonly alarms: readonly string[] } {
  const figures = new Map<string, { marks: number; found: number; falseAlarms: number }>();
  const misses: string[] = [];
  const alarms: string[] = [];
  const of = (rule: string, name: string): { marks: number; found: number; falseAlarms: number } => {
    const key = `${rule} ${name.slice(0, name.indexOf('-'))}`;
    const known = figures.get(key) ?? { marks: 0, found: 0, falseAlarms: 0 };
    figures.set(key, known);
    return known;
  };
  for (const { name, text } of files) {
    const expected = new Set(
      text.split('\n').flatMap((line, i) =>
        (/@expect (.*)$/.exec(line)?.[1] ?? '')
          .split(/\s+/)
          .filter((rule) => rule !== '')
          .map((rule) => `${i + 1} ${rule}`),
      ),
    );
    const own = report.diagnostics.filter(({ file }) => file === name);
    const found = new Set(own.map(({ line, rule }) => `${line} ${rule}`));
    for (const mark of expected) {
      const entry = of(mark.split(' ')[1]!, name);
      entry.marks++;
      if (found.has(mark)) entry.found++;
      else misses.push(`${name}:${mark}`);
    }
    for (const d of own) {
      if (expected.has(`${d.line} ${d.rule}`)) continue;
      if (!name.includes('-ok.') && (d.severity === 'info' || d.severity === 'hint')) continue;
      of(d.rule, name).falseAlarms++;
      alarms.push(`${name}:${d.line} ${d.rule}: ${d.message}`);
    }
  }
  return { figures, misses, alarms };
}

describe('the corpus', function () {
  this.timeout(300_000);
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
    .map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') }));
  let result: ReturnType<typeof score>;

  before(async () => {
    result = score(await checkFolder(folder), files);
    const rows = [...result.figures]
      .sort(([a], [b]) => a.localeCompare(b))
      .map(
        ([key, f]) =>
          `  ${key.padEnd(34)} ${String(f.found).padStart(3)} of ${String(f.marks).padEnd(3)} ${f.falseAlarms === 0 ? '' : `${f.falseAlarms} false`}`,
      );
    const sum = [...result.figures.values()].reduce((a, b) => ({
      marks: a.marks + b.marks,
      found: a.found + b.found,
      falseAlarms: a.falseAlarms + b.falseAlarms,
    }));
    console.log(
      `${rows.join('\n')}\n  ${'all'.padEnd(34)} ${sum.found} of ${sum.marks}, ${sum.falseAlarms} false alarms\n${[...result.misses.map((m) => `  missed ${m}`), ...result.alarms.map((a) => `  false ${a}`)].join('\n')}`,
    );
    if (process.env['UPDATE'] === '1')
      writeFileSync(
        recordFile,
        `${JSON.stringify(Object.fromEntries([...result.figures].sort(([a], [b]) => a.localeCompare(b))), null, 2)}\n`,
      );
  });

  it('has files', () => assert.ok(files.length > 200));

  it('no figure is worse than the recorded one', () => {
    const recorded = JSON.parse(readFileSync(recordFile, 'utf8')) as Readonly<Record<string, Figures>>;
    const worse = Object.entries(recorded).flatMap(([key, before]) => {
      const now = result.figures.get(key);
      return now !== undefined && now.found >= before.found && now.falseAlarms <= before.falseAlarms
        ? []
        : [`${key}: was ${JSON.stringify(before)}, is ${JSON.stringify(now)}`];
    });
    assert.deepEqual(worse, [], result.misses.join('\n'));
  });

  it('every mark is found, but those that the runtime outgrew', () => {
    onCpu();
    const due = Object.keys(outgrown).filter((mark) => !outgrown[mark]!());
    assert.deepEqual(due, [], 'the donation saves something again: take the mark off this list');
    assert.deepEqual(result.misses, Object.keys(outgrown));
  });

  it('no correct program gets any report', () => {
    assert.deepEqual(
      result.alarms.filter((alarm) => alarm.includes('-ok.')),
      [],
    );
  });
});
