/**
 * Decorations of measured lines: the peak line with its gutter mark, leaks, and stale numbers dimmed after their line.
 *
 * Kinds differ in shape and words, never in colour alone. Depends on: client, language-server/protocol.
 */
import * as vscode from 'vscode';
import { methods, type MarksParams, type Marks, type MeasuredMark } from '../language-server/protocol.ts';
import { selector, type Client } from './client.ts';

type Kind = MeasuredMark['kind'];

export function showMarks(context: vscode.ExtensionContext, client: Client): vscode.Disposable {
  const types = decorationTypes(context);
  let timer: NodeJS.Timeout | undefined;

  const update = async (editor: vscode.TextEditor): Promise<void> => {
    if (!client.isRunning || vscode.languages.match(selector, editor.document) === 0) return;
    const { uri, version } = editor.document;
    const params: MarksParams = { uri: uri.toString(), version };
    const language = await client.start();
    const answer = await language.sendRequest<Marks | null>(methods.marks, params).catch(() => null);
    if (answer === null || editor.document.version !== answer.version) return;
    draw(editor, types, answer.marks);
  };
  const updateAll = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      for (const editor of vscode.window.visibleTextEditors) void update(editor);
    }, 60);
  };
  return vscode.Disposable.from(
    ...Object.values(types),
    client.events.marksChanged(updateAll),
    vscode.window.onDidChangeVisibleTextEditors(updateAll),
    new vscode.Disposable(() => clearTimeout(timer)),
  );
}

function draw(
  editor: vscode.TextEditor,
  types: Readonly<Record<Kind, vscode.TextEditorDecorationType>>,
  marks: readonly MeasuredMark[],
): void {
  for (const kind of ['peak', 'leak', 'stale'] as const) {
    const own = marks.filter((mark) => mark.kind === kind && mark.line <= editor.document.lineCount);
    editor.setDecorations(
      types[kind],
      own.map((mark) => option(editor.document, mark)),
    );
  }
}

function option(document: vscode.TextDocument, { line, kind, text, hover }: MeasuredMark): vscode.DecorationOptions {
  const { range } = document.lineAt(line - 1);
  if (kind !== 'stale') return { range, hoverMessage: new vscode.MarkdownString(hover) };
  return {
    range: new vscode.Range(range.end, range.end),
    hoverMessage: new vscode.MarkdownString(hover),
    renderOptions: { after: { contentText: `${text} · before the edit` } },
  };
}

function decorationTypes(context: vscode.ExtensionContext): Readonly<Record<Kind, vscode.TextEditorDecorationType>> {
  const colour = (name: string): vscode.ThemeColor => new vscode.ThemeColor(`tidemark.${name}`);
  const icon = (name: string): vscode.Uri => vscode.Uri.joinPath(context.extensionUri, 'images', `${name}.svg`);
  return {
    peak: vscode.window.createTextEditorDecorationType({
      isWholeLine: true,
      backgroundColor: colour('peakLine'),
      overviewRulerColor: colour('peak'),
      overviewRulerLane: vscode.OverviewRulerLane.Full,
      gutterIconPath: icon('peak'),
      gutterIconSize: 'contain',
    }),
    leak: vscode.window.createTextEditorDecorationType({
      overviewRulerColor: colour('leak'),
      overviewRulerLane: vscode.OverviewRulerLane.Left,
      gutterIconPath: icon('leak'),
      gutterIconSize: 'contain',
    }),
    stale: vscode.window.createTextEditorDecorationType({
      after: { color: colour('stale'), fontStyle: 'italic', margin: '0 0 0 2ch' },
      rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
    }),
  };
}
