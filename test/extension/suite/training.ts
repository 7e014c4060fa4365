/**
 * The promise of the README in the editor: a hint says what donating would save, its fix is applied, and the measurement agrees.
 *
 * The program is `examples/train-mlp.ts` against the runtime of this checkout. Depends on: support, vscode.
 */
import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import type { ProfileOutcome } from '../../../language-server/protocol.ts';
import { writeBytes } from '../../../runtime/core/bytes.ts';
import { activate, findings, lensCommand, lenses, logText, open, readFixture, until } from './support.ts';

describe('Training in the editor', function () {
  // Two analyses and two runs on software Vulkan: long on a busy machine.
  this.timeout(300_000);
  before(activate);

  it('promises what a donation saves, applies it, and measures exactly that, with the same losses', async () => {
    const { document } = await open('train-mlp.ts');
    const source = readFixture('train-mlp.ts');
    const call = source.split('\n').findIndex((line) => line.includes('= step('));

    const [found] = await until(
      'the missed donation',
      () => findings(document.uri).filter(({ code }) => code === 'missed-donation'),
      (all) => all.length === 1,
      90_000,
    );
    assert.ok(found);
    assert.equal(found.range.start.line, call);
    assert.equal(document.getText(found.range), 'step(layers, momentum, images, labels)');
    const promised = savingOf(found);
    assert.ok(promised > 1024 * 1024, `${promised} bytes`);
    const inWords = writeBytes(promised);
    assert.ok(found.message.startsWith('`layers` and `momentum` ') && found.message.includes(` by ${inWords}, `), found.message);

    const before = await measured(document.uri, 1);
    assert.ok((await lenses(document.uri)).includes(`${stepLine(source)}: donating layers and momentum would save ${inWords}`));

    const fixes = await vscode.commands.executeCommand<vscode.CodeAction[]>(
      'vscode.executeCodeActionProvider',
      document.uri,
      found.range,
      'quickfix',
      20, // edits are resolved for so many
    );
    const fix = fixes.find(({ title }) => title === 'donate arguments 0, 1 of `step`');
    assert.ok(fix?.edit, fixes.map(({ title }) => title).join());
    assert.ok(await vscode.workspace.applyEdit(fix.edit));
    assert.match(document.getText(), /donateArgnums: \[0, 1\]/);
    await until(
      'no finding',
      () => findings(document.uri),
      (all) => all.length === 0,
      90_000,
    );

    const after = await measured(document.uri, 2);
    assert.equal(before.peakBytes - after.peakBytes, promised);
    assert.equal(before.losses.length, 5);
    assert.deepEqual(after.losses, before.losses);
  });
});

/** What the finding promises, as a number: the sentence has it rounded. */
function savingOf(found: vscode.Diagnostic): number {
  const { data } = found as vscode.Diagnostic & { readonly data?: { readonly savesBytes?: number } };
  assert.ok(data?.savesBytes !== undefined, 'the finding carries its bytes');
  return data.savesBytes;
}

const stepLine = (source: string): number => source.split('\n').findIndex((line) => line.startsWith('const step = jit')) + 1;

interface Run {
  readonly peakBytes: number;
  readonly losses: readonly string[];
}

/** Clicks the lens above `step`; the losses are what the nth run printed into the output channel. */
async function measured(uri: vscode.Uri, nth: number): Promise<Run> {
  const { command, arguments: args = [] } = await lensCommand(uri, 'tidemark.profileFunction', 'step');
  const outcome = await vscode.commands.executeCommand<ProfileOutcome>(command, ...args);
  assert.equal(outcome.state, 'done', outcome.message ?? '');
  assert.equal(outcome.notReached, false);
  const printed = await until(
    'the losses in the output channel',
    async () => losses((await logText()).split('Measuring train-mlp.ts')[nth] ?? ''),
    (all) => all.length === 5,
  );
  return { peakBytes: outcome.report!.peakBytes, losses: printed };
}

const losses = (text: string): string[] => [...text.matchAll(/step \d+: loss [\d.e-]+/g)].map(([line]) => line);
