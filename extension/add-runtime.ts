/**
 * Adds the runtime to a project: the package that lies in the extension is copied into it and installed from there.
 *
 * The copy stays in the project, so that colleagues and CI install the same. The project's own package manager does it, in a
 * terminal that the person sees. Depends on: vscode.
 */
import * as vscode from 'vscode';

const managers = [
  { lock: 'pnpm-lock.yaml', command: 'pnpm', words: ['add'] },
  { lock: 'yarn.lock', command: 'yarn', words: ['add'] },
  { lock: 'bun.lock', command: 'bun', words: ['add'] },
  { lock: 'package-lock.json', command: 'npm', words: ['install', '--no-audit', '--no-fund'] },
] as const;

/** Resolves to the exit code of the installation; undefined when there was none. */
export async function addRuntime(context: vscode.ExtensionContext, given: unknown): Promise<number | undefined> {
  if (!vscode.workspace.isTrusted) return undefined;
  const folder = given instanceof vscode.Uri ? given : await chosenFolder();
  if (folder === undefined) return undefined;
  if (!(await exists(vscode.Uri.joinPath(folder, 'package.json')))) {
    void vscode.window.showWarningMessage(vscode.l10n.t('There is no package.json in this folder. Make one first: npm init'));
    return undefined;
  }
  const packed = vscode.Uri.joinPath(context.extensionUri, 'dist', 'tidemark-runtime.tgz');
  const { version } = context.extension.packageJSON as { version: string };
  const copy = `vendor/tidemark-${version}.tgz`;
  await vscode.workspace.fs.copy(packed, vscode.Uri.joinPath(folder, copy), { overwrite: true });
  return installed(folder, `./${copy}`);
}

async function installed(folder: vscode.Uri, copy: string): Promise<number | undefined> {
  const locks = await Promise.all(managers.map(({ lock }) => exists(vscode.Uri.joinPath(folder, lock))));
  const { command, words } = managers[locks.indexOf(true)] ?? managers.at(-1)!;
  const execution = new vscode.ShellExecution(command, [...words, copy], { cwd: folder.fsPath });
  const owner = vscode.workspace.getWorkspaceFolder(folder) ?? vscode.TaskScope.Workspace;
  const task = new vscode.Task({ type: 'shell' }, owner, vscode.l10n.t('Add the Tidemark runtime'), 'tidemark', execution);
  const ended = new Promise<number | undefined>((resolve) => {
    const listening = vscode.tasks.onDidEndTaskProcess(({ execution: { task: one }, exitCode }) => {
      if (one.name !== task.name || one.source !== task.source) return;
      listening.dispose();
      resolve(exitCode);
    });
  });
  await vscode.tasks.executeTask(task);
  return ended;
}

async function chosenFolder(): Promise<vscode.Uri | undefined> {
  const folders = vscode.workspace.workspaceFolders ?? [];
  return folders.length < 2 ? folders[0]?.uri : (await vscode.window.showWorkspaceFolderPick())?.uri;
}

const exists = (uri: vscode.Uri): Thenable<boolean> =>
  vscode.workspace.fs.stat(uri).then(
    () => true,
    () => false,
  );
