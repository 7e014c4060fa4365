/**
 * The command line without processes: arguments, exit codes, forms of the report, fixes in rounds, baselines, comparisons.
 *
 * Depends on: cli.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { applyEdits, compatibleFixes } from '../../language-server/cli/apply-edits.ts';
import { checkCommand } from '../../language-server/cli/check.ts';
import type { MakeChecker } from '../../language-server/cli/check.ts';
import { compare } from '../../language-server/cli/compare.ts';
import type { IO } from '../../language-server/cli/io.ts';
import { main } from '../../language-server/cli/main.ts';
import { never } from '../../language-server/measure/run.ts';
import type { CheckReport, Diagnostic, Fix, ProfileReport } from '../../language-server/protocol.ts';
import { sarifStructure } from './sarif-structure.ts';

interface Recorded extends IO {
  readonly stdout: string[];
  readonly stderr: string[];
}

function recorded(cwd: string): Recorded {
  const stdout: string[] = [];
  const stderr: string[] = [];
  return {
    cwd,
    env: process.env,
    color: false,
    out: (text) => void stdout.push(text),
    err: (text) => void stderr.push(text),
    readFile: (path) => readFileSync(path, 'utf8'),
    writeFile: (path, content) => writeFileSync(path, content),
    now: () => performance.now(),
    stdout,
    stderr,
  };
}

const finding = (fields: Partial<Diagnostic>): Diagnostic => ({
  file: 'a.ts',
  line: 1,
  column: 7,
  endLine: 1,
  endColumn: 8,
  rule: 'leak',
  severity: 'warning',
  message: '`x` is lost',
  savesBytes: null,
  related: [],
  fixes: [],
  ...fields,
});

/** An analysis that finds each `lost` in a.ts, and whose fix turns the first one into `kept`. */
const findsLost =
  (cwd: string): MakeChecker =>
  async () => ({
    rules: [{ id: 'leak', docs: 'An array is lost. Dispose it.' }],
    check: (): CheckReport => {
      const lines = readFileSync(join(cwd, 'a.ts'), 'utf8').split('\n');
      const diagnostics = lines.flatMap((text, i) => {
        const at = text.indexOf('lost');
        if (at === -1) return [];
        const start = { line: i + 1, column: at + 1 };
        const end = { line: i + 1, column: at + 5 };
        const fix: Fix = { title: 'Keep it', safe: true, edits: [{ file: 'a.ts', start, end, newText: 'kept' }] };
        return [
          finding({
            line: i + 1,
            column: at + 1,
            endLine: i + 1,
            endColumn: at + 5,
            fixes: [fix],
            related: [{ file: 'a.ts', line: 1, column: 1, message: 'made here' }],
          }),
        ];
      });
      return { version: 1, diagnostics, functions: [] };
    },
  });

describe('command line', () => {
  let cwd: string;
  let io: Recorded;
  beforeEach(() => {
    cwd = mkdtempSync(join(tmpdir(), 'tidemark-cli-'));
    io = recorded(cwd);
    writeFileSync(join(cwd, 'a.ts'), 'const lost = 1;\n\tlost(lost);\n');
  });
  afterEach(() => rmSync(cwd, { recursive: true, force: true }));

  const run = (...argv: string[]): Promise<number> => main(argv, io, never);
  const check = (...argv: string[]): Promise<number> => checkCommand(argv, io, never, findsLost(cwd));

  it('wrong usage ends with 2, names what is wrong, and says what to do', async () => {
    const wrong: readonly (readonly [readonly string[], RegExp])[] = [
      [['chekc'], /no command `chekc`[\s\S]*check, profile/],
      [['profile', '--fromat', 'json', 'a.ts'], /no option `--fromat`[\s\S]*did you mean `--format`/],
      [['profile', 'a.ts', '--format', 'xml'], /cannot be "xml"[\s\S]*text, json, pprof/],
      [['profile'], /no file to profile/],
      [['profile', 'absent.ts'], /there is no file to run at .*absent\.ts/],
      [['profile', '.'], /is a folder[\s\S]*name the file in it/],
      [['profile', 'page.html'], /is a page[\s\S]*--browser URL/],
      [['profile', 'notes.md'], /notes\.md is no program[\s\S]*TypeScript or JavaScript/],
      [['profile', '--command', '--', 'no-such-program'], /no-such-program could not be started[\s\S]*on the PATH/],
      [['profile', 'a.ts', '--out', 'nowhere/a.json'], /nowhere\/a\.json cannot be written: there is no folder [\s\S]*make the folder/],
      [
        ['profile', '--browser', 'localhost'],
        /localhost is no address of a page\nfix: write it whole, such as http:\/\/localhost:5173\/\n$/,
      ],
      [['profile', 'a.ts', '--budget', 'much'], /`--budget` cannot be "much"[\s\S]*64MiB/],
      [['profile', 'a.ts', '--tolerance', '2%'], /no baseline/],
      [['profile', '--command'], /no command line/],
      [['profile', 'a.ts', 'b.ts'], /b\.ts comes after[\s\S]*after `--`/],
      [['check', 'absent'], /no file or folder absent/],
      [['check', '--rule', 'leak=loud'], /ID=SEVERITY/],
      [['check', '--rule', 'leek=off'], /no rule `leek`[\s\S]*use one of leak/],
      [['check', 'a.ts', '--out', '.'], /\. is a folder/],
      [['check', 'a.ts', '--baseline', 'nowhere/b.json', '--update'], /no folder .*nowhere/],
      [['check', '--project', 'a.ts'], /a\.ts is no project[\s\S]*tsconfig\.json/],
      [['check', '--baseline', 'absent.json'], /baseline absent\.json cannot be read[\s\S]*--update/],
      [['show'], /one profile is shown/],
      [['explain'], /one file is explained/],
      [['explain', 'a.ts', '--stage', 'wgsl'], /cannot be "wgsl"[\s\S]*plan, schedule, ir, trace/],
      [['collect', '.'], /\. holds no events of a program/],
      [['show', 'a.ts'], /no profile of this version/],
      [['compare', 'a.ts'], /two profiles are compared/],
      [['compare', 'a.ts', 'a.ts'], /no profile of this version/],
    ];
    for (const name of ['page.html', 'notes.md']) writeFileSync(join(cwd, name), '');
    for (const [argv, expected] of wrong) {
      io.stderr.length = 0;
      assert.equal(argv[0] === 'check' ? await checkOrUsage(argv) : await run(...argv), 2, argv.join(' '));
      assert.match(io.stderr.join(''), expected, argv.join(' '));
      assert.match(io.stderr.join(''), /^error: .*\nfix: /s);
    }
  });

  /** `check` with the analysis of this test; usage errors are printed as the command line prints them. */
  async function checkOrUsage(argv: readonly string[]): Promise<number> {
    try {
      return await check(...argv.slice(1));
    } catch (error) {
      assert.ok(error instanceof Error && 'fix' in error, String(error));
      io.err(`error: ${error.message}\nfix: ${String(error.fix)}\n`);
      return 2;
    }
  }

  it('what was named and not read, or could not be, is said beside the findings', async () => {
    writeFileSync(join(cwd, 'notes.md'), '');
    writeFileSync(
      join(cwd, 'broken.ts'),
      "import * as tf from '@tensorflow/tfjs';\nconst x: number = ;\nexport const y = tf.zeros([x]);\n",
    );
    assert.equal(await run('check', 'notes.md', 'broken.ts'), 0);
    assert.match(io.stderr.join(''), /^note: notes\.md is neither TypeScript nor JavaScript, and was not read$/m);
    assert.match(io.stderr.join(''), /^note: broken\.ts:2:19 is no valid code \(Expression expected\.\)/m);
    const empty = mkdtempSync(join(cwd, 'empty-'));
    assert.equal(await run('check', empty), 0);
    assert.match(io.stderr.at(-1)!, /^note: there is no TypeScript or JavaScript in /);
  });

  it('what the file system refuses is said in a sentence', async () => {
    io = { ...io, writeFile: (path) => writeFileSync(join(path, 'b'), '') };
    assert.equal(await run('check', 'a.ts', '--out', 'new.txt'), 2);
    assert.match(io.stderr.join(''), /^error: .*new\.txt.* cannot be used: it is not there\nfix: /);
  });

  it('findings end with 1 and show the source with carets, tabs kept', async () => {
    assert.equal(await check('a.ts'), 1);
    const text = io.stdout.join('');
    assert.match(text, /a\.ts:1:7 warning `x` is lost \[leak\]\n {4}1 │ const lost = 1;\n {6}│ {7}\^\^\^\^/);
    assert.match(text, / {4}2 │ \tlost\(lost\);\n {6}│ \t\^\^\^\^/);
    assert.match(text, /2 findings: 2 warnings; `tidemark check --fix` applies safe fixes of 2/);
  });

  it('--fix works in rounds until no safe fix is left, and reports what is left', async () => {
    assert.equal(await check('a.ts', '--fix'), 0);
    assert.equal(readFileSync(join(cwd, 'a.ts'), 'utf8'), 'const kept = 1;\n\tkept(kept);\n');
    assert.match(io.stderr.join(''), /3 fixes applied/);
    assert.match(io.stdout.join(''), /no findings/);
  });

  it('a baseline silences what it knows, also when lines move, and nothing else', async () => {
    assert.equal(await check('a.ts', '--baseline', 'known.json', '--update'), 0);
    writeFileSync(join(cwd, 'a.ts'), '\n\nconst lost = 1;\n\tlost(lost);\n');
    assert.equal(await check('a.ts', '--baseline', 'known.json'), 0);
    writeFileSync(join(cwd, 'a.ts'), 'const lost = 1;\n\tlost(lost);\nlost.new();\n');
    io.stdout.length = 0;
    assert.equal(await check('a.ts', '--baseline', 'known.json', '--format', 'json'), 1);
    const report = JSON.parse(io.stdout.join('')) as CheckReport;
    assert.deepEqual(
      report.diagnostics.map(({ line }) => line),
      [3],
    );
  });

  it('annotations escape what would end them', async () => {
    const make: MakeChecker = async () => ({
      rules: [],
      check: () => ({ version: 1, diagnostics: [finding({ file: 'a,b.ts', message: '100 %\nlost: all' })], functions: [] }),
    });
    assert.equal(await checkCommand(['a.ts', '--format', 'github'], io, never, make), 1);
    assert.equal(
      io.stdout.join(''),
      '::warning file=a%2Cb.ts,line=1,endLine=1,col=7,endColumn=8,title=tidemark leak::100 %25%0Alost: all\n',
    );
  });

  it('SARIF names rules once, keeps columns, and fingerprints leave out the line', async () => {
    assert.equal(await check('a.ts', '--format', 'sarif', '--out', 'out.sarif'), 1);
    assert.deepEqual(io.stdout, []);
    const log = JSON.parse(readFileSync(join(cwd, 'out.sarif'), 'utf8')) as {
      version: string;
      runs: {
        tool: { driver: { rules: { id: string; shortDescription: { text: string } }[] } };
        columnKind: string;
        results: { ruleIndex: number; partialFingerprints: object; fixes: unknown[] }[];
      }[];
    };
    const [only] = log.runs;
    assert.equal(log.version, '2.1.0');
    assert.deepEqual(
      only!.tool.driver.rules.map(({ id, shortDescription }) => [id, shortDescription.text]),
      [['leak', 'An array is lost.']],
    );
    assert.equal(only!.columnKind, 'utf16CodeUnits');
    assert.equal(only!.results.length, 2);
    assert.ok(only!.results.every(({ ruleIndex, fixes }) => ruleIndex === 0 && fixes.length === 1));
  });

  it('SARIF has the structure that version 2.1.0 asks for, and no key that it does not know', async () => {
    assert.equal(await check('a.ts', '--format', 'sarif'), 1);
    const valid = new Ajv({ allErrors: true }).compile(sarifStructure);
    assert.ok(valid(JSON.parse(io.stdout.join(''))), JSON.stringify(valid.errors, null, 2));
    // The official schema is not ours to hand out; whoever has it names it here.
    const official = process.env['TIDEMARK_SARIF_SCHEMA'];
    if (official === undefined) return;
    const { $schema: _draft, id: _id, ...schema } = JSON.parse(readFileSync(official, 'utf8')) as Record<string, unknown>;
    const whole = new Ajv({ strict: false, unicodeRegExp: false, validateFormats: false }).compile(schema);
    assert.ok(whole(JSON.parse(io.stdout.join(''))), JSON.stringify(whole.errors, null, 2));
  });

  it('--watch checks again after a change, and ends when it is told to', async () => {
    let interrupt = (): void => undefined;
    const token = {
      isCancellationRequested: false,
      onCancellationRequested: (listener: () => void) => ((interrupt = listener), { dispose: () => undefined }),
    };
    const checked = (times: number): Promise<void> =>
      new Promise((done, fail) => {
        const look = setInterval(() => {
          if (io.stdout.filter((text) => /finding/.test(text)).length < times) return;
          clearInterval(look);
          clearTimeout(late);
          done();
        }, 20);
        const late = setTimeout(() => (clearInterval(look), fail(new Error(`checked less than ${times} times`))), 20_000);
      });
    const ending = checkCommand(['.', '--watch'], io, token, findsLost(cwd));
    await checked(1);
    assert.match(io.stdout.join(''), /2 findings/);
    // The watch begins after the first report.
    await new Promise((done) => setTimeout(done, 100));
    writeFileSync(join(cwd, 'a.ts'), 'const kept = 1;\n');
    await checked(2);
    assert.match(io.stderr.join(''), /a\.ts changed/);
    assert.match(io.stdout.at(-1)!, /no findings/);
    interrupt();
    assert.equal(await ending, 0);
  });

  it('only infos and hints end with 0', async () => {
    const make: MakeChecker = async () => ({
      rules: [],
      check: () => ({ version: 1, diagnostics: [finding({ severity: 'info' }), finding({ severity: 'hint' })], functions: [] }),
    });
    assert.equal(await checkCommand(['a.ts'], io, never, make), 0);
  });

  it('edits of one round are whole and do not overlap', () => {
    const edit = (start: number, end: number, newText: string) => ({
      file: 'a.ts',
      start: { line: 1, column: start },
      end: { line: 1, column: end },
      newText,
    });
    assert.equal(applyEdits('abcdef\r\n', [edit(5, 6, 'E'), edit(1, 3, ''), edit(7, 7, '!')]), 'cdEf!\r\n');
    const fixes: Fix[] = [
      { title: '1', safe: true, edits: [edit(1, 3, 'x'), edit(9, 9, 'import')] },
      { title: 'overlaps', safe: true, edits: [edit(2, 4, 'y')] },
      { title: 'shares the import', safe: true, edits: [edit(4, 5, 'z'), edit(9, 9, 'import')] },
    ];
    assert.deepEqual(
      compatibleFixes(fixes).map(({ title }) => title),
      ['1', 'shares the import'],
    );
  });

  const report = (peakBytes: number, lines: readonly [number, number][]): ProfileReport => ({
    version: 1,
    entry: 'a.ts',
    device: null,
    peakBytes,
    peakReservedBytes: peakBytes,
    liveBytesAtExit: 0,
    peakAt: null,
    lines: lines.map(([line, bytes]) => ({
      file: 'a.ts',
      line,
      allocations: 1,
      allocatedBytes: bytes,
      peakLiveBytes: bytes,
      liveBytesAtPeak: bytes,
    })),
    functions: [],
    liveAtPeak: [],
    leaks: [],
    wallMs: 1,
    exitCode: 0,
  });

  it('a comparison says what grew, by line, most first', async () => {
    const difference = compare(
      report(100, [
        [1, 100],
        [2, 50],
      ]),
      report(80, [
        [1, 20],
        [2, 50],
        [3, 60],
      ]),
    );
    assert.deepEqual(difference.totals[0], { what: 'peak in use', before: 100, after: 80 });
    assert.deepEqual(
      difference.lines.map(({ what, before, after }) => [what, before, after]),
      [
        ['a.ts:1', 100, 20],
        ['a.ts:3', 0, 60],
      ],
    );
    writeFileSync(join(cwd, 'a.json'), JSON.stringify(report(100, [])));
    writeFileSync(join(cwd, 'b.tidemark'), `${JSON.stringify(report(50, []))}\n{"kind":"end","at":1,"exitCode":0}\n`);
    assert.equal(await run('compare', 'a.json', 'b.tidemark'), 0);
    assert.match(io.stdout.join(''), /peak in use +100 B +→ +50 B +−50 B +−50 %/);
  });

  it('says its version', async () => {
    assert.equal(await run('--version'), 0);
    assert.match(io.stdout.join(''), /^\d+\.\d+\.\d+\n$/);
  });

  it('every command has a help', async () => {
    assert.equal(await run('--help'), 0);
    for (const command of ['check', 'profile', 'collect', 'show', 'compare', 'explain', 'plan', 'lsp']) {
      io.stdout.length = 0;
      assert.equal(await run(command, '--help'), 0);
      assert.match(io.stdout.join(''), new RegExp(`^usage: tidemark ${command} `));
    }
  });
});
