/**
 * The extension inside a real VS Code, in a trusted workspace: everything a person does with it.
 *
 * Depends on: support, vscode.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import * as vscode from 'vscode';
import type { ProfileOutcome } from '../../../language-server/protocol.ts';
import { activate, edit, findings, folder, hints, lenses, logText, open, readFixture, until } from './support.ts';

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
      20, // edits are resolved for so many
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
      all.some((title) => title.startsWith('3: measured 12.0 MiB')),
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
      titles.some((title) => /^4: measured .* \(before the last edit\)$/.test(title)),
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
    assert.match(text, /peak in use\s+12\.0 MiB$/m);
    await vscode.commands.executeCommand('tidemark.showTimeline');
    await until(
      'the timeline',
      () => vscode.window.tabGroups.activeTabGroup.activeTab?.input,
      (input) => input instanceof vscode.TabInputCustom && input.viewType === 'tidemark.timeline',
    );
    await vscode.commands.executeCommand('workbench.action.closeActiveEditor');
  });

  it('shows a program under each allocator side by side', async () => {
    const { document } = await open('tensors.ts');
    await vscode.commands.executeCommand('tidemark.compareAllocators', document.uri);
    const text = await until(
      'the table',
      () => vscode.window.activeTextEditor?.document.getText() ?? '',
      (shown) => shown.includes('peak reserved'),
    );
    assert.match(text, /bfc, grows on demand\s+[\d.]+ s\s+12\.0 MiB/);
    assert.match(text, /bfc, preallocated\s+[\d.]+ s\s+12\.0 MiB/);
    assert.match(text, /platform\s+[\d.]+ s\s+12\.0 MiB/);
    await vscode.commands.executeCommand('workbench.action.closeActiveEditor');
  });

  it('measures a page in a browser and writes its numbers on the lines of its script', async () => {
    const source = readFixture('page.js');
    const server = http.createServer(({ url }, response) => {
      const isScript = url === '/page.js';
      response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
      response.end(isScript ? source : '<!doctype html><title>page</title><script type="module" src="/page.js"></script>');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const { document } = await open('page.js');
      const { port } = server.address() as AddressInfo;
      const run = vscode.commands.executeCommand<ProfileOutcome>('tidemark.profileUrl', `http://127.0.0.1:${port}/`);
      await until('the page to have drawn', logText, (text) => text.includes('log: page allocated'), 90_000);
      await vscode.commands.executeCommand('tidemark.cancelProfile');
      const outcome = await run;
      assert.equal(outcome.state, 'done', outcome.message ?? '');
      assert.equal(outcome.report!.peakBytes, 4 * 2 ** 20);
      await open('page.js');
      const shown = await until(
        'hints',
        () => hints(document),
        (found) => found.length > 0,
      );
      assert.deepEqual(shown, ['4: +4.0 MiB → 4.0 MiB  ◀ peak 4.0 MiB']);
    } finally {
      server.close();
    }
  });

  it('adds the runtime to a project, so that it can be imported', async () => {
    const project = path.join(folder(), 'fresh');
    mkdirSync(project, { recursive: true });
    writeFileSync(path.join(project, 'package.json'), JSON.stringify({ name: 'fresh', private: true, type: 'module' }));
    writeFileSync(path.join(project, 'package-lock.json'), JSON.stringify({ name: 'fresh', lockfileVersion: 3, packages: {} }));
    assert.equal(await vscode.commands.executeCommand('tidemark.addRuntime', vscode.Uri.file(project)), 0);
    const { dependencies } = JSON.parse(readFileSync(path.join(project, 'package.json'), 'utf8')) as { dependencies: object };
    assert.match(JSON.stringify(dependencies), /"tidemark":"file:vendor\/tidemark-[\d.]+\.tgz"/);
    const program = "import { init, np } from 'tidemark'; await init({ device: 'cpu' }); console.log(np.ones([3]).sum().itemSync());";
    const { stdout } = await promisify(execFile)('node', ['--input-type=module', '-e', program], { cwd: project });
    assert.equal(stdout.trim(), '3');
  });

  it('lays out a sample that is measured and underlined without a network', async () => {
    const at = await vscode.commands.executeCommand<vscode.Uri>('tidemark.openSample', vscode.Uri.file(path.join(folder(), 'sample')));
    const { document } = await open(path.join('sample', 'train.ts'));
    assert.equal(path.dirname(document.uri.fsPath), at.fsPath);
    const [found] = await until(
      'the finding',
      () => findings(document.uri),
      (all) => all.length === 1,
      90_000,
    );
    assert.equal(found?.code, 'missed-donation');
    const outcome = await vscode.commands.executeCommand<ProfileOutcome>('tidemark.profileFile', document.uri);
    assert.equal(outcome.state, 'done', outcome.message ?? '');
    assert.match(found.message, new RegExp(`from ${(outcome.report!.peakBytes / 2 ** 20).toFixed(1)} MiB`));
  });

  it('runs the budgets of the Test Explorer by profiling their files', async () => {
    const { document } = await open('budgeted.ts');
    assert.ok(!(await lenses(document.uri)).some((title) => title.includes('peak 12.0 MiB')));
    await vscode.commands.executeCommand('testing.runAll');
    await until(
      'the measured peak',
      () => lenses(document.uri),
      (found) => found.some((title) => title.includes('peak 12.0 MiB')),
      60_000,
    );
    await vscode.commands.executeCommand('testing.clearTestResults');
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
