/**
 * `tidemark profile`, `compare` and `explain` on programs that really run: exit codes, tables, and files that others read.
 *
 * Depends on: cli, measure/support.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { Profile } from 'pprof-format';
import { main } from '../../language-server/cli/main.ts';
import { never } from '../../language-server/measure/run.ts';
import type { ProfileReport } from '../../language-server/protocol.ts';
import { programs, root } from '../measure/support.ts';

/** Holds 1000 KiB, and as much again as its second line says; ends as it is told to. */
const program = (kibibytes: number, end = ''): string => `
const device = await (await navigator.gpu.requestAdapter()).requestDevice();
globalThis.first = device.createBuffer({ size: 1000 << 10, usage: 128 });
function second() { return device.createBuffer({ size: ${kibibytes} << 10, usage: 128 }); }
globalThis.second = second();
${end}
`;

describe('the command line on programs that run', function () {
  this.timeout(120_000);
  const written = programs();
  after(() => written.remove());

  async function run(...argv: string[]): Promise<{ code: number; out: string; err: string }> {
    let [out, err] = ['', ''];
    const io = {
      cwd: written.folder,
      env: process.env,
      color: false,
      out: (text: string) => void (out += text),
      err: (text: string) => void (err += text),
      readFile: (path: string) => readFileSync(path, 'utf8'),
      writeFile: (path: string, content: string) => writeFileSync(path, content),
      now: () => performance.now(),
    };
    return { code: await main(argv, io, never), out, err };
  }

  it('a budget: 0 below and at it, 4 above it, with how much', async () => {
    written.write('a.mjs', program(24));
    const { code, out } = await run('profile', 'a.mjs', '--budget', '1MiB');
    assert.equal(code, 0);
    assert.match(out, /peak in use +1\.0 MiB at a\.mjs:4/);
    assert.match(out, /1000 KiB +1× +1000 KiB +3 │ globalThis\.first/);
    const over = await run('profile', 'a.mjs', '--budget', '1000KiB');
    assert.equal(over.code, 4);
    assert.match(over.err, /over budget: the peak of 1\.0 MiB is 24\.0 KiB above the budget of 1000 KiB/);
  });

  it('a baseline: what grew, by line and function, when it grew by more than is tolerated', async () => {
    written.write('b.mjs', program(24));
    assert.equal((await run('profile', 'b.mjs', '--format', 'json', '--out', 'before.json')).code, 0);
    written.write('b.mjs', program(34));
    const within = await run(
      'profile',
      'b.mjs',
      '--baseline',
      'before.json',
      '--tolerance',
      '2%',
      '--format',
      'json',
      '--out',
      'after.json',
    );
    assert.deepEqual([within.code, within.err], [0, '']);
    const { code, err } = await run('profile', 'b.mjs', '--baseline', 'before.json');
    assert.equal(code, 4);
    assert.match(err, /over baseline: the peak of 1\.0 MiB is 10\.0 KiB above what before\.json allows, 1\.0 % above its own 1\.0 MiB/);
    assert.match(err, /functions, by peak\n +second \(b\.mjs\) +1\.0 MiB +→ +1\.0 MiB +\+10\.0 KiB +\+1\.0 %/);
    assert.match(err, /lines, by most alive at one time\n +b\.mjs:4 +24\.0 KiB +→ +34\.0 KiB +\+10\.0 KiB +\+42 %/);
    const compared = await run('compare', 'before.json', 'after.json');
    assert.equal(compared.code, 0);
    assert.match(compared.out, /b\.mjs:4 +24\.0 KiB +→ +34\.0 KiB/);
    const json = await run('compare', 'before.json', 'after.json', '--format', 'json');
    const { lines } = JSON.parse(json.out) as { lines: readonly object[] };
    assert.deepEqual(lines, [{ what: 'b.mjs:4', before: 24 << 10, after: 34 << 10 }]);
  });

  it('a program that fails or never ends is 3, whatever its peak is', async () => {
    written.write('c.mjs', program(24, 'throw new Error("no");'));
    const failed = await run('profile', 'c.mjs', '--budget', '1KiB', '--format', 'json', '--out', 'c.json');
    assert.equal(failed.code, 3);
    assert.match(failed.err, /^error: the program ended with exit code 1; the profile reaches up to that point$/m);
    assert.equal((JSON.parse(readFileSync(join(written.folder, 'c.json'), 'utf8')) as ProfileReport).peakBytes, 1024 << 10);
    written.write('d.mjs', program(24, 'for (;;);'));
    const endless = await run('profile', 'd.mjs', '--timeout', '3', '--format', 'json');
    assert.equal(endless.code, 3);
    assert.match(endless.err, /still running after 3 s and was stopped/);
    assert.equal((JSON.parse(endless.out) as ProfileReport).peakBytes, 1024 << 10);
  });

  it('files that others read: pprof by line, a trace, and a profile that is shown again', async () => {
    written.write('e.mjs', program(24));
    for (const format of ['pprof', 'trace', 'tidemark'])
      assert.equal((await run('profile', 'e.mjs', '--format', format, '--out', `e.${format}`)).code, 0);
    const file = (name: string): Buffer => readFileSync(join(written.folder, name));
    const { sample, stringTable } = Profile.decode(gunzipSync(file('e.pprof')));
    assert.ok(stringTable.strings.includes('e.mjs'));
    assert.deepEqual(sample.map(({ value }) => Number(value.at(-1))).sort(), [1000 << 10, 24 << 10]);
    const trace = JSON.parse(file('e.trace').toString('utf8')) as readonly { args?: object }[];
    assert.ok(
      trace.some(({ args }) => JSON.stringify(args ?? {}).includes(String(1024 << 10))),
      'the peak is in it',
    );
    const shown = await run('show', 'e.tidemark');
    assert.equal(shown.code, 0);
    assert.match(shown.out, /peak in use +1\.0 MiB at e\.mjs:4/);
  });

  it('a whole command line, whose output stays its own', async () => {
    written.write('f.mjs', program(24));
    const { code, out } = await run('profile', '--format', 'json', '--command', '--', 'sh', '-c', 'node f.mjs');
    assert.equal(code, 0);
    const report = JSON.parse(out) as ProfileReport;
    assert.deepEqual([report.entry, report.peakBytes], ['sh -c node f.mjs', 1024 << 10]);
  });

  const runtime = relative(written.folder, join(root, 'runtime/index.ts')).replaceAll('\\', '/');
  const compiled = `
import { init, jit, np } from '${runtime}';
await init({ device: 'cpu' });
const step = jit((w: np.Array, x: np.Array) => np.tanh(w.matmul(x)).add(w));
let w = np.ones([64, 64]);
const x = np.ones([64, 64]);
for (let i = 0; i < 3; i += 1) {
  const next = step(w, x);
  w.dispose();
  w = next;
}
`;

  it('allocators side by side: time, reserved, unused, and what one pays for what', async () => {
    written.write('g.ts', compiled);
    const { code, out } = await run('profile', 'g.ts', '--compare-allocators');
    assert.equal(code, 0);
    const rows = out.split('\n');
    assert.match(rows[0]!, /^allocator +time +peak in use +peak reserved +unused at most$/);
    for (const name of ['bfc, grows on demand', 'bfc, preallocated', 'platform'])
      assert.ok(
        rows.some((row) => new RegExp(`^${name} +\\d+\\.\\d\\d s +[\\d.]+ KiB +[\\d.]+ [KMG]iB +\\d+ %$`).test(row)),
        `${name}: ${out}`,
      );
    assert.match(out, /Preallocating .* keeps the memory from everybody else/);
    written.write('h.ts', `${compiled}process.exit(7);\n`);
    const failed = await run('profile', 'h.ts', '--compare-allocators', '--format', 'json');
    assert.equal(failed.code, 3);
    const { runs } = JSON.parse(failed.out) as { runs: readonly { exitCode: number; peakReservedBytes: number; preallocate: boolean }[] };
    assert.deepEqual(
      runs.map(({ exitCode }) => exitCode),
      [7, 7, 7],
    );
    const [grown, preallocated] = runs;
    assert.ok(preallocated!.preallocate && preallocated!.peakReservedBytes > grown!.peakReservedBytes);
  });

  it('explain: every stage of a compiled function, each with its lines; nothing is computed', async () => {
    written.write('tsconfig.json', JSON.stringify({ extends: '../../tsconfig.json', include: ['i.ts'] }));
    written.write('i.ts', `${compiled.replace(runtime, 'tidemark')}console.log('ran');\n`);
    const { code, out } = await run('explain', 'i.ts', '--function', 'step');
    assert.equal(code, 0, out);
    for (const stage of ['trace', 'ir', 'schedule', 'plan']) assert.match(out, new RegExp(`^${stage} `, 'm'));
    assert.match(out, /i\.ts:4:\d+/);
    assert.match(out, /f32\[64,64\]/);
    const unknown = await run('explain', 'i.ts', '--function', 'other');
    assert.equal(unknown.code, 2);
    assert.match(unknown.err, /called no compiled function `other`[\s\S]*it called step/);
  });
});
