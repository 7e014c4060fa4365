/**
 * The texts that open beside the source: compiled functions explained, profiles compared, places as links.
 *
 * Depends on: support, vscode.
 */
import assert from 'node:assert/strict';
import { copyFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import * as vscode from 'vscode';
import type { ProfileOutcome } from '../../../language-server/protocol.ts';
import { activate, edit, folder, lensCommand, lenses, open, until } from './support.ts';

const links = async (document: vscode.TextDocument): Promise<readonly vscode.DocumentLink[]> =>
  (await vscode.commands.executeCommand<vscode.DocumentLink[]>('vscode.executeLinkProvider', document.uri)) ?? [];

describe('Texts beside the source', function () {
  this.timeout(240_000);
  before(activate);
  after(() => vscode.commands.executeCommand('workbench.action.closeAllEditors'));

  it('explain a compiled function before anything was run, follow its edits, and lead to its lines and other stages', async () => {
    const { document } = await open('train-mlp.ts');
    await until(
      'the lens',
      () => lenses(document.uri),
      (all) => all.some((title) => /: explain: .*reuse space/.test(title)),
      120_000,
    );
    const { command, arguments: args = [] } = await lensCommand(document.uri, 'tidemark.explain', 'step');
    const plan = (await vscode.commands.executeCommand<vscode.TextDocument>(command, ...args))!;
    assert.equal(plan.uri.scheme, 'tidemark-explain');
    assert.match(plan.getText(), /^step · plan: /);
    assert.match(plan.getText(), /nextLayers +f32\[784,512\] +1\.5 MiB +·+━+ +train-mlp\.ts:52:\d+/);
    const found = await links(plan);
    const line = found.find(({ target }) => target?.fragment.startsWith('L52,'));
    assert.equal(line?.target?.fsPath, document.uri.fsPath);
    const stages = found.flatMap(({ target }) => (target?.scheme === 'tidemark-explain' ? [path.extname(target.path)] : []));
    assert.deepEqual(stages, ['.schedule', '.ir', '.trace']);
    for (const { target } of found.filter((one) => one.target?.scheme === 'tidemark-explain')) {
      const text = (await vscode.workspace.openTextDocument(target!)).getText();
      assert.match(text, /^step · (schedule|ir|trace): /);
      assert.match(text, /train-mlp\.ts:37:\d+/);
    }
    await edit(document, 'const SIZES = [784, 512, 512, 10];', 'const SIZES = [784, 256, 256, 10];');
    await until(
      'the plan of the edited text',
      () => plan.getText(),
      (text) => text.includes('f32[784,256]'),
      120_000,
    );
    await vscode.window.showTextDocument(document);
    await vscode.commands.executeCommand('workbench.action.files.revert');
  });

  it('say at the pointer what an array is, how long it lives, and whose bytes it has', async () => {
    const { document } = await open('train-mlp.ts');
    const at = document.positionAt(document.getText().indexOf('nextMomentum ='));
    const shown = await until(
      'the hover',
      async () => {
        const found = (await vscode.commands.executeCommand<vscode.Hover[]>('vscode.executeHoverProvider', document.uri, at)) ?? [];
        return found
          .flatMap(({ contents }) => contents.map((one) => (typeof one === 'string' ? one : one.value)))
          .join('\n')
          .replaceAll('&nbsp;', '');
      },
      // The links come with the first analysis of the whole file; what is hovered over is asked for before.
      (text) => text.includes('| memory |') && text.includes('[Explain step]'),
      120_000,
    );
    assert.match(shown, /\*\*`nextMomentum`\*\* holds `f32\[512\]`/);
    assert.match(shown, /\| bytes \| 2\.6 MiB in 6 arrays \|/);
    assert.match(shown, /(reuses the space of|updated in place, over|takes over the buffer of) .*`\w+` \(line \d+\)/);
    assert.match(shown, /\[Explain step\]\(command:tidemark\.explain/);
  });

  it('compare two saved profiles, with links to lines that differ', async () => {
    const { document } = await open('tensors.ts');
    const outcome = await vscode.commands.executeCommand<ProfileOutcome>('tidemark.profileFile', document.uri);
    const [before, after] = ['before.tidemark', 'after.tidemark'].map((name) => path.join(folder(), name)) as [string, string];
    copyFileSync(outcome.profileFile!, before);
    const report = structuredClone(outcome.report!);
    const smaller = {
      ...report,
      peakBytes: report.peakBytes / 2,
      lines: report.lines.map((one) => ({ ...one, peakLiveBytes: one.peakLiveBytes / 2 })),
    };
    await new Promise((resolve) => setTimeout(resolve, 20));
    writeFileSync(after, `${JSON.stringify(smaller)}\n`);
    const both = [vscode.Uri.file(before), vscode.Uri.file(after)];
    await vscode.commands.executeCommand('tidemark.compareProfiles', both[0], both);
    const shown = await until(
      'the comparison',
      () => vscode.window.activeTextEditor?.document,
      (one) => one?.uri.scheme === 'tidemark-results',
    );
    const { input } = vscode.window.tabGroups.activeTabGroup.activeTab!;
    assert.ok(input instanceof vscode.TabInputTextDiff, 'two sides');
    const left = (await vscode.workspace.openTextDocument(input.original)).getText();
    assert.match(left, /peak in use +12\.0 MiB$/m);
    assert.match(shown!.getText(), /peak in use +6\.0 MiB +−6\.0 MiB \(−50\.0 %\)$/m);
    assert.match(shown!.getText(), /tensors\.ts:5 +2\.0 MiB +−2\.0 MiB \(−50\.0 %\)$/m);
    const [link] = await links(shown!);
    assert.equal(link?.target?.fsPath, document.uri.fsPath);
    writeFileSync(before, 'no profile');
    await vscode.commands.executeCommand('workbench.action.closeActiveEditor');
    await vscode.commands.executeCommand('tidemark.compareProfiles', both[0], both);
    assert.notEqual(vscode.window.activeTextEditor?.document.uri.scheme, 'tidemark-results');
  });
});
