/**
 * Fixes of findings as code actions: safe ones apply at once and together, others ask first or say why they can't.
 *
 * Where the editor can, edits are sent only for the action that it resolves. Depends on: tokens, convert, session, protocol.
 */
import {
  CodeActionKind,
  type ChangeAnnotation,
  type CodeAction,
  type Connection,
  type Diagnostic as LspDiagnostic,
  type Range,
  type WorkspaceEdit,
} from 'vscode-languageserver';
import type { Diagnostic, Edit, Fix } from '../protocol.ts';
import { soon, tokenOf, type Guarded } from './tokens.ts';
import { meets, rangeOf, textEdit, toDiagnostic, uriOf, wordOf } from './convert.ts';
import type { Session } from './session.ts';
import type { View } from './view.ts';

export const fixAllKind = 'source.fixAll.tidemark';

/** Versions of open documents: an edit made for another text is refused by the editor instead of landing elsewhere. */
export type Versions = (file: string) => number | null;

/** Says again which action is meant: all that resolving it takes, but for the findings of that version. */
interface Meant {
  readonly uri: string;
  readonly version: number;
  readonly kind: string;
  readonly rule?: string;
  readonly line?: number;
  readonly column?: number;
}

export function serveFixes(connection: Connection, session: Session, guarded: Guarded, lazily: () => boolean): void {
  const versions: Versions = (file) => session.versionOf(file);
  connection.onCodeAction(({ textDocument: { uri }, range, context }, token) =>
    guarded('fixes', [], async () => {
      const view = await soon(session.freshView(tokenOf(token), uri), () => session.view(uri));
      const actions = view === undefined ? [] : codeActions(view, range, versions, context.only);
      return actions.map(({ edit, ...action }) => (edit === undefined || lazily() ? action : { ...action, edit }));
    }),
  );
  connection.onCodeActionResolve((action) =>
    guarded('fix', action, () => {
      const meant = action.data as Meant | undefined;
      const view = meant === undefined ? undefined : session.view(meant.uri);
      // For another text it would land elsewhere: the editor asks again.
      if (view === undefined || meant === undefined || view.version !== meant.version) return action;
      const everywhere = { start: { line: 0, character: 0 }, end: { line: Number.MAX_SAFE_INTEGER, character: 0 } };
      const same = codeActions(view, everywhere, versions, [meant.kind]).find(
        ({ title, data }) => title === action.title && isSame(data as Meant, meant),
      );
      return same?.edit === undefined ? action : { ...action, edit: same.edit };
    }),
  );
}

const isSame = (a: Meant, b: Meant): boolean => a.kind === b.kind && a.rule === b.rule && a.line === b.line && a.column === b.column;

export function codeActions(view: View, range: Range, versions: Versions, only: readonly string[] | undefined): readonly CodeAction[] {
  const { uri, version } = view;
  const wanted = (kind: string): boolean => only === undefined || only.some((one) => kind === one || kind.startsWith(`${one}.`));
  const actions: CodeAction[] = [];
  if (wanted(CodeActionKind.QuickFix)) {
    for (const diagnostic of view.diagnostics) {
      if (!meets(rangeOf(diagnostic), range)) continue;
      const reported = toDiagnostic(diagnostic);
      actions.push(
        ...diagnostic.fixes.map((fix) => {
          const { rule, line, column } = diagnostic;
          const meant: Meant = { uri, version, kind: CodeActionKind.QuickFix, rule, line, column };
          return { ...quickFix(diagnostic, reported, fix, versions), data: meant };
        }),
      );
    }
  }
  // Asked for by name only: on saving, or by the command.
  if (only !== undefined && wanted(fixAllKind)) {
    const edits = safeEdits(view);
    if (edits.length > 0)
      actions.push({
        title: 'Apply all safe fixes of Tidemark',
        kind: fixAllKind,
        edit: workspaceEdit(edits, versions),
        data: { uri, version, kind: fixAllKind } satisfies Meant,
      });
  }
  return actions;
}

function quickFix({ rule }: Diagnostic, reported: LspDiagnostic, fix: Fix, versions: Versions): CodeAction {
  const action: CodeAction = { title: fix.title, kind: CodeActionKind.QuickFix, diagnostics: [reported] };
  if (fix.disabled !== undefined) return { ...action, disabled: { reason: fix.disabled } };
  const confirmation: ChangeAnnotation | undefined = fix.safe
    ? undefined
    : { label: fix.title, needsConfirmation: true, description: `not proven safe for every caller (${wordOf(rule)})` };
  return { ...action, isPreferred: fix.safe, edit: workspaceEdit(fix.edits, versions, confirmation) };
}

/** Safe fixes of the file that don't touch each other, first come first served: the next round finds the rest. */
export function safeEdits({ diagnostics, file }: View): readonly Edit[] {
  const chosen: Edit[] = [];
  for (const { fixes } of diagnostics) {
    const fix = fixes.find(({ safe, disabled }) => safe && disabled === undefined);
    if (fix === undefined || fix.edits.length === 0) continue;
    const apart = fix.edits.every((edit) => !chosen.some((other) => other.file === edit.file && overlap(other, edit)));
    if (apart && fix.edits.some((edit) => edit.file === file)) chosen.push(...fix.edits);
  }
  return chosen;
}

function overlap(a: Edit, b: Edit): boolean {
  const before = (p: Edit['start'], q: Edit['start']): boolean => p.line < q.line || (p.line === q.line && p.column < q.column);
  const same = (p: Edit['start'], q: Edit['start']): boolean => p.line === q.line && p.column === q.column;
  return same(a.start, b.start) || (before(a.start, b.end) && before(b.start, a.end));
}

export function workspaceEdit(edits: readonly Edit[], versions: Versions, confirmation?: ChangeAnnotation): WorkspaceEdit {
  const files = [...new Set(edits.map(({ file }) => file))];
  return {
    documentChanges: files.map((file) => ({
      textDocument: { uri: uriOf(file), version: versions(file) },
      edits: edits
        .filter((edit) => edit.file === file)
        .map((edit) => ({ ...textEdit(edit), ...(confirmation === undefined ? {} : { annotationId: 'tidemark' }) })),
    })),
    ...(confirmation === undefined ? {} : { changeAnnotations: { tidemark: confirmation } }),
  };
}
