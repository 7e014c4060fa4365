/**
 * Compiled functions explained in read-only documents: opened beside the source, with links to its lines and to each other.
 *
 * The server gives the text and renews it while the source is edited. Depends on: line-links, language-server/protocol.
 */
import path from 'node:path';
import * as vscode from 'vscode';
import { lineLinks } from './line-links.ts';
import { explainScheme, explainStages, type ExplainStage, type ExplainTarget } from '../language-server/protocol.ts';

const addressOf = (target: ExplainTarget, stage: ExplainStage): vscode.Uri =>
  vscode.Uri.from({ scheme: explainScheme, path: `/${target.function}.${stage}`, query: JSON.stringify(target) });

export async function explain(target: ExplainTarget): Promise<vscode.TextDocument> {
  const document = await vscode.workspace.openTextDocument(addressOf(target, 'plan'));
  await vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.Beside, preview: true, preserveFocus: true });
  return document;
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
