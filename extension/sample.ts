/**
 * The sample of the walkthrough: a project of one file that finds the runtime beside it, without a network.
 *
 * It lies in the extension's own storage, so that a person's folders stay as they are. Depends on: vscode.
 */
import * as vscode from 'vscode';

const manifest = { name: 'tidemark-sample', private: true, type: 'module', dependencies: { tidemark: '*' } };
const compiler = {
  compilerOptions: {
    target: 'es2022',
    module: 'nodenext',
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    lib: ['es2023', 'esnext.disposable', 'dom'],
  },
  include: ['*.ts'],
};

/** Lays the sample out anew and opens it; with a folder given it is laid out there and not opened. */
export async function openSample({ extensionUri, globalStorageUri }: vscode.ExtensionContext, given: unknown): Promise<vscode.Uri> {
  const { fs } = vscode.workspace;
  const folder = given instanceof vscode.Uri ? given : vscode.Uri.joinPath(globalStorageUri, 'sample');
  const at = (...names: readonly string[]): vscode.Uri => vscode.Uri.joinPath(folder, ...names);
  const write = (name: string, value: object): Thenable<void> =>
    fs.writeFile(at(...name.split('/')), new TextEncoder().encode(`${JSON.stringify(value, undefined, 2)}\n`));
  await fs.createDirectory(at('node_modules', 'tidemark', 'dist'));
  await write('package.json', manifest);
  await write('tsconfig.json', compiler);
  const copies = [
    ['sample/train.ts', 'train.ts'],
    ['runtime-package.json', 'node_modules/tidemark/package.json'],
    ['runtime', 'node_modules/tidemark/dist/runtime'],
    ['types', 'node_modules/tidemark/dist/types'],
  ] as const;
  for (const [from, to] of copies)
    await fs.copy(vscode.Uri.joinPath(extensionUri, 'dist', ...from.split('/')), at(...to.split('/')), { overwrite: true });
  if (given === undefined) await vscode.commands.executeCommand('vscode.openFolder', folder, { forceNewWindow: true });
  return folder;
}
