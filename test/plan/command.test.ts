/** `tidemark plan`, as called: what it prints, what it writes, how it ends. Depends on: language-server/cli. */
import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { planCommand } from '../../language-server/cli/plan.ts';
import { readInstance } from '../../language-server/cli/plan-csv.ts';
import { faults } from '../../runtime/plan/faults.ts';
import { UsageError } from '../../language-server/cli/io.ts';
import { countingClock } from './support.ts';

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  readonly written: ReadonlyMap<string, string>;
}

async function plan(csv: string, ...argv: string[]): Promise<Run> {
  let out = '';
  let err = '';
  const written = new Map<string, string>();
  const code = await planCommand(['in.csv', ...argv], {
    cwd: '/w',
    now: countingClock(),
    out: (text) => void (out += text),
    err: (text) => void (err += text),
    readFile: (path) => {
      if (path !== resolve('/w', 'in.csv')) throw new Error('no such file');
      return csv;
    },
    writeFile: (path, text) => void written.set(path, String(text)),
  });
  return { code, out, err, written };
}

const three = 'id,lower,upper,size\na,0,2,4\nb,1,3,4\nc,2,4,4\n';

describe('tidemark plan', () => {
  it('prints the contract as JSON and writes the offsets', async () => {
    const { code, out, written } = await plan(three, '--format', 'json', '--out', 'placed.csv');
    const { ms, ...report } = JSON.parse(out) as Record<string, unknown>;
    assert.equal(code, 0);
    assert.equal(typeof ms, 'number');
    assert.deepEqual(report, { version: 1, peakBytes: 8, lowerBoundBytes: 8, optimal: true, buffers: 3 });
    const placed = readInstance(written.get(resolve('/w', 'placed.csv'))!, 'placed.csv');
    assert.deepEqual(placed.columns, ['id', 'lower', 'upper', 'size', 'offset']);
    assert.deepEqual(
      faults(
        placed.buffers,
        placed.buffers.map(({ fixed }) => fixed!),
        8,
      ),
      [],
    );
  });

  it('ends with 4 and writes nothing when the capacity cannot be met', async () => {
    const { code, out, written } = await plan(three, '--capacity', '7', '--out', 'placed.csv');
    assert.equal(code, 4);
    assert.match(out, /at least 8 are needed/);
    assert.equal(written.size, 0);
  });

  it('takes columns in any order, quotes, blank lines and either kind of line end, and gives them back', async () => {
    const csv = '\uFEFFsize,note,id,upper,lower,alignment\r\n3,"x, y",a,2,0,4\r\n\r\n5,,b,2,0,4\r\n';
    const { code, written } = await plan(csv, '--out', 'placed.csv');
    assert.equal(code, 0);
    const lines = written.get(resolve('/w', 'placed.csv'))!.split('\r\n');
    assert.equal(lines[0], 'size,note,id,upper,lower,alignment,offset');
    assert.match(lines[1]!, /^3,"x, y",a,2,0,4,[048]$/);
    assert.match(lines[2]!, /^5,,b,2,0,4,[048]$/);
  });

  it('keeps offsets that are given, and lets buffers lie in the gaps of others', async () => {
    const csv = 'id,lower,upper,size,gaps,offset\na,0,10,8,2-8@0:2,0\nb,3,7,6,,\nc,0,2,4,,8\n';
    const { out, written } = await plan(csv, '--format', 'json', '--out', 'placed.csv');
    assert.equal((JSON.parse(out) as { peakBytes: number }).peakBytes, 12);
    assert.match(written.get(resolve('/w', 'placed.csv'))!, /^b,3,7,6,,2$/m);
  });

  const faulty: readonly (readonly [string, string, RegExp])[] = [
    ['no header', '', /in\.csv:1: the column `id` is missing/],
    ['a column that is missing', 'id,lower,upper\n', /in\.csv:1: the column `size` is missing/],
    ['a column twice', 'id,lower,upper,size,size\n', /in\.csv:1: the column `size` is there twice/],
    ['a word for a number', 'id,lower,upper,size\r\na,0,x,1\r\n', /in\.csv:2: `upper` is "x"/],
    ['an empty cell', 'id,lower,upper,size\na,0,,1\n', /in\.csv:2: `upper` is empty/],
    ['a fraction', 'id,lower,upper,size\na,0,1,1.5\n', /in\.csv:2: `size` is "1.5"/],
    ['a number too large to count with', 'id,lower,upper,size\na,0,1,99999999999999999999\n', /in\.csv:2: `size` is/],
    ['a negative size', 'id,lower,upper,size\na,0,1,-1\n', /in\.csv:2: `size` is -1/],
    ['a life that ends before it begins', 'id,lower,upper,size\na,0,1,1\nb,5,5,1\n', /in\.csv:3: `upper` 5 is not above `lower` 5/],
    ['an id twice', 'id,lower,upper,size\na,0,1,1\n\na,0,1,1\n', /in\.csv:4: the id `a` was given at line 2/],
    ['a row that is too short', 'id,lower,upper,size\na,0,1\n', /in\.csv:2: 3 cells under 4 columns/],
    ['a quote that does not end', 'id,lower,upper,size\n"a,0,1,1\n', /in\.csv:2: a quoted cell does not end/],
    ['an alignment of 0', 'id,lower,upper,size,alignment\na,0,1,1,0\n', /in\.csv:2: `alignment` is 0/],
    ['a gap outside the life', 'id,lower,upper,size,gaps\na,0,4,1,3-5\n', /in\.csv:2: the gap "3-5"/],
    ['given offsets that overlap', 'id,lower,upper,size,offset\na,0,4,4,0\nb,1,2,4,2\n', /the offsets given for `b` and `a` overlap at 1/],
  ];
  for (const [name, csv, message] of faulty)
    it(`refuses ${name}`, async () => {
      await assert.rejects(plan(csv), (error) => error instanceof UsageError && message.test(error.message));
    });

  it('refuses a file that is not there, a timeout of none, and a second file', async () => {
    const io = {
      cwd: '/w',
      now: countingClock(),
      out: () => {},
      err: () => {},
      readFile: () => {
        throw new Error('none');
      },
      writeFile: () => {},
    };
    await assert.rejects(planCommand(['gone.csv'], io), /gone\.csv cannot be read/);
    await assert.rejects(plan(three, '--timeout', '0'), UsageError);
    await assert.rejects(plan(three, 'more.csv'), UsageError);
  });

  it('packs nothing into nothing', async () => {
    const { code, out } = await plan('id,lower,upper,size\n', '--format', 'json');
    assert.equal(code, 0);
    assert.equal((JSON.parse(out) as { peakBytes: number }).peakBytes, 0);
  });
});
