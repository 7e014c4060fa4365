/**
 * The extension inside a real VS Code, in a trusted workspace: everything a person does with it.
 *
 * Depends on: support, vscode.
 */
import assert from 'node:assert/strict';
import path from 'node:path';
import * as vscode from 'vscode';
import { activate, edit, findings, folder, hints, lenses, open, readFixture, until } from './support.ts';

describe('Tidemark in the editor', () => {
  before(activate);

  it('offers to profile a file that uses arrays, and leaves others alone', async () => {
    const { document } = await open('tensors.ts');
    await until(
      'the lens',
      () => lenses(document.uri),
      (all) => all.includes('1: ▶ Profile memory'),
    );
    const plain = await open('plain.ts');
    assert.deepEqual(await lenses(plain.document.uri), []);
  });

  it('underlines a leak while typing, unsaved, and the fix takes it away', async () => {
    const { document } = await open('leaky.ts');
    const [found] = await until(
      'the finding',
      () => findings(document.uri),
      (all) => all.length === 1,
      60_000,
    );
    assert.equal(found?.code, 'leak');
    assert.equal(found.range.start.line, 3);
    const fixes = await vscode.commands.executeCommand<vscode.CodeAction[]>(
      'vscode.executeCodeActionProvider',
      document.uri,
      found.range,
      'quickfix',
    );
    const fix = fixes.find(({ edit: change, disabled }) => change !== undefined && disabled === undefined);
    assert.ok(fix?.edit, fixes.map(({ title }) => title).join());
    assert.ok(await vscode.workspace.applyEdit(fix.edit));
    assert.match(document.getText(), /doubled\.dispose\(\)/);
    assert.equal(document.isDirty, true);
    await until(
      'no finding',
      () => findings(document.uri),
      (all) => all.length === 0,
      60_000,
    );
    await vscode.commands.executeCommand('workbench.action.files.revert');
    await until(
      'the finding again',
      () => findings(document.uri),
      (all) => all.length === 1,
      60_000,
    );
  });

  it('keeps the lenses of a file with a syntax error', async () => {
    const { document } = await open('tensors.ts');
    await edit(document, 'return squared;', 'return squared; const (');
    await until(
      'the lens',
      () => lenses(document.uri),
      (all) => all.includes('1: ▶ Profile memory'),
    );
    await vscode.commands.executeCommand('workbench.action.files.revert');
  });

  it('measures after the click and writes the numbers on lens and lines', async () => {
    const { document } = await open('tensors.ts');
    await vscode.commands.executeCommand('tidemark.profileFile', document.uri);
    const all = await until(
      'the measured peak',
      () => lenses(document.uri),
      (found) => found.some((title) => /^1: peak 12\.0 MiB/.test(title)),
    );
    assert.ok(
      all.some((title) => title.startsWith('3: peak 12.0 MiB')),
      all.join('\n'),
    );
    const shown = await until(
      'hints',
      () => hints(document),
      (found) => found.length > 0,
    );
    assert.deepEqual(shown, ['4: +4.0 MiB → 8.0 MiB', '5: +4.0 MiB → 12.0 MiB  ◀ peak 12.0 MiB', '10: +4.0 MiB → 4.0 MiB']);
  });

  it('dims numbers whose code changed, moves the others, and freshens them when the text is restored', async () => {
    const { document } = await open('tensors.ts');
    const before = document.getText();
    assert.equal(before, readFixture('tensors.ts'));
    const fresh = await hints(document);
    assert.ok(fresh.length > 0);
    await edit(document, 'import * as tf', '// a remark\nimport * as tf');
    await until(
      'moved hints',
      () => hints(document),
      (found) => found[0]?.startsWith('5:') === true,
    );
    await edit(document, 'tf.add(x, x)', 'tf.add(x, x.clone())');
    await until(
      'stale hints to go',
      () => hints(document),
      (found) => found.every((hint) => !hint.startsWith('5:')),
    );
    const titles = await lenses(document.uri);
    assert.ok(
      titles.some((title) => /^4: peak .* \(before the last edit\)$/.test(title)),
      titles.join('\n'),
    );
    await edit(document, document.getText(), before);
    await until(
      'the fresh numbers',
      () => hints(document),
      (found) => found.join() === fresh.join(),
    );
    await vscode.commands.executeCommand('workbench.action.files.revert');
  });

  it('says plainly what happened when the program fails, and keeps what was measured', async () => {
    const { document } = await open('throws.ts');
    await vscode.commands.executeCommand('tidemark.profileFile', document.uri);
    await until(
      'numbers up to the failure',
      () => hints(document),
      (found) => found.some((hint) => hint.includes('4.0 MiB')),
    );
  });

  it('ends a program that never ends when its run is cancelled', async () => {
    const { document } = await open('endless.ts');
    const run = vscode.commands.executeCommand('tidemark.profileFile', document.uri);
    await new Promise((resolve) => setTimeout(resolve, 2500));
    await vscode.commands.executeCommand('tidemark.cancelProfile');
    await run;
    assert.ok((await lenses(document.uri)).includes('1: ▶ Profile memory'));
  });

  it('compares the run with the one before, and keeps the last as a file that opens', async () => {
    const { document } = await open('tensors.ts');
    await vscode.commands.executeCommand('tidemark.profileFile', document.uri);
    await vscode.commands.executeCommand('tidemark.profileFile', document.uri);
    await vscode.commands.executeCommand('tidemark.compareWithPrevious');
    const text = await until(
      'the comparison',
      () => vscode.window.activeTextEditor?.document.getText() ?? '',
      (shown) => shown.includes('peak in use'),
    );
    assert.match(text, /peak in use\s+12\.0 MiB\s+12\.0 MiB\s+=/);
    await vscode.commands.executeCommand('tidemark.showTimeline');
    await until(
      'the timeline',
      () => vscode.window.tabGroups.activeTabGroup.activeTab?.input,
      (input) => input instanceof vscode.TabInputCustom && input.viewType === 'tidemark.timeline',
    );
    await vscode.commands.executeCommand('workbench.action.closeActiveEditor');
  });

  it('clears its numbers', async () => {
    const { document } = await open('tensors.ts');
    await vscode.commands.executeCommand('tidemark.profileFile', document.uri);
    await until(
      'hints',
      () => hints(document),
      (found) => found.length > 0,
    );
    await vscode.commands.executeCommand('tidemark.clearMeasurements');
    await until(
      'no hints',
      () => hints(document),
      (found) => found.length === 0,
    );
  });

  it('collects facts for a bug report without code', async () => {
    await vscode.commands.executeCommand('tidemark.collectDiagnostics');
    const text = vscode.window.activeTextEditor!.document.getText();
    const facts = JSON.parse(text) as Record<string, unknown>;
    assert.equal(facts['trusted'], true);
    assert.ok(!text.includes(path.basename(folder())));
    await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
  });

  it('keeps working after the server is restarted', async () => {
    const { document } = await open('tensors.ts');
    await vscode.commands.executeCommand('tidemark.restartServer');
    await until(
      'the lens',
      () => lenses(document.uri),
      (all) => all.includes('1: ▶ Profile memory'),
    );
    assert.equal(readFixture('tensors.ts').startsWith('import'), true);
    assert.deepEqual(
      findings(document.uri).filter(({ severity }) => severity === vscode.DiagnosticSeverity.Error),
      [],
    );
  });
});
