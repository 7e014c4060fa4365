/**
 * Draws the life of the array under the caret: solid underline where it is certainly alive, dashed where it may be.
 *
 * Answers for an older version of the text or an older caret are dropped, never drawn. Depends on: client, language-server/protocol.
 */
import * as vscode from 'vscode';
import { methods, type Life, type LifeParams, type LifeRange } from '../language-server/protocol.ts';
import { selector, type Client } from './client.ts';

const pauseMs = 150;

export function showLifetimes(client: Client): vscode.Disposable {
  const underline = (style: 'solid' | 'dashed' | 'double', name: string): vscode.TextEditorDecorationType =>
    vscode.window.createTextEditorDecorationType({
      borderStyle: style,
      borderWidth: style === 'double' ? '0 0 3px 0' : '0 0 2px 0',
      borderColor: new vscode.ThemeColor(`tidemark.${name}`),
      rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
    });
  const types = { certain: underline('solid', 'alive'), maybe: underline('dashed', 'maybeAlive'), donated: underline('double', 'donated') };
  let timer: NodeJS.Timeout | undefined;
  let pending: vscode.CancellationTokenSource | undefined;

  const clear = (editor: vscode.TextEditor): void => {
    for (const type of Object.values(types)) editor.setDecorations(type, []);
  };
  const ask = async (editor: vscode.TextEditor): Promise<void> => {
    const { document, selection } = editor;
    const enabled = vscode.workspace.getConfiguration('tidemark', document).get<boolean>('lifetimes', true);
    if (!enabled || !client.isRunning || vscode.languages.match(selector, document) === 0) return clear(editor);
    pending?.cancel();
    pending = new vscode.CancellationTokenSource();
    const { active } = selection;
    const params: LifeParams = {
      uri: document.uri.toString(),
      version: document.version,
      position: { line: active.line + 1, column: active.character + 1 },
    };
    const language = await client.start();
    const life = await language.sendRequest<Life | null>(methods.life, params, pending.token).catch(() => null);
    if (!editor.selection.active.isEqual(active) || document.version !== params.version) return;
    const ranges = life?.ranges ?? [];
    const of = (wanted: (range: LifeRange) => boolean): vscode.Range[] => ranges.filter(wanted).map(toRange);
    editor.setDecorations(
      types.donated,
      of(({ kind }) => kind === 'donated'),
    );
    editor.setDecorations(
      types.certain,
      of(({ kind, certain }) => kind !== 'donated' && certain),
    );
    editor.setDecorations(
      types.maybe,
      of(({ kind, certain }) => kind !== 'donated' && !certain),
    );
  };
  const later = (editor: vscode.TextEditor): void => {
    clearTimeout(timer);
    timer = setTimeout(() => void ask(editor), pauseMs);
  };
  return vscode.Disposable.from(
    ...Object.values(types),
    vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => later(textEditor)),
    vscode.workspace.onDidChangeTextDocument(({ document }) => {
      const editor = vscode.window.activeTextEditor;
      if (editor?.document === document) later(editor);
    }),
    // The analysis knows more than when it was asked, or was started anew meanwhile.
    client.events.marksChanged(() => {
      if (vscode.window.activeTextEditor !== undefined) later(vscode.window.activeTextEditor);
    }),
    vscode.window.onDidChangeActiveTextEditor((editor) => {
      if (editor !== undefined) later(editor);
    }),
    new vscode.Disposable(() => clearTimeout(timer)),
  );
}

const toRange = ({ start, end }: LifeRange): vscode.Range =>
  new vscode.Range(start.line - 1, start.column - 1, end.line - 1, end.column - 1);
