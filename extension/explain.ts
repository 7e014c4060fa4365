/**
 * Compiled functions explained in read-only documents: opened beside the source, with links to its lines and to each other.
 *
 * The server gives the text and renews it while the source is edited. The editor forgets such documents when its window is
 * loaded again, and leaves their group empty: so they are remembered here, and opened in it anew.
 * Depends on: line-links, language-server/protocol.
 */
import path from 'node:path';
import * as vscode from 'vscode';
import { lineLinks, resultsScheme } from './line-links.ts';
import { explainScheme, explainStages, type ExplainStage, type ExplainTarget } from '../language-server/protocol.ts';

const addressOf = (target: ExplainTarget, stage: ExplainStage): vscode.Uri =>
  vscode.Uri.from({ scheme: explainScheme, path: `/${target.function}.${stage}`, query: JSON.stringify(target) });

export async function explain(target: ExplainTarget): Promise<vscode.TextDocument> {
  const document = await vscode.workspace.openTextDocument(addressOf(target, 'plan'));
  await vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.Beside, preview: true, preserveFocus: true });
  return document;
}

const rememberedKey = 'tidemark.explanations';

interface Remembered {
  readonly address: string;
  readonly viewColumn: number;
}

/**
 * Opens what was explained when the window was closed, in groups that were left empty, and closes those that a table of
 * results was in; keeps account of both from now on.
 */
export function keepExplanations({ workspaceState }: vscode.ExtensionContext): vscode.Disposable {
  const { tabGroups } = vscode.window;
  const schemes: readonly string[] = [explainScheme, resultsScheme];
  const isOurs = ({ input }: vscode.Tab): boolean => input instanceof vscode.TabInputText && schemes.includes(input.uri.scheme);
  for (const { address, viewColumn } of workspaceState.get<readonly Remembered[]>(rememberedKey, [])) {
    const group = tabGroups.all.find((one) => one.viewColumn === viewColumn);
    if (group?.tabs.length === 0) void reopen(vscode.Uri.parse(address), group);
  }
  return tabGroups.onDidChangeTabs(() => {
    const open = tabGroups.all.flatMap(({ tabs, viewColumn }) =>
      tabs.filter(isOurs).map(({ input }): Remembered => ({ address: (input as vscode.TabInputText).uri.toString(), viewColumn })),
    );
    void workspaceState.update(rememberedKey, open);
  });
}

async function reopen(address: vscode.Uri, group: vscode.TabGroup): Promise<void> {
  // The text of results is gone with the window.
  if (address.scheme === resultsScheme) return void (await vscode.window.tabGroups.close(group, true));
  try {
    const document = await vscode.workspace.openTextDocument(address);
    await vscode.window.showTextDocument(document, { viewColumn: group.viewColumn, preview: true, preserveFocus: true });
  } catch {
    // Its file is gone, or nobody can say more: an empty group is of no use.
    await vscode.window.tabGroups.close(group, true);
  }
}

export function linkExplanations(): vscode.Disposable {
  return vscode.languages.registerDocumentLinkProvider(
    { scheme: explainScheme },
    {
      provideDocumentLinks(document) {
        const target = targetOf(document.uri);
        return target === undefined ? [] : [...stageLinks(document, target), ...lineLinks(document, [path.dirname(target.file)])];
      },
    },
  );
}

function targetOf({ query }: vscode.Uri): ExplainTarget | undefined {
  try {
    const value = JSON.parse(query) as Partial<ExplainTarget>;
    return typeof value.file === 'string' && typeof value.function === 'string' && typeof value.line === 'number'
      ? (value as ExplainTarget)
      : undefined;
  } catch {
    return undefined;
  }
}

/** The other stages, named in the second line. */
function stageLinks(document: vscode.TextDocument, target: ExplainTarget): readonly vscode.DocumentLink[] {
  if (document.lineCount < 2) return [];
  const { text, range } = document.lineAt(1);
  const from = text.indexOf('also: ');
  return explainStages.flatMap((stage) => {
    const at = from < 0 ? -1 : text.indexOf(stage, from);
    if (at < 0) return [];
    return [new vscode.DocumentLink(new vscode.Range(range.start.line, at, range.start.line, at + stage.length), addressOf(target, stage))];
  });
}
