/**
 * Budgets as tests: each stands in the Test Explorer, is run by profiling its file, and passes while the peak is within it.
 *
 * Nothing is run but what the person starts there, as with every profile. Depends on: budget-lines, client, profile.
 */
import path from 'node:path';
import * as vscode from 'vscode';
import { budgetsIn, verdict, type Budget } from './budget-lines.ts';
import { selector } from './client.ts';
import type { Profiler } from './profile.ts';

const mostFiles = 1000;

export function showBudgets(profiler: Profiler): vscode.Disposable {
  const controller = vscode.tests.createTestController('tidemark.budgets', vscode.l10n.t('Tidemark memory budgets'));
  const budgets = new WeakMap<vscode.TestItem, Budget>();

  const show = (uri: vscode.Uri, text: string): void => {
    const found = budgetsIn(text);
    if (found.length === 0) return controller.items.delete(uri.toString());
    const file = controller.items.get(uri.toString()) ?? controller.createTestItem(uri.toString(), path.basename(uri.fsPath), uri);
    file.children.replace(
      found.map((budget) => {
        const item = controller.createTestItem(`${budget.name ?? ''}:${budget.line}`, budget.name ?? vscode.l10n.t('whole file'), uri);
        item.range = new vscode.Range(budget.line - 1, 0, budget.line - 1, 0);
        budgets.set(item, budget);
        return item;
      }),
    );
    controller.items.add(file);
  };
  const showDocument = (document: vscode.TextDocument): void => {
    if (document.uri.scheme === 'file' && vscode.languages.match(selector, document) > 0) show(document.uri, document.getText());
  };

  controller.resolveHandler = async (item) => {
    if (item !== undefined) return;
    const files = await vscode.workspace.findFiles('**/*.{ts,tsx,mts,js,jsx,mjs}', '**/{node_modules,dist}/**', mostFiles);
    for (const file of files) show(file, new TextDecoder().decode(await vscode.workspace.fs.readFile(file)));
  };
  controller.createRunProfile(
    vscode.l10n.t('Profile memory'),
    vscode.TestRunProfileKind.Run,
    (request, token) => runAll(controller, budgets, profiler, request, token),
    true,
  );
  for (const document of vscode.workspace.textDocuments) showDocument(document);
  return vscode.Disposable.from(
    controller,
    vscode.workspace.onDidOpenTextDocument(showDocument),
    vscode.workspace.onDidChangeTextDocument(({ document }) => showDocument(document)),
  );
}

/** One run of a file judges all its budgets that were asked for. */
async function runAll(
  controller: vscode.TestController,
  budgets: WeakMap<vscode.TestItem, Budget>,
  profiler: Profiler,
  request: vscode.TestRunRequest,
  token: vscode.CancellationToken,
): Promise<void> {
  const run = controller.createTestRun(request);
  const asked = [...(request.include ?? itemsOf(controller.items))]
    .flatMap((item) => (budgets.has(item) ? [item] : itemsOf(item.children)))
    .filter((item) => request.exclude?.includes(item) !== true);
  const files = new Map(asked.map((item) => [item.uri!.toString(), item.uri!]));
  token.onCancellationRequested(() => profiler.cancel());
  for (const [key, uri] of files) {
    const items = asked.filter((item) => item.uri!.toString() === key);
    for (const item of items) run.started(item);
    const outcome = token.isCancellationRequested ? undefined : await profiler.run({ uri });
    const report = outcome?.state === 'done' ? outcome.report : null;
    for (const item of items) {
      if (report === null) {
        run.errored(item, new vscode.TestMessage(outcome?.message ?? vscode.l10n.t('The program was not measured.')));
        continue;
      }
      const isFile = (reported: string): boolean => uri.fsPath.endsWith(path.sep + path.normalize(reported));
      const { kind, text } = verdict(budgets.get(item)!, report, isFile);
      run.appendOutput(`${item.label}: ${text}\r\n`, undefined, item);
      if (kind === 'kept') run.passed(item, report.wallMs);
      else if (kind === 'broken') run.failed(item, new vscode.TestMessage(text), report.wallMs);
      else run.errored(item, new vscode.TestMessage(text));
    }
  }
  run.end();
}

const itemsOf = (items: vscode.TestItemCollection): vscode.TestItem[] => [...items].map(([, item]) => item);
