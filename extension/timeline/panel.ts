/**
 * The read-only editor for `.tidemark` files: profiles are files that one can keep, compare and open again.
 *
 * Depends on: recording, messages, view (by its bundle).
 */
import { createReadStream } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import * as vscode from 'vscode';
import type { FromView, ToView } from './messages.ts';
import { readProfile } from './recording.ts';

export const viewType = 'tidemark.timeline';

/** A line of source that the timeline of a profile is to show. */
export interface Sought {
  readonly file: string;
  readonly line: number;
}

/** Open views by the profile they show, and what is sought in one that isn't open yet. */
const views = new Map<string, Set<(message: ToView) => void>>();
const sought = new Map<string, Sought>();

/** Shows where a line held most: in the open views of the profile, or in the one that opens next. */
export function seekInTimeline(profile: vscode.Uri, line: Sought): void {
  const open = views.get(profile.toString());
  if (open === undefined || open.size === 0) sought.set(profile.toString(), line);
  else for (const say of open) say({ kind: 'find', ...line });
}

export function registerTimeline(context: vscode.ExtensionContext): vscode.Disposable {
  const provider: vscode.CustomReadonlyEditorProvider = {
    openCustomDocument: (uri) => ({ uri, dispose: () => undefined }),
    resolveCustomEditor: (document, panel) => show(context, document.uri, panel),
  };
  return vscode.window.registerCustomEditorProvider(viewType, provider, { supportsMultipleEditorsPerDocument: true });
}

function show(context: vscode.ExtensionContext, uri: vscode.Uri, panel: vscode.WebviewPanel): void {
  const bundle = vscode.Uri.joinPath(context.extensionUri, 'dist', 'timeline');
  panel.webview.options = { enableScripts: true, localResourceRoots: [bundle] };
  const say = (message: ToView): Thenable<boolean> => panel.webview.postMessage(message);
  const read = async (): Promise<void> => {
    try {
      const lines = createInterface({ input: createReadStream(uri.fsPath), crlfDelay: Infinity });
      const profile = await readProfile(lines);
      await say({ kind: 'recording', name: path.basename(uri.fsPath), ...profile });
      const line = sought.get(uri.toString());
      sought.delete(uri.toString());
      if (line !== undefined) await say({ kind: 'find', ...line });
    } catch (error) {
      await say({ kind: 'failed', message: error instanceof Error ? error.message : String(error) });
    }
  };
  const listening = panel.webview.onDidReceiveMessage((message: FromView) => {
    if (message.kind === 'ready') void read();
    else void openSource(uri, message.file, message.line);
  });
  const watcher = vscode.workspace.createFileSystemWatcher(
    new vscode.RelativePattern(vscode.Uri.joinPath(uri, '..'), path.basename(uri.fsPath)),
  );
  watcher.onDidChange(() => void read());
  const own = views.get(uri.toString()) ?? new Set();
  views.set(uri.toString(), own);
  own.add(say);
  panel.onDidDispose(() => {
    own.delete(say);
    listening.dispose();
    watcher.dispose();
  });
  panel.webview.html = html(panel.webview, bundle);
}

/** Places are relative to the directory the program ran in: a workspace folder, or where the profile lies. */
async function openSource(profile: vscode.Uri, file: string, line: number): Promise<void> {
  const roots = [...(vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri), vscode.Uri.joinPath(profile, '..')];
  const candidates = path.isAbsolute(file) ? [vscode.Uri.file(file)] : roots.map((root) => vscode.Uri.joinPath(root, file));
  for (const candidate of candidates) {
    const found = await vscode.workspace.fs.stat(candidate).then(
      () => true,
      () => false,
    );
    if (!found) continue;
    const editor = await vscode.window.showTextDocument(candidate, { viewColumn: besides(), preserveFocus: false });
    const range = editor.document.lineAt(Math.min(line, editor.document.lineCount) - 1).range;
    editor.selection = new vscode.Selection(range.start, range.start);
    editor.revealRange(range, vscode.TextEditorRevealType.InCenter);
    return;
  }
  void vscode.window.showInformationMessage(vscode.l10n.t('{0} is not in this workspace.', file));
}

/** The group where text is already open, so that the timeline stays in view. */
function besides(): vscode.ViewColumn {
  const shown = vscode.window.visibleTextEditors.find(({ document }) => document.uri.scheme === 'file');
  return shown?.viewColumn ?? vscode.ViewColumn.Beside;
}

function html(webview: vscode.Webview, bundle: vscode.Uri): string {
  const nonce = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
  const at = (name: string): string => webview.asWebviewUri(vscode.Uri.joinPath(bundle, name)).toString();
  const t = (text: string): string => vscode.l10n.t(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<!DOCTYPE html>
<html lang="${vscode.env.language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'nonce-${nonce}'; style-src ${webview.cspSource} 'nonce-${nonce}'; img-src ${webview.cspSource} data:">
<link rel="stylesheet" href="${at('view-style.css')}">
<title>Tidemark</title>
</head>
<body data-texts="${JSON.stringify(vscode.l10n.bundle ?? {})
    .replaceAll('&', '&amp;')
    .replaceAll('"', '&quot;')}">
<header>
<span id="status" role="status">${t('Reading the profile…')}</span>
<input id="search" type="search" placeholder="${t('Find a file, line or shape')}" aria-label="${t('Find a file, line or shape')}">
<button id="to-peak" type="button">${t('Go to Peak')}</button>
<button id="fit" type="button">${t('Whole Run')}</button>
<button id="axis" type="button">${t('By time')}</button>
</header>
<div id="notes"></div>
<main>
<div id="plot" tabindex="0" role="application" aria-label="${t('Memory over the run. Arrows pan, plus and minus zoom, shift with arrows moves the chosen moment, P goes to the peak, T changes the axis, slash finds a line. The table below says the same in words.')}">
<canvas id="chart"></canvas><canvas id="over"></canvas><div id="tip" hidden></div>
</div>
<p id="keys">${t('Wheel or + − zooms, drag or arrows pan, click chooses a moment, double click opens the line, P goes to the peak, / finds a line.')}</p>
<p id="nothing">${t('The run made no array, so there is nothing to draw. Profile a program that computes with arrays.')}</p>
<table aria-labelledby="moment">
<caption id="moment" aria-live="polite"></caption>
<thead><tr><th scope="col">${t('Bytes')}</th><th scope="col">${t('Array')}</th><th scope="col">${t('Made at')}</th></tr></thead>
<tbody id="rows"></tbody>
</table>
<section id="slabs" aria-label="${t('The allocator at the chosen moment')}" hidden></section>
<section id="arenas" aria-label="${t('Memory of compiled calls')}" hidden></section>
</main>
<script nonce="${nonce}" src="${at('view.js')}"></script>
</body>
</html>`;
}
