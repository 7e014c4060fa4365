/**
 * Activates with the first TypeScript or JavaScript file; starts the server only where arrays of a known library are used.
 *
 * Depends on: all of extension.
 */
import * as vscode from 'vscode';
import { methods } from '../language-server/protocol.ts';
import { showBudgets } from './budgets.ts';
import { Client, selector } from './client.ts';
import { registerCommands } from './commands.ts';
import { keepExplanations, linkExplanations } from './explain.ts';
import { showLifetimes } from './lifetimes.ts';
import { linkResults } from './line-links.ts';
import { showMarks } from './marks.ts';
import { Profiler } from './profile.ts';
import { Results } from './results.ts';
import { showStatus } from './status.ts';
import { registerTimeline } from './timeline/panel.ts';
import { dependenciesOf, usesArrays } from './usage.ts';

let client: Client | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel('Tidemark', { log: true });
  const own = new Client(context, log);
  client = own;
  const profiler = new Profiler(own, log);
  const results = new Results(own, profiler);
  const parts = { context, client: own, profiler, results, log };
  context.subscriptions.push(
    log,
    own,
    profiler,
    results,
    registerTimeline(context),
    registerCommands(parts),
    showBudgets(profiler),
    showStatus(own),
    linkExplanations(),
    linkResults(),
    showMarks(context, own),
    showLifetimes(own),
  );

  let explains = false;
  const start = async (why: string): Promise<void> => {
    if (own.isRunning) return;
    log.info(`starting: ${why}`);
    await own.start().catch((error: unknown) => log.error(error instanceof Error ? error : String(error)));
    // What was explained before the window closed needs the server.
    if (!explains && own.isRunning) context.subscriptions.push(keepExplanations(context));
    explains ||= own.isRunning;
    await vscode.commands.executeCommand('setContext', 'tidemark.active', true);
  };
  const startForText = (document: vscode.TextDocument): void => {
    if (vscode.languages.match(selector, document) > 0 && usesArrays(document.getText()))
      void start(`${vscode.workspace.asRelativePath(document.uri)} uses arrays`);
  };
  context.subscriptions.push(
    vscode.workspace.onDidOpenTextDocument(startForText),
    vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
      // Only what may have added an import is worth reading again.
      if (!own.isRunning && contentChanges.some(({ text }) => /['"]|gpu/.test(text))) startForText(document);
    }),
    vscode.workspace.onDidChangeWorkspaceFolders(() => void startForDependencies(start)),
    vscode.workspace.onDidGrantWorkspaceTrust(() => {
      if (own.isRunning) void own.start().then((language) => language.sendNotification(methods.trust));
    }),
  );
  for (const document of vscode.workspace.textDocuments) startForText(document);
  void startForDependencies(start);
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}

/** The manifests at the top of each folder and one level below: enough for a project and for a monorepo's packages. */
async function startForDependencies(start: (why: string) => Promise<void>): Promise<void> {
  for (const folder of vscode.workspace.workspaceFolders ?? []) {
    const manifests = await vscode.workspace.findFiles(
      new vscode.RelativePattern(folder, '{package.json,*/package.json,packages/*/package.json}'),
      '**/node_modules/**',
      50,
    );
    for (const manifest of manifests) {
      const bytes = await vscode.workspace.fs.readFile(manifest);
      const [used] = dependenciesOf(new TextDecoder().decode(bytes));
      if (used !== undefined) return start(`${vscode.workspace.asRelativePath(manifest)} names ${used}`);
    }
  }
}
