/**
 * Places in texts of ours as links: `model.ts:12:5` opens that line.
 *
 * Depends on: vscode, node.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import * as vscode from 'vscode';

/** Scheme of the texts that compare runs, profiles and allocators. */
export const resultsScheme = 'tidemark-results';

/** A file that lies under none of the folders is no link. */
export function lineLinks(document: vscode.TextDocument, folders: readonly string[]): readonly vscode.DocumentLink[] {
  const known = new Map<string, string | undefined>();
  const fileOf = (name: string): string | undefined => {
    if (!known.has(name))
      known.set(
        name,
        folders.map((folder) => path.resolve(folder, name)).find((file) => existsSync(file)),
      );
    return known.get(name);
  };
  return [...document.getText().matchAll(/([^\s():]+\.[cm]?[jt]sx?):(\d+)(?::(\d+))?/g)].flatMap((match) => {
    const [whole, name, line, column = '1'] = match;
    const file = fileOf(name!);
    if (file === undefined) return [];
    const range = new vscode.Range(document.positionAt(match.index), document.positionAt(match.index + whole.length));
    return [new vscode.DocumentLink(range, vscode.Uri.file(file).with({ fragment: `L${line},${column}` }))];
  });
}

export function linkResults(): vscode.Disposable {
  return vscode.languages.registerDocumentLinkProvider(
    { scheme: resultsScheme },
    {
      provideDocumentLinks: (document) => [
        ...lineLinks(
          document,
          (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri.fsPath),
        ),
      ],
    },
  );
}
