/**
 * The extension in Restricted Mode: it analyses, and never runs anything.
 *
 * Depends on: support, vscode.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import * as vscode from 'vscode';
import { activate, findings, folder, hints, lensCommand, lenses, open, until } from './support.ts';

describe('Tidemark in Restricted Mode', () => {
  before(activate);

  it('is in Restricted Mode here', () => assert.equal(vscode.workspace.isTrusted, false));

  it('still shows its lenses', async () => {
    const { document } = await open('tensors.ts');
    await until(
      'the lens',
      () => lenses(document.uri),
      (all) => all.includes('1: ▶ Profile memory'),
    );
  });

  it('still underlines what is wrong', async () => {
    const { document } = await open('leaky.ts');
    await until(
      'the finding',
      () => findings(document.uri),
      (all) => all.length === 1,
      60_000,
    );
  });

  it('still explains a compiled function, because nothing is run for it', async () => {
    const { document } = await open('train-mlp.ts');
    await until(
      'the lens',
      () => lenses(document.uri),
      (all) => all.some((title) => title.includes(': explain')),
      120_000,
    );
    const { command, arguments: args = [] } = await lensCommand(document.uri, 'tidemark.explain', 'step');
    const plan = await vscode.commands.executeCommand<vscode.TextDocument>(command, ...args);
    assert.match(plan.getText(), /no plan of this order needs less than/);
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
  }).timeout(180_000);

  it('refuses to run, whichever way it is asked', async () => {
    const { document } = await open('writes.ts');
    await Promise.race([
      Promise.resolve(vscode.commands.executeCommand('tidemark.profileFile', document.uri)).catch(() => undefined),
      new Promise((resolve) => setTimeout(resolve, 4000)),
    ]);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    assert.equal(existsSync(path.join(folder(), 'was-run')), false);
    assert.deepEqual(await hints(document), []);
  });
});
