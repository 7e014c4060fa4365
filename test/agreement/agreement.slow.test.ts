/**
 * Static = measured: what the analysis reads off the source is what the running program does.
 *
 * The examples run on the `cpu` device, all cases of ours on the null device (events and plans without contents). For each
 * compiled call that the analysis claims to walk, its program prints exactly like one that was traced, and the planned
 * peaks are equal to the byte; the peak of a whole example is the one that its first line states. How many programs are
 * compared is recorded and can only grow. Depends on: language-server (memory, compiled), runtime.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { analyse, type Analysis } from '../../language-server/memory/analysis.ts';
import { planFor } from '../../language-server/memory/candidates.ts';
import { staticPeaks } from '../../language-server/memory/peak.ts';
import type { Project, Unit } from '../../language-server/lower/ir.ts';
import { printProgram } from '../../runtime/ir/print.ts';
import { lowered } from '../analysis/projects.ts';

const root = resolve(import.meta.dirname, '..', '..');
const config = join(root, 'test', 'agreement', 'tsconfig.json');
const examples = ['train-mlp', 'attention', 'fold-batches'].map((name) => join(root, 'examples', `${name}.ts`));
const cases = readdirSync(join(root, 'test', 'cases'))
  .filter((name) => /^tidemark-\d.*\.ts$/.test(name))
  .map((name) => join(root, 'test', 'cases', name));

/** Programs compared so far; a change of the walk may only raise it. */
const leastCompared = 200;

interface Program {
  readonly program: string;
  readonly peakBytes: number;
}
interface Ran {
  readonly file: string;
  readonly programs: readonly Program[];
  readonly error: string | null;
  readonly peakBytes: number;
}

describe('static = measured', function () {
  this.timeout(600_000);
  let project: Project;
  before(() => {
    ({ project } = lowered([...examples, ...cases], config));
  });

  it('the examples: programs print equally, and peaks agree to the byte', async () => {
    for (const file of examples) {
      const ran = await run([file], 'cpu');
      const analysis = analysisOf(project, file);
      const measured = ran.get(file)!;
      assert.equal(measured.error, null);
      assert.ok(compare(claims(analysis), measured) > 0, `nothing was compared in ${file}`);
      assert.equal(statedPeak(file), measured.peakBytes, `the first line of ${file}`);
      const highest = Math.max(
        ...staticPeaks(project.units.get(file)!, analysis).map(({ bytes }) => (typeof bytes === 'number' ? bytes : 0)),
      );
      assert.ok(
        Math.abs(highest - measured.peakBytes) <= 0.05 * measured.peakBytes,
        `static ${highest}, measured ${measured.peakBytes} in ${file}`,
      );
    }
  });

  it('the cases: every program that the analysis claims is one that was traced', async () => {
    const ran = await run(cases, 'null');
    let compared = 0;
    for (const file of cases) compared += compare(claims(analysisOf(project, file)), ran.get(file)!);
    console.log(`      ${compared} programs compared`);
    assert.ok(compared >= leastCompared, `${compared} programs compared, expected ${leastCompared} or more`);
  });
});

/** How many claims have a traced counterpart; one that has none though its function ran, or another peak, is a failure. */
function compare(claimed: readonly Program[], { programs, file, error }: Ran): number {
  const peaks = new Map<string, number[]>();
  for (const { program, peakBytes } of programs) peaks.set(program, [...(peaks.get(program) ?? []), peakBytes]);
  let compared = 0;
  for (const { program, peakBytes } of claimed) {
    // One program may have run with several choices of donation.
    const measured = peaks.get(program);
    const head = program.split('\n')[0]!;
    // A branch that this run didn't take, or didn't come to, has no counterpart.
    if (measured === undefined && (error !== null || programs.every((other) => other.program.split('\n')[0] !== head))) continue;
    assert.notEqual(
      measured,
      undefined,
      `${file}: no traced program prints like\n${program}\nbut\n${programs
        .filter((other) => other.program.startsWith(head))
        .map((other) => other.program)
        .join('\n')}`,
    );
    assert.ok(measured!.includes(peakBytes), `${file}: ${head} planned ${peakBytes}, measured ${measured!.join(', ')}`);
    compared++;
  }
  return compared;
}

function analysisOf(project: Project, file: string): Analysis {
  const unit = project.units.get(file)!;
  return analyse({
    units: new Map<string, Unit>([[file, unit]]),
    function: (id) => unit.functions.get(id),
    class: (id) => unit.classes.get(id),
  });
}

function claims({ exploration }: Analysis): readonly Program[] {
  const found = new Map<string, Program>();
  for (const call of exploration.runs.flatMap(({ calls }) => calls)) {
    const plan = call.assumed ? undefined : planFor(call);
    if (call.traced === undefined || plan === undefined || (call.function.how !== 'jit' && call.function.how !== 'pmap')) continue;
    const program = printProgram(call.traced.program);
    const peakBytes = plan.peakWith(call.leaves.map((leaf) => leaf.donated !== undefined));
    found.set(`${peakBytes} ${program}`, { program, peakBytes });
  }
  return [...found.values()];
}

function statedPeak(file: string): number {
  const [first] = readFileSync(file, 'utf8').split('\n');
  const match = /^\/\/ Expected peak: [\d.]+ [KM]iB \(([\d,]+) bytes\)\.$/.exec(first!);
  assert.ok(match !== null, `the first line of ${file} states its expected peak`);
  return Number(match[1]!.replaceAll(',', ''));
}

/** Runs files in a child process and returns what each traced. */
function run(files: readonly string[], device: 'cpu' | 'null'): Promise<ReadonlyMap<string, Ran>> {
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, ['--import', 'tsx', '--expose-gc', join(root, 'test', 'agreement', 'traced.ts'), ...files], {
      cwd: root,
      env: { ...process.env, TIDEMARK_DEVICE: device, TIDEMARK_MEM_LIMIT: '256GiB', TSX_TSCONFIG_PATH: config },
    });
    let out = '';
    let err = '';
    child.stdout.on('data', (text) => (out += text));
    child.stderr.on('data', (text) => (err += text));
    child.on('close', (code) => {
      const found = out
        .split('\n')
        .flatMap((text) => (text.startsWith('TRACED ') ? [JSON.parse(text.slice('TRACED '.length)) as Ran] : []));
      if (found.length < files.length)
        fail(new Error(`${found.length} of ${files.length} files ran, exit code ${code}\n${err.slice(-2000)}`));
      else done(new Map(found.map((one) => [one.file, one])));
    });
  });
}
