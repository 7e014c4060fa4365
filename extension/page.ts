/**
 * Measures a page in the person's Chrome: asks for its address once per workspace, and remembers it.
 *
 * Depends on: profile.
 */
import * as vscode from 'vscode';
import type { ProfileOutcome } from '../language-server/protocol.ts';
import type { Profiler } from './profile.ts';

const remembered = 'tidemark.page';

export async function profilePage(
  { workspaceState }: vscode.ExtensionContext,
  profiler: Profiler,
  given: unknown,
): Promise<ProfileOutcome | undefined> {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const file = vscode.window.activeTextEditor?.document.uri ?? folder;
  if (file === undefined) return undefined;
  const url = typeof given === 'string' ? given : await askForAddress(workspaceState.get(remembered, 'http://localhost:5173/'));
  if (url === undefined) return undefined;
  await workspaceState.update(remembered, url);
  return profiler.run({ uri: file.scheme === 'file' ? file : (folder ?? file), url });
}

export const askForAddress = (value: string): Thenable<string | undefined> =>
  vscode.window.showInputBox({
    title: vscode.l10n.t('Which page is to be measured?'),
    prompt: vscode.l10n.t('It opens in a Chrome of its own. The numbers come when its tab is closed, or with Cancel.'),
    value,
    validateInput: (text) =>
      /^https?:\/\/[^\s/]+/.test(text) ? undefined : vscode.l10n.t('A whole address, such as http://localhost:5173/'),
  });
