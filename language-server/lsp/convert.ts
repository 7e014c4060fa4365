/**
 * Places, severities and edits in the words of the protocol: lines and columns count from 0 there, from 1 here.
 *
 * Depends on: protocol, vscode-languageserver, vscode-uri.
 */
import {
  DiagnosticSeverity,
  type Diagnostic as LspDiagnostic,
  type Position as LspPosition,
  type Range,
  type TextEdit,
} from 'vscode-languageserver';
import { URI } from 'vscode-uri';
import type { Diagnostic, Edit, Position, Severity } from '../protocol.ts';

export const uriOf = (file: string): string => URI.file(file).toString();
export const fileOf = (uri: string): string => URI.parse(uri).fsPath;

export const toPosition = ({ line, column }: Position): LspPosition => ({
  line: Math.max(0, line - 1),
  character: Math.max(0, column - 1),
});
export const fromPosition = ({ line, character }: LspPosition): Position => ({ line: line + 1, column: character + 1 });

export const rangeOf = ({ line, column, endLine, endColumn }: Diagnostic): Range => ({
  start: toPosition({ line, column }),
  end: toPosition({ line: endLine, column: endColumn }),
});

export const textEdit = ({ start, end, newText }: Edit): TextEdit => ({
  range: { start: toPosition(start), end: toPosition(end) },
  newText,
});

/** Touching counts: a caret at the end of a finding is on it. */
export function meets(a: Range, b: Range): boolean {
  const notAfter = (p: LspPosition, q: LspPosition): boolean => p.line < q.line || (p.line === q.line && p.character <= q.character);
  return notAfter(a.start, b.end) && notAfter(b.start, a.end);
}

const severities: Readonly<Record<Severity, DiagnosticSeverity>> = {
  error: DiagnosticSeverity.Error,
  warning: DiagnosticSeverity.Warning,
  info: DiagnosticSeverity.Information,
  hint: DiagnosticSeverity.Hint,
};

export function toDiagnostic(diagnostic: Diagnostic): LspDiagnostic {
  const { rule, severity, message, related, savesBytes } = diagnostic;
  return {
    range: rangeOf(diagnostic),
    severity: severities[severity],
    source: 'tidemark',
    code: rule,
    message,
    data: { savesBytes },
    relatedInformation: related.map(({ file, line, column, endLine, endColumn, message: text }) => ({
      location: {
        uri: uriOf(file),
        range: { start: toPosition({ line, column }), end: toPosition({ line: endLine ?? line, column: endColumn ?? column }) },
      },
      message: text,
    })),
  };
}

/** A rule's id as words: `use-after-donate` reads `use after donate`. */
export const wordOf = (rule: string): string => rule.replaceAll('-', ' ');
