/**
 * What the tests in the editor share: files of a workspace, and waiting until something is so.
 *
 * Depends on: vscode.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import * as vscode from 'vscode';

export const folder = (): string => vscode.workspace.workspaceFolders![0]!.uri.fsPath;

export async function activate(): Promise<void> {
  const extension = vscode.extensions.getExtension('tidemark.tidemark');
  assert.ok(extension, 'the extension is there');
  await extension.activate();
}

/** Opens a file of the workspace with its text restored. */
export async function open(name: string, text?: string): Promise<vscode.TextEditor> {
  const file = path.join(folder(), name);
  if (text !== undefined) writeFileSync(file, text);
  const document = await vscode.workspace.openTextDocument(file);
  if (document.isDirty) await vscode.commands.executeCommand('workbench.action.files.revert');
  return vscode.window.showTextDocument(document);
}

export const readFixture = (name: string): string => readFileSync(path.join(folder(), name), 'utf8');

/** Polls, because an editor tells nobody when it is done; on time-out the last value is shown. */
export async function until<T>(what: string, ask: () => T | Thenable<T>, holds: (value: T) => boolean, timeoutMs = 30_000): Promise<T> {
  let last: T;
  for (const end = Date.now() + timeoutMs; ;) {
    last = await ask();
    if (holds(last)) return last;
    if (Date.now() > end) throw new Error(`${what} did not come about; last: ${JSON.stringify(last)?.slice(0, 1500)}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

export async function lenses(uri: vscode.Uri): Promise<string[]> {
  const found = (await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', uri, 100)) ?? [];
  return found
    .filter(({ command }) => command?.command.startsWith('tidemark.') === true)
    .map(({ range, command }) => `${range.start.line + 1}: ${command!.title}`);
}

/** What a click on a lens of that command executes; the lens of a function has its name among the arguments. */
export async function lensCommand(uri: vscode.Uri, id: string, name: string): Promise<vscode.Command> {
  const found = (await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', uri, 100)) ?? [];
  const lens = found.find(({ command }) => command?.command === id && command.arguments?.includes(name) === true);
  assert.ok(lens?.command, `a lens of ${id} for ${name}`);
  return lens.command;
}

/** The text of the output channel, as a person reads it. */
export async function logText(): Promise<string> {
  await vscode.commands.executeCommand('tidemark.showOutput');
  const document = await until(
    'the output channel',
    () => vscode.workspace.textDocuments.find(({ uri }) => uri.scheme === 'output' && /tidemark/i.test(uri.path)),
    (found) => found !== undefined,
  );
  return document!.getText();
}

export async function hints(document: vscode.TextDocument): Promise<string[]> {
  const whole = new vscode.Range(0, 0, document.lineCount, 0);
  const found = (await vscode.commands.executeCommand<vscode.InlayHint[]>('vscode.executeInlayHintProvider', document.uri, whole)) ?? [];
  return found
    .filter(({ label }) => typeof label === 'string' && /[KMG]?i?B/.test(label))
    .map(({ position, label }) => `${position.line + 1}: ${String(label)}`);
}

export const findings = (uri: vscode.Uri): vscode.Diagnostic[] =>
  vscode.languages.getDiagnostics(uri).filter(({ source }) => source === 'tidemark');

export async function edit(document: vscode.TextDocument, from: string, to: string): Promise<void> {
  const at = document.getText().indexOf(from);
  assert.ok(at >= 0, `\`${from}\` is in ${document.fileName}`);
  const change = new vscode.WorkspaceEdit();
  change.replace(document.uri, new vscode.Range(document.positionAt(at), document.positionAt(at + from.length)), to);
  assert.ok(await vscode.workspace.applyEdit(change));
}
