/**
 * Command id -> what it does, in one table.
 *
 * Lenses call commands with a uri as text; the palette calls them with nothing and means the active editor.
 * Depends on: client, profile, results, page, add-runtime, sample.
 */
import path from 'node:path';
import * as vscode from 'vscode';
import { methods, type SupportFacts } from '../language-server/protocol.ts';
import { addRuntime } from './add-runtime.ts';
import type { Client } from './client.ts';
import { explain } from './explain.ts';
import { askForAddress, profilePage } from './page.ts';
import type { Profiler } from './profile.ts';
import type { Results } from './results.ts';
import { openSample } from './sample.ts';

export interface Parts {
  readonly context: vscode.ExtensionContext;
  readonly client: Client;
  readonly profiler: Profiler;
  readonly results: Results;
  readonly log: vscode.LogOutputChannel;
}

type Command = (...args: readonly unknown[]) => unknown;

export function registerCommands(parts: Parts): vscode.Disposable {
  const { client, profiler, results, log } = parts;
  const table: Readonly<Record<string, Command>> = {
    'tidemark.profileFile': (uri) => withUri(uri, (file) => profiler.run({ uri: file })),
    'tidemark.profileFunction': (uri, name) => profileFunction(parts, uri, name),
    'tidemark.cancelProfile': () => profiler.cancel(),
    'tidemark.chooseEntry': (uri, name) => withUri(uri, (file) => chooseEntry(parts, file, name)),
    'tidemark.explain': (uri, name, line) => withUri(uri, (file) => explainFunction(file, name, line)),
    'tidemark.clearMeasurements': async () => (await client.start()).sendNotification(methods.clear),
    'tidemark.showPeak': (uri, line) => withUri(uri, (file) => showPeak(file, line)),
    'tidemark.showTimeline': (uri, line) =>
      results.showTimeline(typeof line === 'number' ? withUri(uri, ({ fsPath: file }) => ({ file, line })) : undefined),
    'tidemark.compareWithPrevious': () => results.compareWithPrevious(),
    'tidemark.compareProfiles': (_, selected) =>
      results.compareProfiles(Array.isArray(selected) ? selected.filter((one) => one instanceof vscode.Uri) : []),
    'tidemark.profileUrl': (url) => profilePage(parts.context, profiler, url),
    'tidemark.compareAllocators': (uri) => withUri(uri, (file) => results.compareAllocators(file)),
    'tidemark.addRuntime': (folder) => addRuntime(parts.context, folder),
    'tidemark.openSample': (folder) => openSample(parts.context, folder),
    'tidemark.exportProfile': () => results.exportProfile(),
    'tidemark.showFix': (uri, line, column) => withUri(uri, (file) => showFix(file, line, column)),
    'tidemark.fixAll': () => fixAll(),
    'tidemark.showOutput': () => log.show(true),
    'tidemark.restartServer': () => client.restart(),
    'tidemark.collectDiagnostics': () => collectDiagnostics(parts),
  };
  return vscode.Disposable.from(...Object.entries(table).map(([id, command]) => vscode.commands.registerCommand(id, command)));
}

function withUri<T>(given: unknown, then: (uri: vscode.Uri) => T): T | undefined {
  const uri =
    given instanceof vscode.Uri
      ? given
      : typeof given === 'string'
        ? vscode.Uri.parse(given)
        : vscode.window.activeTextEditor?.document.uri;
  return uri === undefined ? undefined : then(uri);
}

/** From a lens with the function's name; from the palette with the function around the caret. */
async function profileFunction({ profiler }: Parts, given: unknown, name: unknown): Promise<unknown> {
  const uri = withUri(given, (one) => one);
  if (uri === undefined) return undefined;
  if (typeof name === 'string') return profiler.run({ uri, function: name });
  const around = await functionAtCaret(uri);
  return profiler.run(around === undefined ? { uri } : { uri, function: around });
}

async function functionAtCaret(uri: vscode.Uri): Promise<string | undefined> {
  const name: unknown = (await lensAbove(uri, 'tidemark.profileFunction'))?.arguments?.[1];
  return typeof name === 'string' ? name : undefined;
}

/** The last lens of a command at or above the caret. */
async function lensAbove(uri: vscode.Uri, id: string): Promise<vscode.Command | undefined> {
  const caret = vscode.window.activeTextEditor?.selection.active;
  if (caret === undefined) return undefined;
  const lenses = (await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', uri)) ?? [];
  return lenses
    .filter(({ command, range }) => command?.command === id && range.start.line <= caret.line)
    .sort((a, b) => b.range.start.line - a.range.start.line)[0]?.command;
}

/** From a lens with the function; from the palette that at or above the caret. */
async function explainFunction(uri: vscode.Uri, name: unknown, line: unknown): Promise<vscode.TextDocument | undefined> {
  if (typeof name === 'string' && typeof line === 'number') return explain({ file: uri.fsPath, function: name, line });
  const args: readonly unknown[] = (await lensAbove(uri, 'tidemark.explain'))?.arguments ?? [];
  if (typeof args[1] === 'string' && typeof args[2] === 'number') return explain({ file: uri.fsPath, function: args[1], line: args[2] });
  void vscode.window.showInformationMessage(vscode.l10n.t('No compiled function is at or above the caret: one is made by `jit`.'));
  return undefined;
}

/** Remembers in the workspace's settings what runs to measure a file, then runs it. */
async function chooseEntry({ profiler }: Parts, uri: vscode.Uri, name: unknown): Promise<void> {
  const folder = vscode.workspace.getWorkspaceFolder(uri);
  if (folder === undefined) return;
  const files = await vscode.workspace.findFiles(
    new vscode.RelativePattern(folder, '**/*.{ts,tsx,mts,js,mjs,cjs}'),
    '**/{node_modules,dist,.git}/**',
    2000,
  );
  const relative = (file: vscode.Uri): string => path.relative(folder.uri.fsPath, file.fsPath).split(path.sep).join('/');
  const page: vscode.QuickPickItem = { label: `$(globe) ${vscode.l10n.t('A page in Chrome…')}`, alwaysShow: true };
  const items: readonly vscode.QuickPickItem[] = [
    page,
    ...files.map((file) => ({ label: relative(file) })).sort((a, b) => a.label.localeCompare(b.label)),
  ];
  const picked = await vscode.window.showQuickPick(items, {
    title: vscode.l10n.t('What runs to profile {0}?', relative(uri)),
    placeHolder: vscode.l10n.t('a script or a test that calls it, or a page'),
  });
  const chosen = picked === page ? await askForAddress('http://localhost:5173/') : picked?.label;
  if (chosen === undefined) return;
  const settings = vscode.workspace.getConfiguration('tidemark', folder.uri);
  const entries = settings.get<Record<string, string>>('profile.entries', {});
  await settings.update('profile.entries', { ...entries, [relative(uri)]: chosen }, vscode.ConfigurationTarget.WorkspaceFolder);
  const entry = picked === page ? chosen : vscode.Uri.joinPath(folder.uri, chosen).fsPath;
  await profiler.run({ uri, entry, ...(typeof name === 'string' ? { function: name } : {}) });
}

async function showPeak(uri: vscode.Uri, given: unknown): Promise<void> {
  const editor = await vscode.window.showTextDocument(uri);
  const line = typeof given === 'number' ? given - 1 : await peakLine(editor.document);
  if (line === undefined || line >= editor.document.lineCount) return;
  const { range } = editor.document.lineAt(line);
  editor.selection = new vscode.Selection(range.start, range.start);
  editor.revealRange(range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
}

/** The peak line carries the hint with the mark. */
async function peakLine(document: vscode.TextDocument): Promise<number | undefined> {
  const whole = new vscode.Range(0, 0, document.lineCount, 0);
  const hints = (await vscode.commands.executeCommand<vscode.InlayHint[]>('vscode.executeInlayHintProvider', document.uri, whole)) ?? [];
  return hints.find(({ label }) => typeof label === 'string' && label.includes('◀ peak'))?.position.line;
}

async function showFix(uri: vscode.Uri, line: unknown, column: unknown): Promise<void> {
  if (typeof line !== 'number' || typeof column !== 'number') return;
  const editor = await vscode.window.showTextDocument(uri);
  const at = new vscode.Position(line - 1, column - 1);
  editor.selection = new vscode.Selection(at, at);
  editor.revealRange(new vscode.Range(at, at), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  await vscode.commands.executeCommand('editor.action.quickFix');
}

/** Safe fixes until none is left, as `tidemark check --fix`. */
async function fixAll(): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) return;
  const { document } = editor;
  for (let round = 0; round < 20; round += 1) {
    const whole = new vscode.Range(0, 0, document.lineCount, 0);
    const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>(
      'vscode.executeCodeActionProvider',
      document.uri,
      whole,
      'source.fixAll.tidemark',
    );
    const edit = actions?.find(({ edit: one }) => one !== undefined)?.edit;
    if (edit === undefined || !(await vscode.workspace.applyEdit(edit))) return;
  }
}

/** A text for a bug report: versions and counts, nothing of the person's code. */
async function collectDiagnostics({ context, client }: Parts): Promise<void> {
  const facts = client.isRunning ? await (await client.start()).sendRequest<SupportFacts>(methods.support) : { server: 'not started' };
  const { version } = context.extension.packageJSON as { version: string };
  const all = {
    tidemark: version,
    vscode: vscode.version,
    trusted: vscode.workspace.isTrusted,
    remote: vscode.env.remoteName ?? 'none',
    folders: vscode.workspace.workspaceFolders?.length ?? 0,
    ...facts,
  };
  const document = await vscode.workspace.openTextDocument({ language: 'json', content: JSON.stringify(all, undefined, 2) });
  await vscode.window.showTextDocument(document);
}
