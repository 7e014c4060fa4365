/**
 * A flood of output reaches the editor in bounded pieces. Depends on: language-server/lsp/output.
 */
import assert from 'node:assert/strict';
import { boundedOutput } from '../../language-server/lsp/output.ts';

describe('output of a measured program', () => {
  it('arrives whole and in order when it is little', () => {
    const sent: string[] = [];
    const output = boundedOutput(({ stream, text }) => sent.push(`${stream}: ${text}`));
    const bytes = new TextEncoder().encode('größe\n');
    output.write('stdout', bytes.slice(0, 3));
    output.write('stdout', bytes.slice(3));
    output.write('stderr', new TextEncoder().encode('oh\n'));
    output.end();
    assert.deepEqual(sent, ['stdout: größe\n', 'stderr: oh\n']);
  });

  it('is cut in the middle, at lines, when it floods', () => {
    const sent: string[] = [];
    const output = boundedOutput(({ text }) => sent.push(text));
    const line = new TextEncoder().encode('0123456789 a line of output\n');
    for (let n = 0; n < 100_000; n += 1) output.write('stdout', line);
    output.end();
    assert.equal(sent.length, 1);
    assert.ok(sent[0]!.length < 40_000);
    assert.match(sent[0]!, /\n… [\d,]+ characters left out …\n0123/);
    assert.ok(sent[0]!.endsWith('a line of output\n'));
  });
});
